//! `GatherND`: slices by coordinates: the last axis of the indices names places on the first axes of the data, after
//! `batch_dims` axes that both share.

use onnx_schema::{attr, op};

use super::gather::index;
use crate::cx::axes::{product, size, strides};
use crate::cx::{Cx, Dims, Outcome, Stop};
use crate::number::by_unit;
use crate::registry::{OpKernels, Takes, eval, since};

pub(super) const KERNELS: OpKernels =
    eval(op::GATHER_ND, &[since(11, gather)]).takes(&[(1, Takes::Indices { of: 0, axis: Some(0) })]);

fn gather(cx: &mut Cx<'_, '_>) -> Outcome {
    let (x, indices) = (cx.tensor(0)?, cx.tensor(1)?);
    let batch = size(cx.int_or(attr::BATCH_DIMS, 0)?)?;
    let Some((&depth, outer)) = indices.dims.split_last() else {
        return Err(Stop::failed("the indices are a scalar"));
    };
    if batch > outer.len() || batch + depth > x.rank() || x.dims[..batch] != outer[..batch] {
        return Err(Stop::failed(format_args!(
            "indices {:?} do not fit data {:?}: the first {batch} sizes must be equal, and {depth} coordinates have {} axes",
            indices.dims,
            x.dims,
            x.rank().saturating_sub(batch)
        )));
    }
    let slice = &x.dims[batch + depth..];
    let mut dims: Dims = outer.into();
    dims.extend_from_slice(slice);
    let (length, own) = (product(slice), strides(&x.dims));
    let (batches, rows) = (product(&x.dims[..batch]), product(&outer[batch..]));
    let block = product(&x.dims[batch..]);
    let list = cx.read::<i64>(&indices)?;
    by_unit!(x.elem, U => {
        let elements = cx.units::<U>(&x)?;
        let mut out = cx.buffer(cx.count(&dims)?)?;
        cx.work(batches.saturating_mul(rows))?;
        for b in 0..batches {
            for row in 0..rows {
                let begin = (b * rows + row) * depth;
                let mut from = b * block;
                for (at, axis) in list.get(begin..begin + depth).unwrap_or_default().iter().zip(batch..) {
                    from += index(*at, x.dims[axis])? * own[axis];
                }
                cx.poll().copy(elements.get(from..from + length).unwrap_or_default(), &mut out)?;
            }
        }
        cx.put_units::<U>(0, x.elem, &dims, out)
    })
}
