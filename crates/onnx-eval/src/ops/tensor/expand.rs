//! `Expand`: a tensor repeated along axes of size 1. It broadcasts in both directions: a 1 in the shape keeps the size
//! of the input. One element becomes a splat, so its repetition has no cost until a kernel reads all elements.

use onnx_schema::op;

use crate::cx::{Cx, Outcome, axes};
use crate::family::broadcast::{joined, repeated};
use crate::family::layout::gathered;
use crate::number::by_unit;
use crate::registry::{OpKernels, Takes, eval, since};

pub(super) const KERNELS: OpKernels = eval(op::EXPAND, &[since(8, expand)]).takes(&[(1, Takes::ONE)]);

/// Minimum number of elements of a splat; smaller tensors are written out, so that kernels read them in place.
const SPLAT: usize = 4096;

fn expand(cx: &mut Cx<'_, '_>) -> Outcome {
    let x = cx.tensor(0)?;
    let shape = axes::sizes(&cx.vector(1)?)?;
    let dims = joined(&[&x.dims, &shape])?;
    if dims == x.dims {
        return cx.put_value(0, x.tensor);
    }
    let count = cx.count(&dims)?;
    if x.count == 1
        && count >= SPLAT
        && let Some(splat) = Cx::splat(x.elem, x.tensor.payload())
    {
        let tensor = cx.tensor_of(x.elem, &dims, splat)?;
        return cx.put_value(0, tensor);
    }
    let steps: Vec<isize> = repeated(&x.dims, &dims).iter().map(|&step| step as isize).collect();
    by_unit!(x.elem, U => {
        let elements = cx.units::<U>(&x)?;
        let out = gathered::<U>(cx, &elements, &dims, 0, &steps)?;
        cx.put_units(0, x.elem, &dims, out)
    })
}
