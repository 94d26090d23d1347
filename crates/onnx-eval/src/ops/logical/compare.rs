//! `And`, `Equal`, `Greater`, `GreaterOrEqual`, `Less`, `LessOrEqual`, `Not`, `Or`, `Xor`: truth values of elements.
//!
//! A comparison with NaN is `false`; zeros of both signs are equal. Strings are equal if their bytes are.

use bytes::Bytes;
use onnx_schema::op;
use onnx_types::ElemType;

use crate::cx::{Cx, Outcome};
use crate::family::broadcast::{aligned, map2};
use crate::family::elementwise::{Test2, test};
use crate::number::Number;
use crate::registry::{OpKernels, eval, since};

pub(in crate::ops) const KERNELS: &[OpKernels] = &[
    eval(op::AND, &[since(1, |cx| logic(cx, |a, b| a & b))]),
    eval(op::EQUAL, &[since(1, equal)]),
    eval(op::GREATER, &[since(1, |cx| test(cx, &Compare(|order| order.is_gt())))]),
    eval(op::GREATER_OR_EQUAL, &[since(12, |cx| test(cx, &Compare(|order| order.is_ge())))]),
    eval(op::LESS, &[since(1, |cx| test(cx, &Compare(|order| order.is_lt())))]),
    eval(op::LESS_OR_EQUAL, &[since(12, |cx| test(cx, &Compare(|order| order.is_le())))]),
    eval(op::NOT, &[since(1, not)]),
    eval(op::OR, &[since(1, |cx| logic(cx, |a, b| a | b))]),
    eval(op::XOR, &[since(1, |cx| logic(cx, |a, b| a ^ b))]),
];

/// A condition on the order of two numbers; `false` if they have none.
struct Compare(fn(std::cmp::Ordering) -> bool);

impl Test2 for Compare {
    fn apply<T: Number>(&self, a: T, b: T) -> bool {
        a.partial_cmp(&b).is_some_and(self.0)
    }
}

fn equal(cx: &mut Cx<'_, '_>) -> Outcome {
    let (a, b) = (cx.tensor(0)?, cx.tensor(1)?);
    if a.elem != ElemType::String {
        return test(cx, &Compare(std::cmp::Ordering::is_eq));
    }
    let (x, y) = (cx.units::<Bytes>(&a)?, cx.units::<Bytes>(&b)?);
    // References are `Copy`, which `map2` needs.
    let (x, y): (Vec<&Bytes>, Vec<&Bytes>) = (cx.collect(x.iter())?, cx.collect(y.iter())?);
    let (dims, out) = map2(cx, (&x, &a.dims), (&y, &b.dims), |a, b| u8::from(a == b))?;
    cx.put_units(0, ElemType::Bool, &dims, out)
}

fn logic(cx: &mut Cx<'_, '_>, function: fn(bool, bool) -> bool) -> Outcome {
    let (a, b) = (cx.tensor(0)?, cx.tensor(1)?);
    let b_dims = aligned(cx, &a, &b)?;
    let (x, y) = (cx.units::<u8>(&a)?, cx.units::<u8>(&b)?);
    let (dims, out) =
        map2(cx, (&x, &a.dims), (&y, &b_dims), |a: u8, b: u8| u8::from(function(a != 0, b != 0)))?;
    cx.put_units(0, ElemType::Bool, &dims, out)
}

fn not(cx: &mut Cx<'_, '_>) -> Outcome {
    let x = cx.tensor(0)?;
    let elements = cx.units::<u8>(&x)?;
    let out = cx.collect(elements.iter().map(|&value| u8::from(value == 0)))?;
    cx.put_units::<u8>(0, ElemType::Bool, &x.dims, out)
}
