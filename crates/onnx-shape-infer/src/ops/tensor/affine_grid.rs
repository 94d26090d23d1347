//! `AffineGrid`: the places at which a transformed image of a given size is sampled, in two or three spatial axes.
//!
//! The size is that of the image with batch and channels. The matrices are not compared with it, as in the reference.

use onnx_schema::op;
use onnx_types::Dim;

use crate::cx::{Cx, Outcome, Stop};
use crate::fault::BAD_VALUE;
use crate::registry::{OpRules, infer, since};
use crate::ty::Dims;

pub(super) const RULES: OpRules = infer(op::AFFINE_GRID, &[since(20, affine_grid)]);

fn affine_grid(cx: &mut Cx<'_, '_>) -> Outcome {
    cx.shape_of_rank(1, 1)?;
    let size = cx.elements(1).ok_or(Stop::Unknown)?;
    let (&[batch, _, ref spatial @ ..], 4 | 5) = (size.as_slice(), size.len()) else {
        let count = size.len();
        return Err(cx.fail(&BAD_VALUE, format_args!("the size has {count} numbers, not 4 or 5")));
    };
    let coordinates = Dim::Known(if spatial.len() == 2 { 2 } else { 3 });
    let mut dims = Dims::new();
    for &size in [batch].iter().chain(spatial) {
        dims.push(if cx.is_size(size) { size } else { Dim::Unknown });
    }
    dims.push(coordinates);
    cx.set_dims(0, dims);
    Ok(())
}
