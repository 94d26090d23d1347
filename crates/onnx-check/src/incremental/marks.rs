//! The units that an edit concerns: those that were edited, and those whose rules read what was edited.

use std::collections::{HashMap, HashSet};

use foldhash::fast::RandomState;
use onnx_ir::{Aspects, Change, Def, Edits, Event, GraphId, Model, NodeId, Owner, User, ValueId};
use onnx_schema::Registry;
use onnx_types::{Dim, Symbol, Type};

use super::identifiers::{Named, WrongNameTable};
use super::memory::{Header, Memory};
use super::plan::{Unit, Units};
use crate::identifier::is_identifier;
use crate::rules::graph::{self, Reads};

/// The units that edits concern; `None` if that may be all of them.
pub(super) fn concerned(
    memory: &mut Memory,
    model: &Model,
    registry: &Registry,
    edits: &Edits,
) -> Option<Units> {
    let info = edits.model();
    let is_global = edits.functions().next().is_some()
        || info.intersects(Aspects::INTERFACE | Aspects::VERSIONS)
        || (!info.is_empty() && memory.header != Header::of(model));
    if is_global {
        return None;
    }
    if memory.wrong_names.is_none() && reports_names(memory, model) {
        memory.wrong_names = Some(WrongNameTable::new(model));
    }
    let mut marks = Marks {
        model,
        registry,
        memory,
        units: Units::default(),
        entered: HashSet::default(),
        attached: HashMap::default(),
        calls_differ: false,
    };
    if !info.is_empty() {
        marks.rules(model.main_graph(), Reads::TEXTS);
    }
    for (graph, change) in edits.graphs() {
        marks.graph(graph, change)?;
    }
    edits.nodes().for_each(|(node, change)| marks.node(node, change));
    edits.values().for_each(|(value, change)| marks.value(value, change));
    if marks.calls_differ {
        marks.units.extend(model.functions().iter().map(|&function| Unit::Function(function)));
    }
    let Marks { mut units, .. } = marks;
    units.extend(memory.revisited.drain());
    units.extend(memory.shared.iter().map(|&value| Unit::Value(value)));
    Some(units)
}

/// Returns `true` if the last check reported names that are not identifiers.
fn reports_names(memory: &Memory, model: &Model) -> bool {
    let mut rules = (0..).zip(graph::ENTRIES).filter(|(_, entry)| entry.check.reads.intersects(Reads::NAMES));
    rules.any(|(index, _)| memory.revisited.contains(&Unit::Rule(model.main_graph(), index)))
}

struct Marks<'a> {
    model: &'a Model,
    registry: &'a Registry,
    memory: &'a mut Memory,
    units: Units,
    /// The graphs of which everything is marked.
    entered: HashSet<GraphId, RandomState>,
    /// Whether a graph is part of the model or detached, as far as it was computed: for the graphs that contain a node or a
    /// value with a doubled or missing name.
    attached: HashMap<GraphId, bool, RandomState>,
    /// Functions may call others than before, or in another order.
    calls_differ: bool,
}

