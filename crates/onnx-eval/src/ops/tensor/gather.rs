//! `Gather`: slices of a tensor along an axis, by indices, which count from the end if negative. An index outside the axis
//! fails the run.

use onnx_schema::{attr, op};

use crate::cx::{Cx, Dims, Outcome, Stop, axes};
use crate::family::lines::Lines;
use crate::number::by_unit;
use crate::registry::{OpKernels, Takes, eval, since};

pub(super) const KERNELS: OpKernels =
    eval(op::GATHER, &[since(1, gather)]).takes(&[(1, Takes::Indices { of: 0, axis: None })]);

/// An index of an axis; negative ones count from the end.
pub(crate) fn index(index: i64, size: usize) -> Outcome<usize> {
    let from_start = if index < 0 { i128::from(index) + size as i128 } else { i128::from(index) };
    let outside = || Stop::failed(format_args!("index {index} is outside an axis of size {size}"));
    usize::try_from(from_start).ok().filter(|&index| index < size).ok_or_else(outside)
}

fn gather(cx: &mut Cx<'_, '_>) -> Outcome {
    let (x, indices) = (cx.tensor(0)?, cx.tensor(1)?);
    let axis = axes::axis(cx.int_or(attr::AXIS, 0)?, x.rank())?;
    let mut dims: Dims = x.dims[..axis].into();
    dims.extend_from_slice(&indices.dims);
    dims.extend_from_slice(&x.dims[axis + 1..]);
    let lines = Lines::new(&x.dims, axis);
    let list = cx.read::<i64>(&indices)?;
    let places = list.iter().map(|&at| index(at, lines.length)).collect::<Outcome<Vec<_>>>()?;
    by_unit!(x.elem, U => {
        let elements = cx.units::<U>(&x)?;
        let mut out = cx.buffer(cx.count(&dims)?)?;
        for outer in 0..lines.outer {
            for place in &places {
                let from = (outer * lines.length + place) * lines.inner;
                out.extend_from_slice(elements.get(from..from + lines.inner).unwrap_or_default());
            }
        }
        cx.put_units::<U>(0, x.elem, &dims, out)
    })
}
