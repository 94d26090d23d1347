//! The order in which the nodes of a graph run.

use foldhash::fast::RandomState;
use onnx_ir::{Cycle, Def, GraphId, Model, NodeId, ValueId};
use slotmap::SparseSecondaryMap;

/// The nodes of a graph, each after the nodes whose results it uses.
///
/// A node whose operands are all constant runs just before the first node that uses it, so that results that are computed from
/// weights, such as dequantized weights, are not in memory all at the same time. The other nodes keep their order.
///
/// # Errors
///
/// Returns the cycle if nodes need each other's results in one.
pub(super) fn order(model: &Model, graph: GraphId) -> Result<Vec<NodeId>, Cycle> {
    let sorted =
        if model.is_sorted(graph) { model.nodes(graph).collect() } else { model.sorted_nodes(graph)? };
    let mut order = Order {
        model,
        makers: SparseSecondaryMap::default(),
        waiting: SparseSecondaryMap::default(),
        open: Vec::new(),
        nodes: Vec::with_capacity(sorted.len()),
    };
    sorted.iter().for_each(|&node| order.delay(node));
    let mut makers = Vec::new();
    for &node in &sorted {
        if order.is_constant(node) {
            continue;
        }
        model.for_each_use_within(node, |value| makers.extend(order.makers.get(value)));
        makers.drain(..).for_each(|maker| order.place(maker));
        order.nodes.push(node);
    }
    for &node in &sorted {
        order.place(node);
    }
    Ok(order.nodes)
}

struct Order<'m> {
    model: &'m Model,
    /// The nodes with constant operands by their outputs. This and `waiting` cost what this graph does: a model may have many.
    makers: SparseSecondaryMap<ValueId, NodeId, RandomState>,
    /// The nodes with constant operands, and whether they are still to be placed.
    waiting: SparseSecondaryMap<NodeId, bool, RandomState>,
    /// Nodes to place, the next one last, and whether the nodes that they need are placed.
    open: Vec<(NodeId, bool)>,
    nodes: Vec<NodeId>,
}

impl Order<'_> {
    fn is_constant(&self, node: NodeId) -> bool {
        self.waiting.contains_key(node)
    }

    /// Delays a node if its operands are constant; the nodes that it uses come before.
    fn delay(&mut self, node: NodeId) {
        let record = self.model.node(node);
        let is_constant = |value| {
            let value_record = self.model.value(value);
            let is_weight =
                value_record.initializer().is_some() && !matches!(value_record.def(), Def::Input { .. });
            is_weight || self.makers.contains_key(value)
        };
        // The operands of a node with graphs are also what the graphs use.
        if record.nested_graphs().next().is_none() && record.inputs().flatten().all(is_constant) {
            self.waiting.insert(node, true);
            record.outputs().iter().flatten().for_each(|&output| {
                self.makers.insert(output, node);
            });
        }
    }

    /// Places a delayed node after those that it needs; returns at once if it is placed.
    fn place(&mut self, node: NodeId) {
        self.open.push((node, false));
        while let Some((node, is_ready)) = self.open.pop() {
            if is_ready {
                self.nodes.push(node);
                continue;
            }
            let is_waiting = self.waiting.get_mut(node).is_some_and(std::mem::take);
            if !is_waiting {
                continue;
            }
            self.open.push((node, true));
            let first = self.open.len();
            let needed = self.model.node(node).inputs().flatten();
            let needed = needed.filter_map(|value| self.makers.get(value));
            self.open.extend(needed.map(|&maker| (maker, false)));
            self.open[first..].reverse();
        }
    }
}
