//! The model: the owner of everything.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use foldhash::fast::RandomState;
use onnx_types::expr::ExprTable;
use onnx_types::{Interner, Symbol};
use slotmap::SlotMap;

use crate::changes::{Edit, Entity, Recorder};
use crate::entity::{FunctionId, GraphId, NodeId, ValueId};
use crate::graph::{Function, Graph, Owner};
use crate::info::ModelInfo;
use crate::node::Node;
use crate::provenance::Provenance;
use crate::resolve::OpsetVersions;
use crate::value::Value;

/// A model: graphs, functions and everything they hold, in one set of arenas, shared by all graphs.
///
/// A key has the same meaning everywhere in its model: a node of a nested graph uses a value of an outer one like any
/// other value, and nodes move between graphs without being copied.
#[derive(Clone)]
pub struct Model {
    pub(crate) names: Interner,
    pub(crate) exprs: ExprTable,
    pub(crate) nodes: SlotMap<NodeId, Node>,
    pub(crate) values: SlotMap<ValueId, Value>,
    pub(crate) graphs: SlotMap<GraphId, Graph>,
    pub(crate) functions: SlotMap<FunctionId, Function>,
    pub(crate) function_order: Vec<FunctionId>,
    pub(crate) function_index: HashMap<(Symbol, Symbol, Symbol), FunctionId, RandomState>,
    pub(crate) main: GraphId,
    pub(crate) info: ModelInfo,
    /// What the imports of `info` put into scope; computed on demand, and dropped by every edit of `info`.
    pub(crate) versions: OnceLock<OpsetVersions>,
    pub(crate) provenance: Provenance,
    pub(crate) changes: Recorder,
    /// Whether an edit may have made names collide since they were last known to be in order.
    pub(crate) names_touched: bool,
    /// Number of order keys that were changed by insertions, for tests of the cost.
    #[cfg(test)]
    pub(crate) relabelled: u64,
}

impl Model {
    /// A model with an empty main graph.
    #[must_use]
    pub fn new() -> Self {
        Self::with_names(onnx_schema::interner())
    }

    /// A model with an empty main graph, over an interner that begins as [`onnx_schema::interner`] does.
    pub(crate) fn with_names(names: Interner) -> Self {
        let mut graphs = SlotMap::with_key();
        let main = graphs.insert(Graph::new(Owner::Model));
        // A new model has a main graph, which may be empty; in a file, the field may be absent.
        let mut info = ModelInfo::default();
        info.forms.set_explicit(onnx_types::field::model::GRAPH, true);
        Self {
            names,
            exprs: ExprTable::new(),
            nodes: SlotMap::default(),
            values: SlotMap::with_key(),
            graphs,
            functions: SlotMap::with_key(),
            function_order: Vec::new(),
            function_index: HashMap::default(),
            main,
            info,
            versions: OnceLock::new(),
            provenance: Provenance::default(),
            changes: Recorder::default(),
            names_touched: true,
            #[cfg(test)]
            relabelled: 0,
        }
    }

    /// Makes room for this many more nodes and values, so that an edit of known size does not move those that are there several
    /// times. Room that is not used costs nothing but addresses.
    pub fn reserve(&mut self, nodes: usize, values: usize) {
        self.nodes.reserve(nodes);
        self.values.reserve(values);
        self.provenance.reserve(nodes);
    }

    /// The names of the model.
    #[must_use]
    pub const fn names(&self) -> &Interner {
        &self.names
    }

    /// The names of the model, for adding some.
    pub const fn names_mut(&mut self) -> &mut Interner {
        &mut self.names
    }

    /// The symbol of a name, which is added when it is new.
    pub fn intern(&mut self, name: &str) -> Symbol {
        self.names.intern(name)
    }

    /// The text of a symbol.
    #[must_use]
    pub fn str(&self, symbol: Symbol) -> &str {
        self.names.resolve(symbol)
    }

    /// The dimension expressions of the model.
    #[must_use]
    pub const fn exprs(&self) -> &ExprTable {
        &self.exprs
    }

    /// The dimension expressions and the names, for making more of both.
    pub const fn exprs_mut(&mut self) -> (&mut ExprTable, &mut Interner) {
        (&mut self.exprs, &mut self.names)
    }

    /// The information about the model: versions, producer, operator sets, metadata, training.
    #[must_use]
    pub const fn info(&self) -> &ModelInfo {
        &self.info
    }

