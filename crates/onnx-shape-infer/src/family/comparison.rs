//! Comparison and logic in three values: true, false, and not known.

use onnx_types::Dim;

use super::broadcast::zip;
use crate::content::Elem;
use crate::cx::{Cx, Outcome};

/// The value rule of an operator that makes truth values of two elements.
pub(crate) fn pairs(
    cx: &mut Cx<'_, '_>,
    of: impl Fn(&mut Cx<'_, '_>, Elem, Elem) -> Option<bool>,
) -> Outcome {
    zip(cx, &[0, 1], |cx, elems| match *elems {
        [a, b] => of(cx, a, b).map_or(Elem::Unknown, Elem::bool),
        _ => Elem::Unknown,
    })
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
    // With what is no number, neither this nor the opposite holds.
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

/// Both.
pub(crate) const fn and(a: Option<bool>, b: Option<bool>) -> Option<bool> {
    match (a, b) {
        (Some(false), _) | (_, Some(false)) => Some(false),
        (Some(true), Some(true)) => Some(true),
        _ => None,
    }
}

/// At least one.
pub(crate) const fn or(a: Option<bool>, b: Option<bool>) -> Option<bool> {
    match (a, b) {
        (Some(true), _) | (_, Some(true)) => Some(true),
        (Some(false), Some(false)) => Some(false),
        _ => None,
    }
}

/// Exactly one.
pub(crate) const fn xor(a: Option<bool>, b: Option<bool>) -> Option<bool> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a != b),
        _ => None,
    }
}
