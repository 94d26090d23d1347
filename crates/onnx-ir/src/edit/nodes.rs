//! Making, moving and erasing nodes.

use onnx_types::Symbol;
use smallvec::SmallVec;

use crate::attr::Attribute;
use crate::changes::Aspects;
use crate::edit::EditError;
use crate::entity::{GraphId, NodeId, ValueId};
use crate::graph::Owner;
use crate::model::Model;
use crate::node::{NewNode, Node, Operand};
use crate::order::Position;
use crate::value::{Def, User, Value};

impl Model {
    /// Puts a node into a graph.
    ///
    /// # Errors
    ///
    /// Returns an error if a key is unusable: an input or output that is gone, an output that is defined already, a
    /// nested graph that belongs to another node.
    pub fn add_node(&mut self, at: Position, new: NewNode) -> Result<NodeId, EditError> {
        self.check_position(at)?;
        let gone = |value: &ValueId| !self.values.contains_key(*value);
        if new.inputs.iter().flatten().any(gone) {
            return Err(EditError::Gone);
        }
        for &value in new.outputs.iter().flatten() {
            let record = self.values.get(value).ok_or(EditError::Gone)?;
            if !matches!(record.def, Def::Unresolved(_)) {
                return Err(EditError::AlreadyDefined { value });
            }
        }
        if let Some(value) = first_repeated(new.outputs.iter().flatten().copied()) {
            return Err(EditError::AlreadyDefined { value });
        }
        let (graph, ..) = self.neighbours(at);
        self.check_adoptable(graph, &new.attributes)?;
        Ok(self.insert_node(at, new))
    }

