//! Runs without a rounding: if all numbers have few digits, then sums, products and quotients of them that have few digits, too, are
//! exact, and so is whatever passes a threshold or a tie. A difference of such runs is one of real numbers.

use std::sync::atomic::{AtomicBool, Ordering};

use onnx_eval::{NodeRun, Observer, Value};
use onnx_ir::{Callee, Model, NodeId};
use onnx_schema::traits::Rounding;
use onnx_schema::{Registry, op};
use onnx_types::{ElemType, Symbol};

use crate::compare;
use crate::perturbed::precision;

/// Observes the runs of both sides of a claim.
pub(crate) struct ExactRuns {
    /// The significant digits that numbers may have.
    bits: u32,
    is_rounded: AtomicBool,
}

impl ExactRuns {
    /// For the runs of a model on these operands. `narrowest` is the narrowest float type of the claim, and `is_declared` whether
    /// the runs compute with the declared types, not in 64 bits; `None` if the operands have too many digits.
    pub(crate) fn of(
        model: &Model,
        inputs: &[Value],
        narrowest: Option<ElemType>,
        is_declared: bool,
    ) -> Option<Self> {
        let own = narrowest.and_then(precision).and_then(|own| u32::try_from(own).ok());
        let mut nodes = model.all_graphs().flat_map(|graph| model.nodes(graph));
        let bits = match own {
            // Half of the digits, so that products are exact.
            Some(own) if is_declared => own.checked_sub(4)? / 2,
            // Others may round inside, to a type that is narrower.
            _ if !nodes.all(|node| rounds_once(model, node)) => 8,
            // A constant such as 0.1 has all digits of its type, which has rounded it; so have products of it.
            _ => own.unwrap_or(24),
        };
        let exact = Self { bits, is_rounded: AtomicBool::new(false) };
        inputs.iter().all(|value| exact.is_short(value)).then_some(exact)
    }

    /// Whether no number of the runs so far had too many digits.
    pub(crate) fn holds(&self) -> bool {
        !self.is_rounded.load(Ordering::Relaxed)
    }

    fn is_short(&self, value: &Value) -> bool {
        compare::floats_in(value).all(|number| is_short(number, self.bits))
    }
}

impl Observer for ExactRuns {
    fn end(&self, run: &NodeRun<'_>) {
        if self.holds() && !run.outputs.iter().flatten().all(|value| self.is_short(value)) {
            self.is_rounded.store(true, Ordering::Relaxed);
        }
    }
}

/// Whether an operator rounds at most once, to the type of its result. The nodes of functions that are called are seen as well.
fn rounds_once(model: &Model, node: NodeId) -> bool {
    // The standard leaves their bits open, but no implementation rounds more often.
    const OPEN: [Symbol; 3] = [op::CONSTANT, op::SHRINK, op::THRESHOLDED_RELU];
    match model.callee(node, Registry::STANDARD) {
        Callee::Function(_) => true,
        Callee::Standard(schema) => {
            !matches!(schema.traits().rounding(), Rounding::Open | Rounding::Accumulates)
                || OPEN.contains(&schema.op())
        }
        _ => false,
    }
}

/// Returns `true` for numbers of moderate size with at most this many significant bits.
fn is_short(number: f64, bits: u32) -> bool {
    const GREATEST: f64 = 4096.0;
    let magnitude = number.abs();
    if magnitude == 0.0 {
        return true;
    }
    let digits = 53_u32.saturating_sub((number.to_bits() | 1 << 52).trailing_zeros());
    (1.0 / GREATEST..=GREATEST).contains(&magnitude) && digits <= bits
}

#[cfg(test)]
mod tests {
    use super::is_short;

    #[test]
    fn digits_are_those_between_the_first_and_the_last_one() {
        assert!(is_short(0.0, 1) && is_short(-0.0, 1) && is_short(2.0, 1) && is_short(-0.5, 1));
        assert!(is_short(1.5, 2) && !is_short(1.5, 1) && is_short(4.125, 6) && !is_short(4.125, 5));
        assert!(is_short(f64::from(0.1_f32), 24) && !is_short(0.1, 24) && !is_short(1.0 / 3.0, 50));
        assert!(!is_short(f64::NAN, 24) && !is_short(f64::INFINITY, 24) && !is_short(1e20, 24));
    }
}
