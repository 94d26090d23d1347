//! The edits that are measured.

use onnx_ir::{EditError, Model, NewNode, NodeId, Position, ValueId};
use onnx_schema::op;
use onnx_types::Symbol;
use smallvec::smallvec;

/// The value with many uses in a model of [`onnx_tests::models::fan_out`], and the input of the main graph.
///
/// # Panics
///
/// When the model is another one.
#[must_use]
pub fn hub_and_input(model: &Model) -> (ValueId, ValueId) {
    let graph = model.main_graph();
    let input = model.graph(graph).inputs().first().copied();
    let hub = model.nodes(graph).next().and_then(|node| model.node(node).output(0));
    match (hub, input) {
        (Some(hub), Some(input)) => (hub, input),
        _ => crate::stop(&"the model has no hub"),
    }
}

/// Returns `count` consecutive nodes from the middle of the main graph.
#[must_use]
pub fn window(model: &Model, count: usize) -> Vec<NodeId> {
    let graph = model.main_graph();
    let before = model.graph(graph).node_count().saturating_sub(count) / 2;
    model.nodes(graph).skip(before).take(count).collect()
}

/// Puts a node after each of the given ones that uses its first output; returns the new nodes.
pub fn insert_after(model: &mut Model, nodes: &[NodeId]) -> Vec<NodeId> {
    nodes.iter().map(|&node| insert(model, Position::After(node), node)).collect()
}

/// Inserts `count` nodes before a node, each directly before the previous one, which exhausts the order keys there.
pub fn insert_crowded(model: &mut Model, before: NodeId, count: usize) -> Vec<NodeId> {
    let mut at = before;
    let mut made = Vec::with_capacity(count);
    for _ in 0..count {
        at = insert(model, Position::Before(at), before);
        made.push(at);
    }
    made
}

fn insert(model: &mut Model, at: Position, uses: NodeId) -> NodeId {
    let input = model.node(uses).output(0);
    let output = model.new_value(Symbol::EMPTY);
    let mut new = NewNode::new(op::RELU).outputs([output]);
    new.inputs = smallvec![input];
    done(model.add_node(at, new))
}

/// Erases nodes whose outputs nothing uses.
///
/// # Panics
///
/// When an output is used.
pub fn erase(model: &mut Model, nodes: &[NodeId]) {
    for &node in nodes {
        done(model.erase_node(node));
    }
}

/// Reverses the order of the nodes, so that every node precedes its producers.
///
/// # Panics
///
/// Never, because nodes can be moved to the start of their graph.
pub fn reverse(model: &mut Model) {
    let graph = model.main_graph();
    let nodes: Vec<NodeId> = model.nodes(graph).collect();
    for node in nodes {
        done(model.move_node(node, Position::Start(graph)));
    }
}

/// Sorts the main graph.
///
/// # Panics
///
/// When the graph has a circle.
pub fn sort(model: &mut Model) {
    if let Err(cycle) = model.sort(model.main_graph()) {
        crate::stop(&cycle);
    }
}

fn done<T>(result: Result<T, EditError>) -> T {
    match result {
        Ok(made) => made,
        Err(error) => crate::stop(&error),
    }
}
