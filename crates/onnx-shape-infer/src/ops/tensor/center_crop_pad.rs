//! `CenterCropPad`: axes cut or padded to given sizes, all of them or the named ones.
//!
//! A negative size is a fault, which the reference writes down as it is. The
//! sizes may have any rank, as for the reference; only their number counts.

use onnx_schema::{attr, op};
use onnx_types::Dim;

use crate::cx::{Cx, Ints, Outcome, Param};
use crate::family::layout::Sizes;
use crate::fault::{BAD_VALUE, NEGATIVE_SIZE};
use crate::registry::{OpRules, infer, since};
use crate::ty::Dims;

pub(super) const RULES: OpRules = infer(op::CENTER_CROP_PAD, &[since(18, center)]);

fn center(cx: &mut Cx<'_, '_>) -> Outcome {
    let mut dims = cx.shape(0)?;
    let rank = dims.len();
    let axes: Sizes = match cx.param(Param::Attr(attr::AXES))? {
        Ints::Known(axes) => {
            cx.axes(&axes, rank)?;
            axes.iter().map(|&axis| cx.axis(axis, rank)).collect::<Outcome<_>>()?
        }
        _ => (0..rank).collect(),
    };
    // Sizes that are read when the model runs are not counted, as in the reference.
    let sizes: Dims = match cx.content(1) {
        Some(sizes) if sizes.is_empty() || sizes.iter().any(|size| !size.dim().is_unknown()) => {
            sizes.iter().map(|size| size.dim()).collect()
        }
        _ => Dims::from_elem(Dim::Unknown, axes.len()),
    };
    if sizes.len() != axes.len() {
        let (count, axes) = (sizes.len(), axes.len());
        return Err(cx.fail(&BAD_VALUE, format_args!("there are {count} sizes for {axes} axes")));
    }
    if let Some(size) = sizes.iter().filter_map(|size| size.known()).find(|&size| size < 0) {
        return Err(cx.fail(&NEGATIVE_SIZE, format_args!("a size is {size}")));
    }
    for (&axis, &size) in axes.iter().zip(&sizes) {
        if let Some(slot) = dims.get_mut(axis) {
            *slot = if cx.is_size(size) { size } else { Dim::Unknown };
        }
    }
    cx.set_dims(0, dims);
    Ok(())
}
