//! Arithmetic on elements that are followed.
//!
//! It respects the type: an integer that leaves the range of its type is not known, as the type wraps around there; for
//! a symbolic integer in 32 bits it is assumed, with a guard, that it does not. Numbers in `f32` and `f64` are computed in
//! the type, rounded as IEEE 754 says, and in narrower floats as long as they are exact. What depends on symbols is
//! followed as long as it is exact: `f32` has all integers up to 2²⁴, and fractions by a power of two where they fit; that
//! symbolic sizes stay below is assumed with a guard, too.

use std::ops::RangeInclusive;

use onnx_types::expr::Dialect;
use onnx_types::{Dim, ElemType};

use crate::content::Elem;
use crate::cx::{Cx, Outcome};
use crate::facts::Relation;
use crate::fault::ELEMENTS_OVERFLOW;

#[cfg(test)]
mod tests;

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
    /// The remainder of a division that is rounded down: it has the sign of the divisor.
    Mod,
    /// The remainder of a division towards zero: it has the sign of what is divided.
    Rem,
}

/// The greatest denominator, as a power of two, that is followed.
const MAX_SHIFT: u32 = 10;

/// How large a number can be so that a float type has it and its neighbours exactly.
pub(crate) const fn exact_up_to(elem: ElemType) -> Option<i64> {
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
        rest.fold(first, |a, b| {
            // Elements of this type are sizes; types with fewer bits wrap around on purpose, in hashes and random numbers.
            if elem == ElemType::Int64 && overflows(op, a, b) {
                let _ = cx.fail(&ELEMENTS_OVERFLOW, "an element of the result does not fit in 64 bits");
            }
            join(cx, elem, op, a, b)
        })
    })
}

/// One operation on elements of a type.
pub(crate) fn join(cx: &mut Cx<'_, '_>, elem: ElemType, op: Op, a: Elem, b: Elem) -> Elem {
    if exact_up_to(elem).is_none() {
        let joined = integers(cx, op, a, b);
        return fit(cx, elem, joined);
    }
    if let (Some(left), Some(right)) = (a.to_f64(), b.to_f64()) {
        return rounded(elem, op, left, right).map_or(Elem::Unknown, Elem::number);
    }
    let joined = floats(cx, op, a, b);
    fit(cx, elem, joined)
}

/// Whether the sum, difference or product of two known integers leaves 64 bits.
const fn overflows(op: Op, a: Elem, b: Elem) -> bool {
    let (Elem::Int(Dim::Known(a)), Elem::Int(Dim::Known(b))) = (a, b) else { return false };
    match op {
        Op::Add => a.checked_add(b).is_none(),
        Op::Sub => a.checked_sub(b).is_none(),
        Op::Mul => a.checked_mul(b).is_none(),
        Op::Div | Op::Min | Op::Max | Op::Mod | Op::Rem => false,
    }
}

/// The result of an operation on two numbers of a float type: rounded as in IEEE 754 for the wide types, and only if it is
/// exact for the narrow ones. `None` for infinities and NaN, and for numbers below the normal range of `float`, which some
/// machines flush to zero.
fn rounded(elem: ElemType, op: Op, a: f64, b: f64) -> Option<f64> {
    let value = match elem {
        ElemType::Float => {
            let (a, b) = (a as f32, b as f32);
            let value = match op {
                Op::Add => a + b,
                Op::Sub => a - b,
                Op::Mul => a * b,
                Op::Div => a / b,
                _ => return exact(op, f64::from(a), f64::from(b)),
            };
            f64::from(value)
        }
        _ => match op {
            Op::Add => a + b,
            Op::Sub => a - b,
            Op::Mul => a * b,
            Op::Div => a / b,
            _ => return exact(op, a, b),
        },
    };
    (is_plain(value) && holds(elem, value)).then_some(value)
}

/// The operations that round nothing in any float type.
fn exact(op: Op, a: f64, b: f64) -> Option<f64> {
    if !a.is_finite() || !b.is_finite() {
        return None;
    }
    match op {
        Op::Min => Some(a.min(b)),
        Op::Max => Some(a.max(b)),
        Op::Rem if b != 0.0 => Some(a % b),
        // `a % b` has the sign of `a`. If that is not the sign of `b`, the result would need an addition that rounds.
        Op::Mod if b != 0.0 => {
            let rest = a % b;
            (rest == 0.0 || (rest < 0.0) == (b < 0.0)).then_some(rest)
        }
        _ => None,
    }
}

