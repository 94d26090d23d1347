//! Copying graphs inside a model, and moving the contents of one graph into another: what inlining is made of.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use onnx_types::Symbol;
use smallvec::SmallVec;

use crate::attr::{AttrValue, Attribute};
use crate::changes::Aspects;
use crate::edit::EditError;
use crate::entity::{GraphId, NodeId, ValueId};
use crate::extras::Extras;
use crate::graph::{Graph, Owner};
use crate::model::Model;
use crate::node::{NewNode, Node, Operand};
use crate::order::Position;
use crate::value::{Def, InfoEntry, User, Value};

mod map;

pub use map::CopyMap;

/// The copies of graphs.
type Copies = HashMap<GraphId, GraphId, RandomState>;

impl Model {
    /// Copies a graph with everything nested in it; the copy is detached. Weights are shared, not copied.
    ///
    /// Outer values that it uses are replaced as specified by `map`. Names are also copied; writing the model resolves
    /// collisions.
    ///
    /// # Errors
    ///
    /// Returns an error if the graph, or a value that `map` inserts, is gone, or if `map` omits a value that is an
    /// output of a graph.
    pub fn copy_graph(&mut self, graph: GraphId, map: &mut CopyMap) -> Result<GraphId, EditError> {
        self.graphs.get(graph).ok_or(EditError::Gone)?;
        let copy = self.new_graph_in(graph, Symbol::EMPTY);
        let mut pairs = vec![(graph, copy)];
        self.copy_shells(&mut pairs, 0, map);
        let made = self.copy_contents(&pairs, map);
        if made.is_err() {
            self.drop_copies(&pairs, map);
        }
        made.map(|()| copy)
    }

    /// Copies the nodes and initializers of a graph, with everything nested in them, to a place in another one or the same.
    /// Weights are shared, not copied.
    ///
    /// Inputs of `graph` must be mapped to other values by the caller, or else the copies use the inputs themselves. Where
    /// the outputs went, [`CopyMap::get`] tells. Returns the new nodes of the outermost level, in order.
    ///
    /// # Errors
    ///
    /// Returns an error if the graph, the insertion point, or a value that `map` inserts, is gone, or if `map` omits a
    /// value that is an output of a graph.
    pub fn copy_nodes(
        &mut self,
        graph: GraphId,
        at: Position,
        map: &mut CopyMap,
    ) -> Result<Vec<NodeId>, EditError> {
        self.check_position(at)?;
        self.graphs.get(graph).ok_or(EditError::Gone)?;
        if let Some(nodes) = self.flat_nodes(graph, map) {
            self.copy_flat(graph, &nodes, at, map)?;
            return Ok(map.nodes.iter().rev().take(nodes.len()).rev().map(|&(_, copy)| copy).collect());
        }
        // A detached graph takes the copies first: its nodes then move, so that a copy in place cannot meet itself.
        let (target, ..) = self.neighbours(at);
        let shell = self.new_graph_in(target, Symbol::EMPTY);
        let mut pairs = vec![(graph, shell)];
        self.copy_level(graph, shell, &mut pairs, map);
        self.copy_shells(&mut pairs, 1, map);
        if let Err(error) = self.copy_contents(&pairs, map) {
            self.drop_copies(&pairs, map);
            return Err(error);
        }
        let nodes = self.nodes(shell).collect();
        self.release_outputs(shell);
        self.splice(shell, at)?;
        self.graphs.remove(shell);
        self.record(shell, Aspects::ERASED);
        Ok(nodes)
    }

    /// The nodes of a graph if nothing else is in it: no initializers, annotations, nested graphs, and attributes that name values.
    fn flat_nodes(&self, graph: GraphId, map: &CopyMap) -> Option<SmallVec<[NodeId; 8]>> {
        let record = &self.graphs[graph];
        let is_flat = record.initializers.is_empty()
            && record.value_info.is_empty()
            && record.info.quantization.is_empty();
        let has_graphs = |attribute: &Attribute| match (attribute.value(), &map.attributes) {
            (AttrValue::Ref(target), Some(actual)) => {
                actual.get(target).is_some_and(|actual| !actual.value().graphs().is_empty())
            }
            (value, _) => !value.graphs().is_empty(),
        };
        if !is_flat {
            return None;
        }
        let nodes: SmallVec<[NodeId; 8]> = self.nodes(graph).collect();
        let is_leaf = |&node: &NodeId| {
            let record = &self.nodes[node];
            record.name_slots.is_empty() && !record.attributes.iter().any(has_graphs)
        };
        nodes.iter().all(is_leaf).then_some(nodes)
    }

