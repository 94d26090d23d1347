//! Making, moving and erasing nodes, values, graphs and functions.

use std::sync::Arc;

use onnx_types::{Symbol, Type};
use thiserror::Error;

use crate::constant::Constant;
use crate::entity::{FunctionId, GraphId, NodeId, ValueId};
use crate::graph::{Function, Graph, GraphOutput, Owner};
use crate::model::Model;
use crate::node::{NewNode, Node, Operand};
use crate::order::Position;
use crate::value::{Def, InfoEntry, OwnInfo, User, Value, ValueFlags};

/// Why an edit was refused. The model is unchanged.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum EditError {
    /// The node, value, graph or function is not in the model (any more).
    #[error("the key belongs to nothing in this model: it was erased, or is of another model")]
    Gone,
    /// A value is still used, so what defines it cannot go.
    #[error("{value} is still used {uses} times: replace its uses first")]
    StillUsed {
        /// The value.
        value: ValueId,
        /// How many uses it has.
        uses: usize,
    },
    /// A value already has a definition.
    #[error("{value} already has a definition: make a new value for the output")]
    AlreadyDefined {
        /// The value.
        value: ValueId,
    },
    /// A graph belongs to something already.
    #[error("{graph} already has an owner: only a detached graph can become part of a node")]
    AlreadyOwned {
        /// The graph.
        graph: GraphId,
    },
    /// A node cannot move into a graph that is part of itself.
    #[error("{node} cannot move into {graph}, which is part of it")]
    IntoItself {
        /// The node.
        node: NodeId,
        /// The graph.
        graph: GraphId,
    },
}

impl Model {
    /// Makes a value that nothing defines yet. An empty name is filled in when the model is written.
    pub fn new_value(&mut self, name: Symbol) -> ValueId {
        self.new_value_in(self.main, name)
    }

    /// Makes a value that nothing defines yet and that belongs to the names of `graph`.
    pub fn new_value_in(&mut self, graph: GraphId, name: Symbol) -> ValueId {
        self.names_touched = true;
        self.values.insert(Value::new(name, Def::Unresolved(graph)))
    }

    /// Puts a node into a graph.
    ///
    /// # Errors
    ///
    /// When a key is of no use: an input or output that is gone, an output that is defined already, a nested graph that
    /// belongs to another node.
    pub fn add_node(&mut self, at: Position, new: NewNode) -> Result<NodeId, EditError> {
        self.check_position(at)?;
        let gone = |value: &ValueId| !self.values.contains_key(*value);
        if new.inputs.iter().flatten().any(gone) {
            return Err(EditError::Gone);
        }
        for (position, &output) in new.outputs.iter().enumerate() {
            let Some(value) = output else { continue };
            let record = self.values.get(value).ok_or(EditError::Gone)?;
            let twice = new.outputs.iter().take(position).any(|&other| other == output);
            if twice || !matches!(record.def, Def::Unresolved(_)) {
                return Err(EditError::AlreadyDefined { value });
            }
        }
        for graph in new.attributes.iter().flat_map(|attribute| attribute.value().graphs()) {
            match self.graphs.get(*graph).map(Graph::owner) {
                None => return Err(EditError::Gone),
                Some(Owner::Detached) => {}
                Some(_) => return Err(EditError::AlreadyOwned { graph: *graph }),
            }
        }
        Ok(self.insert_node(at, new))
    }

    fn insert_node(&mut self, at: Position, new: NewNode) -> NodeId {
        let (graph, prev, next) = self.neighbours(at);
        let node = self.nodes.insert(Node {
            op: new.op,
            domain: new.domain,
            overload: new.overload,
            name: new.name,
            inputs: new.inputs.iter().map(|_| Operand::ABSENT).collect(),
            outputs: new.outputs.iter().copied().collect(),
            attributes: new.attributes,
            extras: new.extras,
            mask: new.mask,
            graph,
            prev: None,
            next: None,
            order: 0,
        });
        for (index, &input) in new.inputs.iter().enumerate() {
            if let Some(value) = input {
                let slot = self.link_use(value, User::Node(node), index as u32);
                self.nodes[node].inputs[index] = Operand { value: input, slot };
            }
        }
        for (index, &output) in new.outputs.iter().enumerate() {
            if let Some(value) = output {
                self.values[value].def = Def::Output { node, index: index as u32 };
            }
        }
        for position in 0..self.nodes[node].attributes.len() {
            self.own_graphs(node, position);
        }
        self.link(node, graph, prev, next);
        self.names_touched = true;
        node
    }

    /// Makes the nested graphs of an attribute part of its node.
    pub(crate) fn own_graphs(&mut self, node: NodeId, position: usize) {
        for &nested in self.nodes[node].attributes[position].value().graphs() {
            self.graphs[nested].owner = Owner::Node(node);
        }
    }

