//! The 4-, 6- and 8-bit floats with sign, exponent and fraction.

use std::fmt;

use super::format::{Format, Special};

macro_rules! float {
    ($(#[$doc:meta])* $name:ident, $format:expr, $mask:expr) => {
        $(#[$doc])*
        ///
        /// Equality and hashing are those of the code, not of the number.
        #[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
        pub struct $name(u8);

        impl $name {
            const FORMAT: Format = $format;

            /// The largest finite number.
            pub const MAX: Self = Self(Self::FORMAT.max);

            /// The number with the given code. Bits above the width of the format are ignored.
            #[must_use]
            pub const fn from_bits(code: u8) -> Self {
                Self(code & $mask)
            }

            /// The code, in the low bits.
            #[must_use]
            pub const fn to_bits(self) -> u8 {
                self.0
            }

            /// The number; exact.
            #[must_use]
            pub fn to_f32(self) -> f32 {
                Self::FORMAT.decode(self.0)
            }

            /// The number; exact.
            #[must_use]
            pub fn to_f64(self) -> f64 {
                f64::from(self.to_f32())
            }

            /// Returns `true` if this is NaN.
            #[must_use]
            pub fn is_nan(self) -> bool {
                self.to_f32().is_nan()
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({:?})"), self.to_f32())
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(&self.to_f32(), f)
            }
        }

        impl From<$name> for f32 {
            fn from(value: $name) -> Self {
                value.to_f32()
            }
        }

        impl From<$name> for f64 {
            fn from(value: $name) -> Self {
                value.to_f64()
            }
        }
    };
}

/// Formats that can be left by too large a number.
macro_rules! float8 {
    ($(#[$doc:meta])* $name:ident, $format:expr) => {
        float!($(#[$doc])* $name, $format, 0xff);

        impl $name {
            /// The nearest number, ties to even. `saturate` is the attribute of `Cast`: numbers beyond the largest one,
            /// and infinities, become the largest one if it is set, else infinity where the format has it and NaN
            /// where not.
            #[must_use]
            pub fn from_f32(value: f32, saturate: bool) -> Self {
                Self::from_f64(f64::from(value), saturate)
            }

            /// As [`Self::from_f32`], rounded once.
            #[must_use]
            pub fn from_f64(value: f64, saturate: bool) -> Self {
                Self(Self::FORMAT.encode(value, saturate))
            }
        }
    };
}

/// Formats that hold numbers only.
macro_rules! finite {
    ($(#[$doc:meta])* $name:ident, $format:expr, $mask:expr) => {
        float!($(#[$doc])* $name, $format, $mask);

        impl $name {
            /// The nearest number, ties to even; the largest one for every number beyond it, including infinities. The
            /// format cannot represent NaN, which becomes zero (with the opposite sign, as in `ml_dtypes`).
            #[must_use]
            pub fn from_f32(value: f32) -> Self {
                Self::from_f64(f64::from(value))
            }

            /// As [`Self::from_f32`], rounded once.
            #[must_use]
            pub fn from_f64(value: f64) -> Self {
                Self(Self::FORMAT.encode(value, true))
            }
        }
    };
}

float8! {
    /// `FLOAT8E4M3FN`: 4 exponent and 3 fraction bits, up to 448, NaN, no infinities.
    F8E4M3Fn,
    Format { bits: 8, fraction: 3, bias: 7, max: 0x7e, special: Special::OneNan }
}

float8! {
    /// `FLOAT8E4M3FNUZ`: 4 exponent and 3 fraction bits, up to 240, NaN, no infinities, no negative zero.
    F8E4M3Fnuz,
    Format { bits: 8, fraction: 3, bias: 8, max: 0x7f, special: Special::NegativeZeroIsNan }
}

float8! {
    /// `FLOAT8E5M2`: 5 exponent and 2 fraction bits, up to 57344, NaN and infinities.
    F8E5M2,
    Format { bits: 8, fraction: 2, bias: 15, max: 0x7b, special: Special::Ieee }
}

float8! {
    /// `FLOAT8E5M2FNUZ`: 5 exponent and 2 fraction bits, up to 57344, NaN, no infinities, no negative zero.
    F8E5M2Fnuz,
    Format { bits: 8, fraction: 2, bias: 16, max: 0x7f, special: Special::NegativeZeroIsNan }
}

finite! {
    /// `FLOAT4E2M1`: 2 exponent bits and 1 fraction bit, up to 6, numbers only.
    F4E2M1,
    Format { bits: 4, fraction: 1, bias: 1, max: 0x07, special: Special::Finite },
    0x0f
}

finite! {
    /// `FLOAT6E2M3`: 2 exponent and 3 fraction bits, up to 7.5, numbers only.
    F6E2M3,
    Format { bits: 6, fraction: 3, bias: 1, max: 0x1f, special: Special::Finite },
    0x3f
}

finite! {
    /// `FLOAT6E3M2`: 3 exponent and 2 fraction bits, up to 28, numbers only.
    F6E3M2,
    Format { bits: 6, fraction: 2, bias: 3, max: 0x1f, special: Special::Finite },
    0x3f
}
