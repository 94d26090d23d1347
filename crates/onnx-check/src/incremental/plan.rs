//! The parts of a model that are visited: all of it, or some units in the order of the full traversal.

use std::collections::{HashMap, HashSet};

use foldhash::fast::RandomState;
use onnx_ir::{Def, Event, FunctionId, GraphId, Model, NodeId, Owner, ValueId};

use crate::rules::graph::name_not_identifier::WrongNames;

/// A part of a model that the traversal visits as a whole: its rules run together.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum Unit {
    /// The model itself, which is always visited.
    Model,
    /// What a function declares, with the defaults of its attributes.
    Function(FunctionId),
    /// A rule about a graph, by its index.
    Rule(GraphId, usize),
    /// The metadata of a graph, of its outputs and of its `value_info`.
    Metadata(GraphId),
    /// The types that a graph declares for its inputs and outputs.
    Interface(GraphId),
    /// The types of all entries of `value_info` of a graph.
    Infos(GraphId),
    /// The types of the entries of `value_info` of a graph that describe a value.
    Info(GraphId, ValueId),
    /// A node with its attributes.
    Node(NodeId),
    /// A value where it is defined, and its initializer.
    Value(ValueId),
}

pub(crate) type Units = HashSet<Unit, RandomState>;

/// Units of a model, and the way to them.
pub(crate) struct Plan {
    units: Units,
    graphs: HashMap<GraphId, Lists, RandomState>,
    /// The nodes of these graphs that are visited or contain a graph in which something is.
    nodes: HashMap<GraphId, Vec<NodeId>, RandomState>,
    has_functions: bool,
}

/// The lists of a graph in which something is visited.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Lists {
    pub(crate) inputs: bool,
    pub(crate) initializers: bool,
    pub(crate) infos: bool,
}

impl Plan {
    /// Units that are gone or in no graph are omitted by the traversal.
    #[expect(clippy::iter_over_hash_type, reason = "the order of what is visited is that of the traversal")]
    pub(crate) fn new(model: &Model, units: Units) -> Self {
        let mut plan = Self {
            units: Units::default(),
            graphs: HashMap::default(),
            nodes: HashMap::default(),
            has_functions: false,
        };
        for &unit in &units {
            match unit {
                Unit::Model => {}
                Unit::Function(_) => plan.has_functions = true,
                Unit::Rule(graph, _) | Unit::Metadata(graph) | Unit::Interface(graph) => {
                    plan.lists_of(model, graph);
                }
                Unit::Infos(graph) | Unit::Info(graph, _) => plan.lists_of(model, graph).infos = true,
                Unit::Node(node) => plan.node(model, node),
                Unit::Value(value) => match model.get_value(value).map(|value| value.def()) {
                    Some(Def::Output { node, .. }) => plan.node(model, node),
                    Some(Def::Input { graph, .. }) => {
                        let lists = plan.lists_of(model, graph);
                        (lists.inputs, lists.initializers) = (true, true);
                    }
                    Some(Def::Initializer(graph)) => plan.lists_of(model, graph).initializers = true,
                    Some(Def::Unresolved(_)) | None => {}
                },
            }
        }
        for nodes in plan.nodes.values_mut() {
            nodes.sort_unstable_by_key(|&node| model.order_key(node));
            nodes.dedup();
        }
        plan.units = units;
        plan
    }

    /// The lists of a graph that are visited. A new graph is added, with the way to it.
    fn lists_of(&mut self, model: &Model, graph: GraphId) -> &mut Lists {
        let mut at = graph;
        while let Some(record) = model.get_graph(at)
            && !self.graphs.contains_key(&at)
        {
            self.graphs.insert(at, Lists::default());
            at = match record.owner() {
                Owner::Node(owner) => {
                    let around = model.node(owner).graph();
                    self.nodes.entry(around).or_default().push(owner);
                    around
                }
                Owner::Algorithm => model.main_graph(),
                Owner::Function(_) => {
                    self.has_functions = true;
                    break;
                }
                Owner::Model | Owner::Initialization | Owner::Detached => break,
            };
        }
        self.graphs.entry(graph).or_default()
    }

