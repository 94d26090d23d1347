//! Rules for the operators that onnxruntime adds to those of ONNX: `com.microsoft`, its internal layouts
//! (`com.microsoft.nchwc`, `com.ms.internal.nhwc`), and a few in the default domain.
//!
//! [`pack`] has the rules; their facts are in [`onnx_schema::onnxruntime`]. The groups are those of the standard
//! operators as far as they match; each family is a file with its rows, functions and reasons. Types of outputs are bound
//! from the facts before a rule runs. `docs/generated/onnxruntime.md` lists all operators and how each was verified.
//!
//! The schemas leave open what a kernel does with operands that contradict each other, so the rules report a contradiction
//! only where no kernel can run, and use the first operand otherwise.

mod attention;
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
use onnx_schema::{Pack, Registry};

use crate::cx::{Cx, Outcome};
use crate::registry::{RuleFn, Rules};
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

/// The rules of the operators that onnxruntime adds. A function of the model, a rule of another pack, an operator of ONNX and
/// one that a set declares precede one of the same name; the sets of
/// [`operator_sets`](onnx_schema::onnxruntime::operator_sets), registered as open ones, do not.
///
/// ```
/// use onnx_schema::Registry;
/// use onnx_shape_infer::{InferOptions, contrib};
///
/// let registry = Registry::standard().with(contrib::pack())?;
/// let options = InferOptions::default().with_registry(&registry);
/// # let _ = options;
/// # Ok::<(), onnx_schema::DeclareError>(())
/// ```
#[must_use]
pub fn pack() -> Pack {
    Pack::new().extended(|rules: &mut Rules| rules.onnxruntime = true)
}

/// The operators of ONNX, and the inference rules of the operators that onnxruntime adds: a registry that contains only
/// [`pack`].
#[must_use]
pub fn registry() -> Registry {
    // A pack that declares nothing contradicts nothing.
    Registry::standard().with(pack()).unwrap_or_default()
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
