//! Floating point numbers, and elements by their bits.

use std::fmt::Write as _;

use onnx_types::ElemType;

use super::Printer;
use crate::decimal::is_middle;
use crate::elements::{narrow_code, narrow_value};

/// The numbers that every shortest-digits printer writes in the same way: without an exponent. Text of others is made
/// so that it is the same as that of `{:?}`, which the layout of this format is.
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
        self.reserve(entries.len().saturating_mul(3));
        self.items(entries.iter(), |printer, &bytes| printer.f32(f32::from_le_bytes(bytes), true));
    }

    /// Writes the numbers of a list of binary64 in raw form.
    pub(super) fn f64s(&mut self, bytes: &[u8]) {
        let (entries, _) = bytes.as_chunks();
        self.reserve(entries.len().saturating_mul(3));
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

    /// Writes a NaN: in short notation if that parses to the same bits, else with all bits.
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

    /// Writes an element of a narrow float type by its value; returns `true` if a decimal number can express it.
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
                ElemType::Float16 | ElemType::Bfloat16 => self.half(elem, code, value),
                // Writing to a string cannot fail. The point or exponent distinguishes the value from a bit pattern.
                _ => drop(write!(self.out, "{value:?}")),
            }
        }
        true
    }
}

impl Printer<'_> {
    /// Writes the number with the fewest digits that is read as the given code of 16 bits; `value`, which the code stands for
    /// exactly, where that is no longer.
    fn half(&mut self, elem: ElemType, code: u16, value: f32) {
        let start = self.out.len();
        self.f32(value, false);
        let short = shortest(&mut self.out, elem, code, value);
        if short.to_bits() == value.to_bits() {
            return;
        }
        let end = self.out.len();
        self.f32(short, false);
        // The later one goes, or the earlier one.
        let lengths = (end.saturating_sub(start), self.out.len().saturating_sub(end));
        if lengths.1 < lengths.0 { drop(self.out.drain(start..end)) } else { self.out.truncate(end) }
    }
}

/// The number with the fewest digits that is read as the given code, which stands for `value`.
fn shortest(scratch: &mut String, elem: ElemType, code: u16, value: f32) -> f32 {
    let size = f64::from(value.abs());
    let place = PLACES.contains(&size).then(|| POWERS.partition_point(|&power| power <= size));
    let mut rounded = |digits: usize| {
        let number = match place {
            Some(place) => round(size, digits, place).copysign(value),
            None => round_slowly(scratch, value, digits)?,
        };
        // What is printed for a middle between two codes need not be the middle itself.
        (narrow_code(elem, number) == Ok(code) && !is_middle(elem, number)).then_some(number)
    };
    // Most numbers need four or five digits, so the search begins in the middle.
    match rounded(3) {
        Some(number) => (0..3).rev().map_while(rounded).last().unwrap_or(number),
        None => (4..9).find_map(rounded).unwrap_or(value),
    }
}

/// Of numbers of this size, products with the powers below are exact: their factors have 11 bits and at most 31. So they are
/// rounded by arithmetic, which is many times as fast as by text.
const PLACES: std::ops::Range<f64> = 1e-5..1e7;

/// The powers of ten from 10⁻⁴ on. A number has its first digit behind as many of them as are not above it, counted from the
/// fifth place behind the point.
const POWERS: [f64; 12] = [1e-4, 1e-3, 1e-2, 1e-1, 1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7];

/// The powers of ten that a number of up to nine digits is multiplied with to be a whole number.
const SCALES: [f64; 15] = [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14];

/// The number with `digits` digits after the first one that is nearest to a positive number whose first digit is at
/// `place`.
fn round(size: f64, digits: usize, place: usize) -> f32 {
    let scale = |exponent: usize| SCALES.get(exponent).copied().unwrap_or(f64::NAN);
    // The first digit is that of 10⁻⁵ at place 0.
    let up = digits.saturating_add(5);
    match up.checked_sub(place) {
        Some(exponent) => ((size * scale(exponent)).round_ties_even() / scale(exponent)) as f32,
        None => {
            let exponent = place.saturating_sub(up);
            ((size / scale(exponent)).round_ties_even() * scale(exponent)) as f32
        }
    }
}

/// Like [`round`], for any number, through its decimal notation, which is temporarily appended to `scratch`.
#[cold]
fn round_slowly(scratch: &mut String, value: f32, digits: usize) -> Option<f32> {
    let start = scratch.len();
    // Writing to a string cannot fail.
    let _ = write!(scratch, "{value:.digits$e}");
    let number = scratch.get(start..).and_then(|text| text.parse().ok());
    scratch.truncate(start);
    number
}

#[cfg(test)]
mod tests {
    use onnx_types::tensor::Tensor;

    use super::*;
    use crate::decimal::code_of_decimal;

    /// The printed elements of all codes, in their order.
    fn printed(elem: ElemType) -> Vec<String> {
        let mut model = onnx_ir::Model::new();
        let (graph, name) = (model.main_graph(), model.intern("w"));
        let bytes: Vec<u8> = (0..=u16::MAX).flat_map(u16::to_le_bytes).collect();
        let payload = onnx_types::tensor::Payload::Raw(bytes.into());
        let dims = std::iter::once(1 << 16).collect();
        model.add_initializer(graph, name, Tensor::from_parts(elem.code(), dims, payload));
        let text = crate::print_model(&model, &crate::PrintOptions::full()).unwrap().text;
        let (_, elements) = text.split_once("raw {").unwrap();
        let (elements, _) = elements.split_once('}').unwrap();
        elements.split(", ").map(str::to_owned).collect()
    }

    /// The expected notation, computed in the simplest way.
    fn slowly(elem: ElemType, code: u16, value: f32) -> String {
        let rounded = |digits: usize| {
            let number: f32 = format!("{value:.digits$e}").parse().ok()?;
            (narrow_code(elem, number) == Ok(code) && !is_middle(elem, number)).then_some(number)
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
            let printed = printed(elem);
            assert_eq!(printed.len(), 1 << 16);
            for (code, text) in (0..=u16::MAX).zip(&printed) {
                let value = narrow_value(elem, code).unwrap();
                if value.is_nan() {
                    assert!(text.contains("nan"), "{elem:?} {code:#x} {text}");
                    continue;
                }
                assert_eq!(*text, slowly(elem, code, value), "{elem:?} {code:#x}");
                let read = code_of_decimal(elem, text.parse().unwrap(), text.as_bytes());
                assert_eq!(read, Ok(code), "{elem:?} {code:#x} {text}");
            }
        }
    }

    #[test]
    fn a_tenth_is_a_tenth() {
        let half = printed(ElemType::Float16);
        assert_eq!(
            [0x2e66, 0x7bff, 0x8000, 0x7c00].map(|code| &*half[code]),
            ["0.1", "65504.0", "-0.0", "inf"]
        );
        assert_eq!(printed(ElemType::Bfloat16)[0x3dcd], "0.1");
    }
}
