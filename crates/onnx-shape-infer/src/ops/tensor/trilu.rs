//! `Trilu`: the upper or lower triangle of matrices, with 0 elsewhere; the output has the shape of the input, of rank 2 at
//! least.

use onnx_schema::{attr, op};
use onnx_types::Dim;

use crate::content::Elem;
use crate::cx::{Cx, Outcome, Stop};
use crate::family::layout::{Small, fill};
use crate::registry::{OpRules, infer, since};

pub(super) const RULES: OpRules = infer(op::TRILU, &[since(14, trilu)]).values(&[since(14, values)]);

fn trilu(cx: &mut Cx<'_, '_>) -> Outcome {
    let dims = cx.shape_of_min_rank(0, 2)?;
    cx.set_dims(0, dims);
    Ok(())
}

fn values(cx: &mut Cx<'_, '_>) -> Outcome {
    let data = Small::of(cx, 0)?;
    let upper = cx.int_or(attr::UPPER, 1)? != 0;
    let diagonal = match cx.has_input(1) {
        false => 0,
        true => i128::from(cx.scalar(1)?.known().ok_or(Stop::Unknown)?),
    };
    fill(cx, 0, |at| {
        let &[.., row, column] = at else { return Elem::Unknown };
        let over = (column as i128).saturating_sub(row as i128).saturating_sub(diagonal);
        if (upper && over >= 0) || (!upper && over <= 0) { data.at(at) } else { Elem::Int(Dim::Known(0)) }
    })
}