impl Marks<'_> {
    /// Returns `None` for a change of what calls of a function depend on.
    fn graph(&mut self, graph: GraphId, change: Change) -> Option<()> {
        let aspects = match change {
            Change::Erased => {
                self.forget_name(Named::Graph(graph));
                self.memory.wrong_variables = None;
                return Some(());
            }
            Change::Created => Aspects::POSITION,
            Change::Changed(aspects) => aspects,
        };
        if aspects.intersects(Aspects::INTERFACE | Aspects::TYPE | Aspects::POSITION) {
            self.memory.wrong_variables = None;
        }
        let owner = self.model.graph(graph).owner();
        if aspects.intersects(Aspects::INTERFACE) {
            if let Owner::Function(_) = owner {
                return None;
            }
            self.interface(graph);
        }
        if aspects.intersects(Aspects::POSITION | Aspects::VERSIONS) {
            self.contents(graph);
        }
        if aspects.intersects(Aspects::TYPE) {
            self.declarations(graph);
            if let Owner::Function(function) = owner {
                self.units.insert(Unit::Function(function));
            }
        }
        if aspects.intersects(Aspects::NAME) {
            self.rules(graph, Reads::TEXTS);
            self.units.insert(Unit::Metadata(graph));
            self.graph_name(graph);
        }
        Some(())
    }

    fn node(&mut self, node: NodeId, change: Change) {
        let aspects = match change {
            Change::Erased => {
                self.calls_differ |= self.memory.calls.remove(&node).is_some();
                self.forget_name(Named::Node(node));
                return;
            }
            Change::Created => Aspects::NONE,
            Change::Changed(aspects) => aspects,
        };
        let is_moved = aspects.intersects(Aspects::POSITION);
        self.node_unit(node, is_moved || change == Change::Created);
        if is_moved {
            // Uses of its outputs may come too early now, and nested nodes may use values too early.
            for graph in self.model.node(node).nested_graphs() {
                self.memory.wrong_variables = None;
                self.contents(graph);
            }
        }
        if is_moved || aspects.intersects(Aspects::OUTPUTS) {
            self.model.node(node).outputs().iter().flatten().for_each(|&value| self.value_units(value));
        }
    }

    fn value(&mut self, value: ValueId, change: Change) {
        let is_type_edited = match change {
            // The list of a graph has no entry for a value that is gone.
            Change::Erased => self.memory.listing_graph.contains_key(value),
            Change::Created => false,
            Change::Changed(aspects) => aspects.intersects(Aspects::TYPE),
        };
        if is_type_edited {
            self.memory.wrong_variables = None;
        }
        match change {
            Change::Erased => {
                self.memory.shared.remove(&value);
                self.forget_name(Named::Value(value));
            }
            Change::Created | Change::Changed(_) => self.value_units(value),
        }
    }

    /// Marks everything in a graph that was made, or that belongs to something else now.
    fn contents(&mut self, graph: GraphId) {
        if self.model.get_graph(graph).is_none() {
            return;
        }
        let model = self.model;
        let mut walk = model.walk(graph);
        while let Some(event) = walk.next() {
            match event {
                Event::Enter(graph) if !self.entered.insert(graph) => walk.skip_contents(),
                Event::Enter(graph) => {
                    let all = (0..graph::ENTRIES.len()).map(|index| Unit::Rule(graph, index));
                    self.units.extend(all);
                    self.interface(graph);
                    self.declarations(graph);
                    self.graph_name(graph);
                    model.definitions(graph).for_each(|value| self.value_units(value));
                }
                Event::Node(node) => self.node_unit(node, true),
                Event::After(_) | Event::Leave(_) => {}
            }
        }
    }

    /// Marks what reads the inputs and outputs of a graph.
    fn interface(&mut self, graph: GraphId) {
        self.rules(graph, Reads::INTERFACE);
        self.units.extend([Unit::Interface(graph), Unit::Metadata(graph)]);
        let record = self.model.graph(graph);
        let outputs = record.outputs().iter().map(|output| output.value());
        for value in record.inputs().iter().copied().chain(outputs) {
            self.variables(self.model.ty(value));
        }
        self.memory.list_outputs(self.model, graph);
    }

    /// Marks what reads `value_info` of a graph and the declarations of its outputs.
    fn declarations(&mut self, graph: GraphId) {
        self.rules(graph, Reads::INFO);
        self.units.extend([Unit::Interface(graph), Unit::Infos(graph), Unit::Metadata(graph)]);
        let infos = self.model.value_info(graph).map(|entry| (entry.own(), Some(entry.value())));
        let outputs = self.model.graph(graph).outputs().iter().map(|output| (output.own(), None));
        for (own, value) in infos.chain(outputs) {
            self.variables(own.and_then(|own| own.ty.as_deref()));
            self.variables(value.and_then(|value| self.model.ty(value)));
        }
        self.memory.list_infos(self.model, graph);
    }

    fn graph_name(&mut self, graph: GraphId) {
        self.rules(self.model.main_graph(), Reads::GRAPH_NAMES);
        self.identifier(Named::Graph(graph), self.model.graph(graph).name());
    }

    fn node_unit(&mut self, node: NodeId, is_moved: bool) {
        self.units.insert(Unit::Node(node));
        self.identifier(Named::Node(node), self.model.node(node).name());
        for sharing in self.memory.name_node(self.model, node).into_iter().flatten() {
            self.rules(self.model.node(sharing).graph(), Reads::NODE_NAMES);
        }
        let (differs, callee) = self.memory.call(self.model, self.registry, node);
        self.calls_differ |= differs || (is_moved && callee.is_some());
    }

    /// Marks a value and what reads its definition, name, type or elements.
    fn value_units(&mut self, value: ValueId) {
        let record = self.model.value(value);
        self.units.insert(Unit::Value(value));
        self.identifier(Named::Value(value), record.name());
        self.variables(record.ty());
        for sharing in self.memory.name(self.model, value).into_iter().flatten() {
            self.units.insert(Unit::Value(sharing));
            self.describing(sharing);
        }
        let mut is_interface = matches!(record.def(), Def::Input { .. });
        for at in record.uses() {
            match at.user {
                User::Node(node) | User::Attribute(node) => drop(self.units.insert(Unit::Node(node))),
                User::Graph(graph) => {
                    is_interface = true;
                    self.units.insert(Unit::Interface(graph));
                    self.rules(graph, Reads::INTERFACE);
                    if let Owner::Function(function) = self.model.graph(graph).owner() {
                        self.units.insert(Unit::Function(function));
                    }
                }
            }
        }
        match record.def() {
            Def::Output { node, .. } => drop(self.units.insert(Unit::Node(node))),
            Def::Input { graph, .. } => {
                self.units.insert(Unit::Interface(graph));
                self.rules(graph, Reads::INTERFACE);
            }
            Def::Initializer(graph) if record.name().is_empty() => self.rules(graph, Reads::NAMELESS),
            Def::Initializer(_) | Def::Unresolved(_) => {}
        }
        let reads_info = is_interface || matches!(record.def(), Def::Unresolved(_));
        for graph in self.memory.listing(value) {
            self.units.insert(Unit::Info(graph, value));
            if reads_info {
                self.rules(graph, Reads::INFO);
            }
        }
    }

    /// Marks rules that compare names, in the graphs that describe a value.
    fn describing(&mut self, value: ValueId) {
        let record = self.model.value(value);
        let mut graphs = self.memory.listing(value);
        if let Def::Input { graph, .. } = record.def() {
            graphs.push(graph);
        }
        graphs.extend(record.output_uses().iter().filter_map(|at| match at.user {
            User::Graph(graph) => Some(graph),
            User::Node(_) | User::Attribute(_) => None,
        }));
        graphs.into_iter().for_each(|graph| self.rules(graph, Reads::SHARED));
    }

    /// Marks the rules about a graph that read something of it.
    fn rules(&mut self, graph: GraphId, reads: Reads) {
        if self.model.get_graph(graph).is_some() {
            let rules = graph::ENTRIES.iter().enumerate();
            let rules = rules.filter(|(_, entry)| entry.check.reads.intersects(reads));
            self.units.extend(rules.map(|(index, _)| Unit::Rule(graph, index)));
        }
    }

    /// Marks the rule about all names of the model if a name is wrong, and notes it.
    fn identifier(&mut self, named: Named, name: Symbol) {
        let is_wrong = !name.is_empty() && !is_identifier(self.model.str(name));
        if is_wrong {
            self.rules(self.model.main_graph(), Reads::NAMES);
        }
        if self.memory.wrong_names.is_some() {
            let is_counted = is_wrong && self.is_part(named);
            if let Some(table) = &mut self.memory.wrong_names {
                table.set(named, is_counted.then_some(name));
            }
        }
    }

    /// Removes an entity that is gone from the table of wrong names.
    fn forget_name(&mut self, named: Named) {
        if let Some(table) = &mut self.memory.wrong_names {
            table.set(named, None);
        }
    }

    /// Returns `true` if a graph or node, or the definition of a value, is part of the model.
    fn is_part(&mut self, named: Named) -> bool {
        let graph = match named {
            Named::Graph(graph) => graph,
            Named::Node(node) => self.model.node(node).graph(),
            Named::Value(value) => {
                let record = self.model.value(value);
                match record.def() {
                    Def::Output { node, .. } => self.model.node(node).graph(),
                    Def::Input { graph, .. } => graph,
                    Def::Initializer(graph) if record.constant().is_some() => graph,
                    Def::Initializer(_) | Def::Unresolved(_) => return false,
                }
            }
        };
        self.is_attached(graph)
    }

    /// Returns `true` if a graph is not detached and not in a detached graph.
    fn is_attached(&mut self, graph: GraphId) -> bool {
        let (mut at, mut path) = (graph, Vec::new());
        let is_attached = loop {
            if let Some(&known) = self.attached.get(&at) {
                break known;
            }
            path.push(at);
            match self.model.graph(at).owner() {
                Owner::Node(node) => at = self.model.node(node).graph(),
                Owner::Detached => break false,
                Owner::Model | Owner::Initialization | Owner::Algorithm | Owner::Function(_) => break true,
            }
        };
        self.attached.extend(path.into_iter().map(|graph| (graph, is_attached)));
        is_attached
    }

    /// Like [`identifier`](Self::identifier), for dimension variables.
    fn variables(&mut self, ty: Option<&Type>) {
        let types = std::iter::successors(ty, |ty| ty.inner());
        let mut dims = types.flat_map(|ty| ty.shape().map_or(&[][..], |shape| shape.dims()));
        let is_wrong = |dim: &Dim| matches!(*dim, Dim::Var(name) if !is_identifier(self.model.str(name)));
        if dims.any(is_wrong) {
            self.rules(self.model.main_graph(), Reads::VARIABLES);
        }
    }
}
