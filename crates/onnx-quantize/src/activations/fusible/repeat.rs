//! Pairs behind operators that move elements.

use std::collections::HashSet;

use foldhash::fast::RandomState;
use onnx_ir::{GraphId, Model, Node, NodeId, Use, User, ValueId};
use onnx_schema::op;
use onnx_types::{ElemType, Symbol};

use super::held::Held;
use super::runtime_view::{RuntimeView, is_outside};
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

/// The result of a pair, or of what moves its elements, with the scale and the zero point.
struct Dequantized {
    value: ValueId,
    parameters: [ValueId; 2],
    /// Whether a runtime would repeat it in a form that is not valid.
    is_int8: bool,
}

impl Dequantized {
    /// What a node makes that ends a pair with one scale.
    fn of(model: &Model, node: NodeId) -> Option<Self> {
        let record = model.node(node);
        let is_pair = record.is(op::DEQUANTIZE_LINEAR);
        let [scale, zero] = [record.input(1).filter(|_| is_pair)?, record.input(2)?];
        let tensor = model.constant_tensor(zero).filter(|tensor| tensor.element_count() == Some(1))?;
        let is_int8 = tensor.elem() == ElemType::Int8 && version(model, node) >= WITH_OUTPUT_TYPE;
        Some(Self { value: record.output(0)?, parameters: [scale, zero], is_int8 })
    }

    /// Whether a pair behind a node in a graph can have the parameters.
    fn is_visible(&self, model: &Model, graph: GraphId) -> bool {
        let main = model.main_graph();
        let sees = |&value: &ValueId| {
            model.constant_tensor(value).is_some() || [main, graph].contains(&model.graph_of(value))
        };
        self.parameters.iter().all(sees)
    }
}

/// Repeats pairs of `int8` behind operators that move elements; where these are in functions, a `Sum` is in front of the call. Pairs of all types
/// are repeated if a nested graph takes the moved elements: onnxruntime looks for them among the operands of its node, and aborts. Returns the
/// number of pairs, and whether something else changed.
pub(super) fn repeat_pairs(model: &mut Model, view: &RuntimeView) -> Result<(usize, bool), QuantizeError> {
    let nodes = nodes_outside_functions(model).into_iter();
    let mut open: Vec<Dequantized> = nodes.filter_map(|node| Dequantized::of(model, node)).collect();
    let (mut count, mut entries) = (0, Vec::new());
    let mut done = HashSet::<NodeId, RandomState>::default();
    while let Some(from) = open.pop() {
        for place in view.copied_users(model, from.value) {
            let other = model.node(place.node);
            let Some(result) = other.output(0).filter(|_| place.index == 0) else { continue };
            if is_cancelled(model, view, (place.node, result), from.value) {
                entries.push(Held::Operand(place.node, 0));
            }
            if !is_repeated_behind(other) {
                continue;
            }
            if let Some((call, index)) = place.entry {
                let is_taken = || is_moved_and_captured(model, view, result);
                entries.extend((from.is_int8 || is_taken()).then_some(Held::Operand(call, index)));
                continue;
            }
            let can_follow = is_outside(model, place.node) && from.is_visible(model, other.graph());
            if !can_follow || !done.insert(place.node) {
                continue;
            }
            if !(from.is_int8 || is_captured(model, view, result)) {
                open.push(Dequantized { value: result, ..from });
            } else if model.value(result).uses().iter().any(|&at| !is_quantized(model, at)) {
                let graph = model.graph_of(result);
                let [scale, zero] = from.parameters;
                let parameters = [near(model, scale, graph)?, near(model, zero, graph)?];
                let select = |model: &Model, at| !is_quantized(model, at);
                let new = add_pair(model, (result, result), parameters, true, select)?;
                let maker = model.value(new).producer();
                open.extend(maker.and_then(|maker| Dequantized::of(model, maker)));
                count += 1;
            }
        }
    }
    let has_entries = !entries.is_empty();
    let mut held = HashSet::<Held, RandomState>::default();
    for entry in entries {
        if held.insert(entry) {
            entry.hold(model)?;
        }
    }
    Ok((count, has_entries))
}

/// Whether a nested graph takes a value, or a copy of it.
fn is_captured(model: &Model, view: &RuntimeView, value: ValueId) -> bool {
    view.is_captured(model, value, |model, node, index| view.is_same(model, node, index))
}

/// Like [`is_captured`], also behind operators that move elements.
fn is_moved_and_captured(model: &Model, view: &RuntimeView, value: ValueId) -> bool {
    view.is_captured(model, value, |model, node, index| {
        index == 0 && is_repeated_behind(model.node(node)) || view.is_same(model, node, index)
    })
}

/// Whether a node quantizes a copy of what a pair gives, for a nested graph: onnxruntime leaves out the copy, then both nodes around it, and
/// aborts where the nested graph looks for the result.
fn is_cancelled(model: &Model, view: &RuntimeView, (node, result): (NodeId, ValueId), from: ValueId) -> bool {
    let record = model.node(node);
    if !record.is(op::QUANTIZE_LINEAR) || record.input(0) == Some(from) || !is_outside(model, node) {
        return false;
    }
    let dequantized = |user: NodeId| {
        let user = model.node(user);
        user.output(0).filter(|_| user.is(op::DEQUANTIZE_LINEAR))
    };
    let mut results = model.consumers(result).filter_map(dequantized).chain([result]);
    results.any(|value| is_captured(model, view, value))
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
