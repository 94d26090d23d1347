//! The nodes of a model in an order in which each follows what it depends on.

use onnx_ir::{GraphId, Model, NodeId, Owner, User};
use onnx_types::{Stopped, Watch};
use slotmap::SecondaryMap;

/// The nodes of all graphs. A node depends on the producers of its operands and of the outputs of its nested graphs, and on
/// all nodes of these.
pub(crate) struct Order {
    /// Each node after those that it depends on.
    pub(crate) sorted: Vec<NodeId>,
    /// The nodes that are in cycles, or depend on such nodes.
    pub(crate) cyclic: Vec<NodeId>,
}

impl Order {
    pub(crate) fn of(model: &Model, graphs: &[GraphId], watch: &mut Watch) -> Result<Self, Stopped> {
        let mut pending: SecondaryMap<NodeId, usize> = SecondaryMap::with_capacity(model.node_count());
        let mut ready = Vec::new();
        for &graph in graphs {
            for node in model.nodes(graph) {
                watch.work(1)?;
                let count = dependencies(model, node);
                pending.insert(node, count);
                if count == 0 {
                    ready.push(node);
                }
            }
        }
        let mut sorted = Vec::with_capacity(pending.len());
        while let Some(node) = ready.pop() {
            watch.work(1)?;
            sorted.push(node);
            for_each_dependent(model, node, |dependent| {
                if let Some(count) = pending.get_mut(dependent) {
                    *count = count.saturating_sub(1);
                    if *count == 0 {
                        ready.push(dependent);
                    }
                }
            });
        }
        let mut cyclic = Vec::new();
        if sorted.len() < pending.len() {
            sorted.iter().for_each(|&node| _ = pending.remove(node));
            let nodes = graphs.iter().flat_map(|&graph| model.nodes(graph));
            cyclic.extend(nodes.filter(|&node| pending.contains_key(node)));
        }
        Ok(Self { sorted, cyclic })
    }
}

/// Number of dependencies of a node, repeated ones counted as often.
fn dependencies(model: &Model, node: NodeId) -> usize {
    let record = model.node(node);
    let is_made = |value| model.value(value).producer().is_some();
    let operands = record.inputs().flatten().filter(|&value| is_made(value)).count();
    let nested = record.nested_graphs().filter_map(|graph| model.get_graph(graph)).map(|graph| {
        let outputs = graph.outputs().iter().filter(|output| is_made(output.value())).count();
        outputs.saturating_add(graph.node_count())
    });
    nested.fold(operands, usize::saturating_add)
}

/// Calls `visit` with each node that depends on a node, as often as it does.
fn for_each_dependent(model: &Model, node: NodeId, mut visit: impl FnMut(NodeId)) {
    let record = model.node(node);
    let owner = |graph| match model.get_graph(graph).map(|graph| graph.owner()) {
        Some(Owner::Node(owner)) => Some(owner),
        _ => None,
    };
    for &output in record.outputs().iter().flatten() {
        for at in model.value(output).uses() {
            match at.user {
                User::Node(user) => visit(user),
                // The color of a node covers the name, not the value.
                User::Attribute(_) => {}
                User::Graph(graph) => owner(graph).into_iter().for_each(&mut visit),
            }
        }
    }
    owner(record.graph()).into_iter().for_each(&mut visit);
}
