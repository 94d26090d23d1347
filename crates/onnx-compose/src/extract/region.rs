//! The nodes, inputs and constants of a part.

use onnx_ir::{Def, GraphId, Model, NodeId, ValueId};
use onnx_schema::op;
use onnx_types::{Interrupt, Watch};
use slotmap::SecondaryMap;

use crate::error::{ComposeError, Uncovered};
use crate::interface::name;

/// Values between two checks of the interrupt.
const WATCHED_VALUES: u64 = 1 << 10;

/// A part of one graph.
pub(super) struct Region {
    pub(super) graph: GraphId,
    pub(super) nodes: SecondaryMap<NodeId, ()>,
    pub(super) inputs: Vec<ValueId>,
    /// Initializers that the part uses, of the graph or one around it.
    pub(super) constants: Vec<ValueId>,
    pub(super) outputs: Vec<ValueId>,
}

impl Region {
    /// The nodes, each after those whose outputs it uses.
    pub(super) fn sorted(&self, model: &Model) -> Result<Vec<NodeId>, ComposeError> {
        let mut nodes = model.sorted_nodes(self.graph)?;
        nodes.retain(|&node| self.nodes.contains_key(node));
        Ok(nodes)
    }
}

/// The role of a value in a part.
enum Role {
    Node(NodeId),
    Constant,
    Input,
    /// A value of a graph around.
    Capture,
}

fn role(model: &Model, value: ValueId, graph: GraphId) -> Role {
    match model.value(value).def() {
        Def::Output { node, .. } if model.node(node).graph() == graph => Role::Node(node),
        Def::Initializer(_) => Role::Constant,
        Def::Input { graph: home, .. } if home == graph => Role::Input,
        Def::Output { .. } | Def::Input { .. } | Def::Unresolved(_) => Role::Capture,
    }
}

/// Calls `visit` for each value from outside that a node and its nested graphs use.
fn for_each_operand(model: &Model, node: NodeId, mut visit: impl FnMut(ValueId)) {
    let graph = model.node(node).graph();
    model.for_each_use_within(node, |value| {
        let home = model.graph_of(value);
        if home == graph || !model.is_inside(home, graph) {
            visit(value);
        }
    });
}

/// The part that computes `outputs` from `inputs`; without inputs, from those that it needs. Values of graphs around become
/// inputs.
pub(super) fn between(
    model: &Model,
    inputs: Option<&[ValueId]>,
    outputs: &[ValueId],
    interrupt: &Interrupt,
) -> Result<Region, ComposeError> {
    let mut watch = Watch::silent(interrupt, WATCHED_VALUES);
    let Some(&first) = outputs.first() else {
        return Err(ComposeError::refused("the part has no outputs"));
    };
    let graph = model.graph_of(first);
    let mut listed = inputs.unwrap_or_default().iter().chain(outputs);
    if let Some(&other) = listed.find(|&&value| model.graph_of(value) != graph) {
        let reason = format!("`{}` and `{}` are in different graphs", name(model, first), name(model, other));
        return Err(ComposeError::Refused(reason, Some(other)));
    }
    let mut search = Search { nodes: SecondaryMap::new(), next: SecondaryMap::new(), open: Vec::new() };
    let (mut constants, mut found, mut captures) = (Vec::new(), Vec::new(), Vec::new());
    let stops: SecondaryMap<ValueId, ()> =
        inputs.unwrap_or_default().iter().map(|&value| (value, ())).collect();
    outputs.iter().rev().for_each(|&output| search.reach(output, None));
    while let Some(value) = search.open.pop() {
        watch.work(1)?;
        if stops.contains_key(value) {
            continue;
        }
        match role(model, value, graph) {
            Role::Node(node) if search.nodes.insert(node, ()).is_none() => {
                for_each_operand(model, node, |operand| search.reach(operand, Some(value)));
            }
            Role::Node(_) => {}
            Role::Constant => constants.push(value),
            Role::Input => found.push(value),
            Role::Capture => captures.push(value),
        }
    }
    let has_default = |value: ValueId| model.value(value).initializer().is_some();
    if inputs.is_some() {
        let uncovered: Vec<ValueId> = found.iter().copied().filter(|&value| !has_default(value)).collect();
        if !uncovered.is_empty() {
            let path = |input: ValueId| Uncovered { input, path: search.path(model, input) };
            return Err(ComposeError::Uncovered(uncovered.into_iter().map(path).collect()));
        }
    }
    let is_found: SecondaryMap<ValueId, ()> = found.iter().map(|&value| (value, ())).collect();
    let in_order = model.graph(graph).inputs().iter().copied().filter(|&input| is_found.contains_key(input));
    let mut all = unique(inputs.unwrap_or_default());
    all.extend(in_order);
    all.extend(captures);
    Ok(Region { graph, nodes: search.nodes, inputs: all, constants, outputs: unique(outputs) })
}

