//! `Det`: the determinants of a stack of square matrices.

use onnx_schema::op;

use crate::cx::{Cx, Outcome};
use crate::registry::{OpRules, infer, since};

pub(super) const RULES: OpRules = infer(op::DET, &[since(11, det)]);

fn det(cx: &mut Cx<'_, '_>) -> Outcome {
    let mut dims = cx.shape_of_min_rank(0, 2)?;
    if let (Some(columns), Some(rows)) = (dims.pop(), dims.pop()) {
        cx.same(rows, columns, "the sizes of a square matrix")?;
    }
    cx.set_dims(0, dims);
    Ok(())
}
