//! Rules for the operators that onnxruntime adds to those of ONNX: `com.microsoft`, its internal layouts
//! (`com.microsoft.nchwc`, `com.ms.internal.nhwc`), and a few in the default domain.
//!
//! [`registry`] has the rules; their facts are in [`onnx_schema::onnxruntime`]. The groups are those of the standard
//! operators as far as they match; each family is a file with its rows, functions and reasons. Types of outputs are bound
//! from the facts before a rule runs. `docs/generated/onnxruntime.md` lists all operators and how each was verified.
//!
//! The schemas leave open what a kernel does with operands that contradict each other, so the rules report a contradiction
//! only where no kernel can run, and use the first operand otherwise.

mod attention;
mod attributes;
mod decoding;
mod elementwise;
mod layout;
mod linear;
mod moe;
mod nn;
mod plugin;
mod quant;
mod recurrent;
mod sequence;
mod signal;
mod table;
mod tensor;
mod training;

use onnx_schema::onnxruntime::RuntimeSchema;

use crate::cx::{Cx, Outcome};
use crate::registry::{InferRegistry, RuleFn};
use table::{OpRules, TABLE};

/// The rules of all operators, by group.
const GROUPS: &[&[OpRules]] = &[
    attention::cached::RULES,
    attention::linear::RULES,
    attention::multi_head::RULES,
    attention::packed::RULES,
    attention::position::RULES,
    attention::sparse::RULES,
    decoding::RULES,
    elementwise::RULES,
    layout::RULES,
    linear::block_quantized::RULES,
    linear::product::RULES,
    moe::RULES,
    nn::convolution::RULES,
    nn::normalization::RULES,
    nn::pool::RULES,
    plugin::RULES,
    quant::elementwise::RULES,
    quant::linear::RULES,
    quant::order::RULES,
    recurrent::RULES,
    sequence::RULES,
    signal::RULES,
    tensor::gather::RULES,
    tensor::shape::RULES,
    training::RULES,
];

/// The rules of the standard operators, and those of the operators that onnxruntime adds.
///
/// ```
/// use onnx_shape_infer::{Options, contrib};
///
/// let registry = contrib::registry();
/// let options = Options::default().with_registry(&registry);
/// # let _ = options;
/// ```
#[must_use]
pub fn registry() -> InferRegistry {
    InferRegistry::new().with_onnxruntime()
}

/// The schemas of onnxruntime that no rule applies to.
pub fn uncovered() -> impl Iterator<Item = &'static RuntimeSchema> {
    onnx_schema::onnxruntime::all()
        .iter()
        .filter(|schema| TABLE.get(schema.index()).is_none_or(|entry| entry.infer.is_none()))
}

/// The rules for types and for the elements of small tensors of a schema.
pub(crate) fn rules(schema: &RuntimeSchema) -> (Option<RuleFn>, Option<RuleFn>) {
    TABLE.get(schema.index()).map_or((None, None), |entry| (entry.infer, entry.values))
}

/// The first output has the shape of the first input.
fn like_first(cx: &mut Cx<'_, '_>) -> Outcome {
    cx.copy_shape(0, 0)
}

/// The first two outputs have the shape of the first input.
fn both_like_first(cx: &mut Cx<'_, '_>) -> Outcome {
    cx.copy_shape(0, 0)?;
    cx.copy_shape(0, 1)
}
