//! Removal of nodes: values that removed nodes share with others become inputs and outputs.

use std::collections::HashSet;

use foldhash::fast::RandomState;
use onnx_ir::{Model, NodeId, Owner, User, ValueId};

use super::{Chosen, Taken};
use crate::interface::new_input_like;

type Nodes = HashSet<NodeId, RandomState>;

/// All nodes, the later ones first, so that users are removed before what they use.
pub(super) fn all_nodes(model: &Model) -> Vec<NodeId> {
    let mut nodes: Vec<NodeId> = model.all_graphs().flat_map(|graph| model.nodes(graph)).collect();
    nodes.reverse();
    nodes
}

/// Removes nodes of all graphs.
pub(super) fn nodes(model: &mut Model, chosen: Chosen) -> Taken {
    let all = all_nodes(model);
    let mut taken = Taken { all: all.len(), gone: 0 };
    let picked: Vec<NodeId> =
        all.iter().enumerate().filter(|(index, _)| chosen.contains(*index)).map(|(_, &node)| node).collect();
    let removed = with_nested(model, &picked);
    let picked: Vec<(NodeId, Vec<ValueId>)> =
        picked.into_iter().filter_map(|node| Some((node, needed(model, node, &removed)?))).collect();
    // All outputs at once: each removal moves the later ones.
    let results = picked.iter().flat_map(|&(node, _)| model.node(node).outputs().iter().flatten());
    let results: HashSet<ValueId, RandomState> = results.copied().collect();
    let main = model.main_graph();
    let had_outputs = !model.graph(main).outputs().is_empty();
    model.retain_graph_outputs(main, |_, output| !results.contains(&output.value()));
    let mut operands: Vec<ValueId> = Vec::new();
    for (node, needed) in picked {
        if model.get_node(node).is_none() {
            continue; // It was in a node that was removed.
        }
        let used: Vec<ValueId> =
            model.walk_node(node).nodes().flat_map(|node| model.node(node).inputs().flatten()).collect();
        if remove(model, node, needed) {
            taken.gone = taken.gone.saturating_add(1);
            operands.extend(used);
        }
    }
    for value in operands {
        expose(model, value);
    }
    if had_outputs && model.graph(main).outputs().is_empty() {
        taken.gone = 0; // It is not tried: few programs take a model without outputs.
    }
    taken
}

/// The nodes, and all nodes in their nested graphs.
fn with_nested(model: &Model, nodes: &[NodeId]) -> Nodes {
    let mut all = Nodes::default();
    // Outer nodes come last.
    for &node in nodes.iter().rev() {
        if !all.contains(&node) {
            all.extend(model.walk_node(node).nodes());
        }
    }
    all
}

/// The results of a node that are used by nodes that stay, if all of them can become inputs.
fn needed(model: &Model, node: NodeId, removed: &Nodes) -> Option<Vec<ValueId>> {
    let main = model.main_graph();
    let is_free = |value: ValueId| {
        model.value(value).uses().iter().all(|at| match at.user {
            User::Node(user) | User::Attribute(user) => removed.contains(&user),
            User::Graph(graph) => graph == main,
        })
    };
    let results = model.node(node).outputs().iter().flatten().copied();
    let needed: Vec<ValueId> = results.filter(|&value| !is_free(value)).collect();
    let is_typed = |value: &ValueId| model.ty(*value).is_some();
    let is_possible = needed.is_empty() || is_in_main(model, node) && needed.iter().all(is_typed);
    is_possible.then_some(needed)
}

/// Removes a node whose `needed` results become inputs.
fn remove(model: &mut Model, node: NodeId, needed: Vec<ValueId>) -> bool {
    for value in needed {
        let input = new_input_like(model, value);
        if model.push_graph_input(model.main_graph(), input).is_err() {
            return false;
        }
        model.replace_all_uses(value, input);
    }
    // A node whose outputs a removed node still uses is removed once that one is.
    model.erase_node(node).is_ok()
}

/// Returns `true` if inputs of the main graph are visible for the users of a node.
fn is_in_main(model: &Model, node: NodeId) -> bool {
    let root = model.root(model.node(node).graph());
    root == model.main_graph() && matches!(model.graph(root).owner(), Owner::Model)
}

/// Makes outputs of the values that only removed nodes used.
fn expose(model: &mut Model, value: ValueId) {
    let main = model.main_graph();
    let Some(record) = model.get_value(value) else { return };
    let is_made = record.producer().is_some_and(|node| model.node(node).graph() == main);
    let is_typed = model.ty(value).is_some_and(|ty| ty.elem() != onnx_types::ElemType::Undefined);
    if is_made && !record.is_used() && is_typed {
        model.push_graph_output(main, value);
    }
}
