//! Interface for decoders: construction of a model from a file with arbitrary invalid names.
//!
//! These methods trust their caller with keys (they panic on foreign ones, as indexing does) but hold every structural
//! invariant, whatever the file says.

mod loader;
mod scope;

use std::sync::Arc;

use onnx_types::{FieldForms, Symbol, Type};
use smallvec::SmallVec;

use crate::attr::Attribute;
use crate::changes::Aspects;
use crate::constant::Constant;
use crate::entity::{GraphId, NodeId, ValueId};
use crate::extras::Extras;
use crate::graph::{Graph, Owner};
use crate::model::Model;
use crate::node::{Node, Operand};
use crate::value::{Def, OwnInfo, Use, User, Value, ValueFlags};

pub use loader::{LoadedInfo, Loader, OuterGraph};

/// An output of a node that is being read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LoadedOutput {
    /// The output is left out.
    Absent,
    /// A new value with this name.
    New(Symbol),
    /// A value that was used before and had no definition so far.
    Unresolved(ValueId),
}

/// A node that is being read.
#[derive(Debug, Default)]
pub struct LoadedNode {
    /// `op_type`.
    pub op: Symbol,
    /// `domain` as written.
    pub domain: Symbol,
    /// `overload`.
    pub overload: Symbol,
    /// `name`.
    pub name: Symbol,
    /// The attributes; their graphs are detached and come to belong to the node.
    pub attributes: Vec<Attribute>,
    /// Documentation, metadata and other extras.
    pub extras: Option<Box<Extras>>,
    /// The explicitly encoded defaults.
    pub forms: FieldForms,
}

impl Model {
    /// Appends a node to a graph in constant time.
    ///
    /// # Panics
    ///
    /// Panics if a key is not of this model.
    pub fn load_node(
        &mut self,
        graph: GraphId,
        loaded: LoadedNode,
        inputs: &[Option<ValueId>],
        outputs: &[LoadedOutput],
    ) -> NodeId {
        let node = self.begin_node(graph);
        for &value in inputs {
            self.load_operand(node, value);
        }
        for &output in outputs {
            match output {
                LoadedOutput::Absent => self.nodes[node].outputs.push(None),
                LoadedOutput::New(name) => drop(self.load_output(node, name)),
                LoadedOutput::Unresolved(value) => self.load_definition(node, value),
            }
        }
        self.finish_node(node, loaded);
        node
    }

    /// Appends an empty node. Filling the record in place avoids a copy of each node, and most entities are nodes.
    #[inline]
    pub(crate) fn begin_node(&mut self, graph: GraphId) -> NodeId {
        let prev = self.graphs[graph].last;
        let order = self.order_at_end(prev);
        // A closure creates the record in place; `insert` would copy it. The same applies to values below.
        let node = self.nodes.insert_with_key(|_| Node {
            op: Symbol::EMPTY,
            domain: Symbol::EMPTY,
            overload: Symbol::EMPTY,
            name: Symbol::EMPTY,
            inputs: SmallVec::new(),
            outputs: SmallVec::new(),
            attributes: Vec::new(),
            extras: None,
            forms: FieldForms::CANONICAL,
            graph,
            prev,
            next: None,
            order,
        });
        let record = &mut self.graphs[graph];
        record.last = Some(node);
        record.node_count += 1;
        match prev {
            Some(prev) => self.nodes[prev].next = Some(node),
            None => record.first = Some(node),
        }
        self.names_touched = true;
        self.record(node, Aspects::CREATED);
        node
    }

    /// Adds an operand to a node that is being read.
    #[inline]
    pub(crate) fn load_operand(&mut self, node: NodeId, value: Option<ValueId>) {
        let operands = &mut self.nodes[node].inputs;
        let Some(id) = value else {
            operands.push(Operand::ABSENT);
            return;
        };
        let index = operands.len() as u32;
        let uses = &mut self.values[id].uses;
        // A value has fewer than 2^32 uses: each belongs to an operand in memory.
        operands.push(Operand { value, slot: uses.len() as u32 });
        uses.push(Use { user: User::Node(node), index });
    }

    /// Adds an output to a node that is being read: a new value with this name.
    #[inline]
    pub(crate) fn load_output(&mut self, node: NodeId, name: Symbol) -> ValueId {
        let outputs = &mut self.nodes[node].outputs;
        let index = outputs.len() as u32;
        let value = self.values.insert_with_key(|_| Value::new(name, Def::Output { node, index }));
        outputs.push(Some(value));
        self.record(value, Aspects::CREATED);
        value
    }

    /// Adds an output to a node that is being read: a value that was used before and had no definition so far.
    pub(crate) fn load_definition(&mut self, node: NodeId, value: ValueId) {
        let outputs = &mut self.nodes[node].outputs;
        self.values[value].def = Def::Output { node, index: outputs.len() as u32 };
        outputs.push(Some(value));
        self.record(value, Aspects::DEFINITION);
    }

    /// Sets everything of a node but its operands and outputs.
    #[inline]
    pub(crate) fn finish_node(&mut self, node: NodeId, loaded: LoadedNode) {
        for attribute in &loaded.attributes {
            for &nested in attribute.value().graphs() {
                self.set_owner(nested, Owner::Node(node));
            }
        }
        let LoadedNode { op, domain, overload, name, attributes, extras, forms } = loaded;
        let record = &mut self.nodes[node];
        (record.op, record.domain, record.overload, record.name) = (op, domain, overload, name);
        record.forms = forms;
        if !attributes.is_empty() {
            record.attributes = attributes;
        }
        if extras.is_some() {
            record.extras = extras;
        }
    }

