//! Number formats, and the numbers next to the points at which a conversion between them changes its result.

use onnx_types::{ElemClass, ElemType};

/// The values of a float format.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Format {
    /// Bits of the significand, including the leading one.
    pub(crate) bits: i32,
    /// The exponent of the least positive number.
    least: i32,
    /// The greatest finite number.
    pub(crate) max: f64,
}

impl Format {
    /// The format of a float type.
    pub(crate) const fn of(elem: ElemType) -> Option<Self> {
        use ElemType as E;
        let (bits, least, max) = match elem {
            E::Double => (53, -1074, f64::MAX),
            E::Float => (24, -149, f32::MAX as f64),
            E::Bfloat16 => (8, -133, 3.389_531_389_251_535_5e38),
            E::Float16 => (11, -24, 65504.0),
            E::Float8E4M3Fn => (4, -9, 448.0),
            E::Float8E4M3Fnuz => (4, -10, 240.0),
            E::Float8E5M2 => (3, -16, 57344.0),
            E::Float8E5M2Fnuz => (3, -17, 57344.0),
            E::Float6E2M3 => (4, -3, 7.5),
            E::Float6E3M2 => (3, -4, 28.0),
            E::Float4E2M1 => (2, -1, 6.0),
            E::Float8E8M0 => (1, -127, 1.701_411_834_604_692_3e38),
            _ => return None,
        };
        Some(Self { bits, least, max })
    }

    /// The least positive number.
    pub(crate) fn tiny(self) -> f64 {
        power(self.least)
    }

    /// The distance from 1 to the next number.
    pub(crate) fn step(self) -> f64 {
        power(1_i32.saturating_sub(self.bits))
    }

    /// The greatest integer such that the format has all integers up to it, if they are not beyond the range.
    pub(crate) fn integers(self) -> f64 {
        power(self.bits)
    }

    /// Returns `true` if each number of another format is one of this format.
    pub(crate) fn includes(self, other: Self) -> bool {
        other.bits <= self.bits && other.least >= self.least && other.max <= self.max
    }

    /// Where overflow begins: the number halfway between the greatest one and the next one.
    pub(crate) fn overflow(self) -> f64 {
        let exponent = (self.max.to_bits() >> 52) as i32;
        // The exponent of the last bit of the greatest number, with the bias of `double`, less one.
        self.max + power(exponent.saturating_sub(1023).saturating_sub(self.bits))
    }
}

/// A power of two: a `double`, 0 or infinity.
const fn power(exponent: i32) -> f64 {
    match exponent {
        ..-1074 => 0.0,
        -1074..-1022 => f64::from_bits(1 << exponent.wrapping_add(1074)),
        -1022..=1023 => f64::from_bits((exponent.wrapping_add(1023) as u64) << 52),
        _ => f64::INFINITY,
    }
}

/// The least and the greatest integer of a type.
pub(crate) fn range_of(elem: ElemType) -> Option<(i128, i128)> {
    let bits = elem.bits()?;
    match elem.class() {
        ElemClass::Int => {
            let half = 1_i128.checked_shl(bits.checked_sub(1)?)?;
            Some((half.checked_neg()?, half.checked_sub(1)?))
        }
        ElemClass::Uint => Some((0, 1_i128.checked_shl(bits)?.checked_sub(1)?)),
        _ => None,
    }
}

/// Floats of a type next to the points at which conversions to other types change their result: ties of roundings, where
/// overflow begins, the least numbers, and the limits of integers. Each with its neighbors.
pub(crate) fn floats_beside(source: ElemType, types: &[ElemType]) -> Vec<f64> {
    let Some(own) = Format::of(source) else { return Vec::new() };
    let mut found = Vec::new();
    for &elem in types.iter().filter(|&&elem| elem != source) {
        let points: Vec<f64> = match (Format::of(elem), range_of(elem)) {
            (Some(format), _) if format.bits < own.bits || format.max < own.max => {
                let half = format.step() / 2.0;
                let (tiny, max) = (format.tiny(), format.max);
                vec![1.0 + half, 1.0 + 3.0 * half, tiny / 2.0, tiny * 1.5, format.overflow(), max, max * 2.0]
            }
            (Some(_), _) => continue,
            (None, Some((low, high))) => {
                let (low, high) = (low as f64, high as f64);
                vec![1.0, 0.5, 1.5, high, high + 1.0, low, low - 1.0]
            }
            // Zero and all other numbers.
            (None, None) if elem == ElemType::Bool => vec![own.tiny(), 1.0],
            (None, None) => continue,
        };
        // The standard does not define the integer of a number that is out of range.
        let integers = range_of(elem).map(|(low, high)| (low as f64 - 1.0, high as f64 + 1.0));
        let is_defined = |number: f64| integers.is_none_or(|(low, high)| number > low && number < high);
        for point in points {
            let step = ulp(point, own);
            found.extend(
                [point - step, point, point + step, -point].into_iter().filter(|&number| is_defined(number)),
            );
        }
    }
    found.retain(|number| number.abs() <= own.max);
    distinct(found, |number| number.to_bits())
}

