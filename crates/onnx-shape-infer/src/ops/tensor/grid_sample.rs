//! `GridSample`: an image sampled at the places that a grid holds; the output has the spatial sizes of the grid.
//!
//! Both have the same rank, and the grid one coordinate for each spatial axis.

use onnx_schema::op;
use onnx_types::Dim;

use crate::cx::{Cx, Outcome};
use crate::fault::{SIZES_DIFFER, WRONG_RANK};
use crate::registry::{OpRules, infer, since};
use crate::ty::Dims;

pub(super) const RULES: OpRules = infer(op::GRID_SAMPLE, &[since(16, grid_sample)]);

fn grid_sample(cx: &mut Cx<'_, '_>) -> Outcome {
    let (image, grid) = (cx.shape(0)?, cx.shape(1)?);
    let rank = image.len();
    if rank != grid.len() {
        let other = grid.len();
        return Err(cx.fail(&WRONG_RANK, format_args!("the image has rank {rank} and the grid {other}")));
    }
    let (&[batch, channels, _, ..], [grid_batch, spatial @ .., depth]) = (image.as_slice(), grid.as_slice())
    else {
        return Err(cx.fail(&WRONG_RANK, format_args!("the image has rank {rank} and no spatial axis")));
    };
    if let Dim::Known(depth) = *depth
        && usize::try_from(depth).ok() != Some(spatial.len())
    {
        let axes = spatial.len();
        return Err(cx.fail(&SIZES_DIFFER, format_args!("the grid has {depth} coordinates for {axes} axes")));
    }
    cx.agree(batch, *grid_batch, "the batch sizes of the image and of the grid")?;
    let mut dims = Dims::from_slice(&[
        if batch.known().is_some() { batch } else { better(batch, *grid_batch) },
        channels,
    ]);
    dims.extend_from_slice(spatial);
    cx.set_dims(0, dims);
    Ok(())
}

/// Of two sizes that are equal in every valid run, the one that is a number.
const fn better(a: Dim, b: Dim) -> Dim {
    if b.known().is_some() { b } else { a }
}
