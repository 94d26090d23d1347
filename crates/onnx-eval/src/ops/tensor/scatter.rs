//! `ScatterElements`, `Scatter`: a copy of a tensor in which elements are replaced: each update goes to its own coordinates,
//! except that an index replaces the one of an axis.
//!
//! With a reduction, updates are combined with what is there, in order. Without one, the last of several updates of one place
//! wins, which the specification leaves open.

use onnx_schema::{attr, op};

use super::gather::index;
use crate::cx::axes::{product, strides};
use crate::cx::{Cx, Operand, Outcome, Stop, axes};
use crate::family::broadcast::for_each_piece;
use crate::number::{Number, by_number, by_unit};
use crate::ops::math::variadic::{greater, smaller};
use crate::registry::{OpKernels, Takes, eval, since};

pub(super) const ELEMENTS: OpKernels = eval(op::SCATTER_ELEMENTS, &[since(11, scatter)])
    .open()
    .takes(&[(1, Takes::Indices { of: 0, axis: None })]);

pub(super) const SCATTER: OpKernels =
    eval(op::SCATTER, &[since(9, scatter)]).takes(&[(1, Takes::Indices { of: 0, axis: None })]);

fn scatter(cx: &mut Cx<'_, '_>) -> Outcome {
    let (x, indices, updates) = (cx.tensor(0)?, cx.tensor(1)?, cx.tensor(2)?);
    let axis = axes::axis(cx.int_or(attr::AXIS, 0)?, x.rank())?;
    if indices.dims != updates.dims {
        return Err(Stop::wrong_sizes("the tensor of updates", &updates.dims, &indices.dims));
    }
    let list = cx.read::<i64>(&indices)?;
    let chosen = list.iter().map(|&at| index(at, x.dims[axis])).collect::<Outcome<Vec<_>>>()?;
    let places = placed(cx, &x.dims, &indices.dims, axis, &chosen)?;
    scattered(cx, &x, &updates, &places, 1)
}

/// The offset in a tensor of each index: its own coordinates, except along the axis.
pub(super) fn placed(
    cx: &mut Cx<'_, '_>,
    dims: &[usize],
    index_dims: &[usize],
    axis: usize,
    chosen: &[usize],
) -> Outcome<Vec<usize>> {
    let fits = |(at, (&size, &own)): (usize, (&usize, &usize))| at == axis || size <= own;
    if index_dims.len() != dims.len() || !index_dims.iter().zip(dims).enumerate().all(fits) {
        return Err(Stop::failed(format_args!(
            "indices of the sizes {index_dims:?} exceed the data {dims:?} outside axis {axis}"
        )));
    }
    let own = strides(dims);
    let mut steps = own.clone();
    steps[axis] = 0;
    let mut places = cx.buffer(product(index_dims))?;
    let mut chosen = chosen.iter();
    for_each_piece(cx.poll(), index_dims, [&steps], |[at], [step], length| {
        let row = chosen.by_ref().take(length).enumerate();
        places.extend(row.map(|(i, &index)| at + i * step + index * own[axis]));
    })?;
    Ok(places)
}

/// Sets the output to a tensor with blocks of `length` updates written to, or combined with, the elements at the places.
pub(super) fn scattered(
    cx: &mut Cx<'_, '_>,
    x: &Operand,
    updates: &Operand,
    places: &[usize],
    length: usize,
) -> Outcome {
    let outside = || Stop::failed("the updates do not fit the data");
    let reduction = cx.text(attr::REDUCTION)?;
    if matches!(reduction, "" | "none") {
        return by_unit!(x.elem, U => {
            let (elements, updates) = (cx.units::<U>(x)?, cx.units::<U>(updates)?);
            let mut out: Vec<U> = cx.buffer(x.count)?;
            cx.poll().copy(&elements, &mut out)?;
            for (&place, block) in places.iter().zip(updates.chunks(length.max(1))) {
                cx.poll().step(block.len())?;
                let slots = out.get_mut(place..place + block.len()).ok_or_else(outside)?;
                slots.clone_from_slice(block);
            }
            cx.put_units(0, x.elem, &x.dims, out)
        });
    }
    by_number!(x.elem, T => {
        let combine: fn(T, T) -> T = match reduction {
            "add" => T::plus,
            "mul" => T::times,
            "max" => greater::<T>,
            "min" => smaller::<T>,
            _ => return Err(Stop::failed("`reduction` names no reduction")),
        };
        let (elements, updates) = (cx.read::<T>(x)?, cx.read::<T>(updates)?);
        let mut out = cx.buffer(x.count)?;
        cx.poll().copy(&elements, &mut out)?;
        for (&place, block) in places.iter().zip(updates.chunks(length.max(1))) {
            cx.poll().step(block.len())?;
                let slots = out.get_mut(place..place + block.len()).ok_or_else(outside)?;
            for (slot, &update) in slots.iter_mut().zip(block) {
                *slot = crate::number::fit(x.elem, combine(*slot, update));
            }
        }
        cx.put(0, x.elem, &x.dims, out)
    })
}
