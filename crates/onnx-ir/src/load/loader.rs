//! Name resolution while a file is loaded: definitions, uses, and the descriptions of values.

use std::collections::HashSet;
use std::sync::Arc;

use foldhash::fast::RandomState;
use onnx_types::{Symbol, Type};

use super::LoadedNode;
use super::scope::{Outer, Scope};
use crate::constant::Constant;
use crate::entity::{GraphId, NodeId, ValueId};
use crate::extras::{Extras, ValueRef};
use crate::graph::Owner;
use crate::model::Model;
use crate::value::{Def, OwnInfo};

/// The description of a value in a file (message `ValueInfoProto`).
#[derive(Debug, Default)]
pub struct LoadedInfo {
    /// The name of the value.
    pub name: Symbol,
    /// Its type.
    pub ty: Option<Arc<Type>>,
    /// Documentation, metadata and other extras.
    pub extras: Option<Box<Extras>>,
}

/// The state to restore when a graph ends: see [`Loader::enter`].
#[derive(Clone, Copy, Debug)]
pub struct OuterGraph {
    scope: Outer,
    open: usize,
}

/// Binds names to values while the graphs of a model are being read, whatever the format.
///
/// A graph is entered, its initializers, inputs and nodes are added in this order, then its outputs and value info, and it
/// is left. A name that is used before anything defines it becomes an unresolved value; what defines it later in the same
/// graph defines that value; an undefined name is passed to the enclosing graph, if that is visible.
///
/// All methods panic, as indexing does, when a key is not of the model.
#[derive(Debug, Default)]
pub struct Loader {
    scope: Scope,
    /// The graphs that are being read, the outermost first.
    open: Vec<GraphId>,
    /// Values that an output or an entry of the value info named without saying anything of them.
    silent: HashSet<ValueId, RandomState>,
}

impl Loader {
    /// A loader with capacity for `names` names.
    #[must_use]
    pub fn with_capacity(names: usize) -> Self {
        Self { scope: Scope::with_capacity(names), ..Self::default() }
    }

    /// Reserves capacity for `names` names in total, and for `values` additional values.
    pub fn reserve(&mut self, names: usize, values: usize) {
        self.scope.reserve(names, values);
    }

    /// Enters a graph; in an isolated one, such as a function's body, no outer name is visible.
    pub fn enter(&mut self, graph: GraphId, isolated: bool) -> OuterGraph {
        let open = self.open.len();
        self.open.push(graph);
        OuterGraph { scope: self.scope.enter(isolated), open }
    }

    /// Hides all names from what is read next, which is part of no graph, such as the default of a function's attribute.
    pub fn enter_apart(&mut self) -> OuterGraph {
        OuterGraph { scope: self.scope.enter(true), open: self.open.len() }
    }

    /// Leaves a graph. Names that it used without a definition become uses of the enclosing graph; without an enclosing
    /// graph, they stay unresolved.
    pub fn leave(&mut self, model: &mut Model, outer: OuterGraph) {
        self.open.truncate(outer.open);
        let parent = self.open.last().copied();
        self.scope.settle(outer.scope, |value| matches!(model.values[value].def, Def::Unresolved(_)));
        self.scope.leave(outer.scope, |value| {
            if let Some(parent) = parent {
                model.load_unresolved(parent, value);
            }
        });
    }

    /// Number of open graphs.
    #[must_use]
    pub const fn depth(&self) -> usize {
        self.open.len()
    }

    /// The value that a name refers to in the current graph, for references outside the data flow.
    #[must_use]
    pub fn reference(&self, name: Symbol) -> ValueRef {
        match self.scope.get(name).filter(|_| !name.is_empty()) {
            Some(binding) => ValueRef::Value(binding.value),
            None => ValueRef::Name(name),
        }
    }

    /// The value of a use of `name`; a name without a definition so far becomes an unresolved value.
    #[inline]
    pub fn used(&mut self, model: &mut Model, graph: GraphId, name: Symbol) -> ValueId {
        match self.scope.get(name) {
            Some(binding) => binding.value,
            None => self.unresolved(model, graph, name),
        }
    }

