//! `AffineGrid`: the places at which a transformed image of a given size is sampled, in two or three spatial axes.
//!
//! The size is that of the image with batch and channels. The matrices must fit it; the reference does not compare
//! them.

use onnx_schema::op;
use onnx_types::Dim;

use crate::cx::{Cx, Outcome, Stop};
use crate::fault::BAD_VALUE;
use crate::registry::{OpRules, infer, since};
use crate::ty::{Dims, at};

pub(super) const RULES: OpRules = infer(op::AFFINE_GRID, &[since(20, affine_grid)]);

fn affine_grid(cx: &mut Cx<'_, '_>) -> Outcome {
    cx.shape_of_rank(1, 1)?;
    let size = cx.elements(1)?.ok_or(Stop::Unknown)?;
    let (&[batch, _, ref spatial @ ..], 4 | 5) = (size.as_slice(), size.len()) else {
        let count = size.len();
        return Err(cx.fail(&BAD_VALUE, format_args!("the size has {count} numbers, not 4 or 5")));
    };
    let axes = if spatial.len() == 2 { 2 } else { 3 };
    let coordinates = Dim::Known(axes);
    let matrices = cx.dims_of_rank(0, 3)?;
    cx.agree(batch, at(&matrices, 0), "the numbers of images and of matrices")?;
    cx.agree(at(&matrices, 1), coordinates, "the rows of a matrix and the spatial axes")?;
    let columns = Dim::Known(if axes == 2 { 3 } else { 4 });
    cx.agree(at(&matrices, 2), columns, "the columns of a matrix and the coordinates of a place")?;
    let mut dims = Dims::new();
    for &size in [batch].iter().chain(spatial) {
        dims.push(if cx.is_size(size) { size } else { Dim::Unknown });
    }
    dims.push(coordinates);
    cx.set_dims(0, dims);
    Ok(())
}
