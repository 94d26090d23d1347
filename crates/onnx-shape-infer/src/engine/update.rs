//! Visiting again only what an edit can have changed.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::sync::Arc;

use foldhash::fast::RandomState;
use onnx_ir::{Aspects, Change, Def, Edits, GraphId, NodeId, OpsetScope, User, ValueId};
use onnx_types::Dim;

use super::Engine;
use super::control::Known;
use super::state::{State, variables};
use crate::dependents::Dependents;
use crate::facts::Fact;
use crate::sequence::Members;

/// What results depend on, of a node.
const OF_NODE: [Aspects; 4] = [Aspects::OPERATOR, Aspects::OPERANDS, Aspects::OUTPUTS, Aspects::POSITION];

/// What results depend on, of a value.
const OF_VALUE: [Aspects; 3] = [Aspects::TYPE, Aspects::CONSTANT, Aspects::DEFINITION];

/// What results depend on, of a nested graph.
const OF_GRAPH: [Aspects; 4] = [Aspects::INTERFACE, Aspects::TYPE, Aspects::VERSIONS, Aspects::REMOVALS];

fn concerns(change: Change, aspects: &[Aspects]) -> bool {
    match change {
        Change::Created | Change::Erased => true,
        Change::Changed(changed) => aspects.iter().any(|&aspect| changed.intersects(aspect)),
    }
}

/// The nodes of the main graph that must be visited, in their order.
#[derive(Default)]
struct Queue {
    heap: BinaryHeap<Reverse<(u64, NodeId)>>,
    queued: HashMap<NodeId, (), RandomState>,
    /// The nodes that were visited, and those that are no longer nodes of the main graph: what was concluded from them
    /// before is forgotten.
    outdated: HashMap<NodeId, (), RandomState>,
    /// The inputs and initializers that were declared again, and values that are gone.
    declared: HashMap<ValueId, (), RandomState>,
}

