//! How similar two tensors are as vectors.

use onnx_types::tensor::NoData;
use onnx_types::{ElemType, Interrupt};

use crate::value::Value;

/// Elements between two checks of the interrupt.
const CHECKED: usize = 1 << 16;

/// How similar two tensors of numbers are, all elements together.
#[derive(Clone, Copy, PartialEq, Debug)]
#[non_exhaustive]
pub struct Similarity {
    /// The cosine of the angle between them; `None` if one of them is zero everywhere, or has an element that is not finite and
    /// differs.
    pub cosine: Option<f64>,
    /// `10 * log10(sum(a * a) / sum((a - b) * (a - b)))`, in decibels: infinity if they are equal; `None` if the first one is
    /// zero everywhere and the other one is not, or an element that is not finite differs.
    pub signal_to_noise: Option<f64>,
    /// Number of elements that are the same infinity in both, or NaN in both, such as those of masks. They are equal, and left out of
    /// the cosine and the ratio.
    pub equal_not_finite: u64,
}

impl Similarity {
    /// The similarity of two tensors of numbers of one shape; `None` of other values.
    pub(super) fn of(a: &Value, b: &Value, interrupt: &Interrupt) -> Option<Self> {
        let (Value::Tensor(a), Value::Tensor(b)) = (a, b) else { return None };
        if a.dims() != b.dims() || [a, b].iter().any(|tensor| tensor.elem() == ElemType::Bool) {
            return None;
        }
        let (one, two) = (a.iter_f64(&NoData).ok()?, b.iter_f64(&NoData).ok()?);
        let (mut sums, mut bb, mut ab, mut equal_not_finite) = (Noise::default(), 0.0, 0.0, 0);
        for (index, (x, y)) in one.zip(two).enumerate() {
            if index.is_multiple_of(CHECKED) && interrupt.check().is_err() {
                return None;
            }
            if !x.is_finite() && (x == y || (x.is_nan() && y.is_nan())) {
                equal_not_finite += 1;
                continue;
            }
            sums.add(x, y);
            bb += y * y;
            ab += x * y;
        }
        let is_finite = sums.is_finite() && bb.is_finite();
        let norm = sums.signal.sqrt() * bb.sqrt();
        let cosine = (is_finite && norm > 0.0).then(|| (ab / norm).clamp(-1.0, 1.0));
        Some(Self { cosine, signal_to_noise: sums.ratio().filter(|_| is_finite), equal_not_finite })
    }
}

/// Sums of which the ratio of signal to noise is made: of numbers, and of their distances to others.
///
/// ```
/// let mut sums = onnx_eval::compare::Noise::default();
/// sums.add(10.0, 9.0);
/// sums.add(0.0, 0.0);
/// assert_eq!((sums.ratio(), sums.max_error), (Some(20.0), 1.0));
/// ```
#[derive(Clone, Copy, PartialEq, Debug, Default)]
#[non_exhaustive]
pub struct Noise {
    /// The sum of the squares of the numbers.
    pub signal: f64,
    /// The sum of the squares of the distances.
    pub noise: f64,
    /// The greatest distance.
    pub max_error: f64,
}

impl Noise {
    /// Adds a number and what takes its place.
    pub fn add(&mut self, number: f64, other: f64) {
        let error = (number - other).abs();
        self.signal += number * number;
        self.noise += error * error;
        self.max_error = self.max_error.max(error);
    }

    /// Adds the sums of other numbers.
    pub const fn merge(&mut self, other: &Self) {
        self.signal += other.signal;
        self.noise += other.noise;
        self.max_error = self.max_error.max(other.max_error);
    }

    /// The ratio of signal to noise in decibels: infinity without noise; `None` if there is noise and no signal, or a number was not
    /// finite.
    #[must_use]
    pub fn ratio(&self) -> Option<f64> {
        match () {
            () if !self.is_finite() => None,
            () if self.noise == 0.0 => Some(f64::INFINITY),
            () if self.signal == 0.0 => None,
            () => Some(10.0 * (self.signal / self.noise).log10()),
        }
    }

    const fn is_finite(&self) -> bool {
        self.signal.is_finite() && self.noise.is_finite()
    }
}

#[cfg(test)]
mod tests {
    use onnx_types::tensor::Tensor;

    use super::*;

    fn similarity(a: &[f32], b: &[f32]) -> (Option<f64>, Option<f64>) {
        let [a, b] = [a, b].map(|elements| Value::from(Tensor::vector(elements)));
        let found = Similarity::of(&a, &b, &Interrupt::NEVER).expect("both are vectors of one length");
        (found.cosine, found.signal_to_noise)
    }

    #[test]
    fn directions_and_sizes() {
        assert_eq!(similarity(&[3.0, 4.0], &[3.0, 4.0]), (Some(1.0), Some(f64::INFINITY)));
        assert_eq!(similarity(&[1.0, 0.0], &[0.0, 1.0]).0, Some(0.0));
        // The noise has a hundredth of the power of the signal.
        let (cosine, ratio) = similarity(&[10.0, 0.0], &[9.0, 0.0]);
        assert_eq!((cosine, ratio), (Some(1.0), Some(20.0)));
        assert_eq!(similarity(&[0.0, 0.0], &[1.0, 0.0]), (None, None));
        assert_eq!(similarity(&[0.0], &[0.0]), (None, Some(f64::INFINITY)));
        assert_eq!(similarity(&[f32::NAN], &[1.0]), (None, None));
        // Equal masks are equal, whatever the other elements are.
        let (mask, nan) = (f32::NEG_INFINITY, f32::NAN);
        assert_eq!(similarity(&[mask, nan], &[mask, nan]), (None, Some(f64::INFINITY)));
        assert_eq!(similarity(&[mask, 10.0, nan], &[mask, 9.0, nan]), (Some(1.0), Some(20.0)));
        assert_eq!(similarity(&[mask, 1.0], &[-mask, 1.0]), (None, None));
        assert_eq!(similarity(&[nan, 1.0], &[mask, 1.0]), (None, None));
        let other = Value::from(Tensor::vector(&[1.0_f32]));
        let longer = Value::from(Tensor::vector(&[1.0_f32, 2.0]));
        assert_eq!(Similarity::of(&other, &longer, &Interrupt::NEVER), None);
    }
}
