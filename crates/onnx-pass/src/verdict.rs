//! The result of a proof, and the input that refutes a claim.

use std::fmt;
use std::sync::Arc;

use onnx_eval::Value;
use onnx_ir::Constant;
use onnx_types::Dim;
use onnx_types::expr::Dialect;
use onnx_types::tensor::Tensor;

use crate::compare::{self, Difference};
use crate::equivalence::Equivalence;
use crate::sample::Case;

/// Maximum number of elements of a tensor that a counterexample shows.
const SHOWN_ELEMENTS: usize = 16;

/// The result of a proof.
#[derive(Clone, Debug)]
pub enum Verdict {
    /// The claim holds; the method.
    Proved(&'static str),
    /// No run contradicts the claim.
    Tested {
        /// Number of runs in which the old side completed.
        runs: usize,
        /// Number of runs.
        attempts: usize,
    },
    /// The edit is of the class [`Approximate`](crate::Exactness::Approximate), and was measured: the whole model ran before and after it.
    Measured {
        /// Number of runs.
        runs: usize,
        /// The largest difference of two elements of the outputs.
        absolute: f64,
        /// The largest difference divided by the element after the edit; infinity if one is 0.
        relative: f64,
    },
    /// The claim could not be tested; the reason.
    Untested(String),
    /// The claim is wrong: an input for which the sides differ.
    Refuted(Box<Counterexample>),
}

impl Verdict {
    /// Returns `true` for [`Verdict::Refuted`].
    #[must_use]
    pub const fn is_refuted(&self) -> bool {
        matches!(self, Self::Refuted(_))
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Proved(method) => write!(f, "proved by {method}"),
            Self::Tested { runs, attempts } => write!(f, "tested in {runs} runs ({attempts} attempts)"),
            Self::Measured { runs, absolute, relative } => {
                write!(
                    f,
                    "measured in {runs} runs: differences up to {absolute:.3e}, {relative:.3e} of an element"
                )
            }
            Self::Untested(reason) => write!(f, "untested: {reason}"),
            Self::Refuted(counterexample) => write!(f, "refuted:\n{counterexample}"),
        }
    }
}

/// An input for which the sides of an equivalence differ.
#[derive(Clone, Debug)]
pub struct Counterexample {
    /// The sizes of the dimension variables of the equivalence.
    pub sizes: Vec<(String, i64)>,
    /// The inputs by name, constants of the equivalence excepted.
    pub inputs: Vec<(String, Value)>,
    /// The difference: `y[0,1] is 3 before and 4 after`.
    pub difference: String,
    /// The equivalence with the inputs as defaults, in the text format: a model that returns both results. Empty if it
    /// cannot be written.
    pub reproducer: String,
    /// The sizes and all inputs, until the reproducer is written.
    pub(crate) case: Option<Box<Case>>,
}

impl Counterexample {
    /// The case of a difference.
    pub(crate) fn new(eq: &Equivalence, case: &Case, difference: &Difference) -> Self {
        let model = eq.model();
        let size = |(symbol, size): &(onnx_types::Symbol, i64)| {
            let text = model.exprs().text(Dim::Var(*symbol), model.names(), Dialect::Python);
            (text.unwrap_or_default(), *size)
        };
        let inputs = eq.inputs().into_iter().zip(&case.inputs).enumerate();
        let free = inputs.filter(|(_, (input, _))| eq.constant(*input).is_none());
        let inputs = free.map(|(index, (_, value))| (eq.input_label(index), value.clone()));
        let output = eq.output_label(difference.output);
        let place = difference.element.as_ref().filter(|element| !element.is_empty()).map(|element| {
            let indices: Vec<String> = element.iter().map(i64::to_string).collect();
            format!("{output}[{}]", indices.join(","))
        });
        let (before, after) = (&difference.before, &difference.after);
        let changes_sign_of_zero =
            [before, after].into_iter().all(|text| matches!(text.as_str(), "0.0" | "-0.0"));
        let advice = if changes_sign_of_zero {
            "; a claim of the class `rounding` may change the sign of a zero"
        } else {
            ""
        };
        Self {
            sizes: case.sizes.iter().map(size).collect(),
            inputs: inputs.collect(),
            difference: format!("{} is {before} before and {after} after{advice}", place.unwrap_or(output)),
            reproducer: String::new(),
            case: Some(Box::new(case.clone())),
        }
    }

    /// Writes the claim with all inputs as initializers. Most differences at smaller sizes are not the last word, and the text of
    /// large inputs takes longer than finding them.
    pub(crate) fn write_reproducer(&mut self, eq: &Equivalence) {
        let Some(case) = self.case.take() else { return };
        let mut eq = eq.clone();
        let main = eq.model.main_graph();
        for (input, value) in eq.inputs().into_iter().zip(&case.inputs) {
            if let Some(tensor) = value.tensor() {
                let constant = Constant::Dense(Tensor::clone(tensor));
                eq.model.set_initializer(main, input, Some(Arc::new(constant)));
            }
        }
        self.reproducer = eq.text().unwrap_or_default();
    }
}

impl fmt::Display for Counterexample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, value) in &self.inputs {
            write!(f, "{name} = {}", value.describe())?;
            if let Some(tensor) = value.tensor() {
                let elements = compare::element_texts(tensor, SHOWN_ELEMENTS);
                let more = tensor.element_count().is_some_and(|count| count > SHOWN_ELEMENTS as u64);
                write!(f, " {{{}{}}}", elements.join(", "), if more { ", …" } else { "" })?;
            }
            writeln!(f)?;
        }
        f.write_str(&self.difference)
    }
}
