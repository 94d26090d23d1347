//! `Tile`: the input repeated along its axes.
//!
//! At version 1 it is repeated along one axis, and both the axis and the number are tensors of the input's own type; the
//! reference infers nothing there. Repeats that are computed when the model runs may have any rank for the reference, so only
//! constant ones must be a vector.

use onnx_schema::op;
use onnx_types::Dim;

use crate::cx::{Cx, Outcome, Stop};
use crate::family::elementwise::repeat_first;
use crate::fault::{BAD_VALUE, WRONG_RANK};
use crate::registry::{OpRules, infer, since};
use crate::ty::Dims;

pub(super) const RULES: OpRules =
    infer(op::TILE, &[since(1, along_axis), since(6, tile)]).values(&[since(1, repeat_first)]);

fn along_axis(cx: &mut Cx<'_, '_>) -> Outcome {
    let mut dims = cx.shape(0)?;
    cx.set_shape(0, Dims::from_elem(Dim::Unknown, dims.len()));
    let Ok(Dim::Known(axis)) = cx.scalar(2) else { return Err(Stop::Unknown) };
    let axis = cx.axis(axis, dims.len())?;
    let times = cx.scalar(1).unwrap_or_default();
    let Some(&dim) = dims.get(axis) else { return Err(Stop::Unknown) };
    let size = repeated(cx, dim, times)?;
    if let Some(slot) = dims.get_mut(axis) {
        *slot = size;
    }
    cx.set_dims(0, dims);
    Ok(())
}

fn tile(cx: &mut Cx<'_, '_>) -> Outcome {
    let mut dims = cx.shape(0)?;
    if cx.constant(1).is_some_and(|repeats| repeats.dims().len() != 1) {
        return Err(cx.fail(&WRONG_RANK, "the repeats must be a vector"));
    }
    // The repeats are one for each axis, so their number need not be known.
    let repeats = cx.elements(1)?.unwrap_or_else(|| Dims::from_elem(Dim::Unknown, dims.len()));
    if repeats.len() != dims.len() {
        let (count, rank) = (repeats.len(), dims.len());
        return Err(
            cx.fail(&BAD_VALUE, format_args!("there are {count} repeats for a tensor of rank {rank}"))
        );
    }
    for (dim, times) in dims.iter_mut().zip(repeats) {
        *dim = repeated(cx, *dim, times)?;
    }
    cx.set_dims(0, dims);
    Ok(())
}

fn repeated(cx: &mut Cx<'_, '_>, dim: Dim, times: Dim) -> Outcome<Dim> {
    match times {
        Dim::Known(times) if times < 0 => {
            Err(cx.fail(&BAD_VALUE, format_args!("repeat count {times} is negative")))
        }
        Dim::Unknown if dim == Dim::Known(0) => Ok(dim),
        // A negative number is refused by every run.
        times => cx.product_of_sizes(&[dim, times]),
    }
}
