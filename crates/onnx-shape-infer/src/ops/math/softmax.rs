//! `Hardmax`, `LogSoftmax`, `Softmax`: one size after another in a vector along an axis; the shape stays.
//!
//! From version 11 on the axis must be one of the tensor, which so cannot be a scalar. Before, it may also be the rank
//! (nothing is flattened then), and the reference does not check it.

use onnx_schema::{attr, op};

use crate::cx::{Cx, Outcome};
use crate::family::elementwise::like_first;
use crate::registry::{OpRules, Row, infer, since};

const ROWS: &[Row] = &[since(1, like_first), since(11, |cx| along(cx, 1)), since(13, |cx| along(cx, -1))];

pub(in crate::ops) const RULES: &[OpRules] =
    &[infer(op::HARDMAX, ROWS), infer(op::LOG_SOFTMAX, ROWS), infer(op::SOFTMAX, ROWS)];

fn along(cx: &mut Cx<'_, '_>, default: i64) -> Outcome {
    let dims = cx.shape_of_min_rank(0, 1)?;
    let axis = cx.int_or(attr::AXIS, default)?;
    cx.axis(axis, dims.len())?;
    cx.set_dims(0, dims);
    Ok(())
}