/// Whether a result is a finite number that is not so near to zero that machines may drop it.
fn is_plain(value: f64) -> bool {
    value == 0.0 || (value.is_finite() && value.abs() >= f64::from(f32::MIN_POSITIVE))
}

/// Whether a float type has a number exactly.
fn holds(elem: ElemType, value: f64) -> bool {
    match elem {
        ElemType::Double => true,
        ElemType::Float => f64::from(value as f32) == value,
        // Ten bits behind the point, and no numbers below the normal ones.
        ElemType::Float16 => {
            let normal = (6.103_515_625e-5..=65_504.0).contains(&value.abs());
            value == 0.0 || (normal && value.to_bits().trailing_zeros() >= 42)
        }
        ElemType::Bfloat16 => {
            let value32 = value as f32;
            f64::from(value32) == value && value32.to_bits().trailing_zeros() >= 16
        }
        _ => false,
    }
}

/// The element, if it stays in the range of its type; for symbolic ones that is assumed where the type is wide enough.
pub(crate) fn fit(cx: &mut Cx<'_, '_>, elem: ElemType, value: Elem) -> Elem {
    let Some(limit) = exact_up_to(elem) else {
        let Some((lo, hi)) = range(elem) else { return Elem::Unknown };
        return match value {
            Elem::Int(Dim::Known(number)) if (lo..=hi).contains(&number) => value,
            Elem::Int(Dim::Known(_)) => Elem::Unknown,
            Elem::Int(dim) => in_range(cx, dim, lo..=hi).map_or(Elem::Unknown, Elem::Int),
            _ => Elem::Unknown,
        };
    };
    match value {
        Elem::Int(Dim::Known(number)) => {
            const EXACT: u64 = 1 << 53;
            let fits = number.unsigned_abs() <= EXACT && holds(elem, number as f64);
            if fits { value } else { Elem::Unknown }
        }
        Elem::Float(number) => {
            if holds(elem, number) {
                value
            } else {
                Elem::Unknown
            }
        }
        Elem::Unknown => Elem::Unknown,
        Elem::Int(dim) => in_range(cx, dim, up_to(limit)).map_or(Elem::Unknown, Elem::Int),
        Elem::Dyadic(dim, shift) => match in_range(cx, dim, up_to(limit)) {
            Some(dim) => Elem::Dyadic(dim, shift),
            None => Elem::Unknown,
        },
        // A quarter of the exact range, so that no quotient is rounded to an integer that it is not.
        Elem::Quotient(dim, by) if by <= limit / 4 => match in_range(cx, dim, up_to(limit / 4)) {
            Some(dim) => Elem::Quotient(dim, by),
            None => Elem::Unknown,
        },
        Elem::Quotient(..) => Elem::Unknown,
    }
}

/// The numbers whose absolute value is at most `limit`.
const fn up_to(limit: i64) -> RangeInclusive<i64> {
    limit.saturating_neg()..=limit
}

/// The dimension, with a guard that it is in a range where that is not proved. Narrow ranges are not assumed: sizes leave
/// them.
fn in_range(cx: &mut Cx<'_, '_>, dim: Dim, range: RangeInclusive<i64>) -> Option<Dim> {
    const NARROW: i64 = 1 << 16;
    let (lo, hi) = range.into_inner();
    let (low, high) = (Dim::Known(lo), Dim::Known(hi));
    // 64 bits are never left by sizes that fit into memory; beyond the rest is not thought of.
    let is_above = lo == i64::MIN || cx.dims_le(low, dim) == Some(true);
    let is_below = hi == i64::MAX || cx.dims_le(dim, high) == Some(true);
    // What is subtracted from a size can be more than it.
    if (!is_above && lo == 0) || (!(is_above && is_below) && hi < NARROW) {
        return None;
    }
    let reason = "the element must be in the exact range of its type";
    if !is_above && !cx.may_assume(Relation::AtMost(low, dim), reason) {
        return None;
    }
    if !is_below && !cx.may_assume(Relation::AtMost(dim, high), reason) {
        return None;
    }
    Some(dim)
}

