//! A model of floats again.

use std::fmt;

use onnx_eval::{EvalOptions, NotConstant, constant};
use onnx_ir::{EditError, Model, NodeId, OpsetScope, Position, ValueId};
use onnx_schema::{Registry, op};
use onnx_types::tensor::{DataSource, NoData};
use onnx_types::{Execution, Stopped};

/// What a dequantization did.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Dequantized {
    /// Number of weights that are floats again.
    pub weights: usize,
    /// Number of pairs of `QuantizeLinear` and `DequantizeLinear` that were removed.
    pub pairs: usize,
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
    /// An edit failed, which is a defect of this crate.
    #[error("the model cannot be edited: {0}")]
    Edit(#[from] EditError),
    /// The work was ended early.
    #[error(transparent)]
    Stopped(#[from] Stopped),
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
/// `DequantizeLinear` with the same parameters: values are not rounded there any more. Other quantized operators stay and are
/// reported. Functions are not changed.
///
/// # Errors
///
/// Returns an error if a weight cannot be computed.
pub fn dequantize(
    model: &mut Model,
    options: &DequantizeOptions<'_>,
) -> Result<Dequantized, DequantizeError> {
    let mut done = Dequantized::default();
    let nodes: Vec<NodeId> = model
        .all_graphs()
        .filter(|&graph| matches!(model.scope(graph), OpsetScope::Model))
        .flat_map(|graph| model.nodes(graph))
        .filter(|&node| model.node(node).is(op::DEQUANTIZE_LINEAR) && model.node(node).domain().is_empty())
        .collect();
    let run = EvalOptions::default()
        .with_registry(options.registry)
        .with_data(options.data)
        .with_execution(options.execution.clone());
    for node in nodes {
        options.execution.interrupt.check()?;
        let Some(output) = model.node(node).output(0) else { continue };
        if let Some(input) = pair(model, node) {
            replace(model, node, output, input)?;
            done.pairs += 1;
            continue;
        }
        match constant(model, output, &run) {
            Ok(tensor) => {
                let mut build = model.build_at(Position::Before(node));
                let new = build.constant(tensor)?;
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
    model.erase_unused();
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
fn is_quantized(model: &Model, node: NodeId) -> bool {
    let name = model.str(model.node(node).op());
    ["QLinear", "QuantizeLinear", "DequantizeLinear", "Integer", "MatMulNBits", "QGemm", "QAttention"]
        .iter()
        .any(|part| name.contains(part))
}

/// Lets everything use a value in the place of the result of a node.
fn replace(model: &mut Model, node: NodeId, old: ValueId, new: ValueId) -> Result<(), EditError> {
    model.replace_or_alias(old, new)?;
    if model.is_dead(node) { model.erase_node(node) } else { Ok(()) }
}

/// The operand of the `QuantizeLinear` in front of a node, if both have the same parameters.
fn pair(model: &Model, node: NodeId) -> Option<ValueId> {
    let second = model.node(node);
    let first = model.input_producer(node, 0)?;
    let first = model.node(first);
    if !first.is(op::QUANTIZE_LINEAR) || first.graph() != second.graph() {
        return None;
    }
    let is_same = |index| first.input(index) == second.input(index);
    let is_same_attribute = |name| first.int(name) == second.int(name);
    let attributes = [onnx_schema::attr::AXIS, onnx_schema::attr::BLOCK_SIZE];
    let is_pair = is_same(1) && is_same(2) && attributes.into_iter().all(is_same_attribute);
    first.input(0).filter(|_| is_pair)
}