    fn check_position(&self, at: Position) -> Result<(), EditError> {
        let there = match at {
            Position::Start(graph) | Position::End(graph) => self.graphs.contains_key(graph),
            Position::Before(node) | Position::After(node) => self.nodes.contains_key(node),
        };
        if there { Ok(()) } else { Err(EditError::Gone) }
    }

    /// Adds an output to a node: a new value, which is returned.
    ///
    /// # Panics
    ///
    /// When the node is not of this model or was erased.
    pub fn push_output(&mut self, node: NodeId, name: Symbol) -> ValueId {
        let index = self.nodes[node].outputs.len() as u32;
        let value = self.values.insert(Value::new(name, Def::Output { node, index }));
        self.nodes[node].outputs.push(Some(value));
        self.names_touched = true;
        value
    }

    /// Leaves out an output of a node; its value is gone.
    ///
    /// # Errors
    ///
    /// When the value is still used.
    ///
    /// # Panics
    ///
    /// When the node is not of this model, was erased, or has no such output.
    pub fn clear_output(&mut self, node: NodeId, index: usize) -> Result<(), EditError> {
        if let Some(value) = self.nodes[node].outputs[index] {
            self.refuse_used(value)?;
            self.values.remove(value);
            self.nodes[node].outputs[index] = None;
        }
        Ok(())
    }

    fn refuse_used(&self, value: ValueId) -> Result<(), EditError> {
        match self.values.get(value).map_or(0, |record| record.uses.len()) {
            0 => Ok(()),
            uses => Err(EditError::StillUsed { value, uses }),
        }
    }

    /// Erases a node with its outputs and nested graphs.
    ///
    /// # Errors
    ///
    /// When an output is still used, or the node is gone already.
    pub fn erase_node(&mut self, node: NodeId) -> Result<(), EditError> {
        let record = self.nodes.get(node).ok_or(EditError::Gone)?;
        for &value in record.outputs.iter().flatten() {
            self.refuse_used(value)?;
        }
        self.unlink(node);
        let mut graphs = Vec::new();
        self.drop_node(node, &mut graphs);
        self.drop_graphs(graphs);
        Ok(())
    }

    /// Removes a node that is in no list any more; its nested graphs are left to the caller.
    fn drop_node(&mut self, node: NodeId, nested: &mut Vec<GraphId>) {
        let Some(record) = self.nodes.remove(node) else { return };
        for operand in &record.inputs {
            // A value that is dropped together with its users may be gone already.
            if let Some(value) = operand.value.filter(|&value| self.values.contains_key(value)) {
                self.unlink_use(value, operand.slot);
            }
        }
        for &value in record.outputs.iter().flatten() {
            self.values.remove(value);
        }
        nested.extend(record.nested_graphs());
    }

    /// Removes graphs with everything in them; nothing outside may use their values.
    pub(crate) fn drop_graphs(&mut self, mut graphs: Vec<GraphId>) {
        while let Some(graph) = graphs.pop() {
            // Users go before definitions: outputs first, then nodes from the end.
            for index in (0..self.graphs[graph].outputs.len()).rev() {
                let output = &self.graphs[graph].outputs[index];
                let (value, slot) = (output.value, output.slot);
                if self.values.contains_key(value) {
                    self.unlink_use(value, slot);
                }
                self.graphs[graph].outputs.pop();
            }
            while let Some(node) = self.graphs[graph].last {
                self.unlink(node);
                let mut nested = Vec::new();
                self.drop_node(node, &mut nested);
                graphs.append(&mut nested);
            }
            if let Some(record) = self.graphs.remove(graph) {
                for value in record.inputs.into_iter().chain(record.initializers) {
                    self.values.remove(value);
                }
            }
        }
    }

    /// Moves a node to another place, in the same graph or another one. Its nested graphs go with it.
    ///
    /// Nothing checks that the inputs of the node are visible and defined before the new place: see
    /// [`Model::verify`](crate::Model::verify) and [`Model::sort`](crate::Model::sort).
    ///
    /// # Errors
    ///
    /// When a key is gone, or the place lies inside the node's own nested graphs.
    pub fn move_node(&mut self, node: NodeId, at: Position) -> Result<(), EditError> {
        self.check_position(at)?;
        let record = self.nodes.get(node).ok_or(EditError::Gone)?;
        if matches!(at, Position::Before(anchor) | Position::After(anchor) if anchor == node) {
            return Ok(());
        }
        let (graph, ..) = self.neighbours(at);
        if graph != record.graph {
            if record.nested_graphs().any(|nested| self.is_inside(graph, nested)) {
                return Err(EditError::IntoItself { node, graph });
            }
            self.names_touched = true;
        }
        self.unlink(node);
        // The neighbours are looked up anew, as the node itself may have been one of them.
        let (graph, prev, next) = self.neighbours(at);
        self.link(node, graph, prev, next);
        Ok(())
    }