impl Engine<'_> {
    /// Revisits the changed nodes and every later node whose inputs change as a result. Returns `false` if an
    /// incremental update is not possible because the change is in a function, or in the symbols with which all
    /// declared types are interpreted. A node that precedes its producers is visited twice.
    pub(crate) fn update(&mut self, edits: &Edits) -> bool {
        if self.state.earlier.as_ref().is_some_and(|(facts, _)| facts.is_incomplete()) {
            return false;
        }
        let main = self.state.model.main_graph();
        let mut queue = Queue::default();
        if !self.queue_edits(&mut queue, edits, main) || !self.queue_interface(&mut queue, edits, main) {
            return false;
        }
        self.enter_main(main);
        // In an order that does not depend on hashes.
        let mut gone: Vec<NodeId> = queue.outdated.keys().copied().collect();
        gone.sort_unstable();
        gone.into_iter().for_each(|node| self.state.forget_root(node));
        let mut visits = self.state.model.node_count().saturating_mul(2);
        while let Some(Reverse((_, node))) = queue.heap.pop() {
            queue.queued.remove(&node);
            queue.outdated.insert(node, ());
            // Nodes that need each other's results in a cycle can change without end, and a new run visits each node once.
            if self.is_stopped() || visits == 0 {
                return false;
            }
            visits = visits.saturating_sub(1);
            self.visit_again(&mut queue, node, main);
        }
        self.frames.clear();
        let is_founded = self.forget(&queue);
        self.update_functions(edits, |node| queue.outdated.contains_key(&node));
        is_founded
    }

    /// Queues the nodes whose results may be different after edits of nodes, values and graphs.
    fn queue_edits(&mut self, queue: &mut Queue, edits: &Edits, main: GraphId) -> bool {
        let is_named = |change: Change| !concerns(change, &[Aspects::INTERFACE, Aspects::VERSIONS]);
        if edits.model().contains(Aspects::VERSIONS) || !edits.functions().all(|(_, change)| is_named(change))
        {
            return false;
        }
        for (value, change) in edits.values() {
            if concerns(change, &OF_VALUE) {
                queue.declared.insert(value, ());
                if !self.queue_value(queue, value, main) {
                    return false;
                }
            }
        }
        for (node, change) in edits.nodes() {
            if change == Change::Erased || change.aspects().contains(Aspects::POSITION) {
                queue.outdated.insert(node, ());
            }
            if concerns(change, &OF_NODE) && !self.queue_node(queue, node, main) {
                return false;
            }
        }
        for (graph, change) in edits.graphs() {
            let is_there = graph != main && self.state.model.get_graph(graph).is_some();
            if is_there && concerns(change, &OF_GRAPH) && !self.queue_owner(queue, graph, main) {
                return false;
            }
        }
        true
    }

    /// Compares the inputs and declared types of the main graph as a whole. The symbols of the inputs determine how the
    /// declared types of all values are interpreted, so changed symbols require a full run.
    fn queue_interface(&mut self, queue: &mut Queue, edits: &Edits, main: GraphId) -> bool {
        let model = self.state.model;
        let of_main = edits.graphs().find(|&(graph, _)| graph == main);
        let aspects = of_main.map_or(Aspects::NONE, |(_, change)| change.aspects());
        let is_input = |&value: &ValueId| matches!(model.get_value(value).map(onnx_ir::Value::def), Some(Def::Input { graph, .. }) if graph == main);
        if aspects.contains(Aspects::INTERFACE) || queue.declared.keys().any(is_input) {
            let before = self.interface.input_symbols.clone();
            self.note_input_symbols(main);
            if before != self.interface.input_symbols
                || self.state.variables != variables(model, self.state.options)
            {
                return false;
            }
        }
        if aspects.contains(Aspects::TYPE) {
            let before = self.interface.repeated.clone();
            self.note_repeated(main);
            let after = self.interface.repeated.clone();
            let differs = |value: &ValueId| before.get(*value) != after.get(*value);
            for value in before.keys().chain(after.keys()).filter(differs) {
                if !self.queue_value(queue, value, main) {
                    return false;
                }
            }
        }
        true
    }

    /// Queues a node, or the node of the main graph that it is nested in. Returns `false` if it is in a function.
    fn queue_node(&self, queue: &mut Queue, node: NodeId, main: GraphId) -> bool {
        let model = self.state.model;
        // What was erased is of no interest: those that used it have changed, too.
        let Some(record) = model.get_node(node) else { return true };
        let Some(node) = model.ancestor_in(node, main) else {
            // Training graphs, and graphs that belong to nothing, are not inferred.
            return !matches!(model.scope(record.graph()), OpsetScope::Function(_));
        };
        if queue.queued.insert(node, ()).is_none() {
            queue.heap.push(Reverse((model.order_key(node), node)));
        }
        true
    }

    /// Queues the node that a graph is nested in.
    fn queue_owner(&self, queue: &mut Queue, graph: GraphId, main: GraphId) -> bool {
        match self.state.model.owner_node(graph) {
            Some(node) => self.queue_node(queue, node, main),
            None => !matches!(self.state.model.scope(graph), OpsetScope::Function(_)),
        }
    }

    fn queue_value(&mut self, queue: &mut Queue, value: ValueId, main: GraphId) -> bool {
        let Some(record) = self.state.model.get_value(value) else {
            self.state.table.clear(value);
            return true;
        };
        match record.def() {
            Def::Output { node, .. } => self.queue_node(queue, node, main),
            Def::Input { graph, .. } | Def::Initializer(graph) if graph == main => {
                self.state.table.clear(value);
                self.declare_value(value);
                self.queue_users(queue, value, main);
                true
            }
            Def::Input { graph, .. } | Def::Initializer(graph) => self.queue_owner(queue, graph, main),
            Def::Unresolved(_) => {
                self.state.table.clear(value);
                self.queue_users(queue, value, main);
                true
            }
        }
    }

    fn queue_users(&self, queue: &mut Queue, value: ValueId, main: GraphId) {
        let model = self.state.model;
        for at in model.value(value).uses() {
            let user = match at.user {
                User::Node(node) | User::Attribute(node) => Some(node),
                User::Graph(graph) => model.owner_node(graph),
            };
            if let Some(node) = user {
                self.queue_node(queue, node, main);
            }
        }
    }

    fn visit_again(&mut self, queue: &mut Queue, node: NodeId, main: GraphId) {
        let outputs: Vec<ValueId> = self.state.model.node(node).outputs().iter().flatten().copied().collect();
        let before: Vec<_> = outputs.iter().map(|&value| self.state.known(value)).collect();
        for (known, _) in &before {
            self.state.forget_bounds(known, &outputs);
        }
        self.state.forget_root(node);
        let model = self.state.model;
        for graph in model.node(node).nested_graphs() {
            // The node need not enter them again.
            self.state.forget_graph(graph);
            for graph in model.graphs_in(graph) {
                self.state.conditional.remove(graph);
            }
        }
        if let Some(frame) = self.frames.last_mut() {
            frame.stand_at(node);
        }
        self.visit(node);
        self.drive(1);
        for (value, before) in outputs.into_iter().zip(before) {
            if self.state.known(value) != before {
                self.queue_users(queue, value, main);
            }
        }
    }

    /// Replaces what was concluded from nodes that are gone or were visited again. Returns `false` if a node relies on what
    /// only those concluded.
    fn forget(&mut self, queue: &Queue) -> bool {
        let model = self.state.model;
        let order = |node: NodeId| model.get_node(node).map(|_| model.order_key(node));
        let Some((mut facts, mut failures)) = self.state.earlier.take() else { return false };
        // The order of the facts that remain must not depend on hashes.
        let mut outdated: Vec<NodeId> = queue.outdated.keys().copied().collect();
        outdated.sort_unstable();
        for node in outdated {
            facts.remove_root(node, order);
        }
        let mut declared: Vec<ValueId> = queue.declared.keys().copied().collect();
        declared.sort_unstable();
        declared.into_iter().for_each(|value| facts.remove_default(value));
        let new: Vec<Fact> = match self.state.dependents.get() {
            Some(_) => self.state.facts.every().copied().collect(),
            None => Vec::new(),
        };
        let is_founded = facts.merge(std::mem::take(&mut self.state.facts), order);
        let visited = queue.outdated.keys().copied();
        let is_kept = |known: &mut Dependents| known.update(model, &facts, &new, visited);
        if !self.state.dependents.get_mut().is_some_and(is_kept) {
            self.state.dependents.take();
        }
        failures.retain(|failure| match (failure.root, failure.value) {
            (Some(root), _) => !queue.outdated.contains_key(&root),
            (None, Some(value)) => !queue.declared.contains_key(&value),
            (None, None) => true,
        });
        failures.append(&mut self.state.failures);
        failures.sort_by_key(|failure| failure.root.and_then(order));
        (self.state.facts, self.state.failures) = (facts, failures);
        is_founded
    }
}

impl State<'_> {
    fn known(&mut self, value: ValueId) -> (Known, Option<Arc<Members>>) {
        let known = Known { ty: self.table.ty(value), content: self.table.content(value).cloned() };
        (known, self.table.members(value).cloned())
    }

    /// Forgets the intervals of the symbols that were made for a node's outputs.
    fn forget_bounds(&mut self, known: &Known, outputs: &[ValueId]) {
        for &dim in known.ty.dims().unwrap_or_default() {
            if let Dim::Var(symbol) = dim
                && self.origin(symbol).is_some_and(|(value, _)| outputs.contains(&value))
            {
                self.facts.unbound(symbol);
            }
        }
    }
}
