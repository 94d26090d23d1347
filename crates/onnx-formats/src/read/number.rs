//! Numbers of text and JSON.

use std::str::FromStr;

/// A whole number without its sign: decimal, and in text also hexadecimal after `0x` and octal after `0`.
pub(super) fn magnitude(token: &str) -> Option<u64> {
    let digits = |digits: &str, radix| {
        // The standard library takes a sign here.
        let is_plain = digits.bytes().all(|byte| byte.is_ascii_alphanumeric());
        u64::from_str_radix(digits, radix).ok().filter(|_| is_plain)
    };
    if let Some(hexadecimal) = token.strip_prefix("0x").or_else(|| token.strip_prefix("0X")) {
        return digits(hexadecimal, 16);
    }
    match token.strip_prefix('0') {
        Some(octal) if !octal.is_empty() => digits(octal, 8),
        _ => digits(token, 10),
    }
}

/// A signed number from its sign and magnitude.
pub(super) fn signed(is_negative: bool, magnitude: u64) -> Option<i64> {
    if is_negative { 0_i64.checked_sub_unsigned(magnitude) } else { magnitude.try_into().ok() }
}

/// The number of a character that is given as a pair of surrogates.
pub(super) const fn surrogates(high: u32, low: u32) -> u32 {
    ((high & 0x3ff) << 10 | (low & 0x3ff)).wrapping_add(0x10000)
}

/// The magnitude of a decimal number with optional fraction and exponent, if it is whole: `1.50e2` is 150.
pub(super) fn whole(token: &str) -> Option<u64> {
    let (mantissa, exponent) = match token.find(['e', 'E']) {
        Some(at) => (token.get(..at)?, token.get(at..)?.get(1..)?.parse::<i64>().ok()?),
        None => (token, 0),
    };
    let (integral, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let fraction = fraction.trim_end_matches('0');
    let mut zeros = exponent.checked_sub(i64::try_from(fraction.len()).ok()?)?;
    let digits = format!("{integral}{fraction}");
    let mut digits = digits.trim_start_matches('0');
    if digits.is_empty() {
        return Some(0);
    }
    while zeros < 0 {
        digits = digits.strip_suffix('0')?;
        zeros = zeros.saturating_add(1);
    }
    let value: u64 = digits.parse().ok()?;
    (0..zeros.min(20)).try_fold(value, |value, _| value.checked_mul(10))
}

/// Powers of ten that a `f64` holds exactly.
const POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18,
    1e19, 1e20, 1e21, 1e22,
];

/// Parses the decimal number at the beginning of a text, without a sign, and returns it with its length. `None` if it is not
/// a common one, which says nothing about whether it is valid: at most 19 digits, digits on both sides of a point, no
/// leading zeros, a common separator behind it, and a value that takes one rounding.
///
/// Most weights in text are such numbers, and this takes a third of the time of the standard library.
#[inline]
pub(super) fn common<T: Float>(text: &[u8]) -> Option<(T, usize)> {
    const MOST_DIGITS: usize = 19;
    let mut mantissa = 0_u64;
    let mut rest = text;
    let mut digits = |rest: &mut &[u8]| {
        let before = rest.len();
        while let [digit @ b'0'..=b'9', after @ ..] = *rest {
            mantissa = mantissa.wrapping_mul(10).wrapping_add(u64::from(digit & 15));
            *rest = after;
        }
        before.wrapping_sub(rest.len())
    };
    let integral = digits(&mut rest);
    if integral == 0 || (integral > 1 && text.first() == Some(&b'0')) {
        return None;
    }
    let mut fraction = 0;
    if let [b'.', after @ ..] = rest {
        rest = after;
        fraction = digits(&mut rest);
        (fraction > 0).then_some(())?;
    }
    if integral.wrapping_add(fraction) > MOST_DIGITS {
        return None;
    }
    let mut exponent = 0_i32;
    if let [b'e' | b'E', after @ ..] = rest {
        let is_negative = after.first() == Some(&b'-');
        rest = after.strip_prefix(b"-").or_else(|| after.strip_prefix(b"+")).unwrap_or(after);
        let [tens @ b'0'..=b'9', after @ ..] = rest else { return None };
        (exponent, rest) = (i32::from(tens & 15), after);
        if let [ones @ b'0'..=b'9', after @ ..] = rest {
            (exponent, rest) = (exponent.wrapping_mul(10).wrapping_add(i32::from(ones & 15)), after);
        }
        exponent = if is_negative { exponent.wrapping_neg() } else { exponent };
    }
    if !matches!(rest.first(), Some(b'\n' | b' ' | b',' | b'\r' | b'\t' | b']' | b'}')) {
        return None;
    }
    let value = T::of_decimal(mantissa, exponent.wrapping_sub(fraction as i32))?;
    Some((value, text.len().wrapping_sub(rest.len())))
}

/// `mantissa` times this power of ten, if one rounding gives the nearest `f64`.
#[inline]
fn of_decimal(mantissa: u64, exponent: i32) -> Option<f64> {
    if mantissa > 1 << 53 {
        return None;
    }
    let power = POWERS.get(exponent.unsigned_abs() as usize)?;
    Some(if exponent < 0 { mantissa as f64 / power } else { mantissa as f64 * power })
}

