//! Building a model from a file whose names may be wrong in any way.

mod node;
mod scope;

use std::collections::HashSet;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use foldhash::fast::RandomState;
use onnx_types::{Interner, Symbol, Type};

use crate::attr::Attribute;
use crate::changes::Recorder;
use crate::constant::Constant;
use crate::entity::{FunctionId, GraphId, ValueId};
use crate::extras::{Extras, ValueRef};
use crate::graph::Owner;
use crate::model::Model;
use crate::provenance::Origin;
use crate::value::{Def, OwnInfo, ValueFlags};

pub use node::NodeFields;
use scope::{Outer, Scope};

/// The fields of a `ValueInfoProto`.
#[derive(Debug, Default)]
pub struct ValueInfoFields {
    /// The name of the value.
    pub name: Symbol,
    /// Its type.
    pub ty: Option<Arc<Type>>,
    /// Documentation, metadata and the like.
    pub extras: Option<Box<Extras>>,
}

/// The state to which [`ModelWriter::leave`] returns.
#[derive(Clone, Copy, Debug)]
pub struct OuterGraph {
    scope: Outer,
    open: usize,
}

/// A model under construction, whose parts refer to each other by name: decoders and parsers fill it.
///
/// It dereferences to the [`Model`], which can be read and edited meanwhile. Its own methods add to the graph that was
/// [entered](Self::enter) last, or to the main graph if none was, and resolve names. The initializers, inputs and nodes of
/// a graph are added in this order, then its outputs and its value info, then it is [left](Self::leave). A name that is
/// used before it is defined becomes an unresolved value. A later definition in the same graph defines that value; without
/// one, the name is resolved in the enclosing graph if that is visible.
///
/// Duplicate, missing and shadowed names are kept as they are: every structural invariant of the model holds whatever the
/// names are.
///
/// ```
/// use onnx_ir::raw::{ModelWriter, NodeFields, ValueInfoFields};
///
/// let mut writer = ModelWriter::new(onnx_schema::interner());
/// let main = writer.main_graph();
/// let outer = writer.enter(main, true);
/// let [x, y] = ["x", "y"].map(|name| writer.intern(name));
/// writer.write_input(ValueInfoFields { name: x, ..ValueInfoFields::default() });
/// let fields = NodeFields { op: onnx_schema::op::RELU, ..NodeFields::default() };
/// let node = writer.write_node(fields, &[x], &[y]);
/// writer.write_output(ValueInfoFields { name: y, ..ValueInfoFields::default() });
/// writer.leave(outer);
/// let model = writer.finish();
/// assert_eq!(model.graph(main).inputs(), [model.node(node).input(0).unwrap()]);
/// ```
///
/// # Panics
///
/// Like those of the model, the methods panic if a key is not of this model.
#[derive(Debug)]
pub struct ModelWriter {
    model: Model,
    scope: Scope,
    /// The graphs that were entered, the outermost first.
    open: Vec<GraphId>,
    /// Values that an output or an entry of the value info named without a type or anything else.
    silent: HashSet<ValueId, RandomState>,
}

impl Deref for ModelWriter {
    type Target = Model;

    fn deref(&self) -> &Model {
        &self.model
    }
}

impl DerefMut for ModelWriter {
    fn deref_mut(&mut self) -> &mut Model {
        &mut self.model
    }
}

impl ModelWriter {
    /// A writer of an empty model over an interner that begins as [`onnx_schema::interner`] does. The capacity of the
    /// interner is also that for the names of values.
    #[must_use]
    pub fn new(names: Interner) -> Self {
        Self {
            scope: Scope::with_capacity(names.capacity()),
            model: Model::with_names(names),
            open: Vec::new(),
            silent: HashSet::default(),
        }
    }

    /// The finished model. Its names are those of the file, so encoding it looks for no collisions until it is edited.
    /// Changes are recorded from here on.
    #[must_use]
    pub fn finish(mut self) -> Model {
        self.model.names_touched = false;
        self.model.changes = Recorder::default();
        self.model
    }

    /// Reserves memory for this number of additional nodes, each with one output, and for entries of the value info of the current graph.
    pub fn reserve_graph(&mut self, nodes: usize, value_info: usize) {
        self.model.reserve(nodes, nodes);
        self.scope.reserve(self.model.names.capacity(), nodes);
        let graph = self.current();
        self.model.graphs[graph].value_info.reserve(value_info);
    }

