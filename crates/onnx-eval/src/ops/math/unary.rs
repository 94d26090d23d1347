//! Operators of one tensor that compute each element by itself.
//!
//! `Abs`, `Neg` wrap the least integer. `Sign` of NaN is NaN, `Round` rounds halves to even and keeps the sign of zero.
//! `Relu` keeps NaN. `HardSwish` and `Gelu` of negative infinity are NaN, as `-inf * 0` is. `Softplus` and `Mish` do not
//! overflow. Functions of `float` are computed in `double` where `libm` has no accurate function of `float`, and rounded.

use onnx_schema::{attr, op};

use crate::cx::{Cx, Outcome};
use crate::family::elementwise::{Map, MapFloat, map, map_float};
use crate::number::{Float, Number};
use crate::registry::{OpKernels, Row, Takes, eval, since};

/// The rows of a function of `f64` that is computed there and rounded.
macro_rules! rounded {
    ($version:literal, $function:expr) => {{
        const ROWS: &[Row] = &[since($version, |cx| map_float(cx, &InDouble($function)))];
        ROWS
    }};
}

pub(in crate::ops) const KERNELS: &[OpKernels] = &[
    eval(op::ABS, &[since(1, |cx| map(cx, &Abs))]),
    eval(op::ACOS, rounded!(7, libm::acos)).open().takes(&[(0, Takes::Within(-1.0, 1.0))]),
    eval(op::ACOSH, rounded!(9, libm::acosh)).open().takes(&[(0, Takes::Within(1.0, 2.0))]),
    eval(op::ASIN, rounded!(7, libm::asin)).open().takes(&[(0, Takes::Within(-1.0, 1.0))]),
    eval(op::ASINH, rounded!(9, libm::asinh)).open(),
    eval(op::ATAN, rounded!(7, libm::atan)).open(),
    eval(op::ATANH, rounded!(9, libm::atanh)).open().takes(&[(0, Takes::Within(-0.9, 0.9))]),
    eval(op::CEIL, rounded!(1, libm::ceil)),
    eval(op::CELU, &[since(12, celu)]).open(),
    eval(op::COS, rounded!(7, libm::cos)).open(),
    eval(op::COSH, rounded!(9, libm::cosh)).open(),
    eval(op::ELU, &[since(1, elu)]).open(),
    eval(op::ERF, &[since(9, erf)]).open(),
    eval(op::EXP, &[since(1, |cx| map_float(cx, &Exp))]).open(),
    eval(op::FLOOR, rounded!(1, libm::floor)),
    eval(op::GELU, &[since(20, gelu)]).open(),
    eval(op::HARD_SIGMOID, &[since(1, hard_sigmoid)]),
    eval(op::HARD_SWISH, rounded!(14, |x: f64| x * (x / 6.0 + 0.5).clamp(0.0, 1.0))),
    eval(op::LEAKY_RELU, &[since(1, leaky_relu)]),
    eval(op::LOG, &[since(1, |cx| map_float(cx, &Log))]).open().takes(&[(0, Takes::POSITIVE)]),
    eval(op::MISH, rounded!(18, |x| x * libm::tanh(softplus(x)))).open(),
    eval(op::NEG, &[since(1, |cx| map(cx, &Neg))]),
    eval(op::RECIPROCAL, &[since(1, |cx| map_float(cx, &Reciprocal))]).takes(&[(0, Takes::POSITIVE)]),
    eval(op::RELU, &[since(1, |cx| map(cx, &Relu))]),
    eval(op::ROUND, rounded!(11, libm::rint)),
    eval(op::SELU, &[since(1, selu)]).open(),
    eval(op::SHRINK, &[since(9, shrink)]),
    eval(op::SIGMOID, &[since(1, |cx| map_float(cx, &Sigmoid(1.0)))]).open(),
    eval(op::SIGN, &[since(9, |cx| map(cx, &Sign))]),
    eval(op::SIN, rounded!(7, libm::sin)).open(),
    eval(op::SINH, rounded!(9, libm::sinh)).open(),
    eval(op::SOFTPLUS, rounded!(1, softplus)).open(),
    eval(op::SOFTSIGN, rounded!(1, |x: f64| x / (1.0 + x.abs()))),
    eval(op::SQRT, &[since(1, |cx| map_float(cx, &Sqrt))]).takes(&[(0, Takes::POSITIVE)]),
    eval(op::SWISH, &[since(24, swish)]).open(),
    eval(op::TAN, rounded!(7, libm::tan)).open(),
    eval(op::TANH, &[since(1, |cx| map_float(cx, &Tanh))]).open(),
    eval(op::THRESHOLDED_RELU, &[since(10, thresholded_relu)]),
];

