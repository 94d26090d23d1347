//! `Add`, `Div`, `Mod`, `Mul`, `Pow`, `Sub`: two tensors element by element.
//!
//! Integers wrap; a quotient of integers is rounded toward zero, and a divisor of 0 fails the run, since the specification
//! leaves it undefined (the reference's evaluator returns 0, onnxruntime fails). `Mod` has the sign of the divisor, with
//! `fmod` that of the dividend; a float remainder without `fmod`, which exists since version 28, is that of floored division.
//! The result of `Pow` has the type of the base. An integer base with an integer exponent of at least 0 wraps; all other
//! powers are computed in `double` and converted, integers toward zero.

use onnx_schema::{attr, op};
use onnx_types::ElemType;

use crate::cx::{Cx, Outcome, Stop};
use crate::family::broadcast::{aligned, map2};
use crate::family::elementwise::{Map2, zip};
use crate::number::{Compute, Number, by_number, compute};
use crate::registry::{OpKernels, Takes, eval, since};

pub(in crate::ops) const KERNELS: &[OpKernels] = &[
    eval(op::ADD, &[since(1, |cx| zip(cx, &Add))]),
    eval(op::DIV, &[since(1, |cx| zip(cx, &Div))]).takes(&[(1, Takes::Within(1.0, 2.0))]),
    eval(op::MOD, &[since(10, modulo)]).takes(&[(1, Takes::Within(1.0, 2.0))]),
    eval(op::MUL, &[since(1, |cx| zip(cx, &Mul))]),
    eval(op::POW, &[since(1, power)]).open().takes(&[(0, Takes::Within(0.5, 2.0))]),
    eval(op::SUB, &[since(1, |cx| zip(cx, &Sub))]),
];

struct Add;
struct Sub;
struct Mul;
struct Div;

impl Map2 for Add {
    fn apply<T: Number>(&self, a: T, b: T) -> Option<T> {
        Some(a.plus(b))
    }
}

impl Map2 for Sub {
    fn apply<T: Number>(&self, a: T, b: T) -> Option<T> {
        Some(a.minus(b))
    }
}

impl Map2 for Mul {
    fn apply<T: Number>(&self, a: T, b: T) -> Option<T> {
        Some(a.times(b))
    }
}

impl Map2 for Div {
    fn apply<T: Number>(&self, a: T, b: T) -> Option<T> {
        a.over(b)
    }
}

/// The remainder of truncated division, or of floored division.
struct Remainder {
    is_truncated: bool,
}

impl Map2 for Remainder {
    fn apply<T: Number>(&self, a: T, b: T) -> Option<T> {
        if T::IS_FLOAT {
            let (x, y) = (a.f64(), b.f64());
            let rest = libm::fmod(x, y);
            if self.is_truncated {
                return Some(T::of_f64(rest));
            }
            let rest = if rest != 0.0 && (rest < 0.0) != (y < 0.0) { rest + y } else { rest };
            // A remainder of 0 has the sign of the divisor.
            return Some(T::of_f64(if rest == 0.0 { libm::copysign(0.0, y) } else { rest }));
        }
        let quotient = a.over(b)?;
        let rest = a.minus(quotient.times(b));
        let is_other_sign = rest != T::ZERO && (rest < T::ZERO) != (b < T::ZERO);
        Some(if is_other_sign && !self.is_truncated { rest.plus(b) } else { rest })
    }
}

fn modulo(cx: &mut Cx<'_, '_>) -> Outcome {
    let is_truncated = cx.flag(attr::FMOD)?;
    if !is_truncated && cx.since() < 28 && cx.tensor(0)?.elem.is_float() {
        return Err(Stop::failed("a remainder of floats needs `fmod` before version 28"));
    }
    zip(cx, &Remainder { is_truncated })
}

fn power(cx: &mut Cx<'_, '_>) -> Outcome {
    let (base, exponent) = (cx.tensor(0)?, cx.tensor(1)?);
    let dims = aligned(cx, &base, &exponent)?;
    if base.elem.is_integer() && exponent.elem.is_integer() {
        return by_number!(base.elem, T => {
            let x = cx.read::<T>(&base)?;
            let (dims, out) = if exponent.elem == ElemType::Uint64 {
                let n = cx.read::<u64>(&exponent)?;
                map2(cx, (&x, &base.dims), (&n, &dims), whole_power::<T>)?
            } else {
                let n = cx.read::<i64>(&exponent)?;
                map2(cx, (&x, &base.dims), (&n, &dims), integer_power::<T>)?
            };
            cx.put(0, base.elem, &dims, out)
        });
    }
    let n = cx.read_f64(&exponent)?;
    by_number!(base.elem, T => {
        let x = cx.read::<T>(&base)?;
        // In `double`, the square of a number of at most 32 bits is exact, and its cube is rounded as exactly as a power.
        if let [n @ (2.0 | 3.0)] = *n
            && exponent.rank() <= base.rank()
            && (n == 2.0 || compute(base.elem) == Some(Compute::F32))
        {
            let mut out = cx.buffer(x.len())?;
            let squares = x.iter().map(|x| (x.f64(), x.f64() * x.f64()));
            out.extend(squares.map(|(x, square)| T::of_f64(if n == 2.0 { square } else { square * x })));
            return cx.put(0, base.elem, &base.dims, out);
        }
        let (dims, out) =
            map2(cx, (&x, &base.dims), (&n, &dims), |x, n| T::of_f64(libm::pow(x.f64(), n)))?;
        cx.put(0, base.elem, &dims, out)
    })
}

fn integer_power<T: Number>(base: T, exponent: i64) -> T {
    match u64::try_from(exponent) {
        Ok(exponent) => whole_power(base, exponent),
        Err(_) => T::of_f64(libm::pow(base.f64(), exponent as f64)),
    }
}

/// The power by squaring; it wraps.
fn whole_power<T: Number>(base: T, exponent: u64) -> T {
    let (mut result, mut square, mut left) = (T::ONE, base, exponent);
    while left > 0 {
        if left & 1 == 1 {
            result = result.times(square);
        }
        square = square.times(square);
        left >>= 1;
    }
    result
}