    /// Makes a graph that belongs to nothing yet, such as the body of a node that is about to be made.
    pub fn new_graph(&mut self, name: Symbol) -> GraphId {
        let graph = self.graphs.insert(Graph::new(Owner::Detached));
        self.graphs[graph].name = name;
        graph
    }

    /// Changes the name of a graph.
    ///
    /// # Panics
    ///
    /// When the graph is not of this model or was removed.
    pub fn set_graph_name(&mut self, graph: GraphId, name: Symbol) {
        self.graphs[graph].name = name;
    }

    /// Sets what a graph belongs to, for decoders.
    pub(crate) fn set_owner(&mut self, graph: GraphId, owner: Owner) {
        self.graphs[graph].owner = owner;
    }

    /// Makes an unresolved value an input of a graph.
    ///
    /// # Errors
    ///
    /// When the value is gone or has a definition.
    ///
    /// # Panics
    ///
    /// When the graph is not of this model or was removed.
    pub fn push_graph_input(&mut self, graph: GraphId, value: ValueId) -> Result<(), EditError> {
        let index = self.graphs[graph].inputs.len() as u32;
        self.define(value, Def::Input { graph, index })?;
        self.graphs[graph].inputs.push(value);
        Ok(())
    }

    /// Takes an input away from its graph. The value stays, unresolved or as a mere initializer.
    ///
    /// # Panics
    ///
    /// When the graph is not of this model or has no such input.
    pub fn remove_graph_input(&mut self, graph: GraphId, index: usize) -> ValueId {
        let value = self.graphs[graph].inputs.remove(index);
        let record = &mut self.values[value];
        record.def =
            if record.constant.is_some() { Def::Initializer(graph) } else { Def::Unresolved(graph) };
        for position in index..self.graphs[graph].inputs.len() {
            let later = self.graphs[graph].inputs[position];
            self.values[later].def = Def::Input { graph, index: position as u32 };
        }
        value
    }

    fn define(&mut self, value: ValueId, def: Def) -> Result<(), EditError> {
        let record = self.values.get_mut(value).ok_or(EditError::Gone)?;
        if !matches!(record.def, Def::Unresolved(_)) {
            return Err(EditError::AlreadyDefined { value });
        }
        record.def = def;
        self.names_touched = true;
        Ok(())
    }

    /// Adds an output to a graph.
    ///
    /// # Panics
    ///
    /// When the graph or the value is not of this model or was erased.
    pub fn push_graph_output(&mut self, graph: GraphId, value: ValueId) {
        let index = self.graphs[graph].outputs.len() as u32;
        let slot = self.link_use(value, User::Graph(graph), index);
        self.graphs[graph].outputs.push(GraphOutput { value, slot, own: None });
        self.names_touched = true;
    }

    /// Removes an output of a graph; the later ones move up.
    ///
    /// # Panics
    ///
    /// When the graph is not of this model or has no such output.
    pub fn remove_graph_output(&mut self, graph: GraphId, index: usize) {
        let output = &self.graphs[graph].outputs[index];
        let (value, slot) = (output.value, output.slot);
        self.unlink_use(value, slot);
        self.graphs[graph].outputs.remove(index);
        for position in index..self.graphs[graph].outputs.len() {
            let later = &self.graphs[graph].outputs[position];
            let (value, slot) = (later.value, later.slot);
            self.values[value].uses[slot as usize].index = position as u32;
        }
    }

    /// Makes an initializer, and the value that it defines.
    ///
    /// # Panics
    ///
    /// When the graph is not of this model or was removed.
    pub fn add_initializer(
        &mut self,
        graph: GraphId,
        name: Symbol,
        constant: impl Into<Constant>,
    ) -> ValueId {
        let value = self.new_value_in(graph, name);
        self.set_initializer(graph, value, Some(Arc::new(constant.into())));
        value
    }

    /// Makes a value an initializer of `graph` with the given content, or no initializer any more.
    ///
    /// An input of `graph` becomes an input with a default; an unresolved value becomes an initializer. Values that nodes
    /// define, and values of other graphs, are left as they are.
    ///
    /// # Panics
    ///
    /// When the graph or the value is not of this model or was erased.
    pub fn set_initializer(&mut self, graph: GraphId, value: ValueId, constant: Option<Arc<Constant>>) {
        let record = &mut self.values[value];
        let had = record.constant.is_some();
        let def = match record.def {
            Def::Unresolved(_) if constant.is_some() => Def::Initializer(graph),
            Def::Initializer(owner) if owner == graph && constant.is_none() => Def::Unresolved(graph),
            Def::Initializer(owner) | Def::Input { graph: owner, .. } if owner == graph => record.def,
            _ => return,
        };
        record.def = def;
        let has = constant.is_some();
        record.constant = constant;
        if has && !had {
            self.graphs[graph].initializers.push(value);
        } else if had && !has {
            self.graphs[graph].initializers.retain(|&other| other != value);
        }
        self.names_touched = true;
    }

