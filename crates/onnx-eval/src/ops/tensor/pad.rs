//! `Pad`: elements added at the ends of axes, or removed where the number is negative.
//!
//! Modes: `constant` (0 by default), `reflect` without repeating the edge, `edge`, and `wrap`. A pad wider than the axis
//! continues to reflect. An axis without elements can only be padded with a constant. Pads and value are attributes before
//! version 11; from version 18 on an input may name the axes.

use onnx_schema::{attr, op};
use onnx_types::tensor::Payload;

use crate::cx::axes::{product, strides};
use crate::cx::{Cx, Dims, Operand, Outcome, Stop, axes};
use crate::number::{Number, Unit, by_number, by_unit};
use crate::registry::{OpKernels, Takes, eval, since};

pub(super) const KERNELS: OpKernels = eval(
    op::PAD,
    &[
        since(1, |cx| by_attribute(cx, attr::PADDINGS)),
        since(2, |cx| by_attribute(cx, attr::PADS)),
        since(11, by_input),
    ],
)
.takes(&[(1, Takes::Within(0.0, 1.0))]);

fn by_attribute(cx: &mut Cx<'_, '_>, name: onnx_types::Symbol) -> Outcome {
    let x = cx.tensor(0)?;
    let pads = cx.ints(name)?.unwrap_or_default();
    let value = cx.float_or(attr::VALUE, 0.0)?;
    let fill = by_number!(x.elem, T => Ok(T::encode(x.elem, vec![T::of_f64(f64::from(value))])))?;
    pad(cx, &x, &pads, fill)
}

fn by_input(cx: &mut Cx<'_, '_>) -> Outcome {
    let x = cx.tensor(0)?;
    let given = cx.list(1)?;
    let pads = match cx.optional_list(3)? {
        None => given,
        Some(listed) => {
            let mut pads = vec![0; 2 * x.rank()];
            if given.len() != 2 * listed.len() {
                return Err(Stop::failed(format_args!(
                    "{} pads for {} axes, two are needed for each",
                    given.len(),
                    listed.len()
                )));
            }
            for (at, axis) in axes::axes(&listed, x.rank())?.into_iter().enumerate() {
                pads[axis] = given[at];
                pads[axis + x.rank()] = given[at + listed.len()];
            }
            pads
        }
    };
    let fill = match cx.optional(2)? {
        Some(value) if value.count == 1 && value.elem == x.elem => by_unit!(x.elem, U => {
            U::store(x.elem, cx.units::<U>(&value)?.into_vec())
        }),
        Some(value) => {
            return Err(Stop::failed(format_args!(
                "the value is {}{:?} instead of one element of {}",
                value.elem, value.dims, x.elem
            )));
        }
        None => by_unit!(x.elem, U => U::store(x.elem, vec![U::zero()])),
    };
    pad(cx, &x, &pads, fill)
}

/// The source of an element of the result along one axis: an index, or the fill.
type Sources = Vec<Option<usize>>;

fn pad(cx: &mut Cx<'_, '_>, x: &Operand, pads: &[i64], fill: Payload) -> Outcome {
    let rank = x.rank();
    if pads.len() != 2 * rank {
        return Err(Stop::failed(format_args!("{} pads for {rank} axes", pads.len())));
    }
    let mode = cx.text(attr::MODE)?;
    let mut sources: Vec<Sources> = Vec::with_capacity(rank);
    for (axis, &size) in x.dims.iter().enumerate() {
        let (before, after) = (pads[axis], pads[axis + rank]);
        let length = i128::from(before) + i128::from(after) + size as i128;
        let length = usize::try_from(length).map_err(|_| {
            Stop::failed(format_args!(
                "pads {before} and {after} remove more than the {size} elements of axis {axis}"
            ))
        })?;
        cx.count(&[length])?;
        let mut axis = cx.buffer(length)?;
        for at in 0..length {
            axis.push(source(mode, at as i128 - i128::from(before), size)?);
        }
        sources.push(axis);
    }
    let dims: Dims = sources.iter().map(Vec::len).collect();
    let fill = cx.tensor_of(x.elem, &[], fill)?;
    by_unit!(x.elem, U => {
        let fill = U::load(&fill, cx.data)?.first().cloned().unwrap_or_else(U::zero);
        let elements = cx.units::<U>(x)?;
        let out = padded::<U>(cx, &elements, &x.dims, &dims, &sources, &fill)?;
        cx.put_units(0, x.elem, &dims, out)
    })
}

/// The index that an index before or after the axis stands for.
fn source(mode: &str, at: i128, size: usize) -> Outcome<Option<usize>> {
    let length = size as i128;
    if (0..length).contains(&at) {
        return Ok(Some(at as usize));
    }
    if mode != "constant" && !mode.is_empty() && size == 0 {
        return Err(Stop::failed("an axis without elements cannot be repeated"));
    }
    let index = match mode {
        "constant" | "" => return Ok(None),
        "edge" => at.clamp(0, length - 1),
        "wrap" => at.rem_euclid(length),
        "reflect" if size == 1 => 0,
        "reflect" => {
            let period = 2 * (length - 1);
            let at = at.rem_euclid(period);
            at.min(period - at)
        }
        _ => return Err(Stop::failed("`mode` names no mode")),
    };
    Ok(Some(index as usize))
}

fn padded<U: Unit>(
    cx: &mut Cx<'_, '_>,
    elements: &[U],
    own: &[usize],
    dims: &[usize],
    sources: &[Sources],
    fill: &U,
) -> Outcome<Vec<U>> {
    let mut out = cx.buffer(cx.count(dims)?)?;
    let strides = strides(own);
    let Some((last, outer)) = sources.split_last() else {
        out.extend(elements.first().cloned());
        return Ok(out);
    };
    let mut index: Dims = outer.iter().map(|_| 0).collect();
    for _ in 0..product(dims).checked_div(last.len()).unwrap_or(0) {
        let places = index.iter().zip(outer).zip(&strides);
        let start = places.map(|((&at, axis), &stride)| Some(axis[at]? * stride)).sum::<Option<usize>>();
        cx.poll().step(last.len())?;
        match start {
            Some(start) => out.extend(
                last.iter()
                    .map(|source| source.and_then(|at| elements.get(start + at)).unwrap_or(fill).clone()),
            ),
            None => out.resize(out.len() + last.len(), fill.clone()),
        }
        for axis in (0..index.len()).rev() {
            index[axis] += 1;
            if index[axis] < dims[axis] {
                break;
            }
            index[axis] = 0;
        }
    }
    Ok(out)
}
