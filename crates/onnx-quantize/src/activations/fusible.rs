//! Forms that runtimes fuse, and those that onnxruntime cannot load, although they mean the same.
//!
//! onnxruntime makes `Gemm` of a product and the sum behind it, with a `Reshape` around it for operands of more than two axes. There is no
//! quantized kernel of that `Gemm` if the bias is `float`: the product is computed in `float`, several times slower. A bias with an axis more
//! is added for itself, and the product stays one of integers.
//!
//! It also repeats a pair of `QuantizeLinear` and `DequantizeLinear` behind operators that move elements. From version 21 of the operators on,
//! its pair of `int8` is not valid: it replaces the zero point by one of `uint8`, but not `output_dtype`. With the pair in the model,
//! nothing is repeated; the numbers are those of the first pair.

use onnx_ir::{Model, Node, NodeId, Position, Use, User, ValueId};
use onnx_schema::{domain, op};
use onnx_types::tensor::Tensor;
use onnx_types::{ElemType, Symbol, Type};

use super::StaticReport;
use super::apply::add_pair;
use crate::edits::{add_constant, erase_unused_initializers, nodes_outside_functions};
use crate::weights::{QuantizeError, dense_constant};

/// The first version of `QuantizeLinear` with `output_dtype`.
const WITH_OUTPUT_TYPE: i64 = 21;
/// The first version of `Unsqueeze` whose axes are an operand.
const WITH_AXES: i64 = 13;

/// Rewrites biases of the nodes that were quantized, and adds the pairs that onnxruntime would repeat. Returns `true` if something changed.
///
/// # Errors
///
/// Returns an error if the model cannot be edited.
pub(super) fn write(
    model: &mut Model,
    nodes: impl Iterator<Item = NodeId>,
    report: &mut StaticReport,
) -> Result<bool, QuantizeError> {
    let mut has_changed = false;
    for node in nodes {
        if let Some(bias) = bias_of(model, node) {
            has_changed |= widen_bias(model, bias)?;
        }
    }
    if has_changed {
        erase_unused_initializers(model);
    }
    let pairs = repeat_pairs(model)?;
    report.pairs += pairs;
    Ok(has_changed || pairs > 0)
}

/// The operand of a sum that is the bias of a product with more than two axes and quantized operands.
fn bias_of(model: &Model, node: NodeId) -> Option<(NodeId, usize)> {
    let record = model.get_node(node).map(|_| model.node(node))?;
    let is_dequantized = |index| {
        let producer = model.input_producer(node, index).map(|node| model.node(node));
        producer.is_some_and(|record| record.is(op::DEQUANTIZE_LINEAR))
    };
    let rank = |value: ValueId| match dense_constant(model, value) {
        Some(constant) => Some(constant.rank()),
        None => model.ty(value).and_then(Type::shape).map(|shape| shape.rank()),
    };
    let is_stack = rank(record.input(0)?) > Some(2) && rank(record.input(1)?) == Some(2);
    if !record.is(op::MAT_MUL) || !is_stack || !is_dequantized(0) || !is_dequantized(1) {
        return None;
    }
    let (sum, index) = model.sole_consumer(record.output(0)?)?;
    let other: &Node = model.node(sum);
    let is_sum = other.is(op::ADD) && other.domain().is_empty() && other.graph() == record.graph();
    let bias = 1_usize.checked_sub(index).filter(|_| is_sum)?;
    let is_vector = other.input(bias).and_then(rank) == Some(1);
    is_vector.then_some((sum, bias))
}

/// Lets a bias have an axis more. Returns `false` if the version of the operators has no form for it.
fn widen_bias(model: &mut Model, (sum, index): (NodeId, usize)) -> Result<bool, QuantizeError> {
    let Some(bias) = model.node(sum).input(index) else { return Ok(false) };
    let name = format!("{}_row", model.str(model.value(bias).name()));
    let new = if let Some(mut tensor) = dense_constant(model, bias).cloned() {
        let dims: Vec<i64> = std::iter::once(1).chain(tensor.dims().iter().copied()).collect();
        tensor.set_dims(dims);
        add_constant(model, &name, tensor)?
    } else if version(model, sum) >= WITH_AXES {
        let axes = add_constant(model, &format!("{name}_axes"), Tensor::vector(&[0_i64]))?;
        let name = model.unused_name(&name);
        let name = model.str(name).to_owned();
        model.build_at(Position::Before(sum)).op(op::UNSQUEEZE, [bias, axes]).output_named(&name)?
    } else {
        return Ok(false);
    };
    model.set_input(sum, index, Some(new));
    Ok(true)
}

fn version(model: &Model, node: NodeId) -> i64 {
    model.versions_in(model.node(node).graph()).get(domain::ONNX).unwrap_or(1)
}

/// Returns `true` for operators behind which onnxruntime repeats a pair.
fn is_repeated_behind(op: Symbol) -> bool {
    matches!(op, op::MAX_POOL | op::RESHAPE | op::SLICE | op::SQUEEZE | op::TRANSPOSE | op::UNSQUEEZE)
}

/// Repeats pairs of `int8` behind operators that move elements. Returns their number.
fn repeat_pairs(model: &mut Model) -> Result<usize, QuantizeError> {
    let mut open = nodes_outside_functions(model);
    open.retain(|&node| {
        let record = model.node(node);
        let zero = record.input(2).and_then(|zero| model.constant_tensor(zero));
        record.is(op::DEQUANTIZE_LINEAR)
            && record.domain().is_empty()
            && zero.is_some_and(|zero| zero.elem() == ElemType::Int8 && zero.element_count() == Some(1))
            && version(model, node) >= WITH_OUTPUT_TYPE
    });
    let mut count = 0;
    while let Some(node) = open.pop() {
        let record = model.node(node);
        let (Some(value), Some(scale), Some(zero)) = (record.output(0), record.input(1), record.input(2))
        else {
            continue;
        };
        for (user, index) in model.node_uses(value) {
            let other = model.node(user);
            let Some(result) = other.output(0) else { continue };
            let is_moved = index == 0 && other.domain().is_empty() && is_repeated_behind(other.op());
            let is_open = |at: &Use| !is_quantized(model, *at);
            if is_moved && model.value(result).uses().iter().any(is_open) {
                let select = |model: &Model, at| !is_quantized(model, at);
                let new = add_pair(model, (result, result), [scale, zero], true, select)?;
                open.extend(model.value(new).producer());
                count += 1;
            }
        }
    }
    Ok(count)
}

/// Whether a use is that of a `QuantizeLinear`.
fn is_quantized(model: &Model, at: Use) -> bool {
    matches!(at.user, User::Node(node) if at.index == 0 && model.node(node).is(op::QUANTIZE_LINEAR))
}
