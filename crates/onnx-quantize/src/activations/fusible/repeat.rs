//! Pairs behind operators that move elements.

use onnx_ir::{GraphId, Model, Node, NodeId, Use, User, ValueId};
use onnx_schema::op;
use onnx_types::{ElemType, Symbol};

use super::held::Held;
use super::seen::{Seen, is_outside, is_same};
use super::version;
use crate::activations::apply::add_pair;
use crate::edits::{add_constant_in, nodes_outside_functions};
use crate::weights::QuantizeError;

/// The first version of `QuantizeLinear` with `output_dtype`.
const WITH_OUTPUT_TYPE: i64 = 21;

/// Returns `true` for nodes behind which onnxruntime repeats a pair.
pub(super) fn is_repeated_behind(node: &Node) -> bool {
    const MOVERS: [Symbol; 6] =
        [op::MAX_POOL, op::RESHAPE, op::SLICE, op::SQUEEZE, op::TRANSPOSE, op::UNSQUEEZE];
    node.domain().is_empty() && MOVERS.contains(&node.op())
}

/// Repeats pairs of `int8` behind operators that move elements; where these are in functions, a `Sum` is in front of the call. Returns the number
/// of pairs, and whether something else changed.
pub(super) fn repeat_pairs(model: &mut Model, seen: &Seen) -> Result<(usize, bool), QuantizeError> {
    let mut open = nodes_outside_functions(model);
    open.retain(|&node| is_of_int8(model, node));
    let (mut count, mut entries) = (0, Vec::new());
    while let Some(node) = open.pop() {
        let record = model.node(node);
        let (Some(value), Some(scale), Some(zero)) = (record.output(0), record.input(1), record.input(2))
        else {
            continue;
        };
        for place in seen.users(model, value, is_same) {
            let other = model.node(place.node);
            let Some(result) = other.output(0).filter(|_| place.index == 0 && is_repeated_behind(other))
            else {
                continue;
            };
            if let Some((call, index)) = place.entry {
                let entry = Held::Operand(call, index);
                entries.extend((!entries.contains(&entry)).then_some(entry));
                continue;
            }
            let main = model.main_graph();
            let sees = |value: ValueId| {
                model.constant_tensor(value).is_some()
                    || [main, other.graph()].contains(&model.graph_of(value))
            };
            let is_moved = is_outside(model, place.node) && sees(scale) && sees(zero);
            if is_moved && model.value(result).uses().iter().any(|&at| !is_quantized(model, at)) {
                let graph = model.graph_of(result);
                let parameters = [near(model, scale, graph)?, near(model, zero, graph)?];
                let select = |model: &Model, at| !is_quantized(model, at);
                let new = add_pair(model, (result, result), parameters, true, select)?;
                open.extend(model.value(new).producer());
                count += 1;
            }
        }
    }
    let has_entries = !entries.is_empty();
    for entry in entries {
        entry.hold(model)?;
    }
    Ok((count, has_entries))
}

/// Whether a node ends a pair of `int8` with one scale, in a version in which it cannot be repeated by a runtime.
fn is_of_int8(model: &Model, node: NodeId) -> bool {
    let record = model.node(node);
    let zero = record.input(2).and_then(|zero| model.constant_tensor(zero));
    record.is(op::DEQUANTIZE_LINEAR)
        && record.domain().is_empty()
        && zero.is_some_and(|zero| zero.elem() == ElemType::Int8 && zero.element_count() == Some(1))
        && version(model, node) >= WITH_OUTPUT_TYPE
}

/// A constant in a graph: that of another graph, or a copy.
fn near(model: &mut Model, value: ValueId, graph: GraphId) -> Result<ValueId, QuantizeError> {
    let is_near = model.graph_of(value) == graph;
    let Some(tensor) = model.constant_tensor(value).filter(|_| !is_near).cloned() else { return Ok(value) };
    let name = model.str(model.value(value).name()).to_owned();
    Ok(add_constant_in(model, graph, &name, tensor)?)
}

/// Whether a use is that of a `QuantizeLinear`.
fn is_quantized(model: &Model, at: Use) -> bool {
    matches!(at.user, User::Node(node) if at.index == 0 && model.node(node).is(op::QUANTIZE_LINEAR))
}
