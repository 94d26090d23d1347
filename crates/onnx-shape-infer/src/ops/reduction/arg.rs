//! `ArgMax`, `ArgMin`: the index of the greatest or least element along an axis.
//!
//! Before version 11 a scalar stays one; from then on the rank bounds the axis, which leaves none for a scalar. An axis outside a
//! tensor with axes is a fault at every version; the reference passes over it in version 1.

use onnx_schema::{attr, op};
use onnx_types::{Dim, ElemType};

use crate::cx::{Cx, Outcome};
use crate::registry::{OpRules, Row, infer, since};

const ROWS: &[Row] = &[since(1, of_any_rank), since(11, arg)];

pub(in crate::ops) const RULES: &[OpRules] = &[infer(op::ARG_MAX, ROWS), infer(op::ARG_MIN, ROWS)];

fn of_any_rank(cx: &mut Cx<'_, '_>) -> Outcome {
    if cx.rank(0).is_ok_and(|rank| rank == 0) && matches!(cx.int_or(attr::AXIS, 0)?, 0 | -1) {
        cx.set_elem(0, ElemType::Int64);
        cx.set_shape(0, []);
        return Ok(());
    }
    arg(cx)
}

fn arg(cx: &mut Cx<'_, '_>) -> Outcome {
    cx.set_elem(0, ElemType::Int64);
    let mut dims = cx.shape(0)?;
    let axis = cx.int_or(attr::AXIS, 0)?;
    let axis = cx.axis(axis, dims.len())?;
    if !super::keeps_axes(cx)? {
        dims.remove(axis);
    } else if let Some(dim) = dims.get_mut(axis) {
        *dim = Dim::Known(1);
    }
    cx.set_dims(0, dims);
    Ok(())
}