    /// Enters a graph. In an isolated one, such as the body of a function, outer names are not visible.
    pub fn enter(&mut self, graph: GraphId, isolated: bool) -> OuterGraph {
        let open = self.open.len();
        self.open.push(graph);
        OuterGraph { scope: self.scope.enter(isolated), open }
    }

    /// Hides all names from what follows, which is part of no graph, such as the default of a function's attribute.
    pub fn enter_isolated(&mut self) -> OuterGraph {
        OuterGraph { scope: self.scope.enter(true), open: self.open.len() }
    }

    /// Leaves what was entered. Names that it used and did not define become names that the enclosing graph uses; without
    /// an enclosing graph, they stay unresolved.
    pub fn leave(&mut self, outer: OuterGraph) {
        self.open.truncate(outer.open);
        let parent = self.open.last().copied();
        let values = &mut self.model.values;
        self.scope.settle(outer.scope, |value| matches!(values[value].def, Def::Unresolved(_)));
        self.scope.leave(outer.scope, |value| {
            if let Some(parent) = parent
                && let Def::Unresolved(graph) = &mut values[value].def
            {
                *graph = parent;
            }
        });
    }

    /// Number of graphs that were entered and not left.
    #[must_use]
    pub const fn depth(&self) -> usize {
        self.open.len()
    }

    /// The value that a name means here, for references that are not data flow.
    #[must_use]
    pub fn reference(&self, name: Symbol) -> ValueRef {
        match self.scope.get(name).filter(|_| !name.is_empty()) {
            Some(binding) => ValueRef::Value(binding.value),
            None => ValueRef::Name(name),
        }
    }

    /// The value that a use of `name` means: an unresolved one if the name is not defined so far.
    #[inline]
    pub fn used(&mut self, name: Symbol) -> ValueId {
        match self.scope.get(name) {
            Some(binding) => binding.value,
            None => self.unresolved(name),
        }
    }

    /// Adds an input to the graph.
    pub fn write_input(&mut self, info: ValueInfoFields) -> ValueId {
        let known = self.bound_here(info.name).filter(|&value| {
            // An initializer of the same name is the default of the first input of that name.
            let record = &self.model.values[value];
            record.initializer().is_some() && !matches!(record.def, Def::Input { .. })
        });
        let value = self.input(known, info.name);
        self.describe(value, info.ty, info.extras);
        value
    }

    /// Adds an input to the body of a function, where it is only a name.
    pub fn write_formal_input(&mut self, name: Symbol) -> ValueId {
        self.input(None, name)
    }

    /// Adds an initializer to the graph.
    pub fn write_initializer(&mut self, name: Symbol, constant: Constant) -> ValueId {
        let known = self.bound_here(name).filter(|&value| {
            let record = &self.model.values[value];
            record.initializer().is_none() && matches!(record.def, Def::Input { .. })
        });
        let value = known.unwrap_or_else(|| self.define(name));
        let graph = self.current();
        let record = &mut self.model.values[value];
        if matches!(record.def, Def::Unresolved(_)) {
            record.def = Def::Initializer(graph);
        }
        record.constant = Some(Arc::new(constant));
        self.model.graphs[graph].initializers.push(value);
        value
    }

    /// Adds an output to the graph.
    pub fn write_output(&mut self, info: ValueInfoFields) {
        let value = self.used(info.name);
        let graph = self.current();
        self.model.push_graph_output(graph, value);
        let own = self.merge_info(graph, value, info);
        if let Some(output) = self.model.graphs[graph].outputs.last_mut() {
            output.own = own;
        }
    }

    /// Adds an output to the body of a function, where it is only a name.
    pub fn write_formal_output(&mut self, name: Symbol) {
        let value = self.used(name);
        let graph = self.current();
        self.model.push_graph_output(graph, value);
    }

    /// Adds an entry to the value info of the graph.
    pub fn write_value_info(&mut self, info: ValueInfoFields) {
        let value = self.used(info.name);
        let graph = self.current();
        let own = self.merge_info(graph, value, info);
        self.model.push_value_info(graph, value, own);
    }

