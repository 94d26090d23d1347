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

/// The magnitude of a decimal number, perhaps with fraction and exponent, if it is whole: `1.50e2` is 150.
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

/// What numbers with a fraction have in common.
pub(super) trait Float: FromStr {
    const NAME: &str;
    const INFINITY: Self;
    const NAN: Self;
    fn negated(self) -> Self;
    fn is_infinite(&self) -> bool;
}

impl Float for f32 {
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
