//! Which results depend on guards, for all values at once: the question that edits ask at every node.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use foldhash::fast::RandomState;
use onnx_ir::{Def, GraphId, Model, NodeId, OpsetScope, User, ValueId};
use onnx_types::Dim;
use slotmap::SecondaryMap;

use crate::facts::{Fact, FactScope, Facts, Relation, Strength};

/// Number of times that guards are compared with proofs: in each, those can be discharged whose proofs depend only on guards
/// that were discharged before.
const MAX_ROUNDS: usize = 4;

/// Number of updates after which proofs that were visited again are looked for; later ones only withdraw them.
const MAX_RENEWALS: u32 = 64;

/// The nodes of the main graph whose results depend on guards, together with all that is nested in them.
///
/// A guard is *discharged* if another node proves the same relation, and nothing that this node depends on depends on a guard:
/// in every run of the model the relation holds, so that no result depends on the guard.
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
    /// The relations of discharged guards.
    discharged: HashSet<Relation, RandomState>,
    /// By the node of the main graph that proves them, discharged guards.
    proofs: HashMap<NodeId, Vec<Relation>, RandomState>,
    /// Number of updates that looked for proofs again.
    renewals: u32,
    /// Relations that hold whatever the model proves: see [`Inference::grant_proved`](crate::Inference::grant_proved).
    granted: Granted,
}

/// Relations between dimension variables of inputs.
pub(crate) type Granted = Arc<HashSet<Relation, RandomState>>;

impl Dependents {
    pub(crate) fn new(model: &Model, facts: &Facts, granted: &Granted) -> Self {
        let mut made = Self { granted: Arc::clone(granted), ..Self::default() };
        for _ in 0..MAX_ROUNDS {
            made.count(model, facts);
            let count = made.discharged.len();
            made.discharge(model, facts);
            if made.discharged.len() == count {
                return made;
            }
        }
        made.count(model, facts);
        made
    }

    /// Finds the dependent nodes, except for guards that were discharged.
    fn count(&mut self, model: &Model, facts: &Facts) {
        let (discharged, proofs) = (std::mem::take(&mut self.discharged), std::mem::take(&mut self.proofs));
        let granted = Arc::clone(&self.granted);
        let premise_changes = facts.premise_changes();
        *self = Self { premise_changes, discharged, proofs, granted, ..Self::default() };
        let mut open = Vec::new();
        for fact in facts.every() {
            self.add(model, facts, fact, &mut open);
        }
        self.is_everything |= facts.is_incomplete() && facts.every().any(is_guard);
        self.spread(model, facts, open);
    }

    /// Discharges the guards that are proved by nodes which do not depend on guards.
    fn discharge(&mut self, model: &Model, facts: &Facts) {
        if self.is_everything {
            return;
        }
        for guard in facts.every().filter(|fact| is_guard(fact)) {
            if self.discharged.contains(&guard.relation) {
                continue;
            }
            let proof = facts.primary(guard.relation).and_then(|fact| self.proof(model, fact));
            if let Some(node) = proof {
                self.discharged.insert(guard.relation);
                self.proofs.entry(node).or_default().push(guard.relation);
            }
        }
    }

    /// The node of the main graph that a fact follows from, if the fact holds in every run and depends on no guard.
    fn proof(&self, model: &Model, fact: &Fact) -> Option<NodeId> {
        let root = fact.root?;
        let is_proved =
            fact.strength == Strength::Proved && fact.scope == FactScope::Model && !fact.is_inherited;
        (is_proved && !self.has_node(model, root, model.main_graph())).then_some(root)
    }

    /// Whether a guard holds in every run, as a node proves it or as it is granted.
    pub(crate) fn is_discharged(&self, guard: &Fact) -> bool {
        self.discharged.contains(&guard.relation) || self.granted.contains(&guard.relation)
    }

    /// The relations of proved facts that depend on no guard and are about numbers and the given variables only.
    pub(crate) fn proved(
        &self,
        model: &Model,
        facts: &Facts,
        is_variable: impl Fn(Dim) -> bool,
    ) -> impl Iterator<Item = Relation> {
        let is_kept = move |relation: Relation| match relation {
            Relation::Equal(a, b) | Relation::AtMost(a, b) | Relation::Divides(a, b) => {
                is_variable(a) && is_variable(b)
            }
            _ => false,
        };
        let live = live_nodes(model);
        let is_live = move |node| live.contains_key(node);
        let relations = facts.all().iter().filter(move |fact| self.proof(model, fact).is_some_and(&is_live));
        relations.map(|fact| fact.relation).filter(move |&relation| is_kept(relation))
    }

