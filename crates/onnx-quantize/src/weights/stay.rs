//! Weights without a quantized form.

use std::collections::HashSet;

use onnx_ir::{Model, Node, NodeId, ValueId};
use onnx_schema::{attr, op};
use onnx_types::ElemType;

use super::{Granularity, constant, weight_operand};
use crate::activations::{is_dequantized, moves_elements};
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
    /// It has 2 bits for each number, and a number of columns that 4 does not divide: onnxruntime computes such a product wrongly.
    Columns,
    /// The other operand of its product is quantized already, and scales for blocks or for this axis are not those that onnxruntime
    /// multiplies quantized operands with.
    Operand,
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
            Self::Columns => {
                "onnxruntime computes products with 2-bit weights wrongly if 4 does not divide the number of columns"
            }
            Self::Operand => {
                "the other operand of its product is quantized, and onnxruntime has no such product with these scales"
            }
        }
    }
}

/// The number of nodes that move elements and are followed from an operand to its `DequantizeLinear`.
const DEPTH: usize = 16;

/// Why onnxruntime would not compute what the model states, if a weight of these sizes had a quantized form.
pub(super) fn miscomputed(
    model: &Model,
    (value, dims): (ValueId, &[i64]),
    elem: ElemType,
    granularity: Granularity,
) -> Option<NoScale> {
    // Other types do not become operands of integer products.
    let is_byte = matches!(elem, ElemType::Int8 | ElemType::Uint8) && granularity != Granularity::Tensor;
    let is_short = matches!(elem, ElemType::Int2 | ElemType::Uint2);
    let uses = model.node_uses(value);
    uses.into_iter().find_map(|(node, index)| {
        let record = model.node(node);
        if !record.domain().is_empty() {
            return None;
        }
        let is_second_matrix = index == 1 && dims.len() == 2;
        let is_gemm = record.is(op::GEMM) && record.int(attr::TRANS_B).unwrap_or(0) == 0;
        let is_product = record.is(op::MAT_MUL) || is_gemm;
        let has_rest = || dims.last().is_some_and(|columns| columns % 4 != 0);
        if is_short && is_second_matrix && is_product && has_rest() {
            return Some(NoScale::Columns);
        }
        let is_other = |scales: Granularity| match scales {
            Granularity::Tensor => false,
            Granularity::Channel => record.is(op::MAT_MUL) && !is_second_matrix,
            Granularity::Block(_) => record.is(op::MAT_MUL) || record.is(op::CONV),
        };
        let other = || record.input(1_usize.checked_sub(index)?);
        let is_quantized = || other().is_some_and(|other| is_from_quantized(model, other, DEPTH));
        (is_byte && is_other(granularity) && is_quantized()).then_some(NoScale::Operand)
    })
}

/// Whether a value is the result of a `DequantizeLinear`, or has its elements: onnxruntime repeats pairs behind what moves them.
fn is_from_quantized(model: &Model, value: ValueId, depth: usize) -> bool {
    if is_dequantized(model, value) {
        return true;
    }
    let Some(record) = model.value(value).producer().map(|node| model.node(node)) else { return false };
    let operand = record.input(0).filter(|_| depth > 0 && moves_elements(record));
    operand.is_some_and(|operand| is_from_quantized(model, operand, depth - 1))
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
