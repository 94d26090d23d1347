//! Constants in a narrow format.

use onnx_types::tensor::{DataSource, Tensor, TensorError, bf16, f16, reserved};
use onnx_types::{ElemType, Interrupt};

use super::mask::LIMIT;
use crate::weights::{Reading, ReadingError};

/// A format that replaces `float`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Half {
    /// `float16`: 11 bits of significand, up to 65504.
    Float16,
    /// `bfloat16`: 8 bits of significand, the range of `float`.
    Bfloat16,
}

impl Half {
    /// The element type.
    #[must_use]
    pub const fn elem(self) -> ElemType {
        match self {
            Self::Float16 => ElemType::Float16,
            Self::Bfloat16 => ElemType::Bfloat16,
        }
    }

    /// The greatest finite number.
    #[must_use]
    pub fn max(self) -> f32 {
        match self {
            Self::Float16 => f16::MAX.to_f32(),
            Self::Bfloat16 => bf16::MAX.to_f32(),
        }
    }

    /// The least positive number.
    #[must_use]
    pub fn tiny(self) -> f32 {
        match self {
            Self::Float16 => f16::from_bits(1).to_f32(),
            Self::Bfloat16 => bf16::from_bits(1).to_f32(),
        }
    }

    /// The number, rounded to nearest even.
    #[must_use]
    pub fn rounded(self, number: f32) -> f32 {
        match self {
            Self::Float16 => f16::from_f32(number).to_f32(),
            Self::Bfloat16 => bf16::from_f32(number).to_f32(),
        }
    }

    /// The least positive number with a full significand.
    fn normal(self) -> f32 {
        match self {
            Self::Float16 => f16::MIN_POSITIVE.to_f32(),
            Self::Bfloat16 => bf16::MIN_POSITIVE.to_f32(),
        }
    }

    /// The largest relative error of a number that is rounded to one with a full significand.
    pub(crate) fn precision(self) -> f64 {
        match self {
            Self::Float16 => f64::from(f16::EPSILON.to_f32()) / 2.0,
            Self::Bfloat16 => f64::from(bf16::EPSILON.to_f32()) / 2.0,
        }
    }

    /// The number that takes the place of a number: rounded, but not infinite. The only one of a tensor does not become zero.
    fn taken(self, number: f32, is_single: bool) -> f32 {
        match number {
            number if number.is_finite() && self.rounded(number).is_infinite() => self.max().copysign(number),
            number if is_single && number != 0.0 && self.rounded(number) == 0.0 => {
                self.tiny().copysign(number)
            }
            number => self.rounded(number),
        }
    }
}

/// What the elements of a tensor become in a narrow format.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
#[non_exhaustive]
pub struct RoundingLosses {
    /// Number of elements.
    pub elements: u64,
    /// Elements beyond the range, which become the greatest or the least finite number.
    pub saturated: u64,
    /// Elements that are not zero and become zero.
    pub zeros: u64,
    /// Elements that become subnormal: they lose bits of their significand.
    pub subnormal: u64,
    /// The element of the greatest magnitude that is out of range.
    pub worst: Option<f32>,
    /// Whether the elements out of range only say "minus infinity" or "no limit", as in the masks of attention. Other tensors with
    /// such elements are not rounded.
    pub is_mask: bool,
    /// Whether the only element would be zero and becomes the least positive number: what keeps a divisor from 0.
    pub is_kept_positive: bool,
    /// What the elements below the numbers with a full significand lose, as a part of the tensor: the ratio of the roots of the sums of
    /// squares.
    pub error: f64,
    /// The largest relative error of one of these elements.
    pub worst_error: f64,
}

impl RoundingLosses {
    /// Whether there is something to report.
    #[must_use]
    pub const fn is_notable(&self) -> bool {
        self.saturated > 0 || self.zeros > 0 || self.subnormal > 0 || self.is_kept_positive
    }
}

/// Elements between two checks of the interrupt.
const WATCHED_ELEMENTS: usize = 1 << 16;