fn unique(values: &[ValueId]) -> Vec<ValueId> {
    let mut seen: SecondaryMap<ValueId, ()> = SecondaryMap::new();
    values.iter().copied().filter(|&value| seen.insert(value, ()).is_none()).collect()
}

/// A search from outputs to inputs.
struct Search {
    nodes: SecondaryMap<NodeId, ()>,
    /// The value of which each value is an operand, on the way to an output.
    next: SecondaryMap<ValueId, Option<ValueId>>,
    open: Vec<ValueId>,
}

impl Search {
    fn reach(&mut self, value: ValueId, next: Option<ValueId>) {
        if !self.next.contains_key(value) {
            self.next.insert(value, next);
            self.open.push(value);
        }
    }

    fn path(&self, model: &Model, from: ValueId) -> Vec<String> {
        let steps = std::iter::successors(Some(from), |&value| self.next.get(value).copied().flatten());
        steps.map(|value| name(model, value)).collect()
    }
}

/// The part that consists of some nodes, and of the constants that they use. Results of other nodes that these use
/// become inputs; results of these that others or nothing uses become outputs.
pub(super) fn around(model: &Model, nodes: &[NodeId]) -> Result<Region, ComposeError> {
    let depth = |graph: GraphId| std::iter::successors(Some(graph), |&graph| model.parent(graph)).count();
    let graphs = nodes.iter().map(|&node| model.node(node).graph());
    let Some(graph) = graphs.min_by_key(|&graph| depth(graph)) else {
        return Err(ComposeError::refused("no nodes are selected"));
    };
    let mut selected: SecondaryMap<NodeId, ()> = SecondaryMap::new();
    for &node in nodes {
        let Some(node) = model.ancestor_in(node, graph) else {
            return Err(ComposeError::refused("the nodes are in graphs of which none is around the others"));
        };
        selected.insert(node, ());
    }
    let (mut inputs, mut constants, mut outputs) = (Vec::new(), Vec::new(), Vec::new());
    let mut seen: SecondaryMap<ValueId, ()> = SecondaryMap::new();
    let mut leaves = Vec::new();
    for node in model.nodes(graph).filter(|&node| selected.contains_key(node)) {
        for_each_operand(model, node, |value| {
            if seen.insert(value, ()).is_some() {
                return;
            }
            match role(model, value, graph) {
                Role::Node(maker) if selected.contains_key(maker) => {}
                Role::Node(maker) if model.node(maker).is(op::CONSTANT) => leaves.push(maker),
                Role::Constant => constants.push(value),
                _ => inputs.push(value),
            }
        });
    }
    for node in model.nodes(graph).filter(|&node| selected.contains_key(node)) {
        let values: Vec<ValueId> = model.node(node).outputs().iter().flatten().copied().collect();
        let is_needed = |value: ValueId| {
            let mut users = model.consumers(value);
            let outside =
                |user: NodeId| model.ancestor_in(user, graph).is_none_or(|user| !selected.contains_key(user));
            model.is_graph_output(value) || users.any(outside)
        };
        let before = outputs.len();
        outputs.extend(values.iter().copied().filter(|&value| is_needed(value)));
        if outputs.len() == before && values.iter().all(|&value| !model.value(value).is_used()) {
            outputs.extend(values);
        }
    }
    leaves.into_iter().for_each(|leaf| {
        selected.insert(leaf, ());
    });
    if outputs.is_empty() {
        return Err(ComposeError::refused("the selected nodes have no outputs"));
    }
    Ok(Region { graph, nodes: selected, inputs, constants, outputs })
}
