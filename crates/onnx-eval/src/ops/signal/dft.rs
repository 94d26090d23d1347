//! `DFT`: the discrete Fourier transform along an axis; the last axis holds the real and the imaginary part, or the real part.
//!
//! Computed in `double` and rounded once. A signal that is longer than `dft_length` is cut, a shorter one gets zeros at the
//! end. With `onesided`, the transform of a real signal is cut after `dft_length/2 + 1` numbers; the inverse takes as many,
//! completes them to the transform of a real signal and returns its real part, so the imaginary parts of the first number and,
//! for even lengths, of the last one do not count. Its length is `2*(n - 1)` for `n` numbers if none is given. A one-sided
//! transform of a complex signal and a one-sided inverse of real numbers fail, as in the text; the reference computes both.

use onnx_schema::{attr, op};

use crate::cx::axes::{product, size};
use crate::cx::{Cx, Dims, Operand, Outcome, Stop, axes};
use crate::family::fourier::{Fourier, Number};
use crate::ops::math::cast::put_real;
use crate::registry::{OpKernels, Takes, eval, since};

pub(super) const KERNELS: OpKernels = eval(op::DFT, &[since(17, by_attribute), since(20, by_input)])
    .open()
    .takes(&[(1, Takes::Within(1.0, 3.0))]);

fn by_attribute(cx: &mut Cx<'_, '_>) -> Outcome {
    let axis = cx.int_or(attr::AXIS, 1)?;
    transform(cx, axis)
}

fn by_input(cx: &mut Cx<'_, '_>) -> Outcome {
    let axis = if cx.has_input(2) { cx.scalar_int(2)? } else { -2 };
    transform(cx, axis)
}

/// What is transformed into what.
struct Settings {
    is_inverse: bool,
    is_onesided: bool,
    axis: usize,
    /// Parts of a number of the input.
    parts: usize,
    /// Numbers of a line that is transformed.
    length: usize,
    /// Sizes of the result.
    dims: Dims,
}

impl Settings {
    fn read(cx: &Cx<'_, '_>, x: &Operand, axis: i64) -> Outcome<Self> {
        let (is_inverse, is_onesided) = (cx.flag(attr::INVERSE)?, cx.flag(attr::ONESIDED)?);
        let parts = match x.dims.last() {
            Some(&parts @ (1 | 2)) if x.rank() > 1 => parts,
            _ => return Err(Stop::failed("the last axis of the input must have one element or two")),
        };
        if is_onesided && parts == (if is_inverse { 1 } else { 2 }) {
            return Err(Stop::failed("`onesided` takes a real input, and with `inverse` a complex one"));
        }
        let axis = axes::axis(axis, x.rank())?;
        if axis + 1 == x.rank() {
            return Err(Stop::failed("the axis is that of the parts of a number"));
        }
        let given = x.dims[axis];
        let length = if cx.has_input(1) {
            size(cx.scalar_int(1)?)?
        } else if is_inverse && is_onesided {
            given.checked_sub(1).and_then(|less| less.checked_mul(2)).unwrap_or(0)
        } else {
            given
        };
        if length == 0 {
            return Err(Stop::failed("the transform has no elements"));
        }
        let mut dims = x.dims.clone();
        dims[axis] = if is_onesided && !is_inverse { length / 2 + 1 } else { length };
        dims[x.rank() - 1] = if is_onesided && is_inverse { 1 } else { 2 };
        Ok(Self { is_inverse, is_onesided, axis, parts, length, dims })
    }
}

fn transform(cx: &mut Cx<'_, '_>, axis: i64) -> Outcome {
    let x = cx.tensor(0)?;
    let settings = Settings::read(cx, &x, axis)?;
    let elements = cx.read_f64(&x)?;
    let mut out = cx.filled(cx.count(&settings.dims)?, 0.0)?;
    if !out.is_empty() {
        lines(cx, &x, &settings, &elements, &mut out)?;
    }
    put_real(cx, 0, x.elem, &settings.dims, &out)
}

/// Transforms all lines along the axis.
fn lines(
    cx: &mut Cx<'_, '_>,
    x: &Operand,
    settings: &Settings,
    elements: &[f64],
    out: &mut [f64],
) -> Outcome {
    let &Settings { axis, parts, length, .. } = settings;
    let (given, bins, out_parts) = (x.dims[axis], settings.dims[axis], settings.dims[x.rank() - 1]);
    let (outer, inner) = (product(&x.dims[..axis]), product(&x.dims[axis + 1..x.rank() - 1]));
    let is_real = settings.is_inverse && settings.is_onesided;
    let used = given.min(if is_real { length / 2 + 1 } else { length });
    let mut fourier = Fourier::new(cx, length, settings.is_inverse)?;
    let mut line = cx.filled(length, Number::default())?;
    for (o, i) in (0..outer).flat_map(|o| (0..inner).map(move |i| (o, i))) {
        line.fill(Number::default());
        for (k, number) in line.iter_mut().take(used).enumerate() {
            let at = ((o * given + k) * inner + i) * parts;
            number.re = elements[at];
            number.im = if parts == 2 { elements[at + 1] } else { 0.0 };
        }
        if is_real {
            for k in 1..=(length - 1) / 2 {
                line[length - k] = line[k].conj();
            }
        }
        fourier.apply(cx, &mut line)?;
        for (k, number) in line.iter().take(bins).enumerate() {
            let at = ((o * bins + k) * inner + i) * out_parts;
            out[at] = number.re;
            if out_parts == 2 {
                out[at + 1] = number.im;
            }
        }
    }
    Ok(())
}
