//! Forms that runtimes fuse, and those that onnxruntime cannot load or computes otherwise, although they mean the same.
//!
//! onnxruntime makes `Gemm` of a product and the sum behind it, with a `Reshape` around it for operands of more than two axes. There is no
//! quantized kernel of that `Gemm` if the bias is `float`: the product is computed in `float`, several times slower. A bias with an axis more
//! is added for itself, and the product stays one of integers.
//!
//! It also repeats a pair of `QuantizeLinear` and `DequantizeLinear` behind operators that move elements. From version 21 of the operators on,
//! its pair of `int8` is not valid: it replaces the zero point by one of `uint8`, but not `output_dtype`. With the pair in the model,
//! nothing is repeated; the numbers are those of the first pair. The `Reshape` around a `Gemm` that it makes gets such a pair, too.
//!
//! What stays between quantized operators is the subject of [`held`].

mod held;
mod passed;

use onnx_compose::BiasFormat;
use onnx_ir::{GraphId, Model, Node, NodeId, Position, Use, User, ValueId};
use onnx_schema::{domain, op};
use onnx_types::tensor::Tensor;
use onnx_types::{ElemType, Symbol, Type};

use self::held::Held;
use self::passed::{dequantized_before, is_copy, passed};
use super::StaticReport;
use super::apply::add_pair;
use crate::edits::{
    add_constant, add_constant_in, erase_unused_initializers, has_nested_initializers,
    nodes_outside_functions,
};
use crate::weights::{QuantizeError, dense_constant};

/// The first version of `QuantizeLinear` with `output_dtype`.
const WITH_OUTPUT_TYPE: i64 = 21;
/// The first version of `Unsqueeze` whose axes are an operand.
const WITH_AXES: i64 = 13;

/// Rewrites what onnxruntime would compute otherwise than the model `before` was quantized, or slower, and adds the pairs that it would
/// repeat. Returns `true` if something changed.
///
/// # Errors
///
/// Returns an error if the model cannot be edited.
pub(super) fn write(
    model: &mut Model,
    before: &Model,
    bias: BiasFormat,
    report: &mut StaticReport,
) -> Result<bool, QuantizeError> {
    let mut has_changed = false;
    for node in nodes_outside_functions(model) {
        if let Some(bias) = bias_of_stack(model, node) {
            has_changed |= widen_bias(model, bias)?;
        }
    }
    for held in Held::find(model, before, bias) {
        has_changed |= held.hold(model)?;
    }
    if has_changed {
        erase_unused_initializers(model);
    }
    let pairs = repeat_pairs(model)?;
    report.pairs += pairs;
    Ok(has_changed || pairs > 0)
}

/// The sum behind a product, and the index of the operand that is added.
pub(crate) fn sum_behind(model: &Model, product: NodeId) -> Option<(NodeId, usize)> {
    let record = model.node(product);
    let mut value = record.output(0)?;
    let (sum, index) = loop {
        let (user, index) = model.sole_consumer(value)?;
        match model.node(user).output(0) {
            // A runtime leaves it out.
            Some(result) if is_copy(model.node(user)) && passed(model, result) == [value] => value = result,
            _ => break (user, index),
        }
    };
    let other: &Node = model.node(sum);
    let is_sum = other.is(op::ADD) && other.domain().is_empty() && other.graph() == record.graph();
    Some((sum, 1_usize.checked_sub(index).filter(|_| is_sum)?))
}

/// The number of axes of a value.
fn rank(model: &Model, value: ValueId) -> Option<usize> {
    match dense_constant(model, value) {
        Some(constant) => Some(constant.rank()),
        None => model.ty(value).and_then(Type::shape).map(|shape| shape.rank()),
    }
}

/// The operand of a sum that is the bias of a product with more than two axes next to a pair.
fn bias_of_stack(model: &Model, node: NodeId) -> Option<(NodeId, usize)> {
    let record = model.node(node);
    let is_stack = rank(model, record.input(0)?) > Some(2) && rank(model, record.input(1)?) == Some(2);
    if !record.is(op::MAT_MUL) || !record.domain().is_empty() || !is_stack {
        return None;
    }
    let (sum, bias) = sum_behind(model, node)?;
    let is_vector = rank(model, model.node(sum).input(bias)?) == Some(1);
    let result = model.node(sum).output(0)?;
    let is_next = dequantized_before(model, record.input(0)?) || quantized_behind(model, result).is_some();
    (is_vector && is_next).then_some((sum, bias))
}

