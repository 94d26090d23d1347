//! `BiasGelu`, `FastGelu`, `Gelu`, `QuickGelu`: forms of `Gelu`, of the sum of the input and a bias along the last axis.
//!
//! `BiasGelu` and `Gelu` are exact, `x/2 * (1 + erf(x/√2))`. `FastGelu` is the approximation `x/2 * (1 + tanh(√(2/π) * (x +
//! 0.044715 x³)))`. `QuickGelu` is `x` times the logistic function of `alpha * x`, where `alpha` is 1.702 unless it is given.

use onnx_schema::onnxruntime::microsoft;

use super::Row;
use super::activation::sigmoid;
use super::attributes::float;
use crate::cx::{Cx, Outcome, Stop};
use crate::ops::math::cast::put_real;

pub(super) const KERNELS: &[Row] = &[
    (microsoft::BIAS_GELU, |cx| each(cx, exact)),
    (microsoft::FAST_GELU, |cx| each(cx, fast)),
    (microsoft::GELU, |cx| each(cx, exact)),
    (microsoft::QUICK_GELU, quick),
];

fn exact(x: f64) -> f64 {
    0.5 * x * (1.0 + libm::erf(x * std::f64::consts::FRAC_1_SQRT_2))
}

fn fast(x: f64) -> f64 {
    let root = (2.0 / std::f64::consts::PI).sqrt();
    0.5 * x * (1.0 + libm::tanh(root * (x + 0.044_715 * x * x * x)))
}

fn quick(cx: &mut Cx<'_, '_>) -> Outcome {
    // The default is the nearest `float`.
    let alpha = float(cx, "alpha")?.unwrap_or_else(|| 1.702_f32.into());
    each(cx, |x| x * sigmoid(alpha * x))
}

/// Applies a function to the sums of the elements and the bias, if there is one.
fn each(cx: &mut Cx<'_, '_>, function: impl Fn(f64) -> f64) -> Outcome {
    let (x, bias) = (cx.tensor(0)?, cx.optional(1)?);
    let mut values = cx.read_f64(&x)?.into_vec();
    if let Some(bias) = bias {
        if bias.rank() != 1 || x.dims.last() != bias.dims.last() {
            return Err(Stop::failed("the bias has not one element for each index of the last axis"));
        }
        let bias = cx.read_f64(&bias)?;
        values.iter_mut().zip(bias.iter().cycle()).for_each(|(value, bias)| *value += bias);
    }
    values.iter_mut().for_each(|value| *value = function(*value));
    put_real(cx, 0, x.elem, &x.dims, &values)
}
