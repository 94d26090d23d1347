//! Visiting again only what an edit can have changed.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::sync::Arc;

use foldhash::fast::RandomState;
use onnx_ir::{Def, GraphId, NodeId, User, ValueId};
use onnx_types::Dim;

use super::Engine;
use super::control::Known;
use super::state::State;
use crate::sequence::Members;

/// Something that an edit changed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Changed {
    /// A node is new, or its operator, attributes, inputs, outputs or nested graphs changed.
    Node(NodeId),
    /// The declared type of a value changed, or its initializer.
    Value(ValueId),
}

/// The nodes of the main graph that are to be visited, the first in order first.
#[derive(Default)]
struct Queue {
    heap: BinaryHeap<Reverse<(u64, NodeId)>>,
    queued: HashMap<NodeId, (), RandomState>,
    visited: HashMap<NodeId, (), RandomState>,
}

impl Engine<'_> {
    /// Visits the nodes that changed, and those after them whose inputs turn out to be different. Says no when that cannot
    /// be done in part, because the change is in a function. A node that stands before its producers is visited twice.
    pub(crate) fn update(&mut self, changed: &[Changed]) -> bool {
        if self.state.earlier.as_ref().is_some_and(|(facts, _)| facts.is_incomplete()) {
            return false;
        }
        let model = self.state.model;
        let main = model.main_graph();
        let mut queue = Queue::default();
        for &change in changed {
            let known = match change {
                Changed::Node(node) => self.queue_node(&mut queue, node, main),
                Changed::Value(value) => self.queue_value(&mut queue, value, main),
            };
            if !known {
                return false;
            }
        }
        self.note_input_symbols(main);
        self.note_repeated(main);
        self.enter_main(main);
        while let Some(Reverse((_, node))) = queue.heap.pop() {
            queue.queued.remove(&node);
            queue.visited.insert(node, ());
            self.visit_again(&mut queue, node, main);
        }
        self.frames.clear();
        self.forget_functions();
        self.forget(&queue, main);
        true
    }

    fn queue_node(&self, queue: &mut Queue, node: NodeId, main: GraphId) -> bool {
        let model = self.state.model;
        // What was erased is of no interest: those that used it have changed, too.
        if model.get_node(node).is_none() {
            return true;
        }
        let Some(node) = model.ancestor_in(node, main) else { return false };
        if queue.queued.insert(node, ()).is_none() {
            queue.heap.push(Reverse((model.order_key(node), node)));
        }
        true
    }

    fn queue_value(&mut self, queue: &mut Queue, value: ValueId, main: GraphId) -> bool {
        let Some(record) = self.state.model.get_value(value) else { return true };
        match record.def() {
            Def::Output { node, .. } => self.queue_node(queue, node, main),
            Def::Input { graph, .. } | Def::Initializer(graph) if graph == main => {
                self.state.table.clear(value);
                self.declare_value(value);
                self.queue_users(queue, value, main);
                true
            }
            Def::Input { graph, .. } | Def::Initializer(graph) => match self.state.model.owner_node(graph) {
                Some(node) => self.queue_node(queue, node, main),
                None => false,
            },
            Def::Unresolved(_) => true,
        }
    }

    fn queue_users(&self, queue: &mut Queue, value: ValueId, main: GraphId) {
        let model = self.state.model;
        for at in model.value(value).uses() {
            let user = match at.user {
                User::Node(node) => Some(node),
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

    /// Forgets what was concluded from nodes that are gone or were visited again.
    fn forget(&mut self, queue: &Queue, main: GraphId) {
        let model = self.state.model;
        let keep = |node: NodeId| {
            model.get_node(node).is_some()
                && model.ancestor_in(node, main).is_none_or(|node| !queue.visited.contains_key(&node))
        };
        let before = self.state.earlier.take();
        if let Some((mut facts, mut failures)) = before {
            facts.retain(keep);
            failures.retain(|failure| failure.root.is_none_or(keep));
            let key = |node: Option<NodeId>| {
                node.and_then(|node| model.ancestor_in(node, main)).map(|node| model.order_key(node))
            };
            facts.absorb(&mut self.state.facts, |fact| key(fact.root));
            failures.append(&mut self.state.failures);
            failures.sort_by_key(|failure| key(failure.root));
            (self.state.facts, self.state.failures) = (facts, failures);
        }
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
