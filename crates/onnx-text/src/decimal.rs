//! Decimal numbers to codes of narrow float types, rounded once.
//!
//! A decimal number becomes a binary32 first, and that a code. Where the number is so near to the middle between two
//! codes that its binary32 is that middle, the binary32 no longer says which of the two is nearer: 1.0039062 lies below
//! the middle of two bfloat16, 1.0039063 above, and both have the middle as their binary32. Then the decimal number
//! itself is compared with the middle.

use std::cmp::Ordering;

use onnx_types::ElemType;

use crate::elements::narrow_code;

/// The code nearest to a decimal number, whose nearest binary32 is `value`.
///
/// # Errors
///
/// See [`narrow_code`].
#[inline]
pub(crate) fn code_of_decimal(elem: ElemType, value: f32, decimal: &[u8]) -> Result<u16, ()> {
    if is_middle(elem, value) {
        return narrow_code(elem, beside(value, decimal));
    }
    narrow_code(elem, value)
}

/// Whether a number lies in the middle between two codes, or where the type ends.
#[inline]
pub(crate) fn is_middle(elem: ElemType, value: f32) -> bool {
    // Codes have at most 11 bits that count, so what lies in the middle of two has at most 12, of the 24 of a binary32.
    value.to_bits() & 0xfff == 0
        && value.is_finite()
        && narrow_code(elem, toward_zero(value)) != narrow_code(elem, from_zero(value))
}

/// A number on the side of `value` on which a decimal number lies.
#[cold]
fn beside(value: f32, decimal: &[u8]) -> f32 {
    // 112 digits are enough for any binary32.
    let exact = format!("{:.120e}", value.abs());
    match Magnitude::of(decimal).cmp(&Magnitude::of(exact.as_bytes())) {
        Ordering::Less => toward_zero(value),
        Ordering::Equal => value,
        Ordering::Greater => from_zero(value),
    }
}

/// The next number with a smaller magnitude; zero has none.
fn toward_zero(value: f32) -> f32 {
    let magnitude = value.abs().to_bits().saturating_sub(1);
    f32::from_bits(magnitude).copysign(value)
}

/// The next number with a greater magnitude.
fn from_zero(value: f32) -> f32 {
    let magnitude = value.abs().to_bits().saturating_add(1);
    f32::from_bits(magnitude).copysign(value)
}

/// The magnitude of a decimal number: 0.d₁d₂… · 10ᵉ, where the first and the last digit are not 0. Of two of them the
/// one with the greater exponent is greater, and then the one with the greater digits; 0 has no digits.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Magnitude {
    exponent: i64,
    digits: Vec<u8>,
}

impl Magnitude {
    /// The magnitude of a decimal number with optional sign, point and exponent.
    fn of(decimal: &[u8]) -> Self {
        let (mut digits, mut exponent, mut after_point) = (Vec::new(), 0_i64, false);
        let mut rest = decimal.iter();
        for &byte in rest.by_ref() {
            match byte {
                b'0'..=b'9' => {
                    let is_leading = digits.is_empty() && byte == b'0';
                    if !is_leading {
                        digits.push(byte);
                    }
                    exponent = exponent.saturating_add(match (is_leading, after_point) {
                        (false, false) => 1,
                        (true, true) => -1,
                        _ => 0,
                    });
                }
                b'.' => after_point = true,
                b'e' | b'E' => break,
                _ => {}
            }
        }
        exponent = exponent.saturating_add(power(rest.as_slice()));
        while digits.last() == Some(&b'0') {
            digits.pop();
        }
        if digits.is_empty() {
            exponent = i64::MIN;
        }
        Self { exponent, digits }
    }
}

/// The number in an exponent, which saturates if it has too many digits.
fn power(text: &[u8]) -> i64 {
    let magnitude = text
        .iter()
        .filter(|byte| byte.is_ascii_digit())
        .fold(0_i64, |power, &digit| power.saturating_mul(10).saturating_add(i64::from(digit & 0xf)));
    if text.first() == Some(&b'-') { magnitude.saturating_neg() } else { magnitude }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::elements::narrow_value;

    fn code(elem: ElemType, decimal: &str) -> Result<u16, ()> {
        code_of_decimal(elem, decimal.parse().unwrap(), decimal.as_bytes())
    }

    #[test]
    fn a_number_is_rounded_once() {
        let one = [(ElemType::Bfloat16, 0x3f80, "1.00390625"), (ElemType::Float16, 0x3c00, "1.00048828125")];
        for (elem, even, middle) in one {
            assert_eq!(code(elem, middle), Ok(even));
            assert_eq!(code(elem, &format!("{middle}{:050}1", 0)), Ok(even + 1));
            assert_eq!(code(elem, &format!("-{middle}{:050}1e0", 0)), Ok((even + 1) | 0x8000));
            assert_eq!(
                code(elem, &format!("0.00{}e+3", middle.replace('.', ""))),
                Ok(even),
                "the same number"
            );
        }
        assert_eq!(code(ElemType::Bfloat16, "1.0039062"), Ok(0x3f80));
        assert_eq!(code(ElemType::Bfloat16, "1.0039063"), Ok(0x3f81));
        assert_eq!(code(ElemType::Bfloat16, "10039062e-7"), Ok(0x3f80));
        assert_eq!(code(ElemType::Float16, "65519.999999999999999"), Ok(0x7bff), "just inside of the type");
        assert_eq!(code(ElemType::Float16, "65520"), Err(()), "just outside");
        assert_eq!(code(ElemType::Float16, "1e-60"), Ok(0));
        assert_eq!(code(ElemType::Float16, "2.9e-8"), Ok(0), "nearer to 0 than to the smallest number");
        assert_eq!(code(ElemType::Float16, "3e-8"), Ok(1), "nearer to the smallest number");
        for (elem, greatest, code_of_it, end) in [
            (ElemType::Float4E2M1, "6.9", 0x7, "7.0"),
            (ElemType::Float6E2M3, "7.7", 0x1f, "7.75"),
            (ElemType::Float6E3M2, "29.9", 0x1f, "30.0"),
            (ElemType::Float8E4M3Fn, "463.9", 0x7e, "464.1"),
        ] {
            assert_eq!(code(elem, greatest), Ok(code_of_it), "{elem:?}");
            assert_eq!(code(elem, end), Err(()), "{elem:?}");
        }
        assert_eq!(code(ElemType::Float8E8M0, "1.0"), Ok(127));
        assert_eq!(code(ElemType::Float8E8M0, "-1.0"), Err(()), "powers of two only");
        assert_eq!(code(ElemType::Float16, "-0.0e99999999999999999999"), Ok(0x8000));
    }

    #[test]
    fn the_middle_of_any_two_codes_is_where_one_ends() {
        for (elem, end) in
            [(ElemType::Bfloat16, 0x7f80), (ElemType::Float16, 0x7c00), (ElemType::Float8E4M3Fn, 0x7f)]
        {
            for low in 0..end - 1 {
                let ends = [low, low + 1].map(|code| f64::from(narrow_value(elem, code).unwrap()));
                // Both have few digits, so this is exact.
                let middle = f64::midpoint(ends[0], ends[1]);
                let text = format!("{middle:.200}");
                assert_eq!(code(elem, &text), Ok(low + low % 2), "{elem:?} {low:#x}: {text}");
                assert_eq!(code(elem, &format!("{text}1")), Ok(low + 1), "{elem:?} {low:#x}: above {text}");
                let below = format!("{:.1100}", middle.next_down());
                assert_eq!(code(elem, &below), Ok(low), "{elem:?} {low:#x}: below {text}");
            }
        }
    }
}