    fn node(&mut self, model: &Model, node: NodeId) {
        if let Some(record) = model.get_node(node) {
            self.lists_of(model, record.graph());
            self.nodes.entry(record.graph()).or_default().push(node);
        }
    }

    pub(crate) fn contains(&self, unit: Unit) -> bool {
        let is_listed = |graph| self.units.contains(&Unit::Infos(graph));
        match unit {
            Unit::Model => true,
            Unit::Info(graph, _) if is_listed(graph) => true,
            _ => self.units.contains(&unit),
        }
    }

    /// Returns `true` if any function or anything in its graphs is visited.
    pub(crate) const fn has_functions(&self) -> bool {
        self.has_functions
    }

    /// The part of a [walk](Model::walk) over a graph that leads to units; empty if there are none.
    pub(crate) fn events(&self, model: &Model, root: GraphId) -> Vec<Event> {
        let mut events = Vec::new();
        let mut open = vec![Event::Enter(root)];
        while let Some(event) = open.pop() {
            let begin;
            match event {
                Event::Enter(graph) => {
                    if !self.graphs.contains_key(&graph) {
                        continue;
                    }
                    open.push(Event::Leave(graph));
                    begin = open.len();
                    open.extend(self.nodes.get(&graph).into_iter().flatten().copied().map(Event::Node));
                    if graph == model.main_graph() {
                        open.extend(model.algorithms().map(Event::Enter));
                    }
                }
                Event::Node(node) => {
                    open.push(Event::After(node));
                    begin = open.len();
                    open.extend(model.node(node).nested_graphs().map(Event::Enter));
                }
                Event::After(_) | Event::Leave(_) => begin = open.len(),
            }
            if let Some(next) = open.get_mut(begin..) {
                next.reverse();
            }
            events.push(event);
        }
        events
    }
}

/// The progress of a check that is continued after edits.
pub(crate) struct Track {
    /// What is visited; `None` for everything.
    plan: Option<Plan>,
    /// The names that are not identifiers, if a table of them is kept.
    pub(crate) wrong_names: Option<WrongNames>,
    /// The dimension variables that are not identifiers, if they are known.
    pub(crate) wrong_variables: Option<WrongNames>,
    /// The units that have to be visited again after any edit.
    pub(super) revisited: Units,
    /// Number of units that were visited.
    pub(super) visited: usize,
    /// The visit ended early.
    pub(crate) is_stopped: bool,
    /// Number of tensors in external data that were found.
    pieces: usize,
}

impl Track {
    pub(super) fn new(plan: Option<Plan>) -> Self {
        Self {
            plan,
            wrong_names: None,
            wrong_variables: None,
            revisited: Units::default(),
            visited: 0,
            is_stopped: false,
            pieces: 0,
        }
    }

    /// The units that are visited; `None` for all.
    pub(crate) const fn plan(&self) -> Option<&Plan> {
        self.plan.as_ref()
    }

    /// The lists of a graph in which something is visited.
    pub(crate) fn lists(track: Option<&Self>, graph: GraphId) -> Lists {
        match track.and_then(Self::plan) {
            Some(plan) => plan.graphs.get(&graph).copied().unwrap_or_default(),
            None => Lists { inputs: true, initializers: true, infos: true },
        }
    }

    /// Returns `true` if a unit is visited, and counts it.
    pub(crate) fn visits(&mut self, unit: Unit) -> bool {
        let is_visited = self.plan.as_ref().is_none_or(|plan| plan.contains(unit));
        self.visited = self.visited.saturating_add(usize::from(is_visited));
        is_visited
    }

    /// Ends a unit. It is visited again if it reported something, and if it has external data, which are compared with
    /// those of other tensors and may change outside of the model.
    pub(crate) fn finish_unit(&mut self, unit: Unit, must_revisit: bool, pieces: usize) {
        let has_pieces = std::mem::replace(&mut self.pieces, pieces) != pieces;
        if must_revisit || has_pieces {
            self.revisited.insert(unit);
        }
    }
}
