//! Floating point numbers, and elements by their bits.

use std::fmt::Write as _;

use onnx_types::ElemType;

use super::Printer;
use crate::elements::{narrow_code, narrow_value};

/// The numbers that every printer of the fewest digits spells alike: without an exponent. Text of others is made so that
/// it is the same as that of `{:?}`, which the layout of this format is.
const PLAIN_F32: std::ops::Range<f32> = 1e-4..1e7;
const PLAIN_F64: std::ops::Range<f64> = 1e-4..1e15;

impl Printer<'_> {
    /// Writes an integer.
    #[inline]
    #[cfg_attr(not(test), expect(clippy::arithmetic_side_effects, reason = "the number is a digit"))]
    pub(super) fn int(&mut self, value: i64) {
        match value {
            // Most integers are small, and most elements of sparse weights are zero.
            0..=9 => self.out.push(char::from(b'0' + value as u8)),
            _ => self.out.push_str(itoa::Buffer::new().format(value)),
        }
    }

    /// Writes an integer without sign.
    #[inline]
    pub(super) fn uint(&mut self, value: u64) {
        self.out.push_str(itoa::Buffer::new().format(value));
    }

    /// Writes the numbers of a list of binary32 in raw form.
    pub(super) fn f32s(&mut self, bytes: &[u8]) {
        let (entries, _) = bytes.as_chunks();
        self.out.reserve(entries.len().saturating_mul(3));
        self.items(entries.iter(), |printer, &bytes| printer.f32(f32::from_le_bytes(bytes), true));
    }

    /// Writes the numbers of a list of binary64 in raw form.
    pub(super) fn f64s(&mut self, bytes: &[u8]) {
        let (entries, _) = bytes.as_chunks();
        self.out.reserve(entries.len().saturating_mul(3));
        self.items(entries.iter(), |printer, &bytes| printer.f64(f64::from_le_bytes(bytes), true));
    }

    /// Writes a binary32 so that reading gives the same bits; `whole` writes `1` for 1, which reads as an integer where
    /// the syntax does not ask for a float.
    #[inline]
    pub(super) fn f32(&mut self, value: f32, whole: bool) {
        let int = value as i32;
        // Below this bound every whole number is exact.
        if whole && int as f32 == value && int.unsigned_abs() < 10_000_000 && value.to_bits() != 1 << 31 {
            self.int(i64::from(int));
        } else if PLAIN_F32.contains(&value.abs()) {
            self.out.push_str(zmij::Buffer::new().format_finite(value));
        } else {
            self.odd_f32(value);
        }
    }

    /// Writes a binary32 that is very large, very small, or no number.
    #[inline(never)]
    fn odd_f32(&mut self, value: f32) {
        if value.is_nan() {
            let quiet = match value.to_bits() {
                0x7fc0_0000 => Some("nan"),
                0xffc0_0000 => Some("-nan"),
                _ => None,
            };
            self.nan(quiet, value.is_sign_negative(), u64::from(value.to_bits()));
        } else if value.abs() < PLAIN_F32.start && value != 0.0 {
            self.small(zmij::Buffer::new().format_finite(value));
        } else {
            // Writing to a string cannot fail.
            let _ = write!(self.out, "{value:?}");
        }
    }

    /// Writes a binary64; as for [`Self::f32`].
    #[inline]
    pub(super) fn f64(&mut self, value: f64, whole: bool) {
        let int = value as i64;
        if whole
            && int as f64 == value
            && int.unsigned_abs() < 1_000_000_000_000_000
            && value.to_bits() != 1 << 63
        {
            self.int(int);
        } else if PLAIN_F64.contains(&value.abs()) {
            self.out.push_str(zmij::Buffer::new().format_finite(value));
        } else {
            self.odd_f64(value);
        }
    }

    #[inline(never)]
    fn odd_f64(&mut self, value: f64) {
        if value.is_nan() {
            let quiet = match value.to_bits() {
                0x7ff8_0000_0000_0000 => Some("nan"),
                0xfff8_0000_0000_0000 => Some("-nan"),
                _ => None,
            };
            self.nan(quiet, value.is_sign_negative(), value.to_bits());
        } else if value.abs() < PLAIN_F64.start && value != 0.0 {
            self.small(zmij::Buffer::new().format_finite(value));
        } else {
            // Writing to a string cannot fail.
            let _ = write!(self.out, "{value:?}");
        }
    }

    /// Writes a number below a ten thousandth, which may come without an exponent, with one.
    fn small(&mut self, text: &str) {
        let (sign, digits) = text.strip_prefix('-').map_or(("", text), |digits| ("-", digits));
        self.out.push_str(sign);
        let Some(fraction) = digits.strip_prefix("0.").filter(|digits| !digits.contains('e')) else {
            self.out.push_str(digits);
            return;
        };
        let digits = fraction.trim_start_matches('0');
        let zeros = fraction.len().saturating_sub(digits.len());
        let (first, more) = digits.split_at_checked(1).unwrap_or((digits, ""));
        self.out.push_str(first);
        if !more.is_empty() {
            self.out.push('.');
            self.out.push_str(more);
        }
        self.out.push_str("e-");
        self.uint((zeros as u64).saturating_add(1));
    }

    /// Writes something that is no number: in short where that gives the same bits, else with all bits.
    fn nan(&mut self, short: Option<&str>, negative: bool, bits: u64) {
        match short {
            Some(short) => self.out.push_str(short),
            None if self.compat() => {
                self.lost("the payload of a NaN");
                self.out.push_str(if negative { "-nan" } else { "nan" });
            }
            None => {
                // Writing to a string cannot fail.
                let _ = write!(self.out, "nan({bits:#x})");
            }
        }
    }

    /// Writes an element of a narrow float type by its value; says whether there is a way.
    pub(super) fn narrow(&mut self, elem: ElemType, code: u16) -> bool {
        let Some(value) = narrow_value(elem, code) else { return false };
        if value.is_nan() {
            let short = if narrow_code(elem, f32::NAN) == Ok(code) {
                Some("nan")
            } else {
                (narrow_code(elem, -f32::NAN) == Ok(code)).then_some("-nan")
            };
            self.nan(short, false, u64::from(code));
        } else {
            match elem {
                ElemType::Float16 | ElemType::Bfloat16 => push_shortest(&mut self.out, elem, code, value),
                // Writing to a string cannot fail. The point or exponent tells the value from a bit pattern.
                _ => drop(write!(self.out, "{value:?}")),
            }
        }
        true
    }
}