    #[inline(never)]
    fn unresolved(&mut self, model: &mut Model, graph: GraphId, name: Symbol) -> ValueId {
        let value = model.new_value_in(graph, name);
        if !name.is_empty() {
            self.scope.bind(name, value);
            self.scope.note_unresolved(name, value);
        }
        value
    }

    /// The value that a name is bound to in the innermost graph.
    #[inline]
    fn bound_here(&self, name: Symbol) -> Option<ValueId> {
        let binding = self.scope.get(name)?;
        (binding.graph == self.scope.current()).then_some(binding.value)
    }

    /// The value that a definition of `name` defines: one that was used before, or a new one.
    ///
    /// Where the name is defined already, here or in an enclosing graph, the new value takes it over and remembers that
    /// the name is not its own.
    fn define(&mut self, model: &mut Model, graph: GraphId, name: Symbol) -> ValueId {
        if name.is_empty() {
            return model.new_value_in(graph, name);
        }
        let old = self.scope.get(name);
        if let Some(old) = old
            && old.graph == self.scope.current()
            && matches!(model.values[old.value].def, Def::Unresolved(_))
        {
            return old.value;
        }
        let value = model.new_value_in(graph, name);
        if old.is_some() {
            model.set_name_as_read(value);
        }
        self.scope.bind(name, value);
        value
    }

    /// Adds an input to a graph.
    pub fn input(&mut self, model: &mut Model, graph: GraphId, info: LoadedInfo) -> ValueId {
        let known = self.bound_here(info.name).filter(|&value| {
            // An initializer of the same name is the input's default, unless an input has taken it already.
            let record = &model.values[value];
            record.initializer().is_some() && !matches!(record.def, Def::Input { .. })
        });
        let value = match known {
            Some(value) => value,
            None => self.define(model, graph, info.name),
        };
        model.load_graph_input(graph, value);
        model.load_value_info(value, info.ty, info.extras);
        value
    }

    /// Adds an input to a function's body, where it is only a name.
    pub fn formal_input(&mut self, model: &mut Model, graph: GraphId, name: Symbol) -> ValueId {
        let value = self.define(model, graph, name);
        model.load_graph_input(graph, value);
        value
    }

    /// Adds an initializer to a graph.
    pub fn initializer(
        &mut self,
        model: &mut Model,
        graph: GraphId,
        name: Symbol,
        constant: Constant,
    ) -> ValueId {
        let known = self.bound_here(name).filter(|&value| {
            let record = &model.values[value];
            record.initializer().is_none() && matches!(record.def, Def::Input { .. })
        });
        let value = match known {
            Some(value) => value,
            None => self.define(model, graph, name),
        };
        model.load_initializer(graph, value, constant);
        value
    }

    /// Adds an output to a graph, with the description of its value.
    pub fn output(&mut self, model: &mut Model, graph: GraphId, info: LoadedInfo) {
        let value = self.used(model, graph, info.name);
        let index = model.graphs[graph].outputs.len();
        model.push_graph_output(graph, value);
        let own = self.merge_info(model, graph, value, info);
        model.set_output_info(graph, index, own);
    }

    /// Adds an output to a function's body, where it is only a name.
    pub fn formal_output(&mut self, model: &mut Model, graph: GraphId, name: Symbol) {
        let value = self.used(model, graph, name);
        model.push_graph_output(graph, value);
    }

    /// Adds an entry of the value info to a graph.
    pub fn value_info(&mut self, model: &mut Model, graph: GraphId, info: LoadedInfo) {
        let value = self.used(model, graph, info.name);
        let own = self.merge_info(model, graph, value, info);
        model.push_value_info(graph, value, own);
    }

