//! `AffineGrid`: the places of the pixels of an image, from -1 to 1, moved by a matrix for each image.
//!
//! Without `align_corners`, -1 and 1 are the edges of the image and places are the centers of pixels, with it they are the
//! centers of the first and the last pixel; a single pixel is at -1 then.

use onnx_schema::{attr, op};

use crate::cx::axes::{product, sizes};
use crate::cx::{Cx, Dims, Outcome, Stop};
use crate::family::window::advance;
use crate::ops::math::cast::put_real;
use crate::registry::{OpKernels, eval, since};

pub(super) const KERNELS: OpKernels = eval(op::AFFINE_GRID, &[since(20, grid)]).open();

fn grid(cx: &mut Cx<'_, '_>) -> Outcome {
    let theta = cx.tensor(0)?;
    let size = sizes(&cx.vector(1)?)?;
    let [batch, _, spatial @ ..] = size.as_slice() else {
        return Err(Stop::failed("`size` has too few elements"));
    };
    let (batch, axes) = (*batch, spatial.len());
    if !(2..=3).contains(&axes) || theta.dims[..] != [batch, axes, axes + 1] {
        return Err(Stop::failed(format_args!(
            "matrices {:?} do not fit a batch of {batch} images of {axes} axes",
            theta.dims
        )));
    }
    let aligned = cx.flag(attr::ALIGN_CORNERS)?;
    let mut dims: Dims = [batch].as_slice().into();
    dims.extend_from_slice(spatial);
    dims.push(axes);
    let matrices = cx.read_f64(&theta)?;
    let count = cx.count(&dims)?;
    cx.work(count.saturating_mul(axes + 1))?;
    let mut out = cx.buffer(count)?;
    let place = |(&at, &size): (&usize, &usize)| match (aligned, size) {
        (true, 0 | 1) => -1.0,
        (true, size) => 2.0 * at as f64 / (size as f64 - 1.0) - 1.0,
        (false, size) => (2.0 * at as f64 + 1.0) / size as f64 - 1.0,
    };
    if count > 0 {
        for matrix in matrices.chunks_exact(axes * (axes + 1)) {
            let mut index: Dims = spatial.iter().map(|_| 0).collect();
            for _ in 0..product(spatial) {
                let places: Vec<f64> = index.iter().zip(spatial).rev().map(place).chain([1.0]).collect();
                for row in matrix.chunks_exact(axes + 1) {
                    out.push(row.iter().zip(&places).map(|(factor, place)| factor * place).sum());
                }
                advance(&mut index, spatial);
            }
        }
    }
    put_real(cx, 0, theta.elem, &dims, &out)
}
