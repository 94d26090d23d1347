//! Discrete Fourier transforms, computed in `double`.
//!
//! The transform of a length is a fixed sequence of operations without vector instructions, so that a result is equal on every
//! processor. The inverse divides by the length.

use std::sync::Arc;

use rustfft::num_complex::Complex;
use rustfft::{Fft, FftPlannerScalar};

use crate::cx::{Cx, Outcome};

/// A complex number of a line.
pub(crate) type Number = Complex<f64>;

/// The transform of lines of one length.
pub(crate) struct Fourier {
    plan: Arc<dyn Fft<f64>>,
    scratch: Vec<Number>,
    factor: f64,
    /// Work of a line.
    steps: usize,
}

impl Fourier {
    /// The transform of lines of `length` numbers, which is at least 1.
    pub(crate) fn new(cx: &mut Cx<'_, '_>, length: usize, is_inverse: bool) -> Outcome<Self> {
        // A length with a large prime factor is computed with the next power of two of its double.
        cx.budget.allocate(length.saturating_mul(8), size_of::<Number>())?;
        let mut planner = FftPlannerScalar::new();
        let plan =
            if is_inverse { planner.plan_fft_inverse(length) } else { planner.plan_fft_forward(length) };
        let scratch = vec![Number::default(); plan.get_inplace_scratch_len()];
        let factor = if is_inverse { 1.0 / length as f64 } else { 1.0 };
        let steps = length.saturating_mul(length.checked_ilog2().unwrap_or(0) as usize + 1);
        Ok(Self { plan, scratch, factor, steps })
    }

    /// Transforms a line in place.
    pub(crate) fn apply(&mut self, cx: &mut Cx<'_, '_>, line: &mut [Number]) -> Outcome {
        cx.work(self.steps)?;
        self.plan.process_with_scratch(line, &mut self.scratch);
        if self.factor != 1.0 {
            line.iter_mut().for_each(|number| *number *= self.factor);
        }
        Ok(())
    }
}
