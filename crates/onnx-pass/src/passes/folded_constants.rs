//! The pass `folded-constants`: nodes whose operands are constants become constants.

use onnx_ir::{AttrValue, Attribute, Model, NodeId, Position, User, ValueId};
use onnx_schema::{attr, op};
use onnx_types::tensor::Tensor;
use onnx_types::{ElemClass, ElemType};

use super::Report;
use crate::assumption::Exactness;
use crate::cx::PassCx;
use crate::fixed_results::are_fixed;
use crate::pass::Pass;
use crate::patch::Patch;
use crate::query::Reason;

/// The name of the pass.
const NAME: &str = "folded-constants";

/// Bytes of the file that the results of all folded nodes may add: those of the model divided by this number.
const SHARE: u64 = 128;

/// Bytes that they may add to a small model.
const LEAST_GROWTH: u64 = 1024;

/// Bytes of a node in a file, without its attributes: its operator and the names of three values.
const NODE_BYTES: u64 = 64;

pub(super) fn pass() -> Pass {
    Pass::new(NAME, "Computes nodes whose operands are constants.", Exactness::Rounding, folded_constants)
        .with_page(include_str!("folded_constants.md"))
        .after("sorted")
}

/// Computes the nodes whose operands are all constants. What counts is the file: a result takes the place of the node and of those
/// operands that nothing else uses. All results together may add one part in 128 of the model. Unless every implementation
/// computes the same bits, a node is only folded if the options allow [`Exactness::Rounding`], and never if the standard does not
/// define its result. Weights in a narrow format stay as they are, unless the options [fold](crate::PassOptions::fold_quantized)
/// them.
pub fn folded_constants(cx: &mut PassCx<'_>) -> Report {
    let registry = cx.options().registry;
    let mut report = Report::default();
    // The growth of the model is limited for all rounds of a pipeline together.
    let mut left = cx.growth_left.unwrap_or_else(|| (model_bytes(cx.model()) / SHARE).max(LEAST_GROWTH));
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
    if !patch.options().fold_quantized && is_narrow_weight(patch.model(), node) {
        return Err("it converts a weight in a narrow format to the type in which its users compute".into());
    }
    let mut freed = NODE_BYTES;
    let mut operands: Vec<ValueId> = patch.model().node(node).inputs().flatten().collect();
    let mut tensors = Vec::with_capacity(operands.len());
    for &operand in &operands {
        tensors.push(patch.try_constant(operand)?);
    }
    operands.sort_unstable();
    operands.dedup();
    for operand in operands.into_iter().filter(|&operand| is_only_user(patch.model(), node, operand)) {
        freed = freed.saturating_add(patch.model().constant_tensor(operand).map_or(0, bytes));
    }
    let outputs = patch.model().node(node).outputs().iter().flatten().copied();
    let outputs: Vec<ValueId> = outputs.filter(|&output| patch.model().value(output).is_used()).collect();
    if outputs.is_empty() {
        return Err("nothing uses it".into());
    }
    let mut results = Vec::with_capacity(outputs.len());
    let mut added = 0_u64;
    for &output in &outputs {
        // The claim has the constants, since the edit depends on their elements.
        let tensor = patch.evaluate(output)?;
        added = added.saturating_add(bytes(&tensor));
        results.push(tensor);
    }
    let growth = added.saturating_sub(freed);
    if growth > left {
        return Err(Reason::new(format!(
            "the file would grow by {growth} bytes: the result has {added}, and what it replaces {freed}"
        )));
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

/// Returns `true` for a node that widens a weight in a narrow format: quantized, or a float of at most 16 bits. The format is what
/// the exporter chose for the file and for the runtime.
fn is_narrow_weight(model: &Model, node: NodeId) -> bool {
    let record = model.node(node);
    if model.str(record.op()) == "DequantizeLinear" {
        // That of onnxruntime, in another domain, is the same.
        return true;
    }
    let weight = record.input(0).filter(|_| record.is(op::CAST)).and_then(|from| model.constant_tensor(from));
    let (Some(weight), Some(AttrValue::Int(code))) =
        (weight, record.attribute(attr::TO).map(Attribute::value))
    else {
        return false;
    };
    let (narrow, wide) = (weight.elem(), i32::try_from(*code).ok().and_then(ElemType::from_code));
    let is_float = |elem: ElemType| elem.class() == ElemClass::Float;
    let widens = |wide: ElemType| is_float(narrow) && is_float(wide) && wide.bits() > narrow.bits();
    weight.element_count().is_some_and(|count| count > 1) && wide.is_some_and(widens)
}

/// Returns `true` if nothing but a node uses a constant, so that the file does not contain it when the node is gone.
fn is_only_user(model: &Model, node: NodeId, constant: ValueId) -> bool {
    model.value(constant).uses().iter().all(|at| matches!(at.user, User::Node(user) if user == node))
}

/// The bytes of all initializers, and of the nodes as far as they are counted.
fn model_bytes(model: &Model) -> u64 {
    let values = model.all_graphs().flat_map(|graph| model.initializers(graph));
    let nodes = (model.node_count() as u64).saturating_mul(NODE_BYTES);
    let tensors = values.filter_map(|value| model.constant_tensor(value));
    tensors.fold(nodes, |sum, tensor| sum.saturating_add(bytes(tensor)))
}

fn bytes(tensor: &Tensor) -> u64 {
    tensor.byte_len().unwrap_or(u64::MAX)
}