    /// Copies nodes without nested graphs, all nodes of a graph, directly to their place.
    fn copy_flat(
        &mut self,
        graph: GraphId,
        nodes: &[NodeId],
        at: Position,
        map: &mut CopyMap,
    ) -> Result<(), EditError> {
        let is_here = |node: NodeId| self.nodes[node].graph == graph;
        for output in &self.graphs[graph].outputs {
            if !self.values[output.value].producer().is_some_and(is_here) {
                let value = map.operand(output.value);
                let value = value.ok_or(EditError::NotMapped { value: output.value })?;
                self.values.get(value).ok_or(EditError::Gone)?;
            }
        }
        for input in nodes.iter().flat_map(|&node| self.nodes[node].inputs()).flatten() {
            if map.operand(input).is_some_and(|value| !self.values.contains_key(value)) {
                // The copy of a node of the graph takes the place of a value that is gone.
                if !self.values[input].producer().is_some_and(is_here) {
                    return Err(EditError::Gone);
                }
            }
        }
        let (target, mut prev, next) = self.neighbours(at);
        for &node in nodes {
            for index in 0..self.nodes[node].outputs.len() {
                if let Some(value) = self.nodes[node].outputs[index] {
                    self.copy_value(value, Def::Unresolved(target), map);
                }
            }
        }
        let mut orders = self.orders_between(prev, next, nodes.len());
        for &node in nodes {
            let copy = self.copy_leaf(node, target, map);
            match orders.next() {
                Some(order) => self.link_with(copy, target, (prev, next), order),
                None => self.link(copy, target, prev, next),
            }
            prev = Some(copy);
        }
        Ok(())
    }

    /// Copies a node without nested graphs whose outputs have copies. The copy is in no list yet.
    fn copy_leaf(&mut self, node: NodeId, target: GraphId, map: &mut CopyMap) -> NodeId {
        let record = &self.nodes[node];
        let operand = |value: Option<ValueId>| value.and_then(|value| map.operand(value));
        let inputs = record.inputs().map(|value| Operand { value: operand(value), slot: 0 }).collect();
        let resolved = |attribute: &Attribute| match (attribute.value(), &map.attributes) {
            (AttrValue::Ref(target), Some(actual)) => {
                let value = actual.get(target)?.value().clone();
                Some(attribute.resolved(attribute.name(), value))
            }
            _ => Some(attribute.clone()),
        };
        let new = Node {
            op: record.op,
            domain: record.domain,
            overload: record.overload,
            name: record.name,
            inputs,
            outputs: record.outputs.iter().map(|value| value.map(|value| map.get(value))).collect(),
            attributes: record.attributes.iter().filter_map(resolved).collect(),
            name_slots: Box::default(),
            extras: record.extras.as_deref().map(|extras| Box::new(copy_extras(extras, map))),
            forms: record.forms,
            graph: target,
            prev: None,
            next: None,
            order: 0,
        };
        let copy = self.nodes.insert(new);
        self.record(copy, Aspects::CREATED);
        for index in 0..self.nodes[copy].inputs.len() {
            if let Some(value) = self.nodes[copy].inputs[index].value {
                let slot = self.link_use(value, User::Node(copy), index as u32);
                self.nodes[copy].inputs[index].slot = slot;
            }
        }
        for index in 0..self.nodes[copy].outputs.len() {
            if let Some(value) = self.nodes[copy].outputs[index] {
                self.values[value].def = Def::Output { node: copy, index: index as u32 };
                self.record(value, Aspects::DEFINITION);
            }
        }
        self.set_node_origin(copy, self.node_origin(node));
        map.nodes.push((node, copy));
        copy
    }

