//! Integers narrower than a byte.

use std::fmt;

macro_rules! int {
    ($(#[$doc:meta])* $name:ident, $native:ident, $bits:expr, $min:expr, $max:expr) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name($native);

        impl $name {
            /// The smallest value.
            pub const MIN: Self = Self($min);
            /// The largest value.
            pub const MAX: Self = Self($max);

            /// The given value, if it is in range.
            #[must_use]
            #[allow(clippy::cast_sign_loss, trivial_numeric_casts, reason = "one body serves signed and unsigned types")]
            pub const fn new(value: $native) -> Option<Self> {
                let narrowed = Self::from_bits(value as u8);
                if narrowed.0 == value { Some(narrowed) } else { None }
            }

            /// The value as a native integer.
            #[must_use]
            pub const fn get(self) -> $native {
                self.0
            }

            /// The value with the given code (two's complement if signed). Bits above the width are ignored, so this is
            /// also how `Cast` narrows an integer.
            #[must_use]
            #[allow(
                clippy::cast_possible_wrap,
                trivial_numeric_casts,
                reason = "one body serves signed and unsigned types"
            )]
            pub const fn from_bits(code: u8) -> Self {
                // Shifting the code to the top and back extends the sign of signed types.
                Self((code << (8 - $bits)) as $native >> (8 - $bits))
            }

            /// The code, in the low bits.
            #[must_use]
            #[allow(trivial_numeric_casts, reason = "one body serves signed and unsigned types")]
            pub const fn to_bits(self) -> u8 {
                self.0 as u8 & ((1 << $bits) - 1)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), self.0)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(&self.0, f)
            }
        }

        impl From<$name> for $native {
            fn from(value: $name) -> Self {
                value.0
            }
        }
    };
}

int! {
    /// `UINT4`: 0 to 15.
    U4, u8, 4, 0, 15
}

int! {
    /// `INT4`: -8 to 7.
    I4, i8, 4, -8, 7
}

int! {
    /// `UINT2`: 0 to 3.
    U2, u8, 2, 0, 3
}

int! {
    /// `INT2`: -2 to 1.
    I2, i8, 2, -2, 1
}
