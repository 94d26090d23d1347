//! `ArgMax`, `ArgMin`: the index of the greatest or least element along an axis.
//!
//! A scalar is taken as the reference takes it: it stays one. An axis outside the tensor is a fault at every version; the
//! reference passes over it in version 1.

use onnx_schema::{attr, op};
use onnx_types::{Dim, ElemType};

use crate::cx::{Cx, Outcome};
use crate::registry::{OpRules, Row, infer, since};

const ROWS: &[Row] = &[since(1, arg)];

pub(in crate::ops) const RULES: &[OpRules] = &[infer(op::ARG_MAX, ROWS), infer(op::ARG_MIN, ROWS)];

fn arg(cx: &mut Cx<'_, '_>) -> Outcome {
    cx.set_elem(0, ElemType::Int64);
    let mut dims = cx.shape(0)?;
    let axis = cx.int_or(attr::AXIS, 0)?;
    let keep = super::keeps_axes(cx)?;
    if !(dims.is_empty() && matches!(axis, 0 | -1)) {
        let axis = cx.axis(axis, dims.len())?;
        if !keep {
            dims.remove(axis);
        } else if let Some(dim) = dims.get_mut(axis) {
            *dim = Dim::Known(1);
        }
    }
    cx.set_dims(0, dims);
    Ok(())
}
