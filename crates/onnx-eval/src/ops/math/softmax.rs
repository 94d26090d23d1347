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
use crate::number::{Float, Number, by_float};
use crate::registry::{OpKernels, eval, since};

pub(in crate::ops) const KERNELS: &[OpKernels] = &[
    eval(op::HARDMAX, &[since(1, |cx| along(cx, Mode::Hard))]),
    eval(op::LOG_SOFTMAX, &[since(1, |cx| along(cx, Mode::Log))]),
    eval(op::SOFTMAX, &[since(1, |cx| along(cx, Mode::Soft))]),
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
        for start in lines.starts() {
            let places = (0..lines.length).map(|at| start + at * lines.inner);
            line(mode, places, &elements, &mut out);
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

fn line<T: Float>(mode: Mode, places: impl Iterator<Item = usize> + Clone, elements: &[T], out: &mut [T]) {
    let mut max: Option<(T, usize)> = None;
    for place in places.clone() {
        let x = elements[place];
        if max.is_none_or(|(max, _)| x > max || (x.is_nan() && !max.is_nan())) {
            max = Some((x, place));
        }
    }
    let Some((max, first)) = max else { return };
    if mode == Mode::Hard {
        out[first] = T::ONE;
        return;
    }
    let mut sum = T::ZERO;
    for place in places.clone() {
        let shifted = elements[place].minus(max);
        let exponential = shifted.exponential();
        out[place] = if mode == Mode::Soft { exponential } else { shifted };
        sum = sum.plus(exponential);
    }
    let log = sum.logarithm();
    for place in places {
        let value = out[place];
        out[place] = if mode == Mode::Soft { value.over(sum).unwrap_or(value) } else { value.minus(log) };
    }
}