    /// Copies some nodes, with everything nested in them, to a place in another graph or the same. Weights are shared, not
    /// copied.
    ///
    /// Operands that other nodes of the list make become those of the copies, and all others are replaced as `map` says. Where
    /// the outputs went, [`CopyMap::get`] returns. Returns the new nodes in the order of the list.
    ///
    /// # Errors
    ///
    /// Returns an error if a node, the place, or a value that `map` puts in, is gone, or an output of a graph is omitted.
    pub fn copy_each(
        &mut self,
        nodes: &[NodeId],
        at: Position,
        map: &mut CopyMap,
    ) -> Result<Vec<NodeId>, EditError> {
        self.check_position(at)?;
        if nodes.iter().any(|&node| self.nodes.get(node).is_none()) {
            return Err(EditError::Gone);
        }
        let (target, ..) = self.neighbours(at);
        let shell = self.new_graph_in(target, Symbol::EMPTY);
        let mut pairs = Vec::new();
        for &node in nodes {
            self.define_copy(node, shell, &mut pairs, map);
        }
        self.copy_shells(&mut pairs, 0, map);
        let copies: Copies = pairs.iter().copied().collect();
        let made = self.copy_contents(&pairs, map);
        let made =
            made.and_then(|()| nodes.iter().try_for_each(|&node| self.copy_node(node, shell, &copies, map)));
        if let Err(error) = made {
            self.drop_copies(&pairs, map);
            let outputs: Vec<ValueId> =
                nodes.iter().flat_map(|&node| self.nodes[node].outputs.iter().flatten().copied()).collect();
            self.drop_graphs(vec![shell]);
            for value in outputs.into_iter().filter_map(|value| map.values.remove(value)?) {
                if matches!(self.values.get(value).map(Value::def), Some(Def::Unresolved(_))) {
                    self.values.remove(value);
                    self.record(value, Aspects::ERASED);
                }
            }
            return Err(error);
        }
        let made = self.nodes(shell).collect();
        self.splice(shell, at)?;
        self.graphs.remove(shell);
        self.record(shell, Aspects::ERASED);
        Ok(made)
    }

    /// Removes incomplete copies, with the outputs of nodes that were not made.
    fn drop_copies(&mut self, pairs: &[(GraphId, GraphId)], map: &mut CopyMap) {
        let nodes = pairs.iter().flat_map(|&(graph, _)| self.nodes(graph));
        let outputs = nodes.flat_map(|node| self.nodes[node].outputs.iter().flatten());
        let copies: Vec<ValueId> = outputs.filter_map(|&value| map.values.remove(value)?).collect();
        self.drop_graphs(pairs.iter().map(|&(_, copy)| copy).collect());
        for value in copies {
            // Those of nodes that were made went with the graphs.
            if matches!(self.values.get(value).map(Value::def), Some(Def::Unresolved(_))) {
                self.values.remove(value);
                self.record(value, Aspects::ERASED);
            }
        }
    }

    /// Makes inputs for the copies in `pairs` from position `from` on, then everything that [`Self::copy_level`] makes.
    fn copy_shells(&mut self, pairs: &mut Vec<(GraphId, GraphId)>, from: usize, map: &mut CopyMap) {
        let mut position = from;
        while let Some(&(graph, copy)) = pairs.get(position) {
            position += 1;
            for index in 0..self.graphs[graph].inputs.len() {
                let input = self.graphs[graph].inputs[index];
                let new = self.copy_value(input, Def::Input { graph: copy, index: index as u32 }, map);
                self.graphs[copy].inputs.push(new);
                if self.values[new].constant.is_some() {
                    self.graphs[copy].initializers.push(new);
                }
            }
            self.copy_level(graph, copy, pairs, map);
        }
    }

    /// Makes the values that a copy defines, and the shells of the graphs nested in its nodes, which are added to `pairs`.
    fn copy_level(
        &mut self,
        graph: GraphId,
        copy: GraphId,
        pairs: &mut Vec<(GraphId, GraphId)>,
        map: &mut CopyMap,
    ) {
        let plain = |&value: &ValueId| matches!(self.values[value].def, Def::Initializer(_));
        let constants: Vec<ValueId> = self.initializers(graph).filter(plain).collect();
        for value in constants {
            let new = self.copy_value(value, Def::Initializer(copy), map);
            self.graphs[copy].initializers.push(new);
        }
        let nodes: Vec<NodeId> = self.nodes(graph).collect();
        for node in nodes {
            self.define_copy(node, copy, pairs, map);
        }
    }

    /// Makes the values that the copy of a node defines, and the shells of the graphs nested in it.
    fn define_copy(
        &mut self,
        node: NodeId,
        copy: GraphId,
        pairs: &mut Vec<(GraphId, GraphId)>,
        map: &mut CopyMap,
    ) {
        for index in 0..self.nodes[node].outputs.len() {
            if let Some(value) = self.nodes[node].outputs[index] {
                self.copy_value(value, Def::Unresolved(copy), map);
            }
        }
        let nested: SmallVec<[GraphId; 2]> = self.nodes[node].nested_graphs().collect();
        for graph in nested {
            let copy = self.graphs.insert(Graph::new(Owner::Detached));
            self.record(copy, Aspects::CREATED);
            pairs.push((graph, copy));
        }
    }

