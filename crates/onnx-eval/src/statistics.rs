//! A tensor in a few numbers.

use onnx_types::ElemClass;
use onnx_types::tensor::{NoData, Tensor, TensorError};

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
    /// The statistics of a tensor.
    ///
    /// # Errors
    ///
    /// Returns an error if the elements cannot be read.
    pub fn of(tensor: &Tensor) -> Result<Self, TensorError> {
        let mut statistics = Self { elements: tensor.element_count().unwrap_or_default(), ..Self::default() };
        if matches!(tensor.elem().class(), ElemClass::String | ElemClass::Complex | ElemClass::None) {
            return Ok(statistics);
        }
        let (mut sum, mut finite) = (0.0_f64, 0_u64);
        for element in tensor.iter_f64(&NoData)? {
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
        Ok(statistics)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_finite_is_counted_apart() {
        let tensor = Tensor::vector(&[1.0_f32, f32::NAN, 3.0, f32::INFINITY, f32::NEG_INFINITY, -1.0]);
        let found = Statistics::of(&tensor).unwrap();
        assert_eq!((found.elements, found.nans, found.infinities), (6, 1, 2));
        assert_eq!((found.min, found.mean, found.max), (Some(-1.0), Some(1.0), Some(3.0)));
    }

    #[test]
    fn nothing_has_no_extremes() {
        let empty = Statistics::of(&Tensor::vector::<f32>(&[])).unwrap();
        assert_eq!(empty, Statistics::default());
        let texts = Tensor::from_strings([2], ["a", "b"]).unwrap();
        assert_eq!(Statistics::of(&texts).unwrap(), Statistics { elements: 2, ..Statistics::default() });
    }
}
