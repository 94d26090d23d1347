//! Comparison and logic. A truth value is the integer 0 or 1: where neither holds for all sizes, an expression that has the
//! one or the other, such as `min(max(N - 2, 0), 1)` for `N > 2`.

use onnx_types::Dim;

use super::broadcast::zip;
use crate::content::Elem;
use crate::cx::{Cx, Outcome};

/// The value rule of an operator that makes truth values of two elements.
pub(crate) fn pairs(cx: &mut Cx<'_, '_>, of: impl Fn(&mut Cx<'_, '_>, Elem, Elem) -> Elem) -> Outcome {
    zip(cx, &[0, 1], |cx, elems| match *elems {
        [a, b] => of(cx, a, b),
        _ => Elem::Unknown,
    })
}

/// Larger operands of a comparison than this are not written into an expression, where they would occur more than once.
const MAX_OPERAND: u32 = 24;

/// Whether an expression is small enough for a truth value.
pub(crate) fn is_small(cx: &Cx<'_, '_>, dim: Dim) -> bool {
    !dim.is_unknown() && cx.state.exprs.is_smaller_than(dim, MAX_OPERAND)
}

/// 1 where an integer is not 0, and 0 where it is.
pub(crate) fn not_zero(cx: &mut Cx<'_, '_>, dim: Dim) -> Dim {
    if !is_small(cx, dim) {
        return Dim::Unknown;
    }
    let negated = cx.dims().neg(dim);
    // Neither operand is known to be 0 or more, but their maximum is: with the 0, bounds show it.
    let larger = cx.max(dim, negated);
    let absolute = cx.max(larger, Dim::Known(0));
    cx.min(absolute, Dim::Known(1))
}

/// 1 where an integer is greater than 0, and 0 elsewhere.
pub(crate) fn positive(cx: &mut Cx<'_, '_>, dim: Dim) -> Dim {
    if !is_small(cx, dim) {
        return Dim::Unknown;
    }
    let least = cx.max(dim, Dim::Known(0));
    cx.min(least, Dim::Known(1))
}

/// The truth value of whether both are the same number.
pub(crate) fn equality(cx: &mut Cx<'_, '_>, a: Elem, b: Elem) -> Elem {
    if let Some(value) = equal(cx, a, b) {
        return Elem::bool(value);
    }
    let Some((a, b)) = same_denominator(cx, a, b) else { return Elem::Unknown };
    let difference = cx.dims().sub(a, b);
    let differs = not_zero(cx, difference);
    Elem::int(cx.dims().sub(Dim::Known(1), differs))
}

/// The truth value of whether the first is less than the second.
pub(crate) fn order(cx: &mut Cx<'_, '_>, a: Elem, b: Elem) -> Elem {
    if let Some(value) = less(cx, a, b) {
        return Elem::bool(value);
    }
    let Some((a, b)) = same_denominator(cx, a, b) else { return Elem::Unknown };
    let difference = cx.dims().sub(b, a);
    Elem::int(positive(cx, difference))
}

/// The truth value of whether the first is at most the second.
pub(crate) fn weak_order(cx: &mut Cx<'_, '_>, a: Elem, b: Elem) -> Elem {
    if let Some(value) = at_most(cx, a, b) {
        return Elem::bool(value);
    }
    let is_greater = order(cx, b, a);
    not(cx, is_greater)
}

/// A truth value as 0, 1, or an expression of them.
const fn bit(value: Elem) -> Dim {
    match truth(value) {
        Some(value) => Dim::Known(value as i64),
        None => value.dim(),
    }
}

/// The opposite of a truth value.
pub(crate) fn not(cx: &mut Cx<'_, '_>, value: Elem) -> Elem {
    Elem::int(cx.dims().sub(Dim::Known(1), bit(value)))
}

