//! `ConcatFromSequence`: the elements of a sequence along an axis, or along a new one.
//!
//! The sizes beside the axis are those of each element; the size along it is not known, as the number of elements is not.

use onnx_schema::{attr, op};
use onnx_types::Dim;

use super::element;
use crate::cx::{Cx, Outcome, Stop};
use crate::fault::{BAD_ATTRIBUTE, MISSING};
use crate::registry::{OpRules, infer, since};
use crate::ty::Dims;

pub(super) const RULES: OpRules = infer(op::CONCAT_FROM_SEQUENCE, &[since(11, rule)]);

fn rule(cx: &mut Cx<'_, '_>) -> Outcome {
    let element = element(cx, 0)?;
    if let Some(elem) = element.elem() {
        cx.set_elem(0, elem);
    }
    let Some(axis) = cx.int(attr::AXIS)? else {
        return Err(cx.fail(&MISSING, "attribute `axis` is missing"));
    };
    let is_new = match cx.int_or(attr::NEW_AXIS, 0)? {
        0 => false,
        1 => true,
        _ => return Err(cx.fail(&BAD_ATTRIBUTE, "attribute `new_axis` is neither 0 nor 1")),
    };
    let mut dims: Dims = element.dims().ok_or(Stop::Unknown)?.into();
    if is_new {
        let axis = cx.axis(axis, dims.len().saturating_add(1))?;
        dims.insert(axis, Dim::Unknown);
    } else {
        let axis = cx.axis(axis, dims.len())?;
        if let Some(dim) = dims.get_mut(axis) {
            *dim = Dim::Unknown;
        }
    }
    cx.set_dims(0, dims);
    Ok(())
}
