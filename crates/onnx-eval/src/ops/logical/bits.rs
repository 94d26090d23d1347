//! `BitShift`, `BitwiseAnd`, `BitwiseNot`, `BitwiseOr`, `BitwiseXor`, `IsInf`, `IsNaN`: bits of numbers.
//!
//! A right shift of a signed integer keeps the sign. A shift by a negative number, or by the width of the type or more, leaves
//! copies of the bit that is shifted in: the sign for a right shift of a signed integer, else 0. `IsInf` and `IsNaN` are `false` for types without such numbers.

use onnx_schema::{attr, op};
use onnx_types::ElemType;

use crate::cx::{Cx, Outcome, Stop};
use crate::family::broadcast::map2;
use crate::number::{Number, by_float};
use crate::registry::{OpKernels, Takes, eval, since};

pub(in crate::ops) const KERNELS: &[OpKernels] = &[
    eval(op::BIT_SHIFT, &[since(11, shift)]).takes(&[(1, Takes::Within(0.0, 4.0))]),
    eval(op::BITWISE_AND, &[since(18, |cx| bitwise(cx, |a, b| a & b))]),
    eval(op::BITWISE_NOT, &[since(18, not)]),
    eval(op::BITWISE_OR, &[since(18, |cx| bitwise(cx, |a, b| a | b))]),
    eval(op::BITWISE_XOR, &[since(18, |cx| bitwise(cx, |a, b| a ^ b))]),
    eval(op::IS_INF, &[since(10, is_inf)]),
    eval(op::IS_NAN, &[since(9, is_nan)]),
];

/// Calls `function` on the bits of two operands, the low ones of each.
fn bitwise(cx: &mut Cx<'_, '_>, function: impl Fn(u64, u64) -> u64) -> Outcome {
    let (a, b) = (cx.tensor(0)?, cx.tensor(1)?);
    if a.elem == ElemType::Uint64 {
        let (x, y) = (cx.read::<u64>(&a)?, cx.read::<u64>(&b)?);
        let (dims, out) = map2(cx, (&x, &a.dims), (&y, &b.dims), function)?;
        return cx.put(0, a.elem, &dims, out);
    }
    let (x, y) = (cx.read::<i64>(&a)?, cx.read::<i64>(&b)?);
    let (dims, out) = map2(cx, (&x, &a.dims), (&y, &b.dims), |a: i64, b: i64| {
        function(a.cast_unsigned(), b.cast_unsigned()).cast_signed()
    })?;
    cx.put(0, a.elem, &dims, out)
}

fn shift(cx: &mut Cx<'_, '_>) -> Outcome {
    let is_left = match cx.text(attr::DIRECTION)? {
        "LEFT" => true,
        "RIGHT" => false,
        _ => return Err(Stop::failed("`direction` is neither LEFT nor RIGHT")),
    };
    let (x, by) = (cx.tensor(0)?, cx.tensor(1)?);
    let width = x.elem.bits().unwrap_or(64);
    if x.elem == ElemType::Uint64 {
        let (values, distances) = (cx.read::<u64>(&x)?, cx.read::<u64>(&by)?);
        let shifted = |value: u64, by: u64| match u32::try_from(by) {
            Ok(by) if by < width && is_left => value << by,
            Ok(by) if by < width => value >> by,
            _ => 0,
        };
        let (dims, out) = map2(cx, (&values, &x.dims), (&distances, &by.dims), shifted)?;
        return cx.put(0, x.elem, &dims, out);
    }
    let (values, distances) = (cx.read::<i64>(&x)?, cx.read::<i64>(&by)?);
    let shifted = |value: i64, by: i64| match u32::try_from(by) {
        Ok(by) if by < width && is_left => value << by,
        Ok(by) if by < width => value >> by,
        _ if value < 0 && !is_left => -1,
        _ => 0,
    };
    let (dims, out) = map2(cx, (&values, &x.dims), (&distances, &by.dims), shifted)?;
    cx.put(0, x.elem, &dims, out)
}

fn not(cx: &mut Cx<'_, '_>) -> Outcome {
    let x = cx.tensor(0)?;
    if x.elem == ElemType::Uint64 {
        let elements = cx.read::<u64>(&x)?;
        let out = cx.collect(elements.iter().map(|&value| !value))?;
        return cx.put::<u64>(0, x.elem, &x.dims, out);
    }
    let elements = cx.read::<i64>(&x)?;
    let out = cx.collect(elements.iter().map(|&value| !value))?;
    cx.put::<i64>(0, x.elem, &x.dims, out)
}

fn is_inf(cx: &mut Cx<'_, '_>) -> Outcome {
    let x = cx.tensor(0)?;
    let positive = cx.int_or(attr::DETECT_POSITIVE, 1)? != 0;
    let negative = cx.int_or(attr::DETECT_NEGATIVE, 1)? != 0;
    by_float!(x.elem, T => {
        let test = |&value: &T| (positive && value == T::TOP) || (negative && value == T::BOTTOM);
        let elements = cx.read::<T>(&x)?;
        let out = cx.collect(elements.iter().map(|value| u8::from(test(value))))?;
        cx.put_units(0, ElemType::Bool, &x.dims, out)
    })
}

fn is_nan(cx: &mut Cx<'_, '_>) -> Outcome {
    let x = cx.tensor(0)?;
    by_float!(x.elem, T => {
        let elements = cx.read::<T>(&x)?;
        let out = cx.collect(elements.iter().map(|value| u8::from(Number::is_nan(*value))))?;
        cx.put_units(0, ElemType::Bool, &x.dims, out)
    })
}
