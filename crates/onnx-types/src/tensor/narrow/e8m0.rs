//! Powers of two in eight bits.

use std::fmt;

use super::format::power_of_two;

/// `FLOAT8E8M0`: a power of two from 2⁻¹²⁷ to 2¹²⁷, or NaN. It has neither a sign nor a zero.
///
/// Equality and hashing are those of the code, not of the number.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct F8E8M0(u8);

/// How [`F8E8M0`] rounds what is between two powers of two: the attribute `round_mode` of `Cast`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum PowerRounding {
    /// To the larger one; the default of `Cast`.
    #[default]
    Up,
    /// To the smaller one.
    Down,
    /// To the nearer one; from the middle to the larger one.
    Nearest,
}

impl F8E8M0 {
    /// 2⁻¹²⁷.
    pub const MIN: Self = Self(0);
    /// 2¹²⁷.
    pub const MAX: Self = Self(0xfe);
    /// No number.
    pub const NAN: Self = Self(0xff);
    /// 2⁰.
    pub const ONE: Self = Self(127);

    /// The number with the given code.
    #[must_use]
    pub const fn from_bits(code: u8) -> Self {
        Self(code)
    }

    /// The code: the exponent plus 127.
    #[must_use]
    pub const fn to_bits(self) -> u8 {
        self.0
    }

    /// The number; exact.
    #[must_use]
    #[cfg_attr(not(test), expect(clippy::arithmetic_side_effects, reason = "a code has 8 bits"))]
    pub fn to_f32(self) -> f32 {
        match self.0 {
            0xff => f32::NAN,
            // A binary32 subnormal.
            0 => power_of_two(-126) / 2.0,
            code => power_of_two(i32::from(code) - 127),
        }
    }

    /// The number; exact.
    #[must_use]
    pub fn to_f64(self) -> f64 {
        f64::from(self.to_f32())
    }

    /// Returns `true` if this is NaN.
    #[must_use]
    pub const fn is_nan(self) -> bool {
        self.0 == 0xff
    }

    /// As [`F8E8M0::from_f64`].
    #[must_use]
    pub fn from_f32(value: f32, rounding: PowerRounding, saturate: bool) -> Self {
        Self::from_f64(f64::from(value), rounding, saturate)
    }

    /// The power of two for the magnitude of `value`, as `Cast` defines it (its table of special values): what lies
    /// beyond the range, zero and infinity included, becomes the end of the range if `saturate`, else NaN. The sign,
    /// whose effect the specification leaves open, is dropped.
    ///
    /// The reference implementation follows its own table everywhere except below 2⁻¹²⁶, where it takes the bits of a
    /// subnormal binary32 for those of a normal one, for zero without `saturate`, and for infinity with it; there this
    /// function follows the table.
    #[must_use]
    #[cfg_attr(not(test), expect(clippy::arithmetic_side_effects, reason = "an exponent has 11 bits"))]
    pub fn from_f64(value: f64, rounding: PowerRounding, saturate: bool) -> Self {
        if value.is_nan() {
            return Self::NAN;
        }
        let magnitude = value.abs();
        let beyond = |end: Self| if saturate { end } else { Self::NAN };
        if magnitude < f64::from(Self::MIN.to_f32()) {
            return beyond(Self::MIN);
        }
        let bits = magnitude.to_bits();
        let fraction = bits & ((1 << 52) - 1);
        let up = match rounding {
            PowerRounding::Up => fraction != 0,
            PowerRounding::Down => false,
            PowerRounding::Nearest => fraction >= 1 << 51,
        };
        // An infinity has the largest exponent of all and comes out beyond the range.
        let code = (bits >> 52) as i64 - 1023 + 127 + i64::from(up);
        u8::try_from(code).ok().filter(|&code| code != 0xff).map_or_else(|| beyond(Self::MAX), Self)
    }
}

impl Default for F8E8M0 {
    /// The number with code 0, as memory of zeros reads.
    fn default() -> Self {
        Self::MIN
    }
}

impl fmt::Debug for F8E8M0 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "F8E8M0({:?})", self.to_f32())
    }
}

impl fmt::Display for F8E8M0 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.to_f32(), f)
    }
}

impl From<F8E8M0> for f32 {
    fn from(value: F8E8M0) -> Self {
        value.to_f32()
    }
}

impl From<F8E8M0> for f64 {
    fn from(value: F8E8M0) -> Self {
        value.to_f64()
    }
}