/// Counts what is lost if a tensor of `float` is rounded; until the interrupt, which the caller checks.
pub(crate) fn losses(
    tensor: &Tensor,
    half: Half,
    data: &dyn DataSource,
    interrupt: &Interrupt,
) -> Result<RoundingLosses, TensorError> {
    let view = tensor.view::<f32>(data)?;
    let mut found = RoundingLosses { elements: view.len() as u64, ..RoundingLosses::default() };
    let (max, normal) = (half.max(), half.normal());
    let (mut first, mut is_uniform, mut is_limit) = (None, true, true);
    let (mut squares, mut lost) = (0.0_f64, 0.0_f64);
    let is_single = view.len() == 1;
    let count = if view.splat().is_some() { view.len().min(1) } else { view.len() };
    for (index, number) in view.iter().take(count).enumerate() {
        if index % WATCHED_ELEMENTS == 0 && interrupt.check().is_err() {
            break;
        }
        if !number.is_finite() || number == 0.0 {
            continue;
        }
        let magnitude = number.abs();
        if magnitude > max && half.rounded(number).is_infinite() {
            found.saturated += 1;
            found.worst = found.worst.filter(|worst| worst.abs() >= magnitude).or(Some(number));
            is_uniform &= *first.get_or_insert(number) == number;
            is_limit &= magnitude >= LIMIT;
            continue;
        }
        squares += f64::from(number) * f64::from(number);
        if magnitude < normal {
            match half.rounded(number) == 0.0 {
                true => found.zeros += 1,
                false => found.subnormal += u64::from(half.rounded(number).abs() < normal),
            }
            let error = f64::from(half.taken(number, is_single)) - f64::from(number);
            lost += error * error;
            found.worst_error = found.worst_error.max(error.abs() / f64::from(magnitude));
        }
    }
    view.release(data);
    found.error = if lost > 0.0 { (lost / squares).sqrt() } else { 0.0 };
    let is_negative = first.is_some_and(|number: f32| number < 0.0);
    found.is_mask = found.saturated > 0 && (is_limit || (is_uniform && is_negative));
    found.is_kept_positive = found.elements == 1 && found.zeros == 1;
    if found.is_kept_positive {
        found.zeros = 0;
    }
    Ok(found)
}

/// The bytes that a function makes of each number, until an interrupt.
pub(super) fn mapped<T, const N: usize>(
    mut numbers: impl ExactSizeIterator<Item = T>,
    interrupt: &Interrupt,
    mut function: impl FnMut(T) -> [u8; N],
) -> Result<Vec<u8>, ReadingError> {
    let mut found = reserved(numbers.len().saturating_mul(N))?;
    while numbers.len() > 0 {
        interrupt.check()?;
        numbers.by_ref().take(WATCHED_ELEMENTS).for_each(|number| found.extend_from_slice(&function(number)));
    }
    Ok(found)
}

/// A tensor of `float`, each element rounded once, to nearest even. Elements beyond the range become the nearest finite number, and
/// a single element that is not zero does not become zero.
pub(crate) fn round(tensor: &Tensor, half: Half, reading: Reading<'_>) -> Result<Tensor, ReadingError> {
    let Reading { data, interrupt } = reading;
    let view = tensor.view::<f32>(data)?;
    let is_single = view.len() == 1;
    let bounded = |number: f32| half.taken(number, is_single);
    let dims = tensor.dims().to_vec();
    let mut rounded = match (half, view.splat()) {
        (Half::Float16, Some(number)) => Tensor::splat(dims, f16::from_f32(bounded(number)))?,
        (Half::Bfloat16, Some(number)) => Tensor::splat(dims, bf16::from_f32(bounded(number)))?,
        (Half::Float16, None) => {
            let elements = mapped(view.iter(), interrupt, |number| match f16::from_f32(number) {
                // Nearly all numbers of a weight.
                rounded if !is_single && rounded.is_finite() => rounded.to_le_bytes(),
                _ => f16::from_f32(bounded(number)).to_le_bytes(),
            })?;
            Tensor::from_raw(half.elem(), dims, elements)?
        }
        (Half::Bfloat16, None) => {
            let elements = mapped(view.iter(), interrupt, |number| match bf16::from_f32(number) {
                rounded if !is_single && rounded.is_finite() => rounded.to_le_bytes(),
                _ => bf16::from_f32(bounded(number)).to_le_bytes(),
            })?;
            Tensor::from_raw(half.elem(), dims, elements)?
        }
    };
    if !tensor.name().is_empty() {
        rounded.set_name(tensor.name());
    }
    view.release(data);
    Ok(rounded.held(data))
}