    /// Removes a value that nothing uses and no node or graph input defines: an initializer or an unresolved value.
    ///
    /// # Errors
    ///
    /// When the value is used, is gone already, or is defined by a node or a graph input.
    pub fn erase_value(&mut self, value: ValueId) -> Result<(), EditError> {
        let record = self.values.get(value).ok_or(EditError::Gone)?;
        self.refuse_used(value)?;
        match record.def {
            Def::Unresolved(_) => {}
            Def::Initializer(graph) => self.forget_initializer(graph),
            Def::Input { .. } | Def::Output { .. } => return Err(EditError::AlreadyDefined { value }),
        }
        self.values.remove(value);
        Ok(())
    }

    /// Counts a key in a list of initializers that is about to be stale, and tidies the list when half of it is.
    fn forget_initializer(&mut self, graph: GraphId) {
        let record = &mut self.graphs[graph];
        record.stale_initializers += 1;
        if record.stale_initializers * 2 > record.initializers.len() {
            let values = &self.values;
            record.initializers.retain(|&value| values.contains_key(value));
            // The value that is being erased is still there: it is the one stale key that remains.
            record.stale_initializers = 1;
        }
    }

    /// Sets or removes the type of a value.
    ///
    /// A node output with a type is listed in `value_info` when the model is written.
    ///
    /// # Panics
    ///
    /// When the value is not of this model or was erased.
    pub fn set_type(&mut self, value: ValueId, ty: Option<impl Into<Arc<Type>>>) {
        self.values[value].ty = ty.map(Into::into);
    }

    /// Changes the name of a value; its uses follow, as they hold no names.
    ///
    /// # Panics
    ///
    /// When the value is not of this model or was erased.
    pub fn set_value_name(&mut self, value: ValueId, name: Symbol) {
        let record = &mut self.values[value];
        record.name = name;
        record.flags.set(ValueFlags::NAME_AS_READ, false);
        self.names_touched = true;
    }

    /// Gives the name of `from` to `to`, and the name of `to` to `from`: what to do before `to` replaces `from` as an
    /// output of a graph whose callers know it by name.
    ///
    /// # Panics
    ///
    /// When a value is not of this model or was erased.
    pub fn take_name(&mut self, to: ValueId, from: ValueId) {
        let (old, new) = (self.values[to].name, self.values[from].name);
        self.set_value_name(to, new);
        self.set_value_name(from, old);
    }

    /// Lists a value in `value_info` of a graph; `own` is what the entry says where it differs from the value.
    ///
    /// # Panics
    ///
    /// When the graph or the value is not of this model or was erased.
    pub fn push_value_info(&mut self, graph: GraphId, value: ValueId, own: Option<Box<OwnInfo>>) {
        self.values[value].flags.set(ValueFlags::IN_VALUE_INFO, true);
        self.graphs[graph].value_info.push(InfoEntry { value, own });
    }

    /// Makes a function with an empty body.
    pub fn add_function(&mut self, domain: Symbol, name: Symbol, overload: Symbol) -> FunctionId {
        let body = self.graphs.insert(Graph::new(Owner::Detached));
        let function = self.functions.insert(Function {
            name,
            domain,
            overload,
            body,
            attributes: Vec::new(),
            defaults: Vec::new(),
            opset_imports: Vec::new(),
            doc: Symbol::EMPTY,
            metadata: Vec::new(),
            mask: onnx_types::FieldMask::NONE,
            unknown: Vec::new(),
        });
        self.graphs[body].owner = Owner::Function(function);
        self.function_order.push(function);
        let key = (onnx_schema::normalize_domain(domain), name, overload);
        self.function_index.entry(key).or_insert(function);
        function
    }

    /// Removes a function with its body; calls of it stay, and mean nothing the model defines any more.
    ///
    /// # Errors
    ///
    /// When the function is gone already.
    pub fn remove_function(&mut self, function: FunctionId) -> Result<(), EditError> {
        let record = self.functions.remove(function).ok_or(EditError::Gone)?;
        self.function_order.retain(|&other| other != function);
        let mut graphs = vec![record.body];
        graphs.extend(record.defaults.iter().flat_map(|default| default.value().graphs()));
        self.drop_graphs(graphs);
        let key = (record.domain(), record.name, record.overload);
        if self.function_index.get(&key) == Some(&function) {
            self.function_index.remove(&key);
            let twin = self.function_order.iter().copied().find(|&other| {
                let other = &self.functions[other];
                (other.domain(), other.name, other.overload) == key
            });
            if let Some(twin) = twin {
                self.function_index.insert(key, twin);
            }
        }
        Ok(())
    }
}
