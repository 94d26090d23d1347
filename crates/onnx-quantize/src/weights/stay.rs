//! Weights without a quantized form.

use std::collections::HashSet;

use onnx_ir::{Model, Node, NodeId};

use super::{constant, weight_operand};
use crate::edits::nodes_outside_functions;
use crate::types::is_other_float;

/// Why a weight has no quantized form.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum NoScale {
    /// It has numbers that are not finite.
    NotFinite,
    /// Its numbers are so small that `float` has no scale for them with all its bits.
    TooSmall,
    /// It is `float16`, `bfloat16` or `double`.
    OtherType,
    /// Its product has factors, a transposed first operand or a stack of matrices, which the operator with quantized weights has not.
    Form,
}

impl NoScale {
    /// The reason as the rest of a sentence.
    #[must_use]
    pub const fn text(self) -> &'static str {
        match self {
            Self::NotFinite => "it has numbers that are not finite",
            Self::TooSmall => "its numbers are too small for a scale",
            Self::OtherType => "its type is not `float`",
            Self::Form => "the operator with quantized weights has no form for its product",
        }
    }
}

/// The weights of the operators that a predicate chooses which are not `float`, and could be quantized if they were.
pub(crate) fn of_other_types(
    model: &Model,
    except: &[NodeId],
    is_taken: impl Fn(&Node) -> bool,
) -> Vec<(String, NoScale)> {
    let except: HashSet<NodeId> = except.iter().copied().collect();
    let (mut found, mut seen) = (Vec::new(), HashSet::new());
    for node in nodes_outside_functions(model).into_iter().filter(|node| !except.contains(node)) {
        let record = model.node(node);
        if !record.domain().is_empty() || !is_taken(record) {
            continue;
        }
        for (index, value) in record.inputs().enumerate() {
            let tensor = value.and_then(|value| Some((value, constant(model, value)?)));
            let Some((value, tensor)) = tensor.filter(|(_, tensor)| is_other_float(tensor.elem())) else {
                continue;
            };
            if weight_operand(record, index, tensor.rank()).is_some() && seen.insert(value) {
                found.push((model.str(model.value(value).name()).to_owned(), NoScale::OtherType));
            }
        }
    }
    found
}
