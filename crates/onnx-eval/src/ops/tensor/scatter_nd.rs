//! `ScatterND`: a copy of a tensor in which slices are replaced, at coordinates that the last axis of the indices names.
//!
//! Several updates of one place are treated as by `ScatterElements`.

use onnx_schema::op;

use super::gather::index;
use super::scatter::scattered;
use crate::cx::axes::{product, strides};
use crate::cx::{Cx, Outcome, Stop};
use crate::registry::{OpKernels, Takes, eval, since};

pub(super) const KERNELS: OpKernels =
    eval(op::SCATTER_ND, &[since(11, scatter)]).open().takes(&[(1, Takes::Indices { of: 0, axis: Some(0) })]);

fn scatter(cx: &mut Cx<'_, '_>) -> Outcome {
    let (x, indices, updates) = (cx.tensor(0)?, cx.tensor(1)?, cx.tensor(2)?);
    let Some((&depth, outer)) = indices.dims.split_last() else {
        return Err(Stop::failed("the indices are a scalar"));
    };
    let Some(slice) = x.dims.get(depth..) else {
        return Err(Stop::failed(format_args!("{depth} coordinates for data of {} axes", x.rank())));
    };
    let expected = [outer, slice].concat();
    if updates.dims[..] != expected {
        return Err(Stop::wrong_sizes("the tensor of updates", &updates.dims, &expected));
    }
    let own = strides(&x.dims);
    let list = cx.read::<i64>(&indices)?;
    let rows = product(outer);
    let mut places = cx.buffer(rows)?;
    for row in 0..rows {
        let coordinates = list.get(row * depth..(row + 1) * depth).unwrap_or_default();
        let mut place = 0;
        for (axis, &at) in coordinates.iter().enumerate() {
            place += index(at, x.dims[axis])? * own[axis];
        }
        places.push(place);
    }
    scattered(cx, &x, &updates, &places, product(&x.dims[depth..]))
}