/// One value or another, as a truth value says.
pub(crate) fn choose(cx: &mut Cx<'_, '_>, condition: Elem, yes: Elem, no: Elem) -> Elem {
    match (truth(condition), yes, no) {
        (Some(true), ..) => yes,
        (Some(false), ..) => no,
        (None, ..) if yes == no => yes,
        (None, Elem::Int(yes), Elem::Int(no)) if is_small(cx, yes) && is_small(cx, no) => {
            Elem::int(cx.dims().select(condition.dim(), yes, no))
        }
        _ => Elem::Unknown,
    }
}

/// Whether both are the same number.
pub(crate) fn equal(cx: &mut Cx<'_, '_>, a: Elem, b: Elem) -> Option<bool> {
    if is_float(a) || is_float(b) {
        let (a, b) = (a.to_f64(), b.to_f64());
        #[expect(clippy::float_cmp, reason = "both are the exact numbers of the tensors")]
        return match (a, b) {
            (Some(a), Some(b)) => Some(a == b),
            _ => None,
        };
    }
    let (a, b) = same_denominator(cx, a, b)?;
    cx.dims_eq(a, b)
}

/// Whether the first is at most the second.
pub(crate) fn at_most(cx: &mut Cx<'_, '_>, a: Elem, b: Elem) -> Option<bool> {
    if is_float(a) || is_float(b) {
        return Some(a.to_f64()? <= b.to_f64()?);
    }
    let (a, b) = same_denominator(cx, a, b)?;
    cx.dims_le(a, b)
}

/// Whether the first is less than the second.
pub(crate) fn less(cx: &mut Cx<'_, '_>, a: Elem, b: Elem) -> Option<bool> {
    // With NaN, neither this nor its negation holds.
    if is_float(a) || is_float(b) {
        return Some(a.to_f64()? < b.to_f64()?);
    }
    at_most(cx, b, a).map(|is_at_most| !is_at_most)
}

const fn is_float(elem: Elem) -> bool {
    matches!(elem, Elem::Float(_))
}

/// The numerators over the same denominator, which is positive. Quotients that were rounded are not compared.
fn same_denominator(cx: &mut Cx<'_, '_>, a: Elem, b: Elem) -> Option<(Dim, Dim)> {
    let parts = |elem: Elem| match elem {
        Elem::Int(dim) => Some((dim, 0)),
        Elem::Dyadic(dim, shift) => Some((dim, shift)),
        Elem::Unknown | Elem::Quotient(..) | Elem::Float(_) => None,
    };
    let ((a, p), (b, q)) = (parts(a)?, parts(b)?);
    let shift = p.max(q);
    let scale = |power: u32| Dim::Known(1_i64.checked_shl(shift.saturating_sub(power)).unwrap_or(0));
    Some((cx.dims().mul(a, scale(p)), cx.dims().mul(b, scale(q))))
}

/// A truth value.
pub(crate) const fn truth(elem: Elem) -> Option<bool> {
    match elem.known() {
        Some(0) => Some(false),
        Some(_) => Some(true),
        None => None,
    }
}

/// Both: the less of two truth values.
pub(crate) fn and(cx: &mut Cx<'_, '_>, a: Elem, b: Elem) -> Elem {
    match (truth(a), truth(b)) {
        (Some(false), _) | (_, Some(false)) => Elem::bool(false),
        _ => Elem::int(cx.min(bit(a), bit(b))),
    }
}

/// At least one: the greater of two truth values.
pub(crate) fn or(cx: &mut Cx<'_, '_>, a: Elem, b: Elem) -> Elem {
    match (truth(a), truth(b)) {
        (Some(true), _) | (_, Some(true)) => Elem::bool(true),
        _ => Elem::int(cx.max(bit(a), bit(b))),
    }
}

/// Exactly one.
pub(crate) fn xor(cx: &mut Cx<'_, '_>, a: Elem, b: Elem) -> Elem {
    match (truth(a), truth(b)) {
        (Some(false), _) => Elem::int(bit(b)),
        (_, Some(false)) => Elem::int(bit(a)),
        (Some(true), _) => not(cx, b),
        (_, Some(true)) => not(cx, a),
        _ => {
            let difference = cx.dims().sub(bit(a), bit(b));
            Elem::int(not_zero(cx, difference))
        }
    }
}