/// Writes the number with the fewest digits that is read as the given code; `value`, which the code stands for exactly,
/// where that is no longer. What is tried stands at the end of the text for a moment, so nothing is allocated for it.
#[cfg_attr(
    not(test),
    expect(clippy::arithmetic_side_effects, reason = "the text only grows behind the place where it ended")
)]
fn push_shortest(out: &mut String, elem: ElemType, code: u16, value: f32) {
    let start = out.len();
    let mut rounded = |digits: usize| {
        // Writing to a string cannot fail.
        let _ = write!(out, "{value:.digits$e}");
        let number: Option<f32> = out.get(start..).and_then(|text| text.parse().ok());
        out.truncate(start);
        number.filter(|&number| narrow_code(elem, number) == Ok(code))
    };
    // Most numbers need four or five digits, so the search begins in the middle.
    let short = match rounded(3) {
        Some(number) => (0..3).rev().map_while(rounded).last().unwrap_or(number),
        None => (4..9).find_map(rounded).unwrap_or(value),
    };
    let _ = write!(out, "{value:?}");
    if short.to_bits() == value.to_bits() {
        return;
    }
    let end = out.len();
    let _ = write!(out, "{short:?}");
    // The later one goes, or the earlier one.
    if out.len() - end < end - start {
        out.drain(start..end);
    } else {
        out.truncate(end);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shortest(elem: ElemType, code: u16, value: f32) -> String {
        let mut out = String::from("x");
        push_shortest(&mut out, elem, code, value);
        out.split_off(1)
    }

    /// The same with a text of its own for each number, which is easier to believe.
    fn slowly(elem: ElemType, code: u16, value: f32) -> String {
        let rounded = |digits: usize| {
            let number: f32 = format!("{value:.digits$e}").parse().ok()?;
            (narrow_code(elem, number) == Ok(code)).then_some(number)
        };
        let short = match rounded(3) {
            Some(number) => (0..3).rev().map_while(rounded).last().unwrap_or(number),
            None => (4..9).find_map(rounded).unwrap_or(value),
        };
        let (short, exact) = (format!("{short:?}"), format!("{value:?}"));
        if short.len() < exact.len() { short } else { exact }
    }

    #[test]
    fn short_numbers_are_read_as_the_same_codes() {
        for elem in [ElemType::Float16, ElemType::Bfloat16] {
            for code in 0..=u16::MAX {
                let value = narrow_value(elem, code).unwrap();
                if value.is_nan() {
                    continue;
                }
                let text = shortest(elem, code, value);
                assert_eq!(text, slowly(elem, code, value));
                assert_eq!(narrow_code(elem, text.parse().unwrap()), Ok(code), "{elem:?} {code:#x} {text}");
            }
        }
    }

    #[test]
    fn a_tenth_is_a_tenth() {
        let text = |elem, code| shortest(elem, code, narrow_value(elem, code).unwrap());
        assert_eq!(text(ElemType::Float16, 0x2e66), "0.1");
        assert_eq!(text(ElemType::Bfloat16, 0x3dcd), "0.1");
        assert_eq!(text(ElemType::Float16, 0x7bff), "65504.0");
        assert_eq!(text(ElemType::Float16, 0x8000), "-0.0");
    }
}
