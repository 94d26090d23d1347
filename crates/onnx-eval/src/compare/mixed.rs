//! Tensors of two float types, compared as numbers.

use onnx_types::ElemType;
use onnx_types::tensor::NoData;

use super::Difference;
use super::elements::{CHUNK, Tensors, shown};
use crate::cx::{Outcome, Stop};

/// The float types, the widest first: element type, bits of the mantissa, exponent of the smallest normal number.
const FORMATS: &[(ElemType, u32, i32)] = &[
    (ElemType::Double, 52, -1022),
    (ElemType::Float, 23, -126),
    (ElemType::Float16, 10, -14),
    (ElemType::Bfloat16, 7, -126),
    (ElemType::Float8E4M3Fn, 3, -6),
    (ElemType::Float8E4M3Fnuz, 3, -7),
    (ElemType::Float8E5M2, 2, -14),
    (ElemType::Float8E5M2Fnuz, 2, -15),
    (ElemType::Float8E8M0, 0, -127),
    (ElemType::Float6E2M3, 3, 0),
    (ElemType::Float6E3M2, 2, -2),
    (ElemType::Float4E2M1, 1, 0),
];

/// The type of two float types that has fewer bits; of two types of equal width, the one with the shorter mantissa. Returns
/// `None` if one of them is not a float type.
pub(super) fn narrower(a: ElemType, b: ElemType) -> Option<ElemType> {
    let index = |elem| FORMATS.iter().position(|(known, ..)| *known == elem);
    FORMATS.get(index(a)?.max(index(b)?)).map(|(elem, ..)| *elem)
}

/// Adds the differences of two tensors of equal shape and different float types.
pub(super) fn floats(tensors: Tensors<'_>, into: &mut Difference) -> Outcome {
    let (elem_a, elem_b) = (tensors.a.elem(), tensors.b.elem());
    let narrow = narrower(elem_a, elem_b);
    let format = FORMATS.iter().find(|(elem, ..)| Some(*elem) == narrow);
    let Some(&(_, mantissa, smallest)) = format else { return Ok(()) };
    let bits = [elem_a, elem_b].map(|elem| elem.bits().unwrap_or(64));
    let pairs = tensors.a.iter_f64(&NoData)?.zip(tensors.b.iter_f64(&NoData)?);
    for (index, (a, b)) in pairs.enumerate() {
        if index.is_multiple_of(CHUNK) {
            tensors.interrupt.check().map_err(Stop::Interrupted)?;
        }
        if a == b || (a.is_nan() && b.is_nan()) {
            continue;
        }
        let ulps = distance(a, b, mantissa, smallest);
        let is_within = !a.is_nan() && !b.is_nan() && tensors.tolerance.allows(a, b, ulps);
        into.add(index, is_within, Some((a, b, ulps)), || (shown(a, bits[0]), shown(b, bits[1])));
    }
    Ok(())
}

/// The distance of two different numbers in units in the last place of a type, rounded up. That of an infinity or a NaN is the
/// greatest one: a finite number of the wider type can be beyond the range of the narrower one.
fn distance(a: f64, b: f64, mantissa: u32, smallest: i32) -> u64 {
    if !a.is_finite() || !b.is_finite() {
        return u64::MAX;
    }
    let [a, b] = [a, b].map(|number| rank(number, mantissa, smallest));
    let ulps = a.abs_diff(b).div_ceil(1 << FRACTION).max(1);
    u64::try_from(ulps).unwrap_or(u64::MAX)
}

/// Bits of a rank after the point.
const FRACTION: u32 = 52;

/// Where a number is among the values of a type, which have the ranks …, -1, 0, 1, … times 2^52; other numbers are linearly
/// between these. The range of exponents has no upper end.
fn rank(number: f64, mantissa: u32, smallest: i32) -> i128 {
    let code = number.to_bits();
    let (field, fraction) = ((code >> 52 & 0x7ff) as i32, i128::from(code & ((1 << 52) - 1)));
    // The number is `significand` times 2^(exponent - 52).
    let (significand, exponent) =
        if field == 0 { (fraction, -1022) } else { (fraction | 1 << 52, field - 1023) };
    let significand = significand << mantissa;
    let above = exponent - smallest;
    let magnitude = if above >= 0 {
        (i128::from(above) << (mantissa + FRACTION)) + significand
    } else {
        significand >> above.unsigned_abs().min(127)
    };
    if number.is_sign_negative() { -magnitude } else { magnitude }
}

#[cfg(test)]
mod tests {
    use onnx_types::tensor::f16;

    use super::*;

    /// The distance between neighbors is 1, also where the exponent changes, at 0 and among subnormal numbers.
    #[test]
    fn ranks_are_those_of_the_values_of_the_type() {
        for code in 0..0x7bff_u16 {
            let number = |code| f64::from(f16::from_bits(code).to_f32());
            assert_eq!(rank(number(code), 10, -14), i128::from(code) << FRACTION, "{code:#x}");
            assert_eq!(distance(number(code), number(code + 1), 10, -14), 1, "{code:#x}");
            assert_eq!(rank(-number(code), 10, -14), -(i128::from(code) << FRACTION), "{code:#x}");
        }
        assert_eq!(distance(0.1, f64::from(f16::from_f32(0.1).to_f32()), 10, -14), 1);
        assert_eq!(distance(1.0, 1.0 + 2.5 / 1024.0, 10, -14), 3);
        assert_eq!(distance(0.0, f64::from_bits(1), 23, -126), 1);
        assert_eq!(distance(70_000.0, f64::INFINITY, 10, -14), u64::MAX);
    }

    #[test]
    fn the_narrower_type_has_fewer_bits_or_a_shorter_mantissa() {
        assert_eq!(narrower(ElemType::Float, ElemType::Float16), Some(ElemType::Float16));
        assert_eq!(narrower(ElemType::Bfloat16, ElemType::Float16), Some(ElemType::Bfloat16));
        assert_eq!(narrower(ElemType::Float, ElemType::Double), Some(ElemType::Float));
        assert_eq!(narrower(ElemType::Float, ElemType::Int64), None);
        assert_eq!(narrower(ElemType::Complex64, ElemType::Complex128), None);
        // Every type has a default tolerance.
        assert!(
            FORMATS.iter().all(|(elem, ..)| super::super::DEFAULTS.iter().any(|(known, ..)| known == elem))
        );
    }
}
