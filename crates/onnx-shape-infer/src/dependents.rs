//! Which results depend on guards, for all values at once: the question that edits ask at every node.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use onnx_ir::{Def, GraphId, Model, NodeId, OpsetScope, User, ValueId};
use slotmap::SecondaryMap;

use crate::facts::{Fact, Facts, Relation, Strength};

/// The nodes of the main graph whose results depend on guards, together with all that is nested in them.
///
/// It is made in time linear in the model, and an update takes time linear in what it visits and in the nodes that become
/// dependent: over any number of updates, each node does once. After an update it can have nodes that do not depend on guards any
/// more, and never lacks one that does.
#[derive(Clone, Debug, Default)]
pub(crate) struct Dependents {
    /// Whether every result depends on guards.
    is_everything: bool,
    nodes: SecondaryMap<NodeId, ()>,
    /// Inputs that results depend on not being overridden.
    defaults: SecondaryMap<ValueId, ()>,
    /// By the node that concluded a premise, the nodes that rely on it; `None` for all.
    premises: HashMap<NodeId, Vec<Option<NodeId>>, RandomState>,
    /// The number of changes of premises when this was made.
    premise_changes: u64,
}

impl Dependents {
    pub(crate) fn new(model: &Model, facts: &Facts) -> Self {
        let mut made = Self { premise_changes: facts.premise_changes(), ..Self::default() };
        let mut open = Vec::new();
        for fact in facts.every() {
            made.add(model, facts, fact, &mut open);
        }
        made.is_everything |= facts.is_incomplete() && facts.every().any(is_guard);
        made.spread(model, open);
        made
    }

    /// Takes the conclusions of an update into account; `visited` are the nodes that were visited again, and those that are gone.
    /// `new` are the conclusions, which `facts` has already. Returns `false` if it must be made anew.
    pub(crate) fn update(
        &mut self,
        model: &Model,
        facts: &Facts,
        new: &[Fact],
        visited: impl Iterator<Item = NodeId>,
    ) -> bool {
        if self.premise_changes != facts.premise_changes() {
            return false;
        }
        let main = model.main_graph();
        let mut order: Vec<NodeId> = visited.filter(|&node| model.get_node(node).is_some()).collect();
        order.retain(|&node| model.node(node).graph() == main);
        order.sort_by_key(|&node| model.order_key(node));
        for &node in &order {
            self.nodes.remove(node);
        }
        let mut open = Vec::new();
        for fact in new {
            self.add(model, facts, fact, &mut open);
        }
        self.is_everything |= facts.is_incomplete();
        for node in order {
            let mut depends = false;
            model.for_each_use_within(node, |value| depends |= self.has_operand(model, value, main));
            if depends {
                open.push(node);
            }
            self.spread(model, std::mem::take(&mut open));
        }
        self.spread(model, open);
        true
    }

    /// Whether the results about a value depend on guards.
    pub(crate) fn has(&self, model: &Model, value: ValueId) -> bool {
        let graph = model.graph_of(value);
        if self.is_everything || matches!(model.scope(graph), OpsetScope::Function(_)) {
            return true;
        }
        let main = model.main_graph();
        let producer = model.value(value).producer().or_else(|| model.owner_node(graph));
        self.defaults.contains_key(value) || producer.is_some_and(|node| self.has_node(model, node, main))
    }

    /// Whether what a node concluded depends on guards.
    pub(crate) fn has_node(&self, model: &Model, node: NodeId, main: GraphId) -> bool {
        // Nothing is recorded about nodes outside of the main graph.
        let root = model.ancestor_in(node, main);
        self.is_everything || root.is_none_or(|root| self.nodes.contains_key(root))
    }

    fn has_operand(&self, model: &Model, value: ValueId, main: GraphId) -> bool {
        if self.defaults.contains_key(value) {
            return true;
        }
        let producer = match model.value(value).def() {
            Def::Output { node, .. } => Some(node),
            _ => None,
        };
        producer
            .and_then(|node| model.ancestor_in(node, main))
            .is_some_and(|root| self.nodes.contains_key(root))
    }

    fn add(&mut self, model: &Model, facts: &Facts, fact: &Fact, open: &mut Vec<NodeId>) {
        if fact.is_inherited {
            let premise = facts.primary(fact.relation).and_then(|premise| premise.root);
            if let Some(premise) = premise {
                self.premises.entry(premise).or_default().push(fact.root);
                if self.nodes.contains_key(premise) {
                    self.rely(fact.root, open);
                }
            }
            return;
        }
        if !is_guard(fact) {
            return;
        }
        match (fact.root, fact.relation) {
            (Some(root), _) => open.push(root),
            (None, Relation::Default(value)) => {
                self.defaults.insert(value, ());
                users(model, value, |user| open.push(user));
            }
            (None, _) => self.is_everything = true,
        }
    }

    fn rely(&mut self, node: Option<NodeId>, open: &mut Vec<NodeId>) {
        match node {
            Some(node) => open.push(node),
            None => self.is_everything = true,
        }
    }

    /// Adds nodes, and all that depends on them.
    fn spread(&mut self, model: &Model, mut open: Vec<NodeId>) {
        while let Some(node) = open.pop() {
            if model.get_node(node).is_none() || self.nodes.insert(node, ()).is_some() {
                continue;
            }
            for &output in model.node(node).outputs().iter().flatten() {
                users(model, output, |user| open.push(user));
            }
            for relying in self.premises.get(&node).cloned().unwrap_or_default() {
                self.rely(relying, &mut open);
            }
        }
    }
}

fn is_guard(fact: &Fact) -> bool {
    fact.strength == Strength::Assumed && !fact.is_inherited
}

/// The nodes of the main graph that use a value, or contain a use.
fn users(model: &Model, value: ValueId, mut visit: impl FnMut(NodeId)) {
    let Some(record) = model.get_value(value) else { return };
    for at in record.uses() {
        let user = match at.user {
            User::Node(node) => Some(node),
            User::Graph(graph) => model.owner_node(graph),
        };
        if let Some(root) = user.and_then(|node| model.ancestor_in(node, model.main_graph())) {
            visit(root);
        }
    }
}
