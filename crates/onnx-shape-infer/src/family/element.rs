//! Functions of one or two elements beyond the four basic operations.

use onnx_types::{Dim, ElemType};

use super::arithmetic::{Op, fit, join};
use super::broadcast::zip;
use crate::content::Elem;
use crate::cx::{Cx, Outcome};

/// The number 0 of any type.
pub(crate) const ZERO: Elem = Elem::Int(Dim::Known(0));

/// The value rule of an operator that makes each element of the first output of one element of the first input.
pub(crate) fn map(cx: &mut Cx<'_, '_>, of: fn(&mut Cx<'_, '_>, ElemType, Elem) -> Elem) -> Outcome {
    let elem = cx.elem(0)?;
    zip(cx, &[0], |cx, elems| of(cx, elem, elems.first().copied().unwrap_or_default()))
}

/// Without its sign.
pub(crate) fn abs(cx: &mut Cx<'_, '_>, elem: ElemType, value: Elem) -> Elem {
    let dim = match value {
        Elem::Float(number) => return Elem::Float(number.abs()),
        Elem::Int(dim) | Elem::Dyadic(dim, _) | Elem::Quotient(dim, _) => dim,
        Elem::Unknown => return Elem::Unknown,
    };
    if cx.dims_le(Dim::Known(0), dim) == Some(true) {
        return value;
    }
    let Elem::Int(dim) = value else { return Elem::Unknown };
    let opposite = cx.dims().neg(dim);
    let size = cx.max(dim, opposite);
    fit(cx, elem, Elem::int(size))
}

/// -1, 0 or 1.
pub(crate) fn sign(cx: &mut Cx<'_, '_>, elem: ElemType, value: Elem) -> Elem {
    let dim = match value {
        Elem::Float(number) if number > 0.0 => Dim::Known(1),
        Elem::Float(number) if number < 0.0 => Dim::Known(-1),
        // The sign of a fraction is that of its numerator.
        Elem::Int(dim) | Elem::Dyadic(dim, _) | Elem::Quotient(dim, _) => {
            let at_most = cx.min(dim, Dim::Known(1));
            cx.max(at_most, Dim::Known(-1))
        }
        Elem::Float(_) | Elem::Unknown => Dim::Unknown,
    };
    fit(cx, elem, Elem::int(dim))
}

/// The opposite.
pub(crate) fn neg(cx: &mut Cx<'_, '_>, elem: ElemType, value: Elem) -> Elem {
    join(cx, elem, Op::Sub, ZERO, value)
}

/// The number, or 0 for a negative one.
pub(crate) fn relu(cx: &mut Cx<'_, '_>, elem: ElemType, value: Elem) -> Elem {
    join(cx, elem, Op::Max, value, ZERO)
}

/// The nearest integer, the even one of two that are as near.
pub(crate) fn nearest(_: &mut Cx<'_, '_>, _: ElemType, value: Elem) -> Elem {
    match value {
        Elem::Int(_) => value,
        Elem::Float(number) => Elem::number(number.round_ties_even()),
        Elem::Unknown | Elem::Dyadic(..) | Elem::Quotient(..) => Elem::Unknown,
    }
}

/// The square root of a number, which IEEE 754 rounds in one way.
pub(crate) fn sqrt(_: &mut Cx<'_, '_>, elem: ElemType, value: Elem) -> Elem {
    let root = match (elem, value.to_f64()) {
        (ElemType::Float, Some(number)) => f64::from((number as f32).sqrt()),
        (ElemType::Double, Some(number)) => number.sqrt(),
        _ => return Elem::Unknown,
    };
    if root.is_finite() { Elem::number(root) } else { Elem::Unknown }
}

/// A power with an exponent that is a small integer; the machine's own function rounds nothing there as long as the result
/// is exact in a double, which it computes with.
pub(crate) fn pow(cx: &mut Cx<'_, '_>, elem: ElemType, base: Elem, exponent: Elem) -> Elem {
    const MAX: i64 = 1 << 53;
    let Some(exponent) = exponent.known().and_then(|exponent| u32::try_from(exponent).ok()) else {
        return Elem::Unknown;
    };
    let power = match base {
        Elem::Int(Dim::Known(base)) => base.checked_pow(exponent).map_or(Dim::Unknown, Dim::Known),
        Elem::Int(base) if exponent <= 8 => cx.dims().pow(base, exponent),
        _ => return Elem::Unknown,
    };
    if power.known().is_some_and(|power| !(-MAX..=MAX).contains(&power)) {
        return Elem::Unknown;
    }
    let exact = fit(cx, ElemType::Double, Elem::int(power));
    fit(cx, elem, exact)
}