/// The only use of a value, if that is a `QuantizeLinear`, or an operator that moves elements in front of one.
fn quantized_behind(model: &Model, value: ValueId) -> Option<(NodeId, usize)> {
    let first = model.sole_consumer(value)?;
    let mut at = first;
    loop {
        let record = model.node(at.0);
        if at.1 != 0 || !record.domain().is_empty() {
            return None;
        }
        if record.is(op::QUANTIZE_LINEAR) {
            return Some(first);
        }
        at = model.sole_consumer(record.output(0).filter(|_| is_repeated_behind(record))?)?;
    }
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

/// Returns `true` for nodes behind which onnxruntime repeats a pair.
fn is_repeated_behind(node: &Node) -> bool {
    const MOVERS: [Symbol; 6] =
        [op::MAX_POOL, op::RESHAPE, op::SLICE, op::SQUEEZE, op::TRANSPOSE, op::UNSQUEEZE];
    node.domain().is_empty() && MOVERS.contains(&node.op())
}

/// The nodes that use a value as their first operand, those behind an `If` of which it is a result included: onnxruntime puts a branch
/// whose condition is constant into the graph around it.
fn users(model: &Model, value: ValueId) -> Vec<NodeId> {
    let (mut open, mut found) = (vec![value], Vec::new());
    while let Some(value) = open.pop() {
        for at in model.value(value).uses() {
            match at.user {
                User::Node(node) if at.index == 0 => found.push(node),
                User::Graph(graph) => {
                    let owner = model.owner_node(graph).map(|node| model.node(node));
                    let owner = owner.filter(|owner| owner.is(op::IF) && owner.domain().is_empty());
                    open.extend(owner.and_then(|owner| owner.output(at.index as usize)));
                }
                User::Node(_) | User::Attribute(_) => {}
            }
        }
    }
    found
}

/// Repeats pairs of `int8` behind operators that move elements. Returns their number.
fn repeat_pairs(model: &mut Model) -> Result<usize, QuantizeError> {
    let mut open = nodes_outside_functions(model);
    let main = model.main_graph();
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
        for user in users(model, value) {
            let other = model.node(user);
            let Some(result) = other.output(0) else { continue };
            let sees = |value: ValueId| {
                let is_copied = has_nested_initializers(model) && model.constant_tensor(value).is_some();
                is_copied || [main, other.graph()].contains(&model.graph_of(value))
            };
            let is_moved = is_repeated_behind(other) && sees(scale) && sees(zero);
            let is_open = |at: &Use| !is_quantized(model, *at);
            if is_moved && model.value(result).uses().iter().any(is_open) {
                let select = |model: &Model, at| !is_quantized(model, at);
                let graph = model.graph_of(result);
                let parameters = [near(model, scale, graph)?, near(model, zero, graph)?];
                let new = add_pair(model, (result, result), parameters, true, select)?;
                open.extend(model.value(new).producer());
                count += 1;
            }
        }
    }
    Ok(count)
}

/// A constant in a graph: that of another graph, or a copy.
fn near(model: &mut Model, value: ValueId, graph: GraphId) -> Result<ValueId, QuantizeError> {
    let is_near = model.graph_of(value) == graph || !has_nested_initializers(model);
    let Some(tensor) = model.constant_tensor(value).filter(|_| !is_near).cloned() else { return Ok(value) };
    let name = model.str(model.value(value).name()).to_owned();
    Ok(add_constant_in(model, graph, &name, tensor)?)
}

/// Whether a use is that of a `QuantizeLinear`.
fn is_quantized(model: &Model, at: Use) -> bool {
    matches!(at.user, User::Node(node) if at.index == 0 && model.node(node).is(op::QUANTIZE_LINEAR))
}