    /// Adds an attribute with a default to a function, which then owns the graphs in it.
    pub fn write_function_default(&mut self, function: FunctionId, default: Attribute) {
        self.model.add_function_default(function, default);
    }

    /// Records the position of the message or text that declares a value.
    pub fn set_value_origin(&mut self, value: ValueId, origin: Origin) {
        self.model.record_value_origin(value, origin);
    }

    /// The graph that the methods add to.
    #[inline]
    fn current(&self) -> GraphId {
        self.open.last().copied().unwrap_or(self.model.main)
    }

    #[inline(never)]
    fn unresolved(&mut self, name: Symbol) -> ValueId {
        let value = self.model.new_value_in(self.current(), name);
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
    /// If the name is already defined, here or in an enclosing graph, it is rebound to the new value, which is marked as
    /// sharing its name.
    fn define(&mut self, name: Symbol) -> ValueId {
        let graph = self.current();
        if name.is_empty() {
            return self.model.new_value_in(graph, name);
        }
        let old = self.scope.get(name);
        if let Some(old) = old
            && old.graph == self.scope.current()
            && matches!(self.model.values[old.value].def, Def::Unresolved(_))
        {
            return old.value;
        }
        let value = self.model.new_value_in(graph, name);
        if old.is_some() {
            self.model.values[value].flags.set(ValueFlags::NAME_AS_READ, true);
        }
        self.scope.bind(name, value);
        value
    }

    /// Makes a value an input of the graph: `known`, or the one that a definition of `name` defines.
    fn input(&mut self, known: Option<ValueId>, name: Symbol) -> ValueId {
        let value = known.unwrap_or_else(|| self.define(name));
        let graph = self.current();
        let inputs = &mut self.model.graphs[graph].inputs;
        self.model.values[value].def = Def::Input { graph, index: inputs.len() as u32 };
        inputs.push(value);
        value
    }

    fn describe(&mut self, value: ValueId, ty: Option<Arc<Type>>, extras: Option<Box<Extras>>) {
        let record = &mut self.model.values[value];
        record.ty = ty;
        record.extras = extras;
    }

    /// Stores the first description of a value in its record. Returns a later one if it differs.
    ///
    /// The description in a graph that does not own the value is kept apart: otherwise the other graph would be encoded with
    /// an entry that it did not have.
    fn merge_info(&mut self, graph: GraphId, value: ValueId, info: ValueInfoFields) -> Option<Box<OwnInfo>> {
        let record = &self.model.values[value];
        let is_blank = record.shared_ty().is_none() && record.extras().is_none();
        let foreign = self.is_foreign(graph, value);
        if is_blank && !foreign && !self.is_described_input(value) && !self.silent.contains(&value) {
            if info.ty.is_none() && info.extras.is_none() {
                self.silent.insert(value);
            }
            self.describe(value, info.ty, info.extras);
            return None;
        }
        let same_type = match (record.shared_ty(), &info.ty) {
            (Some(a), Some(b)) => a == b && a.source == b.source,
            (None, None) => true,
            _ => false,
        };
        if same_type && record.extras() == info.extras.as_deref() && !(foreign && is_blank) {
            return None;
        }
        let Extras { doc, metadata, forms, unknown, .. } =
            info.extras.map(|extras| *extras).unwrap_or_default();
        Some(Box::new(OwnInfo { ty: info.ty, doc, metadata, forms, unknown }))
    }

    /// Returns `true` if a value belongs to another graph, or may later: an enclosing graph may define what a nested one does
    /// not.
    fn is_foreign(&self, graph: GraphId, value: ValueId) -> bool {
        match self.model.values[value].def {
            Def::Output { node, .. } => self.model.nodes[node].graph != graph,
            Def::Input { graph: home, .. } | Def::Initializer(home) => home != graph,
            Def::Unresolved(_) => self.open.len() > 1,
        }
    }

    /// Returns `true` if the inputs of a graph describe the value; those of a function are only names.
    fn is_described_input(&self, value: ValueId) -> bool {
        match self.model.values[value].def {
            Def::Input { graph, .. } => !matches!(self.model.graphs[graph].owner, Owner::Function(_)),
            _ => false,
        }
    }
}
