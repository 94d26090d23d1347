//! Numbers next to multiples of the numbers of a claim, of all magnitudes: where a quotient, a product with the reciprocal, a rounding
//! and a comparison jump, implementations of one real number differ, and nowhere else.

use onnx_eval::SplitMix64;
use onnx_types::ElemType;

use crate::elements::Elements;
use crate::formats::{Format, range_of, ulp};

/// Numbers whose multiples are tried in claims without such numbers, and in which an operand may be the other one's divisor: those
/// whose reciprocals are rounded up and down.
const DIVISORS: [f64; 8] = [3.0, 10.0, 7.0, 0.1, 49.0, 0.7, 5.0, 1.5];

/// The numbers of a run.
pub(crate) struct Multiples<'a> {
    /// The numbers of the claim.
    constants: &'a [f64],
    /// The number whose multiples the operands are, or that is one of the operands.
    divisor: f64,
    /// Whether this operand is the divisor.
    is_divisor: bool,
    rng: SplitMix64,
}

impl<'a> Multiples<'a> {
    /// The numbers of an input in a run.
    pub(crate) fn of(run: u64, elements: &Elements<'a, '_>) -> Self {
        let sampler = elements.sampler;
        let constants = sampler.points.constants.as_slice();
        let mut common = SplitMix64::new(run);
        let are_several = sampler.paired.len() > 1;
        let has_own = !(constants.is_empty() || are_several && run % 4 == 3);
        let divisor = if has_own { own_divisor(constants, &mut common) } else { common.pick(&DIVISORS) };
        let is_divisor = !has_own && are_several && (run / 4 + elements.number as u64) % 2 == 1;
        let rng = SplitMix64::new(run.rotate_left(32) ^ elements.number as u64);
        Self { constants, divisor: divisor.unwrap_or(3.0), is_divisor, rng }
    }

    /// Replaces floats by numbers next to multiples, as far as the claim allows it.
    pub(crate) fn floats(&mut self, elem: ElemType, numbers: &mut [f64], allows: impl Fn(f64) -> bool) {
        let Some(format) = Format::of(elem) else { return };
        for number in numbers {
            let near = self.float(format);
            if allows(near) {
                *number = near;
            }
        }
    }

    fn float(&mut self, format: Format) -> f64 {
        if self.is_divisor {
            return self.divisor;
        }
        let bits = u64::try_from(format.bits).unwrap_or(24);
        let (multiple, half) = (self.multiple(bits) as f64, self.rng.below(4));
        // Ties of roundings are halves.
        let multiple = if half == 0 { multiple + 0.5 } else { multiple };
        let mut near = self.divisor * multiple;
        if self.rng.below(6) == 0 {
            near -= self.rng.pick(self.constants).unwrap_or(0.0);
        }
        if self.rng.below(12) == 0 {
            near *= format.tiny();
        }
        let steps = self.rng.below(5) as f64 - 2.0;
        let beside = near + ulp(near, format) * steps;
        let near = if self.rng.below(2) == 0 { beside } else { near };
        if self.rng.below(3) == 0 { -near } else { near }
    }

    /// Replaces integers by numbers next to multiples.
    pub(crate) fn integers(&mut self, elem: ElemType, numbers: &mut [i64]) {
        let Some((least, most)) = range_of(elem) else { return };
        let bits = u64::from(elem.bits().unwrap_or(64)).clamp(2, 63);
        for number in numbers {
            if self.is_divisor {
                *number = self.divisor.max(2.0) as i64;
                continue;
            }
            let beside = i128::from(self.rng.below(3)) - 1;
            let multiple = match self.rng.below(8) {
                // The last multiples that the type has.
                0 => (most as f64 / self.divisor.abs()).floor() as i128,
                _ => i128::from(self.multiple(bits)),
            };
            let product = match self.divisor.fract() == 0.0 {
                true => multiple.saturating_mul(self.divisor as i128),
                false => (multiple as f64 * self.divisor).round() as i128,
            };
            let near = if self.rng.below(3) == 0 { -product } else { product }.saturating_add(beside);
            if (least..=most).contains(&near) {
                // Integers of 64 bits without sign have their low bits.
                *number = near as i64;
            }
        }
    }

    /// A positive number with at most this many bits; large ones, of which quotients and products are rounded, more often.
    fn multiple(&mut self, bits: u64) -> u64 {
        let length = match self.rng.below(2) {
            0 => self.rng.below(bits),
            _ => (bits * 3 / 4).saturating_add(self.rng.below(bits / 4 + 1)).min(62),
        };
        (1 << length) | self.rng.below(1 << length)
    }
}

/// A number of the claim, its reciprocal, or the product or quotient of two.
fn own_divisor(constants: &[f64], rng: &mut SplitMix64) -> Option<f64> {
    let (one, other) = (rng.pick(constants)?, rng.pick(constants)?);
    let divisor = match rng.below(6) {
        0 => 1.0 / one,
        1 => one * other,
        2 => one / other,
        _ => one,
    };
    Some(if divisor.is_normal() { divisor.abs() } else { one })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn multiples(constants: &[f64], divisor: f64) -> Multiples<'_> {
        Multiples { constants, divisor, is_divisor: false, rng: SplitMix64::new(1) }
    }

    /// A quotient and the product with the rounded reciprocal have other integers below them next to some multiples.
    #[test]
    fn quotients_and_products_differ_next_to_multiples() {
        for divisor in [3.0_f32, 10.0, 7.0] {
            let mut numbers = vec![0.0; 4096];
            multiples(&[], f64::from(divisor)).floats(ElemType::Float, &mut numbers, |_| true);
            let differs = |number: &&f64| {
                let number = **number as f32;
                (number / divisor).floor().to_bits() != (number * (1.0 / divisor)).floor().to_bits()
            };
            assert!(numbers.iter().filter(differs).count() > 16, "{divisor}");
        }
    }

    #[test]
    fn integers_are_next_to_multiples_and_in_range() {
        let mut numbers = vec![0; 4096];
        multiples(&[], 10.0).integers(ElemType::Int32, &mut numbers);
        assert!(numbers.contains(&2_147_483_641) && numbers.iter().any(|number| number % 10 == -9));
        assert!(numbers.iter().all(|&number| i32::try_from(number).is_ok()));
    }
}
