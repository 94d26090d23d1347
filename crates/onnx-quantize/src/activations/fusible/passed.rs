//! What a runtime leaves out, moves, or puts in its place before it looks for patterns.

use std::collections::HashSet;

use foldhash::fast::RandomState;
use onnx_ir::{Callee, Def, Model, Node, OpsetScope, ValueId};
use onnx_schema::traits::newest;
use onnx_schema::{Registry, Traits, op};
use onnx_types::Symbol;

use super::is_repeated_behind;

/// The values that the result of a node can be when a runtime has optimized the model: those in front of operators that move elements, are
/// left out if they change nothing, or stand for a graph that takes their place. Empty for what computes.
pub(super) fn passed(model: &Model, value: ValueId) -> Vec<ValueId> {
    let Def::Output { node, index } = model.value(value).def() else { return Vec::new() };
    let record = model.node(node);
    let of_graph = |graph| model.graph(graph).outputs().get(index as usize).map(|output| output.value());
    if let Callee::Function(function) = model.callee(node, Registry::STANDARD) {
        return of_graph(model.function(function).body())
            .into_iter()
            .chain(record.inputs().flatten())
            .collect();
    }
    if !record.domain().is_empty() {
        return Vec::new();
    }
    if record.is(op::IF) {
        return record.nested_graphs().filter_map(of_graph).collect();
    }
    let is_moved = is_repeated_behind(record) || newest(record.op()).is_some_and(Traits::keeps_elements);
    if is_copy(record) || is_moved { record.input(0).into_iter().collect() } else { Vec::new() }
}

/// Whether a runtime may leave a node out, because its result is its operand.
pub(super) fn is_copy(record: &Node) -> bool {
    const COPIES: [Symbol; 6] = [op::CAST, op::CAST_LIKE, op::DROPOUT, op::EXPAND, op::IDENTITY, op::PAD];
    let is_one = || record.is(op::CONCAT) && record.inputs().count() == 1;
    record.domain().is_empty() && (COPIES.contains(&record.op()) || is_one())
}

/// Whether a `DequantizeLinear` makes a value, also in front of what is [`passed`]. It may make the inputs of a function.
pub(super) fn dequantized_before(model: &Model, value: ValueId) -> bool {
    let (mut open, mut seen) = (vec![value], HashSet::<ValueId, RandomState>::default());
    while let Some(value) = open.pop() {
        if !seen.insert(value) {
            continue;
        }
        match model.value(value).def() {
            Def::Input { graph, .. } if !matches!(model.scope(graph), OpsetScope::Model) => return true,
            Def::Output { node, .. } => {
                let record = model.node(node);
                if record.is(op::DEQUANTIZE_LINEAR) && record.domain().is_empty() {
                    return true;
                }
                open.extend(passed(model, value));
            }
            _ => {}
        }
    }
    false
}
