//! Arithmetic on elements that are followed.
//!
//! It respects the type: an integer that leaves the range of its type is not known, as the type wraps around there; for
//! a symbolic integer in 32 bits it is assumed, with a guard, that it does not. Floats are followed as long as they are
//! exact. `f32` has all integers up to 2²⁴, and fractions by a power of two where they fit; that symbolic sizes stay below
//! is assumed with a guard, too.

use onnx_types::{Dim, ElemType};

use crate::content::Elem;
use crate::cx::{Cx, Outcome};
use crate::facts::Relation;

/// An operation of two numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Op {
    Add,
    Sub,
    Mul,
    /// Integers are divided towards zero, floats exactly.
    Div,
    Min,
    Max,
}

/// The greatest denominator, as a power of two, that is followed.
const MAX_SHIFT: u32 = 10;

/// How large a number can be so that a float type has it and its neighbours exactly.
const fn exact_up_to(elem: ElemType) -> Option<i64> {
    match elem {
        ElemType::Double => Some(1 << 53),
        ElemType::Float => Some(1 << 24),
        ElemType::Float16 => Some(1 << 11),
        ElemType::Bfloat16 => Some(1 << 8),
        _ => None,
    }
}

/// The range of an integer type; for `uint64` as much of it as fits.
pub(crate) const fn range(elem: ElemType) -> Option<(i64, i64)> {
    Some(match elem {
        ElemType::Int64 => (i64::MIN, i64::MAX),
        ElemType::Uint64 => (0, i64::MAX),
        ElemType::Int32 => (i32::MIN as i64, i32::MAX as i64),
        ElemType::Uint32 => (0, u32::MAX as i64),
        ElemType::Int16 => (i16::MIN as i64, i16::MAX as i64),
        ElemType::Uint16 => (0, u16::MAX as i64),
        ElemType::Int8 => (i8::MIN as i64, i8::MAX as i64),
        ElemType::Uint8 => (0, u8::MAX as i64),
        ElemType::Bool => (0, 1),
        _ => return None,
    })
}

/// The value rule of an operator that joins its inputs by `op`, from left to right.
pub(crate) fn fold(cx: &mut Cx<'_, '_>, op: Op) -> Outcome {
    let elem = cx.elem(0)?;
    let inputs: smallvec::SmallVec<[usize; 4]> = (0..cx.input_count()).collect();
    super::broadcast::zip(cx, &inputs, |cx, elems| {
        let mut rest = elems.iter().copied();
        let first = rest.next().unwrap_or_default();
        rest.fold(first, |a, b| join(cx, elem, op, a, b))
    })
}

/// One operation on elements of a type.
pub(crate) fn join(cx: &mut Cx<'_, '_>, elem: ElemType, op: Op, a: Elem, b: Elem) -> Elem {
    let joined = if exact_up_to(elem).is_some() { floats(cx, op, a, b) } else { integers(cx, op, a, b) };
    fit(cx, elem, joined)
}

/// The element, if it stays in the range of its type; for symbolic ones that is assumed where the type is wide enough.
pub(crate) fn fit(cx: &mut Cx<'_, '_>, elem: ElemType, value: Elem) -> Elem {
    let Some(limit) = exact_up_to(elem) else {
        let Some((lo, hi)) = range(elem) else { return Elem::Unknown };
        return match value {
            Elem::Int(Dim::Known(number)) if (lo..=hi).contains(&number) => value,
            Elem::Int(Dim::Known(_)) => Elem::Unknown,
            Elem::Int(dim) => in_range(cx, dim, lo, hi).map_or(Elem::Unknown, Elem::Int),
            _ => Elem::Unknown,
        };
    };
    match value {
        Elem::Int(Dim::Known(number)) if number.unsigned_abs() <= limit.unsigned_abs() => value,
        Elem::Int(Dim::Known(_)) | Elem::Unknown => Elem::Unknown,
        Elem::Int(dim) => in_range(cx, dim, -limit, limit).map_or(Elem::Unknown, Elem::Int),
        Elem::Dyadic(dim, shift) => match in_range(cx, dim, -limit, limit) {
            Some(dim) => Elem::Dyadic(dim, shift),
            None => Elem::Unknown,
        },
        // Half of the exact range, so that no quotient is rounded across an integer.
        Elem::Quotient(dim, by) => match in_range(cx, dim, -limit / 4, limit / 4) {
            Some(dim) if by <= limit / 4 => Elem::Quotient(dim, by),
            _ => Elem::Unknown,
        },
        Elem::Float(_) => value,
    }
}

