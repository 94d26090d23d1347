//! Why nothing of a model is quantized, although it computes.

use std::fmt;

use onnx_ir::{Callee, Model, NodeId, OpsetScope, ValueId};
use onnx_schema::Registry;
use onnx_shape_infer::{InferOptions, infer};
use onnx_types::tensor::DataSource;
use onnx_types::{ElemType, Execution};

use crate::edits::nodes_outside_functions;
use crate::narrow::{Types, collect_types};
use crate::types::{inner_elem, is_other_float};

/// Why nothing of a model is quantized, although it has products or convolutions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Unquantized {
    /// They compute with another type than `float`.
    Type(ElemType),
    /// They are in functions of the model.
    Functions,
}

impl fmt::Display for Unquantized {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Type(elem) => {
                write!(f, "the model computes in {elem}, and only numbers of `float` are quantized")
            }
            Self::Functions => {
                f.write_str("what could be quantized is in functions of the model, which stay as they are")
            }
        }
    }
}

/// Finds what keeps the products and convolutions of a model, of which none is quantized, from being so; `None` if it is something else: the
/// report of the quantization says what.
#[must_use]
pub fn unquantized(
    model: &Model,
    registry: &Registry,
    data: &dyn DataSource,
    execution: &Execution,
) -> Option<Unquantized> {
    let known =
        InferOptions::default().with_registry(registry).with_data(data).with_execution(execution.clone());
    let inference = infer(model, &known);
    let mut types = Types::default();
    collect_types(model, model.main_graph(), &inference, &mut types, &execution.interrupt).ok()?;
    let elem = |value: ValueId| types.get(&value).and_then(inner_elem);
    let outside = nodes_outside_functions(model);
    let products: Vec<NodeId> = outside.iter().copied().filter(|&node| contracts(model, node)).collect();
    let operands = products.iter().flat_map(|&node| model.node(node).inputs().take(2).flatten());
    if let Some(other) = operands.filter_map(elem).find(|&elem| is_other_float(elem)) {
        return Some(Unquantized::Type(other));
    }
    let has_float = types.values().any(|ty| inner_elem(ty) == Some(ElemType::Float));
    if let Some(other) =
        types.values().filter_map(inner_elem).find(|&elem| is_other_float(elem)).filter(|_| !has_float)
    {
        return Some(Unquantized::Type(other));
    }
    let in_functions = model.all_graphs().filter(|&graph| !matches!(model.scope(graph), OpsetScope::Model));
    let has_functions =
        || in_functions.flat_map(|graph| model.nodes(graph)).any(|node| contracts(model, node));
    (products.is_empty() && has_functions()).then_some(Unquantized::Functions)
}

/// Whether a node is a product or a convolution.
fn contracts(model: &Model, node: NodeId) -> bool {
    match model.callee(node, Registry::STANDARD) {
        Callee::Standard(schema) => schema.traits().contracts(),
        _ => false,
    }
}