/// Whether a divisor is positive, with a guard for one that is only known not to be negative.
fn is_positive(cx: &mut Cx<'_, '_>, divisor: Elem) -> bool {
    let Elem::Int(divisor) = divisor else { return false };
    if cx.dims_le(Dim::Known(1), divisor) == Some(true) {
        return true;
    }
    let is_positive = Relation::AtMost(Dim::Known(1), divisor);
    cx.is_size(divisor) && cx.may_assume(is_positive, "the result of a division by 0 is not defined")
}

fn integers(cx: &mut Cx<'_, '_>, op: Op, a: Elem, b: Elem) -> Elem {
    // Nothing times zero is zero, whatever it is.
    if op == Op::Mul && [a, b].contains(&Elem::Int(Dim::Known(0))) {
        return Elem::Int(Dim::Known(0));
    }
    if matches!(op, Op::Div | Op::Mod | Op::Rem) {
        // Division by 0 fails in runtimes; the reference gives 0. A guard excludes it.
        let is_positive = is_positive(cx, b);
        let is_known = matches!(b, Elem::Int(Dim::Known(_)));
        if !is_positive && !is_known && !cx.state.options.assumed {
            return Elem::Unknown;
        }
    }
    let (Elem::Int(a), Elem::Int(b)) = (a, b) else { return Elem::Unknown };
    Elem::int(match op {
        Op::Add => cx.dims().add(a, b),
        Op::Sub => cx.dims().sub(a, b),
        Op::Mul => cx.dims().mul(a, b),
        Op::Min => cx.min(a, b),
        Op::Max => cx.max(a, b),
        Op::Div => truncated(cx, a, b),
        Op::Mod => cx.dims().modulo(a, b),
        Op::Rem => remainder(cx, a, b),
    })
}

/// Division towards zero. It is the floor where both signs are known to be the same.
fn truncated(cx: &mut Cx<'_, '_>, a: Dim, b: Dim) -> Dim {
    let zero = Dim::Known(0);
    if let (Dim::Known(a), Dim::Known(b)) = (a, b) {
        return a.checked_div(b).map_or(Dim::Unknown, Dim::Known);
    }
    if cx.dims_le(zero, b) != Some(true) {
        return Dim::Unknown;
    }
    if cx.dims_le(zero, a) == Some(true) {
        return cx.dims().floor_div(a, b);
    }
    // What is nearer to zero than the divisor becomes 0, as 0 does: `N - 1` by 2 at `N = 0`.
    let least = cx.dims().sub(Dim::Known(1), b);
    if cx.dims_le(least, a) == Some(true) {
        let a = cx.max(zero, a);
        return cx.dims().floor_div(a, b);
    }
    if !is_short(cx, a) {
        return Dim::Unknown;
    }
    // What is above 0 and what is below are divided apart: (N - 3)/2 is max(0, N - 3)//2 - max(0, 3 - N)//2.
    let negated = cx.dims().sub(zero, a);
    let (above, below) = (cx.max(zero, a), cx.max(zero, negated));
    let (above, below) = (cx.dims().floor_div(above, b), cx.dims().floor_div(below, b));
    cx.dims().sub(above, below)
}

/// Whether an expression may occur twice in another one. The bound keeps a chain of such steps from growing without
/// limit.
fn is_short(cx: &mut Cx<'_, '_>, dim: Dim) -> bool {
    const MOST: usize = 256;
    cx.state.exprs.text(dim, cx.names(), Dialect::Python).is_some_and(|text| text.len() <= MOST)
}

/// The remainder of the division towards zero. Where nothing is negative it is that of the division that rounds down.
fn remainder(cx: &mut Cx<'_, '_>, a: Dim, b: Dim) -> Dim {
    let zero = Dim::Known(0);
    if let (Dim::Known(a), Dim::Known(b)) = (a, b) {
        return a.checked_rem(b).map_or(Dim::Unknown, Dim::Known);
    }
    let positive = cx.dims_le(zero, a) == Some(true) && cx.dims_le(zero, b) == Some(true);
    if positive { cx.dims().modulo(a, b) } else { Dim::Unknown }
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
        shift = shift.saturating_sub(1);
    }
    if shift == 0 { Elem::int(dim) } else { Elem::Dyadic(dim, shift) }
}