/// The dimension, with a guard that it is in a range where that is not proved. Narrow ranges are not assumed: sizes leave
/// them.
fn in_range(cx: &mut Cx<'_, '_>, dim: Dim, lo: i64, hi: i64) -> Option<Dim> {
    const NARROW: i64 = 1 << 16;
    let (lo, hi) = (Dim::Known(lo), Dim::Known(hi));
    if cx.dims_le(lo, dim) != Some(true) {
        // What is subtracted from a size can be more than it.
        if lo == Dim::Known(0) {
            return None;
        }
        if hi != Dim::Known(i64::MAX) {
            cx.assume(Relation::AtMost(lo, dim));
        }
    }
    if cx.dims_le(dim, hi) != Some(true) && hi != Dim::Known(i64::MAX) {
        if hi.known()? < NARROW {
            return None;
        }
        cx.assume(Relation::AtMost(dim, hi));
    }
    Some(dim)
}

fn integers(cx: &mut Cx<'_, '_>, op: Op, a: Elem, b: Elem) -> Elem {
    // Nothing times zero is zero, whatever it is.
    if op == Op::Mul && [a, b].contains(&Elem::Int(Dim::Known(0))) {
        return Elem::Int(Dim::Known(0));
    }
    let (Elem::Int(a), Elem::Int(b)) = (a, b) else { return Elem::Unknown };
    Elem::int(match op {
        Op::Add => cx.dims().add(a, b),
        Op::Sub => cx.dims().sub(a, b),
        Op::Mul => cx.dims().mul(a, b),
        Op::Min => cx.min(a, b),
        Op::Max => cx.max(a, b),
        Op::Div => truncated(cx, a, b),
    })
}

/// Division towards zero. It is the floor where both signs are known to be the same.
fn truncated(cx: &mut Cx<'_, '_>, a: Dim, b: Dim) -> Dim {
    let zero = Dim::Known(0);
    if let (Dim::Known(a), Dim::Known(b)) = (a, b) {
        return a.checked_div(b).map_or(Dim::Unknown, Dim::Known);
    }
    // A divisor of 0 is a fault at run time, so it need not be thought of.
    let (left, right) = (cx.dims_le(zero, a) == Some(true), cx.dims_le(zero, b) == Some(true));
    if left && right { cx.dims().floor_div(a, b) } else { Dim::Unknown }
}

/// A float as an integer over a power of two.
fn dyadic(elem: Elem) -> Option<(Dim, u32)> {
    match elem {
        Elem::Int(dim) => Some((dim, 0)),
        Elem::Dyadic(dim, shift) => Some((dim, shift)),
        Elem::Float(value) => (1..=MAX_SHIFT).find_map(|shift| {
            let scaled = value * f64::from(1_u32 << shift);
            (scaled.fract() == 0.0 && scaled.abs() < 1e9).then_some((Dim::Known(scaled as i64), shift))
        }),
        Elem::Unknown | Elem::Quotient(..) => None,
    }
}

/// An integer over a power of two as an element, in lowest terms where that is known.
pub(crate) fn over(cx: &mut Cx<'_, '_>, dim: Dim, shift: u32) -> Elem {
    if shift > MAX_SHIFT || dim.is_unknown() {
        return Elem::Unknown;
    }
    if let Dim::Known(number) = dim {
        return Elem::number(number as f64 / f64::from(1_u32 << shift));
    }
    let mut shift = shift;
    let mut dim = dim;
    while shift > 0 && cx.dims().divides(2, dim) {
        dim = cx.dims().floor_div(dim, Dim::Known(2));
        shift -= 1;
    }
    if shift == 0 { Elem::int(dim) } else { Elem::Dyadic(dim, shift) }
}