    fn copy_value(&mut self, value: ValueId, def: Def, map: &mut CopyMap) -> ValueId {
        let record = &self.values[value];
        let mut new = Value::new(record.name, def);
        new.ty.clone_from(&record.ty);
        new.constant.clone_from(&record.constant);
        new.extras.clone_from(&record.extras);
        new.flags = record.flags;
        new.flags.set(crate::value::ValueFlags::NAME_AS_READ, false);
        let new = self.values.insert(new);
        map.values.insert(value, Some(new));
        self.record(new, Aspects::CREATED);
        self.names_touched = true;
        new
    }

    /// Fills the copies: nodes, outputs, value infos, annotations.
    fn copy_contents(&mut self, pairs: &[(GraphId, GraphId)], map: &mut CopyMap) -> Result<(), EditError> {
        let copies: Copies = pairs.iter().copied().collect();
        // Inner graphs are filled before the nodes that own them are made.
        for &(graph, copy) in pairs.iter().rev() {
            let nodes: Vec<NodeId> = self.nodes(graph).collect();
            for node in nodes {
                self.copy_node(node, copy, &copies, map)?;
            }
            self.copy_rest(graph, copy, map)?;
        }
        Ok(())
    }

    fn copy_node(
        &mut self,
        node: NodeId,
        copy: GraphId,
        copies: &Copies,
        map: &mut CopyMap,
    ) -> Result<(), EditError> {
        let record = &self.nodes[node];
        let mut new = NewNode {
            op: record.op,
            domain: record.domain,
            overload: record.overload,
            name: record.name,
            inputs: record.inputs().map(|value| map.operand(value?)).collect(),
            outputs: record.outputs.iter().map(|value| value.map(|value| map.get(value))).collect(),
            attributes: record.attributes.clone(),
            forms: record.forms,
            extras: record.extras.as_deref().map(|extras| Box::new(copy_extras(extras, map))),
        };
        let mut attributes = Vec::with_capacity(new.attributes.len());
        for attribute in new.attributes {
            if let Some(attribute) = self.copy_attribute(attribute, copies, map)? {
                attributes.push(attribute);
            }
        }
        new.attributes = attributes;
        let made = self.add_node(Position::End(copy), new)?;
        self.set_node_origin(made, self.node_origin(node));
        map.nodes.push((node, made));
        Ok(())
    }

    /// The attribute with copies of its graphs, and with what a reference stands for; `None` where that is nothing.
    fn copy_attribute(
        &mut self,
        mut attribute: Attribute,
        copies: &Copies,
        map: &mut CopyMap,
    ) -> Result<Option<Attribute>, EditError> {
        if let (AttrValue::Ref(target), Some(actual)) = (attribute.value(), &map.attributes) {
            let Some(actual) = actual.get(target) else { return Ok(None) };
            let value = actual.value().clone();
            return Ok(Some(
                attribute.resolved(attribute.name(), self.with_copied_graphs(value, &mut map.nodes)?),
            ));
        }
        for value in attribute.value_mut().values_mut() {
            *value = map.operand(*value).ok_or(EditError::NotMapped { value: *value })?;
        }
        for graph in graphs_mut(attribute.value_mut()) {
            *graph = copies.get(graph).copied().ok_or(EditError::Gone)?;
        }
        Ok(Some(attribute))
    }

    /// The value with copies of its graphs, whose nodes are added to `nodes`. The arguments of a call are not part of the copied
    /// graph; they see the names around the call.
    pub(crate) fn with_copied_graphs(
        &mut self,
        mut value: AttrValue,
        nodes: &mut Vec<(NodeId, NodeId)>,
    ) -> Result<AttrValue, EditError> {
        for graph in graphs_mut(&mut value) {
            let mut map = CopyMap::new();
            *graph = self.copy_graph(*graph, &mut map)?;
            nodes.append(&mut map.nodes);
        }
        Ok(value)
    }