fn floats(cx: &mut Cx<'_, '_>, op: Op, a: Elem, b: Elem) -> Elem {
    match op {
        Op::Div => return divide(cx, a, b),
        // The remainder of a division by 0 is NaN.
        Op::Mod | Op::Rem if !is_positive(cx, b) => return Elem::Unknown,
        Op::Mod | Op::Rem => return integers(cx, op, a, b),
        _ => {}
    }
    let (Some((left, p)), Some((right, q))) = (dyadic(a), dyadic(b)) else { return Elem::Unknown };
    if op == Op::Mul {
        let product = cx.dims().mul(left, right);
        return over(cx, product, p.saturating_add(q));
    }
    let shift = p.max(q);
    let left = cx.dims().mul(left, Dim::Known(1 << shift.saturating_sub(p)));
    let right = cx.dims().mul(right, Dim::Known(1 << shift.saturating_sub(q)));
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
    let shift = p.saturating_add(twos);
    if odd == 1 {
        return over(cx, scaled, shift);
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
    if from == to {
        return value;
    }
    if to == ElemType::Bool {
        return truth(cx, value);
    }
    let (from_float, to_float) = (exact_up_to(from).is_some(), exact_up_to(to).is_some());
    match value {
        // Only these two round as every machine does; a narrow float must have the number exactly.
        Elem::Int(Dim::Known(number)) if to == ElemType::Float => Elem::number(f64::from(number as f32)),
        Elem::Int(Dim::Known(number)) if to == ElemType::Double => Elem::number(number as f64),
        Elem::Float(number) if to == ElemType::Float && from == ElemType::Double => {
            let number = f64::from(number as f32);
            if is_plain(number) { Elem::number(number) } else { Elem::Unknown }
        }
        // Between integers the lowest bits stay.
        Elem::Int(Dim::Known(number)) if from.is_integer() => wrapped(number, to),
        // Towards zero: the floor of what is not negative.
        Elem::Float(number) if from_float && !to_float => {
            let whole = Elem::number(number.trunc());
            fit(cx, to, whole)
        }
        Elem::Dyadic(dim, _) | Elem::Quotient(dim, _) if from_float && !to_float => {
            if cx.dims_le(Dim::Known(0), dim) != Some(true) {
                return Elem::Unknown;
            }
            let whole = round(cx, value, false);
            fit(cx, to, whole)
        }
        // A quotient that was rounded once must not be rounded again.
        Elem::Quotient(..) => Elem::Unknown,
        Elem::Float(_) if !from_float => Elem::Unknown,
        _ => fit(cx, to, value),
    }
}

/// The integer in a type that wraps around.
fn wrapped(number: i64, to: ElemType) -> Elem {
    let number = match to {
        ElemType::Int64 => number,
        ElemType::Int32 => i64::from(number as i32),
        ElemType::Int16 => i64::from(number as i16),
        ElemType::Int8 => i64::from(number as i8),
        ElemType::Uint32 => i64::from(number as u32),
        ElemType::Uint16 => i64::from(number as u16),
        ElemType::Uint8 => i64::from(number as u8),
        ElemType::Uint64 if number >= 0 => number,
        ElemType::Float16 | ElemType::Bfloat16 if number.unsigned_abs() <= 1 << 53 => {
            return if holds(to, number as f64) { Elem::Int(Dim::Known(number)) } else { Elem::Unknown };
        }
        _ => return Elem::Unknown,
    };
    Elem::Int(Dim::Known(number))
}

/// Whether an element is not zero. A fraction is zero where its numerator is.
fn truth(cx: &Cx<'_, '_>, value: Elem) -> Elem {
    match value {
        Elem::Int(dim) | Elem::Dyadic(dim, _) | Elem::Quotient(dim, _) => {
            let below = cx.dims_le(dim, Dim::Known(-1)) == Some(true);
            if below || cx.dims_le(Dim::Known(1), dim) == Some(true) {
                Elem::bool(true)
            } else if cx.dims_eq(dim, Dim::Known(0)) == Some(true) {
                Elem::bool(false)
            } else {
                Elem::Unknown
            }
        }
        Elem::Float(_) => Elem::bool(true),
        Elem::Unknown => Elem::Unknown,
    }
}
