//! The memory of a check for the next one.

use std::collections::{HashMap, HashSet};

use foldhash::fast::RandomState;
use onnx_ir::{DeviceConfiguration, FunctionId, GraphId, Model, NodeId, OpsetImport, OpsetScope, ValueId};
use onnx_schema::Registry;
use onnx_types::Symbol;
use slotmap::SecondaryMap;

use super::identifiers::WrongNameTable;
use super::plan::Units;
use crate::rules::graph::name_not_identifier::WrongNames;

/// The state of the model at the last check, as far as the next one needs it.
#[derive(Default)]
pub(super) struct Memory {
    /// The units that have something to report.
    pub(super) revisited: Units,
    /// The parts of the model itself that everything depends on.
    pub(super) header: Header,
    pub(super) values: NameOwners<ValueId>,
    pub(super) nodes: NameOwners<NodeId>,
    /// The values that share their name with another one: each is visited whenever one of them is, as it depends on the
    /// order which of them is first.
    pub(super) shared: HashSet<ValueId, RandomState>,
    /// The graph that lists a value in `value_info`.
    pub(super) listing_graph: SecondaryMap<ValueId, GraphId>,
    /// The values that several graphs list.
    pub(super) listing_graphs: HashMap<ValueId, Vec<GraphId>, RandomState>,
    /// The names that are not identifiers: made after the first check that reports them.
    pub(super) wrong_names: Option<WrongNameTable>,
    /// The dimension variables that are not identifiers; `None` after edits of types, or of the lists of graphs that have
    /// them.
    pub(super) wrong_variables: Option<WrongNames>,
    /// The calls of functions by functions.
    pub(super) calls: HashMap<NodeId, FunctionId, RandomState>,
}

/// Fields of the model on which rules about its nodes depend.
#[derive(Default, PartialEq)]
pub(super) struct Header {
    ir_version: i64,
    opset_imports: Vec<OpsetImport>,
    configurations: Vec<DeviceConfiguration>,
}

impl Header {
    pub(super) fn of(model: &Model) -> Self {
        let info = model.info();
        Self {
            ir_version: info.ir_version,
            opset_imports: info.opset_imports.clone(),
            configurations: info.configurations.clone(),
        }
    }
}

impl Memory {
    /// The memory of a model of which everything is visited.
    pub(super) fn new(model: &Model, registry: &Registry) -> Self {
        let mut memory = Self { header: Header::of(model), ..Self::default() };
        for graph in model.all_graphs() {
            for value in model.definitions(graph) {
                memory.name(model, value);
            }
            memory.list_outputs(model, graph);
            memory.list_infos(model, graph);
            for node in model.nodes(graph) {
                memory.name_node(model, node);
                memory.call(model, registry, node);
            }
        }
        memory
    }

    /// Remembers the outputs of a graph, which need no definition.
    pub(super) fn list_outputs(&mut self, model: &Model, graph: GraphId) {
        for output in model.graph(graph).outputs() {
            self.name(model, output.value());
        }
    }

    /// Remembers the values that a graph lists in `value_info`.
    pub(super) fn list_infos(&mut self, model: &Model, graph: GraphId) {
        for value in model.value_info(graph).map(|entry| entry.value()) {
            self.name(model, value);
            if let Some(other) = self.listing_graph.insert(value, graph).filter(|&other| other != graph) {
                let graphs = self.listing_graphs.entry(value).or_default();
                graphs.extend([other, graph]);
                graphs.sort_unstable();
                graphs.dedup();
            }
        }
    }

    /// The graphs that list a value in `value_info`; some may have done so before.
    pub(super) fn listing(&self, value: ValueId) -> Vec<GraphId> {
        let graph = self.listing_graph.get(value).copied();
        self.listing_graphs.get(&value).cloned().unwrap_or_else(|| graph.into_iter().collect())
    }

    /// Remembers the name of a value. Returns the values that are found to share it.
    pub(super) fn name(&mut self, model: &Model, value: ValueId) -> [Option<ValueId>; 2] {
        let name = model.value(value).name();
        let is_current = |other: ValueId| model.get_value(other).is_some_and(|record| record.name() == name);
        let sharing = self.values.insert(name, value, is_current);
        if !self.shared.is_empty() {
            self.shared.remove(&value);
        }
        self.shared.extend(sharing.iter().flatten());
        sharing
    }

    /// Remembers the name of a node. Returns the nodes that are found to share it.
    pub(super) fn name_node(&mut self, model: &Model, node: NodeId) -> [Option<NodeId>; 2] {
        let name = model.node(node).name();
        let is_current = |other: NodeId| model.get_node(other).is_some_and(|record| record.name() == name);
        self.nodes.insert(name, node, is_current)
    }

    /// Remembers the function that a node in a function calls. Returns `true` if that is another one than before, and the
    /// function.
    pub(super) fn call(
        &mut self,
        model: &Model,
        registry: &Registry,
        node: NodeId,
    ) -> (bool, Option<FunctionId>) {
        let record = model.node(node);
        // The hash lookup comes first: most nodes call no function.
        let may_call = matches!(model.scope(record.graph()), OpsetScope::Function(_))
            && model.function_called(record).is_some();
        let callee = if may_call { model.callee(node, registry).function() } else { None };
        let before = match callee {
            Some(callee) => self.calls.insert(node, callee),
            None if self.calls.is_empty() => None,
            None => self.calls.remove(&node),
        };
        (before != callee, callee)
    }
}

/// The entities that have names, by symbol.
#[derive(Default)]
pub(super) struct NameOwners<K> {
    table: Vec<Slot<K>>,
}

#[derive(Clone, Copy, Default)]
enum Slot<K> {
    #[default]
    Free,
    One(K),
    /// Several entities have or had the name at the same time.
    Shared,
}

impl<K: Copy + PartialEq> NameOwners<K> {
    /// Notes that an entity has a name. Returns the entities that are found to share it: none, this one, or this one
    /// and the one that had it before. `is_current` decides whether that still has it.
    fn insert(&mut self, name: Symbol, key: K, is_current: impl Fn(K) -> bool) -> [Option<K>; 2] {
        if name.is_empty() {
            return [None; 2];
        }
        let index = name.index() as usize;
        if index >= self.table.len() {
            self.table.resize(index.saturating_add(1).next_power_of_two(), Slot::Free);
        }
        let Some(slot) = self.table.get_mut(index) else { return [None; 2] };
        match *slot {
            Slot::Shared => [Some(key), None],
            Slot::One(other) if other != key && is_current(other) => {
                *slot = Slot::Shared;
                [Some(key), Some(other)]
            }
            _ => {
                *slot = Slot::One(key);
                [None; 2]
            }
        }
    }
}
