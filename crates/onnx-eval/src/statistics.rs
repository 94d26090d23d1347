//! A tensor in a few numbers.

use onnx_diag::Locus;
use onnx_types::tensor::{NoData, Payload, Tensor};
use onnx_types::{ElemClass, Interrupt};

use crate::cx::{Outcome, Stop};
use crate::fault::Failure;

/// Elements between two checks of the interrupt.
const CHECKED: usize = 1 << 16;

/// The extremes and the mean of a tensor, and how many of its elements are not finite.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
#[non_exhaustive]
pub struct Statistics {
    /// Number of elements.
    pub elements: u64,
    /// Number of NaN.
    pub nans: u64,
    /// Number of infinities of either sign.
    pub infinities: u64,
    /// The least finite element; `None` if there is none, as for strings and complex numbers. Integers are rounded to the
    /// nearest `f64`.
    pub min: Option<f64>,
    /// The mean of the finite elements.
    pub mean: Option<f64>,
    /// The greatest finite element.
    pub max: Option<f64>,
}

impl Statistics {
    /// The statistics of a tensor. That of one repeated element is not written out.
    ///
    /// # Errors
    ///
    /// Returns a failure if the elements cannot be read, or the interrupt ends the work.
    pub fn of(tensor: &Tensor, interrupt: &Interrupt) -> Result<Self, Failure> {
        Self::within(tensor, interrupt).map_err(|stop| Failure::of_stop(stop, None, Locus::model()))
    }

    fn within(tensor: &Tensor, interrupt: &Interrupt) -> Outcome<Self> {
        let mut statistics = Self { elements: tensor.element_count().unwrap_or_default(), ..Self::default() };
        if matches!(tensor.elem().class(), ElemClass::String | ElemClass::Complex | ElemClass::None) {
            return Ok(statistics);
        }
        let (mut sum, mut finite) = (0.0_f64, 0_u64);
        let is_splat = matches!(tensor.payload(), Payload::Splat(_));
        let elements = tensor.iter_f64(&NoData)?;
        for (index, element) in elements.take(if is_splat { 1 } else { usize::MAX }).enumerate() {
            if index.is_multiple_of(CHECKED) {
                interrupt.check().map_err(Stop::Interrupted)?;
            }
            if element.is_nan() {
                statistics.nans += 1;
            } else if element.is_infinite() {
                statistics.infinities += 1;
            } else {
                finite += 1;
                // The running mean stays finite where a sum would overflow.
                sum += (element - sum) / finite as f64;
                statistics.min = Some(statistics.min.map_or(element, |min| min.min(element)));
                statistics.max = Some(statistics.max.map_or(element, |max| max.max(element)));
            }
        }
        statistics.mean = (finite > 0).then_some(sum);
        if is_splat {
            statistics.nans *= statistics.elements;
            statistics.infinities *= statistics.elements;
        }
        Ok(statistics)
    }
}

#[cfg(test)]
mod tests {
    use onnx_types::tensor::Splat;

    use super::*;

    fn of(tensor: &Tensor) -> Statistics {
        Statistics::of(tensor, &Interrupt::NEVER).unwrap()
    }

    #[test]
    fn one_repeated_element_takes_no_time() {
        let splat = |element: f32| {
            let payload = Payload::Splat(Splat::new(&element.to_le_bytes()).unwrap());
            Tensor::from_parts(1, [1 << 40].into_iter().collect(), payload)
        };
        let found = of(&splat(2.5));
        assert_eq!(
            (found.elements, found.min, found.mean, found.max),
            (1 << 40, Some(2.5), Some(2.5), Some(2.5))
        );
        assert_eq!(of(&splat(f32::NAN)).nans, 1 << 40);
    }

    #[test]
    fn an_interrupt_ends_the_work() {
        let interrupt = Interrupt::new();
        interrupt.cancel();
        let failure = Statistics::of(&Tensor::vector(&[1.0_f32]), &interrupt).unwrap_err();
        assert_eq!(failure.kind(), crate::FailureKind::Stopped);
    }

    #[test]
    fn what_is_not_finite_is_counted_apart() {
        let tensor = Tensor::vector(&[1.0_f32, f32::NAN, 3.0, f32::INFINITY, f32::NEG_INFINITY, -1.0]);
        let found = of(&tensor);
        assert_eq!((found.elements, found.nans, found.infinities), (6, 1, 2));
        assert_eq!((found.min, found.mean, found.max), (Some(-1.0), Some(1.0), Some(3.0)));
    }

    #[test]
    fn nothing_has_no_extremes() {
        let empty = of(&Tensor::vector::<f32>(&[]));
        assert_eq!(empty, Statistics::default());
        let texts = Tensor::from_strings([2], ["a", "b"]).unwrap();
        assert_eq!(of(&texts), Statistics { elements: 2, ..Statistics::default() });
    }
}
