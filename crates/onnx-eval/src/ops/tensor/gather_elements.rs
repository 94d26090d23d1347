//! `GatherElements`: for each index, the element at the same coordinates, except that the index replaces the one of an axis.

use onnx_schema::{attr, op};

use super::gather::index;
use super::scatter::placed;
use crate::cx::{Cx, Outcome, axes};
use crate::number::by_unit;
use crate::registry::{OpKernels, Takes, eval, since};

pub(super) const KERNELS: OpKernels =
    eval(op::GATHER_ELEMENTS, &[since(11, gather)]).takes(&[(1, Takes::Indices { of: 0, axis: None })]);

fn gather(cx: &mut Cx<'_, '_>) -> Outcome {
    let (x, indices) = (cx.tensor(0)?, cx.tensor(1)?);
    let axis = axes::axis(cx.int_or(attr::AXIS, 0)?, x.rank())?;
    let list = cx.read::<i64>(&indices)?;
    let chosen = list.iter().map(|&at| index(at, x.dims[axis])).collect::<Outcome<Vec<_>>>()?;
    let places = placed(cx, &x.dims, &indices.dims, axis, &chosen)?;
    by_unit!(x.elem, U => {
        let elements = cx.units::<U>(&x)?;
        let mut out = cx.buffer(places.len())?;
        out.extend(places.iter().map(|&place| U::clone(&elements[place])));
        cx.put_units::<U>(0, x.elem, &indices.dims, out)
    })
}