fn floats(cx: &mut Cx<'_, '_>, op: Op, a: Elem, b: Elem) -> Elem {
    if op == Op::Div {
        return divide(cx, a, b);
    }
    let (Some((left, p)), Some((right, q))) = (dyadic(a), dyadic(b)) else { return Elem::Unknown };
    if op == Op::Mul {
        let product = cx.dims().mul(left, right);
        return over(cx, product, p + q);
    }
    let shift = p.max(q);
    let left = cx.dims().mul(left, Dim::Known(1 << (shift - p)));
    let right = cx.dims().mul(right, Dim::Known(1 << (shift - q)));
    let joined = match op {
        Op::Add => cx.dims().add(left, right),
        Op::Sub => cx.dims().sub(left, right),
        Op::Min => cx.min(left, right),
        _ => cx.max(left, right),
    };
    over(cx, joined, shift)
}

fn divide(cx: &mut Cx<'_, '_>, a: Elem, b: Elem) -> Elem {
    let (Some((left, p)), Some((Dim::Known(by), q))) = (dyadic(a), dyadic(b)) else { return Elem::Unknown };
    if by <= 0 {
        return Elem::Unknown;
    }
    // a/2^p divided by by/2^q, with the powers of two of the divisor taken out.
    let twos = by.trailing_zeros();
    let odd = by >> twos;
    let scaled = cx.dims().mul(left, Dim::Known(1 << q));
    let shift = p + twos;
    if odd == 1 {
        return over(cx, scaled, shift);
    }
    if let (Some(a), Some(b)) = (a.to_f64(), b.to_f64()) {
        return if a % b == 0.0 { Elem::number(a / b) } else { Elem::Unknown };
    }
    if cx.dims().divides(odd, scaled) {
        let quotient = cx.dims().floor_div(scaled, Dim::Known(odd));
        return over(cx, quotient, shift);
    }
    match odd.checked_mul(1_i64.checked_shl(shift).unwrap_or(0)) {
        Some(denominator) if denominator > 1 && shift <= MAX_SHIFT => Elem::Quotient(scaled, denominator),
        _ => Elem::Unknown,
    }
}

/// The greatest integer not above a float (`up` false), or the least one not below it.
pub(crate) fn round(cx: &mut Cx<'_, '_>, value: Elem, up: bool) -> Elem {
    let (dim, by) = match value {
        Elem::Int(_) => return value,
        Elem::Dyadic(dim, shift) => (dim, 1 << shift),
        Elem::Quotient(dim, by) => (dim, by),
        Elem::Float(number) => return Elem::number(if up { number.ceil() } else { number.floor() }),
        Elem::Unknown => return value,
    };
    let by = Dim::Known(by);
    Elem::int(if up { cx.dims().ceil_div(dim, by) } else { cx.dims().floor_div(dim, by) })
}

/// What casting an element to another type gives.
pub(crate) fn cast(cx: &mut Cx<'_, '_>, value: Elem, from: ElemType, to: ElemType) -> Elem {
    let value = if exact_up_to(from).is_some() && exact_up_to(to).is_none() {
        // Towards zero: the floor of what is not negative.
        match value {
            Elem::Float(number) => Elem::number(number.trunc()),
            Elem::Dyadic(dim, _) | Elem::Quotient(dim, _) if cx.dims_le(Dim::Known(0), dim) == Some(true) => {
                round(cx, value, false)
            }
            Elem::Dyadic(..) | Elem::Quotient(..) => Elem::Unknown,
            _ => value,
        }
    } else {
        value
    };
    if to == ElemType::Bool && from != ElemType::Bool {
        return match value {
            Elem::Int(Dim::Known(number)) => Elem::bool(number != 0),
            Elem::Int(dim) if cx.dims_le(Dim::Known(1), dim) == Some(true) => Elem::bool(true),
            _ => Elem::Unknown,
        };
    }
    // A quotient that was rounded once must not be rounded again.
    if matches!(value, Elem::Quotient(..) | Elem::Float(_)) && from != to {
        return Elem::Unknown;
    }
    fit(cx, to, value)
}
