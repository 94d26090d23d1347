//! Floating point numbers, and elements by their bits.

use std::fmt::Write as _;

use onnx_types::ElemType;

use super::Printer;
use crate::elements::narrow_value;

impl Printer<'_> {
    /// Writes a binary32 so that reading gives the same bits; `whole` writes `1` for 1, which reads as an integer where
    /// the syntax does not ask for a float.
    pub(super) fn f32(&mut self, value: f32, whole: bool) {
        if value.is_nan() {
            let quiet = match value.to_bits() {
                0x7fc0_0000 => Some("nan"),
                0xffc0_0000 => Some("-nan"),
                _ => None,
            };
            self.nan(quiet, value.is_sign_negative(), u64::from(value.to_bits()));
        } else if whole && value.fract() == 0.0 && value.abs() < 1e7 && value.to_bits() != 1 << 31 {
            // Below this bound every whole number is exact.
            self.int(value as i64);
        } else {
            // Writing to a string cannot fail.
            let _ = write!(self.out, "{value:?}");
        }
    }

    /// Writes a binary64; as for [`Self::f32`].
    pub(super) fn f64(&mut self, value: f64, whole: bool) {
        if value.is_nan() {
            let quiet = match value.to_bits() {
                0x7ff8_0000_0000_0000 => Some("nan"),
                0xfff8_0000_0000_0000 => Some("-nan"),
                _ => None,
            };
            self.nan(quiet, value.is_sign_negative(), value.to_bits());
        } else if whole && value.fract() == 0.0 && value.abs() < 1e15 && value.to_bits() != 1 << 63 {
            self.int(value as i64);
        } else {
            // Writing to a string cannot fail.
            let _ = write!(self.out, "{value:?}");
        }
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
            self.nan(None, false, u64::from(code));
        } else {
            // Writing to a string cannot fail. The point or exponent tells the value from a bit pattern.
            let _ = write!(self.out, "{value:?}");
        }
        true
    }
}