    /// The relations of the discharged guards, in no particular order.
    pub(crate) fn discharged(&self) -> impl Iterator<Item = Relation> {
        self.discharged.iter().copied()
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
        let visited: Vec<NodeId> = visited.collect();
        let is_there = |node: &NodeId| model.get_node(*node).is_some();
        let mut order: Vec<NodeId> = visited.iter().copied().filter(is_there).collect();
        order.retain(|&node| model.node(node).graph() == main);
        order.sort_by_key(|&node| model.order_key(node));
        for &node in &order {
            self.nodes.remove(node);
        }
        let mut open = Vec::new();
        let mut is_withdrawn = false;
        for &node in &visited {
            is_withdrawn |= self.withdraw(facts, node, &mut open);
        }
        if is_withdrawn && self.renewals < MAX_RENEWALS {
            let renewals = self.renewals.saturating_add(1);
            *self = Self { renewals, ..Self::new(model, facts, &self.granted) };
            return true;
        }
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
            self.spread(model, facts, std::mem::take(&mut open));
        }
        self.spread(model, facts, open);
        true
    }

    /// Returns `true` if no result depends on guards.
    pub(crate) fn is_empty(&self) -> bool {
        !self.is_everything && self.nodes.is_empty() && self.defaults.is_empty()
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
        if !is_guard(fact) || self.is_discharged(fact) {
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
    fn spread(&mut self, model: &Model, facts: &Facts, mut open: Vec<NodeId>) {
        while let Some(node) = open.pop() {
            if model.get_node(node).is_none() || self.nodes.insert(node, ()).is_some() {
                continue;
            }
            self.withdraw(facts, node, &mut open);
            for &output in model.node(node).outputs().iter().flatten() {
                users(model, output, |user| open.push(user));
            }
            for relying in self.premises.get(&node).cloned().unwrap_or_default() {
                self.rely(relying, &mut open);
            }
        }
    }
}

impl Dependents {
    /// Makes guards active again that a node has proved which is gone, was visited again, or depends on a guard.
    /// Returns `true` if there are any.
    fn withdraw(&mut self, facts: &Facts, node: NodeId, open: &mut Vec<NodeId>) -> bool {
        let Some(relations) = self.proofs.remove(&node) else { return false };
        for relation in relations {
            self.discharged.remove(&relation);
            let guards = facts.conclusions(relation).filter(|fact| is_guard(fact));
            for guard in guards {
                self.rely(guard.root, open);
            }
        }
        true
    }
}

/// The nodes of the main graph that its outputs depend on; those after a use of their results are not found.
fn live_nodes(model: &Model) -> SecondaryMap<NodeId, ()> {
    let main = model.main_graph();
    let mut nodes: Vec<NodeId> = model.nodes(main).collect();
    nodes.reverse();
    let mut needed: SecondaryMap<ValueId, ()> =
        model.graph(main).outputs().iter().map(|output| (output.value(), ())).collect();
    let mut live = SecondaryMap::new();
    for node in nodes {
        let record = model.node(node);
        if !record.outputs().iter().flatten().any(|&output| needed.contains_key(output)) {
            continue;
        }
        live.insert(node, ());
        for input in record.inputs().flatten() {
            needed.insert(input, ());
        }
        for graph in record.nested_graphs() {
            for capture in model.captures(graph) {
                needed.insert(capture, ());
            }
        }
    }
    live
}

fn is_guard(fact: &Fact) -> bool {
    fact.strength == Strength::Assumed && !fact.is_inherited
}

/// The nodes of the main graph that use a value, or contain a use.
fn users(model: &Model, value: ValueId, mut visit: impl FnMut(NodeId)) {
    let Some(record) = model.get_value(value) else { return };
    for at in record.uses() {
        let user = match at.user {
            User::Node(node) | User::Attribute(node) => Some(node),
            User::Graph(graph) => model.owner_node(graph),
        };
        if let Some(root) = user.and_then(|node| model.ancestor_in(node, model.main_graph())) {
            visit(root);
        }
    }
}