    /// Stores the first description of a value; returns what a later one adds or changes.
    ///
    /// A graph that names a value of another graph describes it only for itself: otherwise the other graph would be
    /// written with an entry that it did not have.
    fn merge_info(
        &mut self,
        model: &mut Model,
        graph: GraphId,
        value: ValueId,
        info: LoadedInfo,
    ) -> Option<Box<OwnInfo>> {
        let record = &model.values[value];
        let says_nothing = record.shared_ty().is_none() && record.extras().is_none();
        let foreign = self.is_foreign(model, graph, value);
        if says_nothing && !foreign && !is_described_input(model, value) && !self.silent.contains(&value) {
            if info.ty.is_none() && info.extras.is_none() {
                self.silent.insert(value);
            }
            model.load_value_info(value, info.ty, info.extras);
            return None;
        }
        let same_type = match (record.shared_ty(), &info.ty) {
            (Some(a), Some(b)) => a == b && a.source == b.source,
            (None, None) => true,
            _ => false,
        };
        if same_type && record.extras() == info.extras.as_deref() && !(foreign && says_nothing) {
            return None;
        }
        let Extras { doc, metadata, forms, unknown, .. } =
            info.extras.map(|extras| *extras).unwrap_or_default();
        Some(Box::new(OwnInfo { ty: info.ty, doc, metadata, forms, unknown }))
    }

    /// Whether a value belongs to another graph, or may turn out to: an enclosing graph may still define what a nested one
    /// does not.
    fn is_foreign(&self, model: &Model, graph: GraphId, value: ValueId) -> bool {
        match model.values[value].def {
            Def::Output { node, .. } => model.nodes[node].graph != graph,
            Def::Input { graph: home, .. } | Def::Initializer(home) => home != graph,
            Def::Unresolved(_) => self.open.len() > 1,
        }
    }

    /// Appends a node to a graph. Outputs are names; an empty one is absent.
    pub fn node(
        &mut self,
        model: &mut Model,
        graph: GraphId,
        loaded: LoadedNode,
        inputs: &[Option<ValueId>],
        outputs: &[Symbol],
    ) -> NodeId {
        let node = self.begin_node(model, graph);
        for &value in inputs {
            model.load_operand(node, value);
        }
        self.finish_node(model, node, loaded, outputs);
        node
    }

    /// Appends a node whose operands are added next, by [`operand`](Self::operand), and then the rest, by
    /// [`finish_node`](Self::finish_node). This is the fast path for decoders that read a node in this order.
    #[inline]
    pub fn begin_node(&mut self, model: &mut Model, graph: GraphId) -> NodeId {
        model.begin_node(graph)
    }

    /// Adds an operand to the node that was begun; one with the empty name is absent.
    #[inline]
    pub fn operand(&mut self, model: &mut Model, graph: GraphId, node: NodeId, name: Symbol) {
        let value = (!name.is_empty()).then(|| self.used(model, graph, name));
        model.load_operand(node, value);
    }

    /// Sets everything except the operands of the node that was begun. Outputs are names; an empty one is absent.
    #[inline]
    pub fn finish_node(&mut self, model: &mut Model, node: NodeId, loaded: LoadedNode, outputs: &[Symbol]) {
        for &name in outputs {
            self.node_output(model, node, name);
        }
        model.finish_node(node, loaded);
    }

    #[inline]
    fn node_output(&mut self, model: &mut Model, node: NodeId, name: Symbol) {
        if name.is_empty() {
            model.nodes[node].outputs.push(None);
            return;
        }
        let known = self.scope.get(name);
        if let Some(binding) = known
            && binding.graph == self.scope.current()
            && matches!(model.values[binding.value].def, Def::Unresolved(_))
        {
            model.load_definition(node, binding.value);
            return;
        }
        let value = model.load_output(node, name);
        if known.is_some() {
            model.set_name_as_read(value);
        }
        self.scope.bind(name, value);
    }
}

/// Whether a graph's list of inputs describes the value; functions only name theirs.
fn is_described_input(model: &Model, value: ValueId) -> bool {
    match model.values[value].def {
        Def::Input { graph, .. } => !matches!(model.graphs[graph].owner, Owner::Function(_)),
        _ => false,
    }
}
