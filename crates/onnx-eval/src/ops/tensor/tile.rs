//! `Tile`: a tensor repeated along each axis; in version 1, along one axis.

use onnx_schema::op;

use crate::cx::axes::{product, size, sizes};
use crate::cx::{Cx, Dims, Outcome, Stop, axes};
use crate::number::by_unit;
use crate::registry::{OpKernels, Takes, eval, since};

pub(super) const KERNELS: OpKernels =
    eval(op::TILE, &[since(1, along_one), since(6, tile)]).takes(&[(1, Takes::ONE)]);

fn along_one(cx: &mut Cx<'_, '_>) -> Outcome {
    let rank = cx.tensor(0)?.rank();
    // Both operands have the type of the data, so they may be floats.
    let [times, axis] = [1, 2].map(|index| {
        let operand = cx.tensor(index)?;
        match *cx.read_f64(&operand)? {
            [value] if value.fract() == 0.0 => Ok(value as i64),
            _ => Err(Stop::failed("a count or axis is not one integer")),
        }
    });
    let mut repeats: Dims = (0..rank).map(|_| 1).collect();
    repeats[axes::axis(axis?, rank)?] = size(times?)?;
    repeated(cx, &repeats)
}

fn tile(cx: &mut Cx<'_, '_>) -> Outcome {
    let repeats = sizes(&cx.vector(1)?)?;
    repeated(cx, &repeats)
}

fn repeated(cx: &mut Cx<'_, '_>, repeats: &[usize]) -> Outcome {
    let x = cx.tensor(0)?;
    if repeats.len() != x.rank() {
        return Err(Stop::failed(format_args!("{} counts for {} axes", repeats.len(), x.rank())));
    }
    let products = x.dims.iter().zip(repeats).map(|(&dim, &times)| dim.checked_mul(times));
    let dims = products.collect::<Option<Dims>>().ok_or(Stop::Limit("run_elements"))?;
    let count = cx.count(&dims)?;
    by_unit!(x.elem, U => {
        let elements = cx.units::<U>(&x)?;
        let mut tiled: Vec<U> = elements.to_vec();
        // From the last axis to the first, each block of the axis is repeated.
        for axis in (0..x.rank()).rev() {
            if repeats[axis] == 1 {
                continue;
            }
            let block = x.dims[axis] * product(&dims[axis + 1..]);
            let next = cx.buffer::<U>(tiled.len().saturating_mul(repeats[axis]).min(count))?;
            tiled = tiled.chunks(block.max(1)).try_fold(next, |mut next, block| {
                (0..repeats[axis]).try_for_each(|_| cx.poll().copy(block, &mut next))?;
                Ok::<_, Stop>(next)
            })?;
        }
        cx.put_units(0, x.elem, &dims, tiled)
    })
}