#[cfg(test)]
mod tests {
    use onnx_types::tensor::NoData;

    use super::*;

    fn rounded(numbers: &[f32], half: Half) -> Vec<f64> {
        let reading = Reading { data: &NoData, interrupt: &Interrupt::NEVER };
        let tensor = round(&Tensor::vector(numbers), half, reading).unwrap();
        assert_eq!(tensor.elem(), half.elem());
        tensor.iter_f64(&NoData).unwrap().collect()
    }

    #[test]
    fn elements_are_rounded_once_to_nearest_even() {
        // 1 + 2^-11 is halfway between 1 and the next number.
        let tie = 1.0 + 2.0_f32.powi(-11);
        assert_eq!(rounded(&[tie, tie + f32::EPSILON], Half::Float16), [1.0, 1.0 + 2.0_f64.powi(-10)]);
        assert_eq!(rounded(&[65519.0, 65520.0, -3.4e38], Half::Float16), [65504.0, 65504.0, -65504.0]);
        let max = f64::from(bf16::MAX.to_f32());
        assert_eq!(rounded(&[f32::MIN, f32::INFINITY], Half::Bfloat16), [-max, f64::INFINITY]);
        assert_eq!(rounded(&[1e-12], Half::Float16), [2.0_f64.powi(-24)]);
        assert_eq!(rounded(&[1e-12, 1.0], Half::Float16), [0.0, 1.0]);
        assert!(rounded(&[f32::NAN], Half::Float16)[0].is_nan());
    }

    #[test]
    fn rounding_of_one_weight_ends_with_the_interrupt() {
        let (asked, tensor) =
            (std::sync::atomic::AtomicUsize::new(0), Tensor::vector(&vec![1.0_f32; 1 << 20]));
        let interrupt =
            Interrupt::when(move || asked.fetch_add(1, std::sync::atomic::Ordering::Relaxed) == 3);
        let rounded = round(&tensor, Half::Float16, Reading { data: &NoData, interrupt: &interrupt });
        assert!(matches!(rounded, Err(ReadingError::Stopped(_))));
    }

    #[test]
    fn masks_differ_from_numbers() {
        let of = |numbers: &[f32]| {
            losses(&Tensor::vector(numbers), Half::Float16, &NoData, &Interrupt::NEVER).unwrap()
        };
        assert!(of(&[0.0, f32::MIN]).is_mask && of(&[-1e9, 0.0, -1e9]).is_mask && of(&[f32::MAX]).is_mask);
        let other = of(&[1e6, 1.0]);
        assert!(!other.is_mask && other.saturated == 1 && other.worst == Some(1e6));
        assert!(!of(&[-7e4, -8e4]).is_mask);
        assert_eq!((of(&[1e-5, 1.0]).subnormal, of(&[1e-9, 1.0]).zeros), (1, 1));
        assert!(of(&[1e-12]).is_kept_positive && !of(&[f32::INFINITY]).is_notable());
    }

    #[test]
    fn relative_errors_are_those_of_small_numbers() {
        let of = |numbers: &[f32], half| {
            let losses = losses(&Tensor::vector(numbers), half, &NoData, &Interrupt::NEVER).unwrap();
            (losses.error, losses.worst_error)
        };
        assert_eq!(of(&[0.1, -3.0, 0.0, 1e9], Half::Float16), (0.0, 0.0));
        // The only number becomes the least positive one, and zero among others.
        assert!(of(&[3e-9], Half::Float16).1 > 18.0);
        let (all, one) = of(&[3e-9, 1.0], Half::Float16);
        assert!(all < 1e-8 && one == 1.0, "{all} {one}");
        let (all, one) = of(&[1e-7, 1e-7], Half::Float16);
        assert!(all > Half::Float16.precision() && (all - one).abs() < 1e-6, "{all} {one}");
        assert_eq!(of(&[1e-7], Half::Bfloat16), (0.0, 0.0));
        assert_eq!(of(&[2.0_f32.powi(-24)], Half::Float16), (0.0, 0.0));
        assert_eq!(Half::Float16.precision(), 2.0_f64.powi(-11));
        assert_eq!(Half::Bfloat16.precision(), 2.0_f64.powi(-8));
    }
}
