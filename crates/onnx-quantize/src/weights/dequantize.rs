//! A model of floats again.

use std::fmt;

use onnx_diag::Quoted;
use onnx_eval::{EvalOptions, NotConstant, constant};
use onnx_ir::{EditError, Model, NodeId, OpsetScope, Position, ValueId};
use onnx_schema::{Registry, op};
use onnx_shape_infer::{InferOptions, infer};
use onnx_types::tensor::{DataSource, NoData, TensorError};
use onnx_types::{Execution, Stopped};

use super::expand::expand;
use super::pairs::Pair;
use crate::edits::with_constants;

/// What a dequantization did.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Dequantized {
    /// Number of weights that are floats again, those of operators included.
    pub weights: usize,
    /// Number of pairs of `QuantizeLinear` and `DequantizeLinear` that were removed.
    pub pairs: usize,
    /// Number of them that limited numbers to a range that no operator in front of them has: they became `Clip`.
    pub limits: usize,
    /// Number of operators with quantized numbers that became those of floats, such as `QLinearConv` and `MatMulNBits`.
    pub operators: usize,
    /// The nodes that are left and compute with quantized numbers: operator and name of the first output.
    pub left: Vec<(String, String)>,
}

/// Why a model is not dequantized.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DequantizeError {
    /// A weight cannot be computed.
    #[error("a weight cannot be computed: {0}")]
    Weight(NotConstant),
    /// The floats of a quantized weight cannot be made.
    #[error("the floats of {} cannot be made: {reason}", Quoted(tensor))]
    Elements {
        /// The name of the weight.
        tensor: String,
        /// The reason.
        reason: TensorError,
    },
    /// An edit failed, which is a defect of this crate.
    #[error("the model cannot be edited: {0}")]
    Edit(#[from] EditError),
    /// The work was ended early.
    #[error(transparent)]
    Stopped(#[from] Stopped),
}

impl DequantizeError {
    /// The limit that was exceeded, if that is the reason.
    #[must_use]
    pub fn limit(&self) -> Option<&'static str> {
        match self {
            Self::Weight(reason) => reason.limit(),
            Self::Elements { reason, .. } => reason.limit(),
            _ => None,
        }
    }
}

/// Sources of what [`dequantize`] reads.
#[derive(Clone)]
#[non_exhaustive]
pub struct DequantizeOptions<'a> {
    /// The operators that are known. By default those of ONNX.
    pub registry: &'a Registry,
    /// Source of external weights. By default there is none.
    pub data: &'a dyn DataSource,
    /// Limits, and what ends the work early.
    pub execution: Execution,
}

impl Default for DequantizeOptions<'_> {
    fn default() -> Self {
        Self { registry: Registry::STANDARD, data: &NoData, execution: Execution::DEFAULT }
    }
}

onnx_types::option_setters! {
    DequantizeOptions<'a> {
        with_registry => registry: &'a Registry,
        with_data => data: &'a dyn DataSource,
        with_execution => execution: into Execution,
    }
}

impl fmt::Debug for DequantizeOptions<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DequantizeOptions").finish_non_exhaustive()
    }
}

/// Replaces each `DequantizeLinear` of a constant by the floats that it computes, and removes pairs of `QuantizeLinear` and
/// `DequantizeLinear` with the same parameters: values are not rounded there any more. A pair that limits its operand becomes
/// `Clip`, because it can have taken the place of an activation. Pairs with a scale for each channel or one that is computed, and
/// quantized operators without a form of floats, stay and are reported. Functions are not changed.
///
/// # Errors
///
/// Returns an error if a weight cannot be computed.
pub fn dequantize(
    model: &mut Model,
    options: &DequantizeOptions<'_>,
) -> Result<Dequantized, DequantizeError> {
    with_constants(model, |model| replace_all(model, options))?
}

fn replace_all(model: &mut Model, options: &DequantizeOptions<'_>) -> Result<Dequantized, DequantizeError> {
    let mut done = Dequantized::default();
    let run = EvalOptions::default()
        .with_registry(options.registry)
        .with_data(options.data)
        .with_execution(options.execution.clone());
    (done.operators, done.weights) = expand(model, &run)?;
    let nodes: Vec<NodeId> = model
        .all_graphs()
        .filter(|&graph| matches!(model.scope(graph), OpsetScope::Model))
        .flat_map(|graph| model.nodes(graph))
        .filter(|&node| model.node(node).is(op::DEQUANTIZE_LINEAR) && model.node(node).domain().is_empty())
        .collect();
    let known = InferOptions::default().with_registry(options.registry).with_data(options.data);
    let inference = infer(model, &known.with_execution(options.execution.clone()));
    for node in nodes {
        options.execution.interrupt.check()?;
        let Some(output) = model.node(node).output(0) else { continue };
        if let Some(pair) = Pair::of(model, &inference, node, &run) {
            let (floats, is_limit) = pair.floats(model, node, options.data)?;
            replace(model, node, output, floats)?;
            done.pairs += 1;
            done.limits += usize::from(is_limit);
            continue;
        }
        match constant(model, output, &run) {
            Ok(tensor) => {
                let mut build = model.build_at(Position::Before(node));
                let new = build.constant(tensor.held(options.data))?;
                let prefix = format!("{}_float", model.str(model.value(output).name()));
                let name = model.fresh_name(&prefix);
                model.set_value_name(new, name);
                replace(model, node, output, new)?;
                done.weights += 1;
            }
            Err(NotConstant::Varies { .. }) => {}
            Err(error) => return Err(DequantizeError::Weight(error)),
        }
    }
    // A model of which nothing is replaced stays as it is.
    if done.operators + done.weights + done.pairs > 0 {
        model.erase_unused();
    }
    let left = model.all_graphs().flat_map(|graph| model.nodes(graph));
    let left: Vec<NodeId> = left.filter(|&node| is_quantized(model, node)).collect();
    done.left = left.into_iter().map(|node| label(model, node)).collect();
    Ok(done)
}

/// The operator of a node, and the name of its first output.
fn label(model: &Model, node: NodeId) -> (String, String) {
    let record = model.node(node);
    let output = record.output(0).map(|output| model.str(model.value(output).name()).to_owned());
    (model.str(record.op()).to_owned(), output.unwrap_or_default())
}

/// Whether an operator computes with quantized numbers, by its name.
pub(super) fn is_quantized(model: &Model, node: NodeId) -> bool {
    let name = model.str(model.node(node).op());
    ["QLinear", "uantize", "Integer", "NBits", "QGemm", "QAttention", "QMoE", "Bnb4", "Fp8"]
        .iter()
        .any(|part| name.contains(part))
}

/// Lets everything use a value in the place of the result of a node.
fn replace(model: &mut Model, node: NodeId, old: ValueId, new: ValueId) -> Result<(), EditError> {
    model.replace_or_alias(old, new)?;
    if model.is_dead(node) { model.erase_node(node) } else { Ok(()) }
}
