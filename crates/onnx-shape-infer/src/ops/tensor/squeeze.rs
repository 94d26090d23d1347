//! `Squeeze`: axes of size 1 are taken out, named by an attribute until version 12 and by an input from version 13 on.
//!
//! A named size that is not known must be 1. Without names the rank follows only where each size is known to be 1 or not to
//! be 1. An axis may be named twice, as in the reference. An empty list names no axis. Named axes outside the rank are a
//! fault, which the reference passes over where they are an attribute.

use onnx_schema::{attr, op};
use onnx_types::Dim;
use smallvec::SmallVec;

use crate::cx::{Cx, Ints, Outcome, Param, Stop};
use crate::family::elementwise::keep_elements;
use crate::registry::{OpRules, infer, since};
use crate::ty::Dims;

pub(super) const RULES: OpRules = infer(
    op::SQUEEZE,
    &[since(1, |cx| squeeze(cx, Param::Attr(attr::AXES))), since(13, |cx| squeeze(cx, Param::Input(1)))],
)
.values(&[since(1, keep_elements)]);

fn squeeze(cx: &mut Cx<'_, '_>, axes: Param) -> Outcome {
    let dims = cx.shape(0)?;
    let named = match cx.param(axes)? {
        Ints::Absent => ones(cx, &dims)?,
        Ints::Unknown => return one_axis(cx, axes, dims.len()),
        Ints::Known(axes) => {
            let mut named = SmallVec::from_elem(false, dims.len());
            for axis in axes {
                let axis = cx.axis(axis, dims.len())?;
                if let Some(slot) = named.get_mut(axis) {
                    *slot = true;
                }
            }
            named
        }
    };
    let mut kept = Dims::new();
    for (&dim, named) in dims.iter().zip(named) {
        if named {
            cx.same(dim, Dim::Known(1), "a squeezed size and what it must be")?;
        } else {
            kept.push(dim);
        }
    }
    cx.set_shape(0, kept);
    Ok(())
}

/// Which sizes are 1, when that is known of all.
fn ones(cx: &Cx<'_, '_>, dims: &[Dim]) -> Outcome<SmallVec<[bool; 8]>> {
    dims.iter().map(|&dim| cx.dims_eq(dim, Dim::Known(1)).ok_or(Stop::Unknown)).collect()
}

/// One axis that is not known which: the rank is known, at least.
fn one_axis(cx: &mut Cx<'_, '_>, axes: Param, rank: usize) -> Outcome {
    let Param::Input(index) = axes else { return Err(Stop::Unknown) };
    let count = cx.elements(index)?.ok_or(Stop::Unknown)?.len();
    if let (1, Some(rest)) = (count, rank.checked_sub(1)) {
        cx.set_shape(0, Dims::from_elem(Dim::Unknown, rest));
    }
    Ok(())
}
