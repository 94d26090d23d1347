//! `BlackmanWindow`, `HammingWindow`, `HannWindow`: sums of cosines. A periodic window of `size` elements is the first part of a
//! symmetric one with one element more; a symmetric window of one element is NaN, as the formula divides by 0.
//!
//! The function bodies of the standard compute in `float`, so an element that is 1 up to a rounding error of `double` becomes
//! the integer 1.

use onnx_schema::{attr, op};
use onnx_types::ElemType;

use crate::cx::{Cx, Outcome, Stop, axes};
use crate::number::{Number, by_number};
use crate::registry::{OpKernels, Takes, eval, since};

pub(in crate::ops) const KERNELS: &[OpKernels] = &[
    eval(op::BLACKMAN_WINDOW, &[since(17, |cx| window(cx, [0.42, -0.5, 0.08]))])
        .open()
        .takes(&[(0, Takes::Within(1.0, 3.0))]),
    eval(op::HAMMING_WINDOW, &[since(17, |cx| window(cx, [25.0 / 46.0, -21.0 / 46.0, 0.0]))])
        .open()
        .takes(&[(0, Takes::Within(1.0, 3.0))]),
    eval(op::HANN_WINDOW, &[since(17, |cx| window(cx, [0.5, -0.5, 0.0]))])
        .open()
        .takes(&[(0, Takes::Within(1.0, 3.0))]),
];

/// The sum of the factors times the cosine of their index times the angle.
fn window(cx: &mut Cx<'_, '_>, factors: [f64; 3]) -> Outcome {
    let size = axes::size(cx.scalar_int(0)?)?;
    let elem = cx.elem_attribute(attr::OUTPUT_DATATYPE)?.unwrap_or(ElemType::Float);
    let period = if cx.int_or(attr::PERIODIC, 1)? != 0 { size as f64 } else { size as f64 - 1.0 };
    let count = cx.count(&[size])?;
    let value = |at: usize| -> f64 {
        let angle = 2.0 * std::f64::consts::PI * at as f64 / period;
        factors.iter().enumerate().map(|(index, factor)| factor * libm::cos(index as f64 * angle)).sum()
    };
    if elem == ElemType::Bool {
        return Err(Stop::unsupported_type(elem));
    }
    by_number!(elem, T => {
        let mut out = cx.buffer(count)?;
        let value = |at| if elem.is_float() { value(at) } else { f64::from(value(at) as f32) };
        cx.poll().generate(count, &mut out, |at| T::of_f64(value(at)))?;
        cx.put::<T>(0, elem, &[count], out)
    })
}