/// Common operations of floating-point types.
pub(super) trait Float: FromStr {
    /// The number nearest to `mantissa` times this power of ten, if that is found with simple operations.
    fn of_decimal(mantissa: u64, exponent: i32) -> Option<Self>;
    const NAME: &str;
    const INFINITY: Self;
    const NAN: Self;
    fn negated(self) -> Self;
    fn is_infinite(&self) -> bool;
}

impl Float for f32 {
    #[inline]
    fn of_decimal(mantissa: u64, exponent: i32) -> Option<Self> {
        /// The bits of a `f64` that a `f32` does not have, and their value in the middle of two numbers.
        const DROPPED: u64 = (1 << 29) - 1;
        const MIDDLE: u64 = 1 << 28;
        let value = of_decimal(mantissa, exponent)?;
        // The middle of two numbers is a `f64`, so rounding to that first moves no decimal from one side to the other: only
        // the middle itself may stand for decimals of both sides.
        let is_certain = value.to_bits() & DROPPED != MIDDLE;
        let is_normal = value >= f64::from(Self::MIN_POSITIVE) && value <= f64::from(Self::MAX);
        (is_certain && is_normal || value == 0.0).then_some(value as Self)
    }

    const NAME: &str = "float";
    const INFINITY: Self = Self::INFINITY;
    const NAN: Self = Self::NAN;

    fn negated(self) -> Self {
        -self
    }

    fn is_infinite(&self) -> bool {
        Self::is_infinite(*self)
    }
}

impl Float for f64 {
    #[inline]
    fn of_decimal(mantissa: u64, exponent: i32) -> Option<Self> {
        of_decimal(mantissa, exponent)
    }

    const NAME: &str = "double";
    const INFINITY: Self = Self::INFINITY;
    const NAN: Self = Self::NAN;

    fn negated(self) -> Self {
        -self
    }

    fn is_infinite(&self) -> bool {
        Self::is_infinite(*self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_with_exponents() {
        for (token, value) in [
            ("0", Some(0)),
            ("1.0", Some(1)),
            ("1.50e2", Some(150)),
            ("1500e-2", Some(15)),
            ("1e19", Some(10_000_000_000_000_000_000)),
            ("1e20", None),
            ("1e999999999999", None),
            ("0e999999999999", Some(0)),
            ("1e-1", None),
            ("1.5", None),
            ("18446744073709551615.000", Some(u64::MAX)),
            ("18446744073709551616", None),
            ("1e99999999999999999999", None),
        ] {
            assert_eq!(whole(token), value, "{token}");
        }
    }

    /// The fast path rounds as the standard library does; other numbers go to the library.
    #[test]
    fn common_numbers_are_rounded_once() {
        let mut found = 0;
        let mut check = |token: &str| {
            let text = format!("{token}\n");
            if let Some((value, len)) = common::<f32>(text.as_bytes()) {
                assert_eq!(value.to_bits(), token.parse::<f32>().unwrap().to_bits(), "{token}");
                assert_eq!(len, token.len());
                found += 1;
            }
            if let Some((value, len)) = common::<f64>(text.as_bytes()) {
                assert_eq!(value.to_bits(), token.parse::<f64>().unwrap().to_bits(), "{token}");
                assert_eq!(len, token.len());
            }
        };
        let mut x = 1_u64;
        for _ in 0..100_000 {
            x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let value = f32::from_bits((x >> 33) as u32);
            if value.is_finite() {
                check(&format!("{value}"));
                check(&format!("{value:e}"));
                // The middle of two numbers, and decimals next to it.
                let above = f32::from_bits(value.to_bits() + 1);
                let middle = (f64::from(value) + f64::from(above)) / 2.0;
                for digits in [6, 8, 12, 15, 16, 17] {
                    check(&format!("{middle:.digits$e}"));
                    check(&format!("{middle:.digits$}"));
                }
            }
            // Few digits and small exponents.
            check(&format!("{}.{}e{}", x >> 60, x >> 40 & 0xfffff, (x >> 20 & 31) as i32 - 16));
        }
        assert!(found > 100_000, "{found}");
        for token in
            ["", ".5", "1.", "01", "-1", "1e", "1e+", "1f", "1_", "0x1", "1.5.2", "12345678901234567890"]
        {
            assert!(common::<f32>(format!("{token}\n").as_bytes()).is_none(), "{token}");
            assert!(common::<f64>(format!("{token}\n").as_bytes()).is_none(), "{token}");
        }
        assert!(common::<f32>(b"1").is_none() && common::<f32>(b"1e39,").is_none());
    }

    #[test]
    fn magnitudes() {
        for (token, value) in [
            ("0", Some(0)),
            ("10", Some(10)),
            ("010", Some(8)),
            ("0x1F", Some(31)),
            ("08", None),
            ("0x", None),
            ("0x+1", None),
            ("", None),
            ("+1", None),
            ("1f", None),
        ] {
            assert_eq!(magnitude(token), value, "{token}");
        }
        assert_eq!(signed(true, 1 << 63), Some(i64::MIN));
        assert_eq!(signed(true, (1 << 63) + 1), None);
        assert_eq!(signed(false, 1 << 63), None);
    }
}
