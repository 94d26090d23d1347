//! Functions of `f32`, computed in `double` with operations that are rounded the same on every platform, and rounded once.
//!
//! They have no branches and no tables, so that the compiler makes vector instructions of a loop over elements. The errors of
//! the polynomials are below 2⁻³¹, so a result is the nearest `f32` except close to the middle of two.

/// e to the power of a number.
#[inline]
pub(super) fn exp(x: f32) -> f32 {
    exponential(f64::from(x)) as f32
}

/// The hyperbolic tangent.
#[inline]
pub(super) fn tanh(x: f32) -> f32 {
    let x = f64::from(x);
    let small = exponential(-2.0 * x.abs());
    let large = ((1.0 - small) / (1.0 + small)).copysign(x);
    let square = x * x;
    let near_zero = x * polynomial(square, [1.0, -1.0 / 3.0, 2.0 / 15.0, -17.0 / 315.0]);
    (if x.abs() < 0.0625 { near_zero } else { large }) as f32
}

/// The error function.
#[inline]
pub(super) fn erf(x: f32) -> f32 {
    // Beyond 4, the nearest `f32` is 1. `clamp` keeps NaN.
    let x = f64::from(x).clamp(-4.0, 4.0);
    let square = (x * x - 8.0) / 8.0;
    (x * polynomial(square, ERF)) as f32
}

/// `erf(x) / x` by `(x² - 8) / 8`, from 0 to 4: an interpolation at Chebyshev nodes.
const ERF: [f64; 19] = [
    0.353_530_995_643_404_9,
    -0.176_576_235_800_392_28,
    0.131_675_117_775_829_63,
    -0.107_710_292_886_412_66,
    0.090_208_941_342_796_32,
    -0.074_730_486_797_054_68,
    0.059_887_829_583_006_83,
    -0.045_744_312_675_027_24,
    0.033_053_291_696_067_265,
    -0.022_562_558_293_108_114,
    0.014_381_038_744_396_328,
    -0.008_384_044_276_092_753,
    0.004_774_946_220_566_649_5,
    -0.002_909_712_955_972_494_4,
    0.001_410_152_893_239_874_9,
    -0.000_325_519_627_279_535_47,
    0.000_173_229_503_448_773_6,
    -0.000_246_422_014_530_061_9,
    0.000_094_038_165_786_370_98,
];

/// `exp(x)` from `-ln(2) / 2` to `ln(2) / 2`: an interpolation at Chebyshev nodes.
const EXP: [f64; 8] = [
    0.999_999_999_959_562,
    0.999_999_999_995_513_5,
    0.500_000_010_772_873,
    0.166_666_667_862_728_43,
    0.041_666_218_320_172_865,
    0.008_333_283_545_073_81,
    0.001_394_857_827_838_914_9,
    0.000_199_075_661_652_450_46,
];

/// e to the power of a number between -150 and 150, to which others are reduced; NaN stays.
#[inline]
fn exponential(x: f64) -> f64 {
    /// A number of this size has no bits below 1, so adding it rounds to an integer, which is then in its low bits.
    const ROUND: f64 = 6_755_399_441_055_744.0;
    let x = x.clamp(-150.0, 150.0);
    let shifted = x * std::f64::consts::LOG2_E + ROUND;
    let rest = x - (shifted - ROUND) * std::f64::consts::LN_2;
    let power = f64::from_bits((shifted.to_bits() << 52).wrapping_add(1.0_f64.to_bits()));
    polynomial(rest, EXP) * power
}

#[inline]
fn polynomial<const N: usize>(x: f64, coefficients: [f64; N]) -> f64 {
    coefficients.iter().rev().fold(0.0, |sum, &coefficient| sum * x + coefficient)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers of all magnitudes and both signs.
    fn samples() -> impl Iterator<Item = f32> {
        (0..=u32::MAX / 7919).map(|index| f32::from_bits(index * 7919)).filter(|x| x.is_finite())
    }

    fn differs(found: f32, exact: f64) -> bool {
        let nearest = exact as f32;
        found != nearest && found != nearest.next_up() && found != nearest.next_down()
    }

    /// Each function differs from the nearest number by at most one unit in the last place, in few cases.
    #[test]
    fn functions_are_nearly_correctly_rounded() {
        type Pair = (fn(f32) -> f32, fn(f64) -> f64);
        let pairs: [Pair; 3] = [(exp, libm::exp), (tanh, libm::tanh), (erf, libm::erf)];
        for (ours, exact) in pairs {
            let (mut all, mut inexact) = (0_u32, 0_u32);
            for x in samples() {
                let (found, exact) = (ours(x), exact(f64::from(x)));
                assert!(!differs(found, exact), "{x}: {found} for {exact}");
                all += 1;
                inexact += u32::from(found.to_bits() != (exact as f32).to_bits());
            }
            assert!(inexact < all / 500, "{inexact} of {all}");
        }
    }

    #[test]
    fn ends_and_nan() {
        for function in [exp, tanh, erf] {
            assert!(function(f32::NAN).is_nan());
        }
        assert_eq!((exp(f32::INFINITY), exp(f32::NEG_INFINITY), exp(0.0)), (f32::INFINITY, 0.0, 1.0));
        for function in [tanh, erf] {
            assert_eq!((function(f32::INFINITY), function(f32::NEG_INFINITY)), (1.0, -1.0));
            assert_eq!(function(-0.0).to_bits(), (-0.0_f32).to_bits());
        }
    }
}
