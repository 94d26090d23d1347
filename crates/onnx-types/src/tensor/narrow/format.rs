//! Small binary floating-point formats, described by a few numbers.

#![cfg_attr(
    not(test),
    expect(
        clippy::arithmetic_side_effects,
        reason = "widths are constants of this crate from 1 to 8, and exponents those of a binary64 or less"
    )
)]

/// The meaning of the codes that are not finite numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Special {
    /// As in IEEE 754: the largest exponent holds infinities and NaNs.
    Ieee,
    /// No infinities; only the code of all ones is NaN ("fn").
    OneNan,
    /// No infinities and no negative zero, whose code is NaN ("fnuz").
    NegativeZeroIsNan,
    /// Numbers only.
    Finite,
}

/// A format of sign, exponent and fraction.
#[derive(Clone, Copy, Debug)]
pub(super) struct Format {
    /// All bits of a code.
    pub(super) bits: u32,
    /// The bits of the fraction.
    pub(super) fraction: u32,
    /// The exponent bias.
    pub(super) bias: i32,
    /// The code of the largest finite number.
    pub(super) max: u8,
    pub(super) special: Special,
}

impl Format {
    const fn sign_bit(self) -> u8 {
        1 << (self.bits - 1)
    }

    const fn with_sign(self, magnitude: u8, negative: bool) -> u8 {
        if negative { magnitude | self.sign_bit() } else { magnitude }
    }

    /// The code of "not a number". A format without one follows `ml_dtypes`: zero of the opposite sign.
    const fn nan(self, negative: bool) -> u8 {
        match self.special {
            // The quiet bit is the upper fraction bit.
            Special::Ieee => self.with_sign(self.infinity() | 1 << (self.fraction - 1), negative),
            Special::OneNan => self.with_sign(self.sign_bit() - 1, negative),
            Special::NegativeZeroIsNan => self.sign_bit(),
            Special::Finite => self.with_sign(0, !negative),
        }
    }

    /// The code of infinity in an IEEE format.
    const fn infinity(self) -> u8 {
        (self.sign_bit() - 1) >> self.fraction << self.fraction
    }

    /// The code of a number too large for the format.
    const fn overflow(self, negative: bool, saturate: bool) -> u8 {
        match self.special {
            _ if saturate => self.with_sign(self.max, negative),
            Special::Finite => self.with_sign(self.max, negative),
            Special::Ieee => self.with_sign(self.infinity(), negative),
            Special::OneNan | Special::NegativeZeroIsNan => self.nan(negative),
        }
    }

    /// The code nearest to `value`, ties to the even code. Whatever rounds to more than the largest number, infinities
    /// included, becomes that number if `saturate`, else infinity or NaN, whichever the format has.
    pub(super) fn encode(self, value: f64, saturate: bool) -> u8 {
        let negative = value.is_sign_negative();
        if value.is_nan() {
            return self.nan(negative);
        }
        if value.is_infinite() {
            return self.overflow(negative, saturate);
        }
        let magnitude = self.round(value.abs());
        let Some(magnitude) = u8::try_from(magnitude).ok().filter(|&code| code <= self.max) else {
            return self.overflow(negative, saturate);
        };
        if magnitude == 0 && self.special == Special::NegativeZeroIsNan {
            return 0;
        }
        self.with_sign(magnitude, negative)
    }

    /// The code nearest to the magnitude of a finite number, as if the format had no largest number.
    fn round(self, value: f64) -> u64 {
        const FRACTION: u32 = f64::MANTISSA_DIGITS - 1;
        let bits = value.to_bits();
        let stored = (bits >> FRACTION) as i32;
        if stored == 0 {
            // Zero or a binary64 subnormal: far below half of the smallest number of any format here.
            return 0;
        }
        let exponent = stored - 1023;
        let smallest = 1 - self.bias;
        // Below the smallest normal exponent the spacing stays the same: subnormal numbers.
        let scale = exponent.max(smallest);
        let significand = bits & ((1 << FRACTION) - 1) | 1 << FRACTION;
        let drop = (FRACTION - self.fraction).saturating_add(scale.abs_diff(exponent));
        if drop > FRACTION + 1 {
            return 0;
        }
        let kept = significand >> drop;
        let rest = significand & ((1 << drop) - 1);
        let half = 1 << (drop - 1);
        let up = rest > half || (rest == half && kept & 1 == 1);
        // A carry out of the fraction runs into the exponent, which is just what it should do.
        (u64::from(scale.abs_diff(smallest)) << self.fraction) + kept + u64::from(up)
    }

    /// The number that `code` stands for; every one is exact in binary32.
    pub(super) fn decode(self, code: u8) -> f32 {
        let negative = code & self.sign_bit() != 0;
        let magnitude = code & (self.sign_bit() - 1);
        let value = match self.special {
            Special::Ieee if magnitude == self.infinity() => f32::INFINITY,
            Special::Ieee | Special::OneNan if magnitude > self.max => f32::NAN,
            Special::NegativeZeroIsNan if code == self.sign_bit() => return f32::NAN,
            _ => {
                let exponent = i32::from(magnitude >> self.fraction);
                let fraction = magnitude & ((1 << self.fraction) - 1);
                let (significand, exponent) =
                    if exponent == 0 { (fraction, 1) } else { (fraction | 1 << self.fraction, exponent) };
                f32::from(significand) * power_of_two(exponent - self.bias - self.fraction.cast_signed())
            }
        };
        if negative { -value } else { value }
    }
}

/// Two to the power of `exponent`, which must be that of a normal binary32.
pub(super) const fn power_of_two(exponent: i32) -> f32 {
    f32::from_bits((exponent + 127).cast_unsigned() << 23)
}