    /// The information about the model, for editing.
    pub fn info_mut(&mut self) -> Edit<'_, ModelInfo> {
        self.versions.take();
        Edit::new(&mut self.info, &mut self.changes, Entity::Model)
    }

    /// The main graph.
    #[must_use]
    pub const fn main_graph(&self) -> GraphId {
        self.main
    }

    /// A graph.
    ///
    /// # Panics
    ///
    /// Panics if the graph is not of this model or was removed.
    #[must_use]
    pub fn graph(&self, graph: GraphId) -> &Graph {
        &self.graphs[graph]
    }

    /// A graph, if it is still there.
    #[must_use]
    pub fn get_graph(&self, graph: GraphId) -> Option<&Graph> {
        self.graphs.get(graph)
    }

    /// A node.
    ///
    /// # Panics
    ///
    /// Panics if the node is not of this model or was erased.
    #[must_use]
    pub fn node(&self, node: NodeId) -> &Node {
        &self.nodes[node]
    }

    /// A node, if it is still there.
    #[must_use]
    pub fn get_node(&self, node: NodeId) -> Option<&Node> {
        self.nodes.get(node)
    }

    /// A value.
    ///
    /// # Panics
    ///
    /// Panics if the value is not of this model or was erased.
    #[must_use]
    pub fn value(&self, value: ValueId) -> &Value {
        &self.values[value]
    }

    /// A value, if it is still there.
    #[must_use]
    pub fn get_value(&self, value: ValueId) -> Option<&Value> {
        self.values.get(value)
    }

    /// A function.
    ///
    /// # Panics
    ///
    /// Panics if the function is not of this model or was removed.
    #[must_use]
    pub fn function(&self, function: FunctionId) -> &Function {
        &self.functions[function]
    }

    /// The functions in file order.
    #[must_use]
    pub fn functions(&self) -> &[FunctionId] {
        &self.function_order
    }

    /// The number of nodes in all graphs.
    #[must_use]
    pub fn node_count(&self) -> usize {
        self.nodes.len()
    }

    /// The number of values in all graphs.
    #[must_use]
    pub fn value_count(&self) -> usize {
        self.values.len()
    }

    /// The number of graphs: the main one, nested ones, function bodies and training graphs.
    #[must_use]
    pub fn graph_count(&self) -> usize {
        self.graphs.len()
    }

    /// The nodes of a graph in order, nested graphs not included.
    ///
    /// The iterator borrows the model; to edit while walking, use a [`Cursor`](crate::Cursor).
    ///
    /// # Panics
    ///
    /// Panics if the graph is not of this model or was removed.
    pub fn nodes(&self, graph: GraphId) -> impl DoubleEndedIterator<Item = NodeId> + '_ {
        NodeList { model: self, front: self.graphs[graph].first, back: self.graphs[graph].last, done: false }
    }

    /// The initializers of a graph in file order, dense and sparse ones together.
    ///
    /// # Panics
    ///
    /// Panics if the graph is not of this model or was removed.
    pub fn initializers(&self, graph: GraphId) -> impl Iterator<Item = ValueId> + '_ {
        self.graphs[graph]
            .initializers
            .iter()
            .copied()
            .filter(move |&value| self.is_initializer_of(value, graph))
    }

    /// The entries of a graph's `value_info` whose values are still there, in file order.
    ///
    /// # Panics
    ///
    /// Panics if the graph is not of this model or was removed.
    pub fn value_info(&self, graph: GraphId) -> impl Iterator<Item = &crate::InfoEntry> + '_ {
        self.graphs[graph].value_info.iter().filter(|entry| self.values.contains_key(entry.value))
    }

    /// The type of a value, if it is known.
    ///
    /// # Panics
    ///
    /// Panics if the value is not of this model or was erased.
    #[must_use]
    pub fn ty(&self, value: ValueId) -> Option<&onnx_types::Type> {
        self.values[value].ty()
    }

    /// The tensor that a value always holds: an initializer that no caller can override, or what a `Constant` node of
    /// the default domain gives by its attribute `value`.
    ///
    /// # Panics
    ///
    /// Panics if the value is not of this model or was erased.
    #[must_use]
    pub fn constant_tensor(&self, value: ValueId) -> Option<&onnx_types::tensor::Tensor> {
        let value = &self.values[value];
        if let Some(node) = value.producer() {
            let node = &self.nodes[node];
            let attribute =
                node.is(onnx_schema::op::CONSTANT).then(|| node.attribute(onnx_schema::attr::VALUE));
            return attribute.flatten()?.as_tensor().map(Arc::as_ref);
        }
        value.constant()?.dense()
    }

    pub(crate) fn is_initializer_of(&self, value: ValueId, graph: GraphId) -> bool {
        use crate::value::Def;
        self.values.get(value).is_some_and(|record| {
            let here = match record.def {
                Def::Initializer(owner) | Def::Input { graph: owner, .. } => owner == graph,
                Def::Unresolved(_) | Def::Output { .. } => false,
            };
            here && record.constant.is_some()
        })
    }
}

impl Default for Model {
    fn default() -> Self {
        Self::new()
    }
}

struct NodeList<'a> {
    model: &'a Model,
    front: Option<NodeId>,
    back: Option<NodeId>,
    done: bool,
}

impl NodeList<'_> {
    /// Ends the iteration if both ends have reached `node`.
    fn advance(&mut self, node: NodeId, met: bool) -> Option<NodeId> {
        self.done = met;
        Some(node)
    }
}

impl Iterator for NodeList<'_> {
    type Item = NodeId;

    fn next(&mut self) -> Option<NodeId> {
        if self.done {
            return None;
        }
        let node = self.front?;
        self.front = self.model.nodes[node].next;
        self.advance(node, Some(node) == self.back)
    }
}

impl DoubleEndedIterator for NodeList<'_> {
    fn next_back(&mut self) -> Option<NodeId> {
        if self.done {
            return None;
        }
        let node = self.back?;
        self.back = self.model.nodes[node].prev;
        self.advance(node, Some(node) == self.front)
    }
}