    fn copy_rest(&mut self, graph: GraphId, copy: GraphId, map: &CopyMap) -> Result<(), EditError> {
        let outputs = self.graphs[graph].outputs.iter().map(|output| {
            let value = map.operand(output.value).ok_or(EditError::NotMapped { value: output.value });
            value.map(|value| (value, output.own.clone()))
        });
        let outputs: Vec<_> = outputs.collect::<Result<_, _>>()?;
        for (index, (value, own)) in outputs.into_iter().enumerate() {
            self.values.get(value).ok_or(EditError::Gone)?;
            self.push_graph_output(copy, value);
            self.graphs[copy].outputs[index].own = own;
        }
        let record = &self.graphs[graph];
        // A value from outside that takes the place of an input has an entry where it is defined, if at all.
        let infos = record.value_info.iter().filter(|entry| {
            let value = map.get(entry.value);
            value != entry.value && self.graph_of(value) == copy
        });
        let value_info =
            infos.map(|entry| InfoEntry { value: map.get(entry.value), own: entry.own.clone() }).collect();
        let mut info = record.info.clone();
        info.quantization.retain(|annotation| !map.omits(annotation.tensor));
        for annotation in &mut info.quantization {
            annotation.parameters.retain(|parameter| !map.omits(parameter.value));
        }
        for annotation in &mut info.quantization {
            annotation.tensor = map.reference(annotation.tensor);
            for parameter in &mut annotation.parameters {
                parameter.value = map.reference(parameter.value);
            }
        }
        let name = record.name;
        let new = &mut self.graphs[copy];
        new.value_info = value_info;
        (new.name, new.info) = (name, info);
        Ok(())
    }

    /// Moves all nodes and initializers of a graph to a place in another graph, in order. Entries of `value_info` and
    /// quantization annotations go with them.
    ///
    /// The graph itself stays, with its inputs and outputs: replace the uses of its inputs before, and those of the values
    /// at its outputs after; then erase the node that owns it.
    ///
    /// # Errors
    ///
    /// Returns an error if a key is gone, or the place lies in the graph itself. The model is unchanged then.
    pub fn splice(&mut self, graph: GraphId, at: Position) -> Result<(), EditError> {
        self.check_position(at)?;
        self.graphs.get(graph).ok_or(EditError::Gone)?;
        let (target, mut prev, next) = self.neighbours(at);
        if self.is_inside(target, graph) {
            return Err(EditError::AroundItself { graph });
        }
        self.names_touched = true;
        self.record(graph, Aspects::REMOVALS.when(self.graphs[graph].first.is_some()));
        while let Some(node) = self.graphs[graph].first {
            self.unlink(node);
            self.link(node, target, prev, next);
            self.record(node, Aspects::POSITION);
            self.set_nested_scopes(node);
            prev = Some(node);
        }
        let constants = std::mem::take(&mut self.graphs[graph].initializers);
        self.graphs[graph].stale_initializers = 0;
        for value in constants {
            match self.values.get_mut(value) {
                Some(record) if matches!(record.def, Def::Initializer(_)) => {
                    record.def = Def::Initializer(target);
                    self.record(value, Aspects::DEFINITION);
                    self.graphs[target].initializers.push(value);
                }
                Some(_) => self.graphs[graph].initializers.push(value),
                None => {}
            }
        }
        let entries = std::mem::take(&mut self.graphs[graph].value_info);
        for entry in entries {
            let stays = matches!(self.values.get(entry.value).map(Value::def), Some(Def::Input { graph: owner, .. }) if owner == graph);
            let home = if stays { graph } else { target };
            if !stays {
                self.record(graph, Aspects::TYPE);
                self.record(target, Aspects::TYPE);
            }
            self.graphs[home].value_info.push(entry);
        }
        let annotations = std::mem::take(&mut self.graphs[graph].info.quantization);
        if !annotations.is_empty() {
            self.record(graph, Aspects::NAME);
            self.record(target, Aspects::NAME);
        }
        self.graphs[target].info.quantization.extend(annotations);
        Ok(())
    }
}

fn graphs_mut(value: &mut AttrValue) -> &mut [GraphId] {
    match value {
        AttrValue::Graph(graph) => std::slice::from_mut(graph),
        AttrValue::Graphs(graphs) => graphs,
        _ => &mut [],
    }
}

fn copy_extras(extras: &Extras, map: &CopyMap) -> Extras {
    let mut extras = extras.clone();
    for configuration in &mut extras.device_configurations {
        for sharding in &mut configuration.shardings {
            sharding.tensor = map.reference(sharding.tensor);
        }
    }
    extras
}