struct InDouble<F>(F);

impl<F: Fn(f64) -> f64 + Sync> MapFloat for InDouble<F> {
    fn apply<T: Float>(&self, value: T) -> T {
        value.map(&self.0)
    }
}

/// Of integers, which versions 9 and 13 have, the result in 32 bits is truncated, as in the reference: from 4 on, it is 1.
struct ErfOfInteger;

impl Map for ErfOfInteger {
    fn apply<T: Number>(&self, value: T) -> T {
        T::of_f64(f64::from(libm::erf(value.f64()) as f32))
    }
}

fn erf(cx: &mut Cx<'_, '_>) -> Outcome {
    if cx.tensor(0)?.elem.is_float() { map_float(cx, &Erf) } else { map(cx, &ErfOfInteger) }
}

struct Abs;
struct Neg;
struct Relu;
struct Sign;
struct Erf;
struct Exp;
struct Log;
struct Sqrt;
struct Tanh;
struct Reciprocal;
struct Sigmoid(f64);

impl Map for Abs {
    fn apply<T: Number>(&self, value: T) -> T {
        if T::IS_FLOAT {
            return T::of_f64(value.f64().abs());
        }
        if value < T::ZERO { T::ZERO.minus(value) } else { value }
    }
}

impl Map for Neg {
    fn apply<T: Number>(&self, value: T) -> T {
        if T::IS_FLOAT { T::of_f64(-value.f64()) } else { T::ZERO.minus(value) }
    }
}

impl Map for Relu {
    fn apply<T: Number>(&self, value: T) -> T {
        if value < T::ZERO { T::ZERO } else { value }
    }
}

impl Map for Sign {
    fn apply<T: Number>(&self, value: T) -> T {
        if value > T::ZERO {
            T::ONE
        } else if value < T::ZERO {
            T::ZERO.minus(T::ONE)
        } else if value == T::ZERO {
            // Also of −0.0.
            T::ZERO
        } else {
            value
        }
    }
}

impl MapFloat for Erf {
    fn apply<T: Float>(&self, value: T) -> T {
        value.error_function()
    }
}

impl MapFloat for Tanh {
    fn apply<T: Float>(&self, value: T) -> T {
        value.hyperbolic_tangent()
    }
}

impl MapFloat for Exp {
    fn apply<T: Float>(&self, value: T) -> T {
        value.exponential()
    }
}

impl MapFloat for Log {
    fn apply<T: Float>(&self, value: T) -> T {
        value.logarithm()
    }
}

impl MapFloat for Sqrt {
    fn apply<T: Float>(&self, value: T) -> T {
        value.root()
    }
}

impl MapFloat for Reciprocal {
    fn apply<T: Float>(&self, value: T) -> T {
        T::ONE.over(value).unwrap_or(value)
    }
}

/// The logistic function of a multiple of the element.
impl MapFloat for Sigmoid {
    fn apply<T: Float>(&self, value: T) -> T {
        let x = value.times(T::of(self.0));
        // The exponential of a number that is not positive does not overflow.
        let small = T::ZERO.minus(x.magnitude()).exponential();
        let denominator = T::ONE.plus(small);
        let numerator = if x < T::ZERO { small } else { T::ONE };
        numerator.over(denominator).unwrap_or(value)
    }
}

fn softplus(x: f64) -> f64 {
    x.max(0.0) + libm::log1p(libm::exp(-x.abs())) + if x.is_nan() { x } else { 0.0 }
}

