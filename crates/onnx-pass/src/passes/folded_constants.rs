//! The pass `folded-constants`: nodes whose operands are constants become constants.

use onnx_ir::{Model, NodeId, Position, ValueId};
use onnx_schema::op;
use onnx_types::tensor::Tensor;

use super::Report;
use crate::assumption::Exactness;
use crate::cx::PassCx;
use crate::fixed_results::are_fixed;
use crate::pass::Pass;
use crate::patch::Patch;
use crate::query::Reason;

/// The name of the pass.
const NAME: &str = "folded-constants";

/// Bytes by which a result may be larger than the operands.
pub(super) const GROWTH: u64 = 16 * 1024;

/// Larger results may add the bytes of all initializers divided by this number.
const SHARE: u64 = 64;

pub(super) fn pass() -> Pass {
    Pass::new(NAME, "Computes nodes whose operands are constants.", Exactness::Rounding, folded_constants)
        .with_page(include_str!("folded_constants.md"))
        .after("sorted")
}

/// Computes the nodes whose operands are all constants. Results that are larger than the operands by more than 16 kilobytes, such
/// as the masks of windows in a vision model, are stored until the model has grown by one part in 64 of its initializers. Unless
/// every implementation computes the same bits, a node is only folded if the options allow [`Exactness::Rounding`], and never if
/// the standard does not define its result.
pub fn folded_constants(cx: &mut PassCx<'_>) -> Report {
    let registry = cx.options().registry;
    let mut report = Report::default();
    // The growth of the model is limited for all rounds of a pipeline together.
    let mut left = cx.growth_left.unwrap_or_else(|| constant_bytes(cx.model()) / SHARE);
    let mut cursor = onnx_ir::Cursor::all(cx.model());
    while let Some(node) = cx.next(&mut cursor) {
        let model = cx.model();
        if !is_candidate(model, node) || !model.is_deterministic(node, registry) {
            continue;
        }
        let mut patch = cx.patch(NAME, Exactness::Exact);
        patch.source(node);
        match fold(&mut patch, node, left) {
            Ok(growth) => {
                let before = report.edits;
                report.commit(patch);
                if report.edits > before {
                    left = left.saturating_sub(growth);
                    cx.growth_left = Some(left);
                }
            }
            Err(reason) => report.miss(patch.model(), node, &reason),
        }
    }
    report
}

/// A node without graphs whose operands are initializers or `Constant` nodes.
fn is_candidate(model: &Model, node: NodeId) -> bool {
    let record = model.node(node);
    let is_constant = |value: ValueId| {
        let record = model.value(value);
        let is_node = record.producer().is_some_and(|producer| model.node(producer).is(op::CONSTANT));
        record.constant().is_some() || is_node
    };
    let mut operands = record.inputs().flatten().peekable();
    record.nested_graphs().next().is_none()
        && !record.is(op::CONSTANT)
        // An `Identity` that is still there connects a constant with an output.
        && !record.is(op::IDENTITY)
        && operands.peek().is_some()
        && operands.all(is_constant)
}

/// Fills a patch; returns the bytes of `left` that it takes.
fn fold(patch: &mut Patch<'_, '_>, node: NodeId, left: u64) -> Result<u64, Reason> {
    let mut size = GROWTH;
    let mut growth = 0_u64;
    let operands: Vec<ValueId> = patch.model().node(node).inputs().flatten().collect();
    let mut tensors = Vec::with_capacity(operands.len());
    for operand in operands {
        let tensor = patch.try_constant(operand)?;
        size = size.saturating_add(bytes(&tensor));
        tensors.push(tensor);
    }
    let outputs = patch.model().node(node).outputs().iter().flatten().copied();
    let outputs: Vec<ValueId> = outputs.filter(|&output| patch.model().value(output).is_used()).collect();
    if outputs.is_empty() {
        return Err("nothing uses it".into());
    }
    let mut results = Vec::with_capacity(outputs.len());
    for &output in &outputs {
        // The claim has the constants, since the edit depends on their elements.
        let tensor = patch.evaluate(output)?;
        growth = growth.saturating_add(bytes(&tensor).saturating_sub(size));
        if growth > left {
            return Err(Reason::new(format!(
                "the result has {} bytes, and the operands {size}",
                bytes(&tensor)
            )));
        }
        results.push(tensor);
    }
    if !are_fixed(patch.model(), node, patch.options().registry, &tensors, &results) {
        patch.set_class(Exactness::Rounding);
    }
    for (output, tensor) in outputs.into_iter().zip(results) {
        let new = patch.new_constant(Position::Before(node), tensor)?;
        patch.replace(output, new);
    }
    Ok(growth)
}

/// The bytes of all initializers.
fn constant_bytes(model: &Model) -> u64 {
    let values = model.all_graphs().flat_map(|graph| model.initializers(graph));
    values
        .filter_map(|value| model.constant_tensor(value))
        .fold(0, |sum, tensor| sum.saturating_add(bytes(tensor)))
}

fn bytes(tensor: &Tensor) -> u64 {
    tensor.byte_len().unwrap_or(u64::MAX)
}
