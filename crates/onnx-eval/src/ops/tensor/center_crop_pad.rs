//! `CenterCropPad`: axes cropped or padded with zeros to given sizes, around the center. Of an odd number of elements, the
//! smaller half is removed or added before.

use onnx_schema::{attr, op};

use crate::cx::axes::strides;
use crate::cx::{Cx, Outcome, Stop, axes};
use crate::family::broadcast::for_each_piece;
use crate::number::{Unit, by_unit};
use crate::registry::{OpKernels, Takes, eval, since};

pub(super) const KERNELS: OpKernels =
    eval(op::CENTER_CROP_PAD, &[since(18, center)]).takes(&[(1, Takes::Within(1.0, 3.0))]);

fn center(cx: &mut Cx<'_, '_>) -> Outcome {
    let x = cx.tensor(0)?;
    let shape = axes::sizes(&cx.list(1)?)?;
    let listed = cx.ints(attr::AXES)?.unwrap_or_else(|| (0..x.rank() as i64).collect());
    let listed = axes::axes(&listed, x.rank())?;
    if listed.len() != shape.len() {
        return Err(Stop::failed(format_args!("{} sizes for {} axes", shape.len(), listed.len())));
    }
    let mut dims = x.dims.clone();
    for (&axis, &size) in listed.iter().zip(&shape) {
        dims[axis] = size;
    }
    // The limits bound the products of sizes below.
    let count = cx.count(&dims)?;
    let (from, to) = (strides(&x.dims), strides(&dims));
    // The common part begins after the removed elements of the input and after the added ones of the result.
    let (mut start, mut place, mut common) = (0, 0, dims.clone());
    for axis in 0..x.rank() {
        start += x.dims[axis].saturating_sub(dims[axis]) / 2 * from[axis];
        place += dims[axis].saturating_sub(x.dims[axis]) / 2 * to[axis];
        common[axis] = dims[axis].min(x.dims[axis]);
    }
    by_unit!(x.elem, U => {
        let elements = cx.units::<U>(&x)?;
        let mut out = cx.filled(count, U::zero())?;
        for_each_piece(cx.poll(), &common, [&from, &to], |[a, b], [da, db], length| {
            for i in 0..length {
                out[place + b + i * db] = elements[start + a + i * da].clone();
            }
        })?;
        cx.put_units::<U>(0, x.elem, &dims, out)
    })
}
