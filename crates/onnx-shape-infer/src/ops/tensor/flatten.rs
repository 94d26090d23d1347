//! `Flatten`: a matrix whose rows are the elements of the axes from `axis` on. The axis may be the rank itself, and from
//! version 11 on count from the end.

use onnx_schema::{attr, op};

use crate::cx::{Cx, Outcome};
use crate::family::elementwise::keep_elements;
use crate::fault::AXIS_OUT_OF_RANGE;
use crate::registry::{OpRules, infer, since};

pub(super) const RULES: OpRules =
    infer(op::FLATTEN, &[since(1, |cx| flatten(cx, false)), since(11, |cx| flatten(cx, true))])
        .values(&[since(1, keep_elements)]);

fn flatten(cx: &mut Cx<'_, '_>, from_end: bool) -> Outcome {
    let dims = cx.shape(0)?;
    let axis = cx.int_or(attr::AXIS, 1)?;
    let rank = i64::try_from(dims.len()).unwrap_or(i64::MAX);
    let counted = if axis < 0 && from_end { axis.saturating_add(rank) } else { axis };
    let split = usize::try_from(counted).ok().and_then(|axis| dims.split_at_checked(axis));
    let Some((rows, columns)) = split else {
        return Err(
            cx.fail(&AXIS_OUT_OF_RANGE, format_args!("axis {axis} is outside a tensor of rank {rank}"))
        );
    };
    let shape = [cx.product_of_sizes(rows)?, cx.product_of_sizes(columns)?];
    cx.set_shape(0, shape);
    Ok(())
}