/// Integers of a type next to the points at which conversions to other types change their result.
pub(crate) fn integers_beside(source: ElemType, types: &[ElemType]) -> Vec<i64> {
    let Some((low, high)) = range_of(source) else { return Vec::new() };
    let bits = source.bits().unwrap_or(64);
    let mut found: Vec<i128> = Vec::new();
    for &elem in types.iter().filter(|&&elem| elem != source) {
        let mut points: Vec<i128> = Vec::new();
        if let (Some(format), Ok(digits)) =
            (Format::of(elem), Format::of(elem).map_or(Ok(0), |format| u32::try_from(format.bits)))
        {
            // Ties of the first and the last numbers that are rounded, where a type in between can round them, too.
            let own = [bits.saturating_sub(2), digits, digits.saturating_add(1), bits.saturating_sub(3)];
            let others = types.iter().filter_map(|&other| u32::try_from(Format::of(other)?.bits).ok());
            let exponents = own.into_iter().chain(others.map(|digits| digits.saturating_add(1)));
            for exponent in exponents.filter(|&exponent| exponent >= digits && exponent < bits) {
                let Some(half) = 1_i128.checked_shl(exponent.saturating_sub(digits)) else { continue };
                let Some(first) = 1_i128.checked_shl(exponent) else { continue };
                points.extend([first.saturating_add(half), first.saturating_add(half.saturating_mul(3))]);
            }
            if format.max < high as f64 {
                points.extend([format.overflow() as i128, format.max as i128]);
            }
        } else if let Some((least, most)) = range_of(elem) {
            let all = most.saturating_mul(2).saturating_add(1);
            points.extend([
                least,
                most,
                least.saturating_sub(1),
                most.saturating_add(1),
                all,
                most.saturating_add(2),
            ]);
        } else if elem == ElemType::Bool {
            // The low bits are zero, and the number is not.
            points.extend([256, 2, 1 << 32]);
        }
        for point in points {
            found.extend([point.saturating_add(1), point, point.saturating_sub(1)]);
            found.push(point.saturating_add(1).saturating_neg());
        }
    }
    found.retain(|number| (low..=high).contains(number));
    let found = distinct(found, |number| number as u64);
    // Integers of 64 bits without sign have their low bits.
    found.into_iter().map(|number| number as i64).collect()
}

/// The numbers without repetitions, in order.
fn distinct<T: Copy>(numbers: Vec<T>, key: impl Fn(T) -> u64) -> Vec<T> {
    let mut seen = Vec::new();
    let is_new = |number: &T| {
        let key = key(*number);
        let is_new = !seen.contains(&key);
        seen.push(key);
        is_new
    };
    numbers.into_iter().filter(is_new).collect()
}

/// The distance from a number to the next one of a format.
pub(crate) fn ulp(number: f64, format: Format) -> f64 {
    let exponent = ((number.abs().to_bits() >> 52) as i32).saturating_sub(1023);
    power(exponent.saturating_add(1).saturating_sub(format.bits)).max(format.tiny())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_have_their_limits() {
        for elem in ElemType::all().filter(|elem| elem.is_float()) {
            let format = Format::of(elem).expect("a float type has a format");
            assert!(format.tiny() > 0.0 && format.max.is_finite(), "{elem}");
        }
        let half = Format::of(ElemType::Float16).unwrap();
        assert_eq!((half.overflow(), half.tiny(), half.step()), (65520.0, 2_f64.powi(-24), 2_f64.powi(-10)));
        assert_eq!(Format::of(ElemType::Double).unwrap().tiny(), 5e-324);
    }

    #[test]
    fn numbers_beside_ties_show_double_rounding() {
        let doubles = floats_beside(ElemType::Double, &[ElemType::Float16]);
        let tie = 1.0 + 2_f64.powi(-11);
        assert!(doubles.contains(&tie) && doubles.contains(&(tie + f64::EPSILON)), "{doubles:?}");
        let integers = integers_beside(ElemType::Int64, &[ElemType::Float, ElemType::Double]);
        assert!(integers.contains(&((1 << 62) + (1 << 38) + 1)), "{integers:?}");
        let small = integers_beside(ElemType::Int16, &[ElemType::Int8]);
        assert!(small.contains(&127) && small.contains(&128) && small.contains(&-129), "{small:?}");
        assert_eq!(floats_beside(ElemType::Float, &[ElemType::Double, ElemType::Float]), []);
    }
}
