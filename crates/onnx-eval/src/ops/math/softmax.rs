//! `Hardmax`, `LogSoftmax`, `Softmax`: lines of elements along an axis; before version 13, the tensor becomes a matrix at the
//! axis, and its rows are the lines. A negative axis counts from the end at all versions: the first ones do not mention it, but
//! exporters wrote it and runtimes accept it.
//!
//! The maximum is subtracted first, so no finite input overflows. `LogSoftmax` is `x - max - log(sum)`, which stays finite
//! where the logarithm of `Softmax` does not. A line with NaN or infinity, or of negative infinities only, is NaN. `Hardmax`
//! marks the first maximum.

use onnx_schema::{attr, op};

use crate::cx::{Cx, Operand, Outcome, axes};
use crate::family::lines::Lines;
use crate::family::sum::sum_of;
use crate::number::{Float, Number, by_float};
use crate::registry::{OpKernels, eval, since};

pub(in crate::ops) const KERNELS: &[OpKernels] = &[
    eval(op::HARDMAX, &[since(1, |cx| along(cx, Mode::Hard))]),
    eval(op::LOG_SOFTMAX, &[since(1, |cx| along(cx, Mode::Log))]).open(),
    eval(op::SOFTMAX, &[since(1, |cx| along(cx, Mode::Soft))]).open(),
];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    Hard,
    Log,
    Soft,
}

fn along(cx: &mut Cx<'_, '_>, mode: Mode) -> Outcome {
    let x = cx.tensor(0)?;
    let lines = lines(cx, &x)?;
    cx.work(x.count.saturating_mul(8))?;
    by_float!(x.elem, T => {
        let elements = cx.read::<T>(&x)?;
        let mut out = cx.filled(x.count, T::ZERO)?;
        if lines.inner == 1 {
            let pairs = elements.chunks(lines.length.max(1)).zip(out.chunks_mut(lines.length.max(1)));
            for (elements, out) in pairs {
                cx.poll().step(lines.length.saturating_mul(8))?;
                line(mode, elements, out);
            }
        } else {
            let (mut own, mut result) = (Vec::new(), cx.filled(lines.length, T::ZERO)?);
            for start in lines.starts() {
                cx.poll().step(lines.length.saturating_mul(8))?;
                let places = (0..lines.length).map(|at| start + at * lines.inner);
                own.clear();
                own.extend(places.clone().map(|place| elements[place]));
                line(mode, &own, &mut result);
                places.zip(&result).for_each(|(place, &value)| out[place] = value);
            }
        }
        cx.put(0, x.elem, &x.dims, out)
    })
}

fn lines(cx: &Cx<'_, '_>, x: &Operand) -> Outcome<Lines> {
    if cx.since() >= 13 {
        return Ok(Lines::new(&x.dims, axes::axis(cx.int_or(attr::AXIS, -1)?, x.rank())?));
    }
    let axis = cx.int_or(attr::AXIS, 1)?;
    // The axis may be the rank: each row has one element.
    let axis = if usize::try_from(axis) == Ok(x.rank()) { x.rank() } else { axes::axis(axis, x.rank())? };
    let (outer, length) = (axes::product(&x.dims[..axis]), axes::product(&x.dims[axis..]));
    Ok(Lines { outer, length, inner: 1 })
}

fn line<T: Float>(mode: Mode, elements: &[T], out: &mut [T]) {
    if mode == Mode::Hard {
        let mut max: Option<(T, usize)> = None;
        for (place, &x) in elements.iter().enumerate() {
            if max.is_none_or(|(max, _)| x > max || (x.is_nan() && !max.is_nan())) {
                max = Some((x, place));
            }
        }
        out.iter_mut().enumerate().for_each(|(at, slot)| {
            *slot = if max.is_some_and(|(_, first)| first == at) { T::ONE } else { T::ZERO };
        });
        return;
    }
    // NaN is not the maximum, but it makes the sum NaN.
    let max = elements.iter().fold(T::BOTTOM, |max, &x| if x > max { x } else { max });
    if mode == Mode::Soft {
        out.iter_mut().zip(elements).for_each(|(slot, &x)| *slot = x.minus(max).exponential());
        let sum = sum_of(out, |exponential| exponential);
        out.iter_mut().for_each(|slot| *slot = slot.over(sum).unwrap_or(*slot));
    } else {
        let log = sum_of(elements, |x| x.minus(max).exponential()).logarithm();
        out.iter_mut().zip(elements).for_each(|(slot, &x)| *slot = x.minus(max).minus(log));
    }
}