fn parameters(cx: &Cx<'_, '_>, alpha: f32, beta: f32) -> Outcome<(f64, f64)> {
    Ok((f64::from(cx.float_or(attr::ALPHA, alpha)?), f64::from(cx.float_or(attr::BETA, beta)?)))
}

/// With `alpha` 0, the formula of the standard gives NaN for positive numbers, as 0 is multiplied by infinity.
fn celu(cx: &mut Cx<'_, '_>) -> Outcome {
    let (alpha, _) = parameters(cx, 1.0, 0.0)?;
    map_float(
        cx,
        &InDouble(|x: f64| if x > 0.0 && alpha != 0.0 { x } else { alpha * libm::expm1(x / alpha) }),
    )
}

fn elu(cx: &mut Cx<'_, '_>) -> Outcome {
    let (alpha, _) = parameters(cx, 1.0, 0.0)?;
    map_float(cx, &InDouble(|x: f64| if x < 0.0 { alpha * libm::expm1(x) } else { x }))
}

fn gelu(cx: &mut Cx<'_, '_>) -> Outcome {
    if cx.text(attr::APPROXIMATE)? == "tanh" {
        let inner = |x: f64| (2.0 / std::f64::consts::PI).sqrt() * (x + 0.044_715 * x * x * x);
        return map_float(cx, &InDouble(|x: f64| 0.5 * x * (1.0 + libm::tanh(inner(x)))));
    }
    map_float(cx, &InDouble(|x: f64| 0.5 * x * (1.0 + libm::erf(x / std::f64::consts::SQRT_2))))
}

fn hard_sigmoid(cx: &mut Cx<'_, '_>) -> Outcome {
    let (alpha, beta) = parameters(cx, 0.2, 0.5)?;
    map_float(cx, &InDouble(|x: f64| (alpha * x + beta).clamp(0.0, 1.0)))
}

fn leaky_relu(cx: &mut Cx<'_, '_>) -> Outcome {
    let (alpha, _) = parameters(cx, 0.01, 0.0)?;
    map_float(cx, &InDouble(|x: f64| if x < 0.0 { alpha * x } else { x }))
}

fn selu(cx: &mut Cx<'_, '_>) -> Outcome {
    // The constants of the specification; `Selu-1` declares rounded defaults.
    let alpha = f64::from(cx.float_or(attr::ALPHA, 1.673_263_2)?);
    let gamma = f64::from(cx.float_or(attr::GAMMA, 1.050_701)?);
    map_float(cx, &InDouble(|x: f64| gamma * if x > 0.0 { x } else { alpha * libm::expm1(x) }))
}

/// NaN becomes 0, as neither comparison holds.
fn shrink(cx: &mut Cx<'_, '_>) -> Outcome {
    let bias = f64::from(cx.float_or(attr::BIAS, 0.0)?);
    let lambda = f64::from(cx.float_or(attr::LAMBD, 0.5)?);
    map(cx, &Shrink { bias, lambda })
}

struct Shrink {
    bias: f64,
    lambda: f64,
}

impl Map for Shrink {
    fn apply<T: Number>(&self, value: T) -> T {
        let x = value.f64();
        // Integers wrap, as in a sum, unless the bias has a fraction.
        let plus = |bias: f64| match bias {
            _ if bias.fract() != 0.0 => T::of_f64(x + bias),
            _ if bias < 0.0 => value.minus(T::of_f64(-bias)),
            _ => value.plus(T::of_f64(bias)),
        };
        if x < -self.lambda {
            plus(self.bias)
        } else if x > self.lambda {
            plus(-self.bias)
        } else {
            T::ZERO
        }
    }
}

fn swish(cx: &mut Cx<'_, '_>) -> Outcome {
    let alpha = f64::from(cx.float_or(attr::ALPHA, 1.0)?);
    map_float(cx, &InDouble(|x: f64| x * Sigmoid(alpha).apply(x)))
}

fn thresholded_relu(cx: &mut Cx<'_, '_>) -> Outcome {
    let (alpha, _) = parameters(cx, 1.0, 0.0)?;
    map_float(cx, &InDouble(|x: f64| if x > alpha { x } else { 0.0 }))
}