    /// Whether the nested graphs of attributes can become part of a node in `place`, and the values that they name exist.
    pub(super) fn check_adoptable(&self, place: GraphId, attributes: &[Attribute]) -> Result<(), EditError> {
        let mut named = attributes.iter().flat_map(|attribute| attribute.value().values());
        if !named.all(|&value| self.values.contains_key(value)) {
            return Err(EditError::Gone);
        }
        let graphs = || attributes.iter().flat_map(|attribute| attribute.value().graphs()).copied();
        if graphs().next().is_none() {
            return Ok(());
        }
        // A detached graph is the outermost one around everything in it.
        let root = self.root(place);
        for graph in graphs() {
            match self.graphs.get(graph).ok_or(EditError::Gone)?.owner {
                Owner::Detached if graph == root => return Err(EditError::AroundItself { graph }),
                Owner::Detached => {}
                _ => return Err(EditError::AlreadyOwned { graph }),
            }
        }
        first_repeated(graphs()).map_or(Ok(()), |graph| Err(EditError::AlreadyOwned { graph }))
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
            name_slots: Box::default(),
            extras: new.extras,
            forms: new.forms,
            graph,
            prev: None,
            next: None,
            order: 0,
        });
        self.provenance.forget_node(node);
        self.record(node, Aspects::CREATED);
        for (index, &input) in new.inputs.iter().enumerate() {
            if let Some(value) = input {
                let slot = self.link_use(value, User::Node(node), index as u32);
                self.nodes[node].inputs[index] = Operand { value: input, slot };
            }
        }
        for (index, &output) in new.outputs.iter().enumerate() {
            if let Some(value) = output {
                self.values[value].def = Def::Output { node, index: index as u32 };
                self.record(value, Aspects::DEFINITION);
            }
        }
        for position in 0..self.nodes[node].attributes.len() {
            self.own_graphs(node, position);
        }
        self.link_named(node);
        self.resolve_named(node);
        self.link(node, graph, prev, next);
        self.names_touched = true;
        node
    }

    /// Makes the nested graphs of an attribute part of its node.
    pub(crate) fn own_graphs(&mut self, node: NodeId, position: usize) {
        let nested = self.nodes[node].attributes[position].value().graphs().to_vec();
        for graph in nested {
            self.set_owner(graph, Owner::Node(node));
        }
    }

    pub(crate) fn check_position(&self, at: Position) -> Result<(), EditError> {
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
    /// Panics if the node is not of this model or was erased.
    pub fn push_output(&mut self, node: NodeId, name: Symbol) -> ValueId {
        let index = self.nodes[node].outputs.len() as u32;
        let value = self.values.insert(Value::new(name, Def::Output { node, index }));
        self.nodes[node].outputs.push(Some(value));
        self.names_touched = true;
        self.record(node, Aspects::OUTPUTS);
        self.record(value, Aspects::CREATED);
        value
    }

    /// Leaves out an output of a node; its value is gone.
    ///
    /// # Errors
    ///
    /// Returns an error if the value is still used.
    ///
    /// # Panics
    ///
    /// Panics if the node is not of this model, was erased, or has no such output.
    pub fn clear_output(&mut self, node: NodeId, index: usize) -> Result<(), EditError> {
        if let Some(value) = self.nodes[node].outputs[index] {
            self.refuse_used(value)?;
            self.values.remove(value);
            self.nodes[node].outputs[index] = None;
            self.record(node, Aspects::OUTPUTS);
            self.record(value, Aspects::ERASED);
        }
        Ok(())
    }

    pub(super) fn refuse_used(&self, value: ValueId) -> Result<(), EditError> {
        match self.values.get(value).map_or(0, |record| record.uses.len()) {
            0 => Ok(()),
            uses => Err(EditError::StillUsed { value, uses }),
        }
    }

    /// Erases a node with its outputs and nested graphs.
    ///
    /// # Errors
    ///
    /// Returns an error if an output is still used, or the node is gone already.
    pub fn erase_node(&mut self, node: NodeId) -> Result<(), EditError> {
        let record = self.nodes.get(node).ok_or(EditError::Gone)?;
        for &value in record.outputs.iter().flatten() {
            self.refuse_used(value)?;
        }
        let graph = record.graph;
        self.unlink(node);
        self.release_operands(node);
        self.record(graph, Aspects::REMOVALS);
        if let Some(record) = self.nodes.remove(node) {
            self.record(node, Aspects::ERASED);
            for &value in record.outputs.iter().flatten() {
                self.values.remove(value);
                self.record(value, Aspects::ERASED);
            }
            let nested = record.nested_graphs().collect();
            self.drop_graphs(nested);
        }
        Ok(())
    }

    /// Lets other values take the place of a node's outputs, and erases the node with its nested graphs.
    ///
    /// `with` holds one value per output, in order; `None` where the output has no use. Outputs of the main graph and of
    /// functions keep their names where they can: see [`Model::replace_value`], and ask [`Model::can_replace`] before.
    ///
    /// # Errors
    ///
    /// Returns an error if the node or a value is gone, or an output that is used gets no replacement, or one of the
    /// node's own outputs. The model is unchanged then.
    pub fn replace_node(&mut self, node: NodeId, with: &[Option<ValueId>]) -> Result<(), EditError> {
        let outputs = self.nodes.get(node).ok_or(EditError::Gone)?.outputs.clone();
        for (index, value) in outputs.iter().enumerate() {
            let Some(value) = *value else { continue };
            match with.get(index).copied().flatten() {
                None => self.refuse_used(value)?,
                Some(new) => match self.values.get(new).ok_or(EditError::Gone)?.def {
                    Def::Output { node: maker, .. } if maker == node => self.refuse_used(value)?,
                    _ => {}
                },
            }
        }
        for (old, new) in outputs.iter().zip(with) {
            if let (Some(old), Some(new)) = (*old, *new) {
                self.replace_value(old, new);
            }
        }
        self.erase_node(node)
    }

    /// Removes a node from the use lists of its inputs and of the values that its attributes name.
    fn release_operands(&mut self, node: NodeId) {
        self.unlink_named(node);
        for index in 0..self.nodes[node].inputs.len() {
            let operand = std::mem::replace(&mut self.nodes[node].inputs[index], Operand::ABSENT);
            if let Some(value) = operand.value {
                self.unlink_use(value, operand.slot);
            }
        }
    }

    /// Removes the outputs of a graph, and so its uses of values.
    pub(crate) fn release_outputs(&mut self, graph: GraphId) {
        while let Some(output) = self.graphs[graph].outputs.last() {
            let (value, slot) = (output.value, output.slot);
            self.unlink_use(value, slot);
            self.graphs[graph].outputs.pop();
        }
    }

    /// Removes graphs with everything in them.
    ///
    /// A value in them that is used from outside, which only a faulty model does, stays as an unresolved value of the main
    /// graph: no operand ever refers to a value that is gone.
    pub(crate) fn drop_graphs(&mut self, mut graphs: Vec<GraphId>) {
        // Uses go before definitions, in all graphs, as nested graphs use what outer ones define.
        let mut position = 0;
        while let Some(&graph) = graphs.get(position) {
            position += 1;
            if !self.graphs.contains_key(graph) {
                continue;
            }
            self.release_outputs(graph);
            let mut at = self.graphs[graph].first;
            while let Some(node) = at {
                self.release_operands(node);
                graphs.extend(self.nodes[node].nested_graphs());
                at = self.nodes[node].next;
            }
        }
        for graph in graphs {
            let Some(record) = self.graphs.remove(graph) else { continue };
            self.record(graph, Aspects::ERASED);
            let mut at = record.first;
            while let Some((key, node)) = at.and_then(|key| Some((key, self.nodes.remove(key)?))) {
                at = node.next;
                self.record(key, Aspects::ERASED);
                node.outputs.iter().flatten().for_each(|&value| self.drop_value(value));
            }
            record.inputs.into_iter().chain(record.initializers).for_each(|value| self.drop_value(value));
        }
    }

    /// Removes a value whose definition goes, or leaves it unresolved where something still uses it.
    fn drop_value(&mut self, value: ValueId) {
        if let Some(record) = self.values.get_mut(value) {
            if record.uses.is_empty() {
                self.values.remove(value);
                self.record(value, Aspects::ERASED);
            } else {
                record.def = Def::Unresolved(self.main);
                let had = record.constant.take().is_some();
                self.names_touched = true;
                self.record(value, Aspects::DEFINITION | Aspects::CONSTANT.when(had));
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
    /// Returns an error if a key is gone, or the place lies inside the node's own nested graphs.
    pub fn move_node(&mut self, node: NodeId, at: Position) -> Result<(), EditError> {
        self.check_position(at)?;
        let record = self.nodes.get(node).ok_or(EditError::Gone)?;
        if matches!(at, Position::Before(anchor) | Position::After(anchor) if anchor == node) {
            return Ok(());
        }
        let (graph, prev, next) = self.neighbours(at);
        if prev == Some(node) || next == Some(node) {
            return Ok(());
        }
        if graph != record.graph && record.nested_graphs().any(|nested| self.is_inside(graph, nested)) {
            return Err(EditError::IntoItself { node, graph });
        }
        // A move within one graph counts as well: a name that a file defines twice may refer to the last definition.
        self.names_touched = true;
        let old = record.graph;
        self.record(old, Aspects::REMOVALS.when(graph != old));
        self.unlink(node);
        // The neighbors are looked up again, as the node itself may have been one of them.
        let (graph, prev, next) = self.neighbours(at);
        self.link(node, graph, prev, next);
        self.record(node, Aspects::POSITION);
        self.set_nested_scopes(node);
        Ok(())
    }
}

/// The first element that occurs in a list twice.
fn first_repeated<T: Copy + Ord>(list: impl Iterator<Item = T>) -> Option<T> {
    let mut list: SmallVec<[T; 4]> = list.collect();
    list.sort_unstable();
    list.windows(2).find_map(|pair| match *pair {
        [a, b] if a == b => Some(a),
        _ => None,
    })
}