    /// Makes an unresolved or initializer value an input of a graph; of an initializer this becomes the default.
    ///
    /// # Panics
    ///
    /// Panics if a key is not of this model, or the value is defined by anything else: callers make a new value then.
    pub fn load_graph_input(&mut self, graph: GraphId, value: ValueId) {
        let index = self.graphs[graph].inputs.len() as u32;
        let record = &mut self.values[value];
        debug_assert!(matches!(record.def, Def::Unresolved(_) | Def::Initializer(_)));
        record.def = Def::Input { graph, index };
        self.graphs[graph].inputs.push(value);
        self.names_touched = true;
        self.record(graph, Aspects::INTERFACE);
        self.record(value, Aspects::DEFINITION);
    }

    /// Makes an unresolved value, or a graph input without default, an initializer of its graph.
    ///
    /// # Panics
    ///
    /// Panics if a key is not of this model.
    pub fn load_initializer(&mut self, graph: GraphId, value: ValueId, constant: Constant) {
        let record = &mut self.values[value];
        let defines = matches!(record.def, Def::Unresolved(_));
        if defines {
            record.def = Def::Initializer(graph);
        }
        record.constant = Some(Arc::new(constant));
        self.graphs[graph].initializers.push(value);
        self.names_touched = true;
        self.record(value, Aspects::CONSTANT | Aspects::DEFINITION.when(defines));
    }

    /// Records that an unresolved value was looked up in the names of `graph`.
    ///
    /// # Panics
    ///
    /// Panics if a key is not of this model.
    pub fn load_unresolved(&mut self, graph: GraphId, value: ValueId) {
        let record = &mut self.values[value];
        if matches!(record.def, Def::Unresolved(old) if old != graph) {
            record.def = Def::Unresolved(graph);
            self.record(value, Aspects::DEFINITION);
        }
    }

    /// Records that the file gives the name of a value also to others; such names are written unchanged.
    ///
    /// # Panics
    ///
    /// Panics if the value is not of this model.
    pub fn set_name_as_read(&mut self, value: ValueId) {
        let flags = &mut self.values[value].flags;
        let had = flags.has(ValueFlags::NAME_AS_READ);
        flags.set(ValueFlags::NAME_AS_READ, true);
        self.record(value, Aspects::NAME.when(!had));
    }

    /// Sets the type and the extras of a value as described in the file.
    ///
    /// # Panics
    ///
    /// Panics if the value is not of this model.
    pub fn load_value_info(&mut self, value: ValueId, ty: Option<Arc<Type>>, extras: Option<Box<Extras>>) {
        let record = &mut self.values[value];
        record.ty = ty;
        record.extras = extras;
        self.record(value, Aspects::TYPE | Aspects::NAME);
    }

    /// Reserves capacity for `entries` additional entries of a graph's `value_info`.
    ///
    /// # Panics
    ///
    /// Panics if the graph is not of this model.
    pub fn reserve_value_info(&mut self, graph: GraphId, entries: usize) {
        self.graphs[graph].value_info.reserve(entries);
    }

    /// Sets what an output of a graph declares where that differs from what the value itself says.
    ///
    /// # Panics
    ///
    /// Panics if the graph is not of this model or has no such output.
    pub fn set_output_info(&mut self, graph: GraphId, index: usize, own: Option<Box<OwnInfo>>) {
        self.graphs[graph].outputs[index].own = own;
        self.record(graph, Aspects::TYPE);
    }

    /// Makes a training graph: `owner` is [`Owner::Initialization`] or [`Owner::Algorithm`]. It becomes part of the model
    /// by being named in [`ModelInfo::training`](crate::ModelInfo::training).
    pub fn new_training_graph(&mut self, owner: Owner) -> GraphId {
        debug_assert!(matches!(owner, Owner::Initialization | Owner::Algorithm));
        let graph = self.graphs.insert(Graph::new(owner));
        self.record(graph, Aspects::CREATED);
        graph
    }

    /// Removes detached graphs, with everything in them, that were read and cannot be part of the model.
    ///
    /// # Panics
    ///
    /// Panics if a graph is not of this model.
    pub fn discard_graphs(&mut self, graphs: &[GraphId]) {
        self.drop_graphs(graphs.to_vec());
    }

    /// Adds an attribute with a default to a function; graphs in it come to belong to the function.
    ///
    /// # Panics
    ///
    /// Panics if a key is not of this model.
    pub fn load_function_default(&mut self, function: crate::FunctionId, default: Attribute) {
        let graphs = default.value().graphs().to_vec();
        self.functions[function].defaults.push(default);
        self.record(function, Aspects::INTERFACE);
        for graph in graphs {
            self.set_owner(graph, Owner::Function(function));
        }
        self.names_touched = true;
    }

    /// Declares that all names are those of the file, so that writing need not search for collisions. Edits revoke the
    /// declaration.
    pub const fn mark_names_clean(&mut self) {
        self.names_touched = false;
    }
}
