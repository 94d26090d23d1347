//! Changing what a node or value says: names, attributes, documentation, metadata.

use onnx_types::{FieldForms, Symbol};

use crate::attr::{AttrValue, Attribute};
use crate::changes::{Aspects, Edit};
use crate::edit::EditError;
use crate::entity::{GraphId, NodeId, ValueId};
use crate::extras::Extras;
use crate::graph::Owner;
use crate::model::Model;

impl Model {
    /// Changes the operator that a node calls.
    ///
    /// # Panics
    ///
    /// Panics if the node is not of this model or was erased.
    pub fn set_op(&mut self, node: NodeId, domain: Symbol, op: Symbol, overload: Symbol) {
        let record = &mut self.nodes[node];
        let differs = (record.domain, record.op, record.overload) != (domain, op, overload);
        record.domain = domain;
        record.op = op;
        record.overload = overload;
        self.record(node, Aspects::OPERATOR.when(differs));
        self.resolve_named(node);
    }

    /// Changes the name of a node.
    ///
    /// # Panics
    ///
    /// Panics if the node is not of this model or was erased.
    pub fn set_node_name(&mut self, node: NodeId, name: Symbol) {
        let old = std::mem::replace(&mut self.nodes[node].name, name);
        self.record(node, Aspects::NAME.when(old != name));
    }

    /// Sets an attribute: in place of one with the same name, or at the end. Nested graphs of the old one are removed.
    ///
    /// # Errors
    ///
    /// Returns an error if a nested graph of the attribute is gone or belongs to something else.
    ///
    /// # Panics
    ///
    /// Panics if the node is not of this model or was erased.
    pub fn set_attribute(&mut self, node: NodeId, attribute: Attribute) -> Result<(), EditError> {
        self.check_adoptable(self.nodes[node].graph, std::slice::from_ref(&attribute))?;
        // Equality of attributes is not enough to leave the record out: it takes -0.0 for 0.0.
        self.record(node, Aspects::OPERATOR);
        self.unlink_named(node);
        let attributes = &mut self.nodes[node].attributes;
        let position = match attributes.iter().position(|other| other.name() == attribute.name()) {
            Some(position) => {
                let old = std::mem::replace(&mut attributes[position], attribute);
                self.drop_graphs(old.value().graphs().to_vec());
                position
            }
            None => {
                attributes.push(attribute);
                attributes.len() - 1
            }
        };
        self.own_graphs(node, position);
        self.link_named(node);
        self.resolve_named(node);
        self.names_touched = true;
        Ok(())
    }

    /// Replaces the attribute at a position, whatever the names of both: a file may repeat a name, and
    /// [`Model::set_attribute`] reaches only the first. Nested graphs of the old one are removed.
    ///
    /// # Errors
    ///
    /// Returns an error if a nested graph of the attribute is gone or belongs to something else.
    ///
    /// # Panics
    ///
    /// Panics if the node is not of this model or was erased, or has no attribute at the position.
    pub fn replace_attribute(
        &mut self,
        node: NodeId,
        position: usize,
        attribute: Attribute,
    ) -> Result<(), EditError> {
        self.check_adoptable(self.nodes[node].graph, std::slice::from_ref(&attribute))?;
        self.unlink_named(node);
        let old = std::mem::replace(&mut self.nodes[node].attributes[position], attribute);
        self.record(node, Aspects::OPERATOR);
        self.drop_graphs(old.value().graphs().to_vec());
        self.own_graphs(node, position);
        self.link_named(node);
        self.resolve_named(node);
        self.names_touched = true;
        Ok(())
    }

    /// Removes the attribute with the given name, and its nested graphs; returns `true` if it existed.
    ///
    /// # Panics
    ///
    /// Panics if the node is not of this model or was erased.
    pub fn remove_attribute(&mut self, node: NodeId, name: Symbol) -> bool {
        let attributes = &self.nodes[node].attributes;
        let Some(position) = attributes.iter().position(|attribute| attribute.name() == name) else {
            return false;
        };
        self.unlink_named(node);
        let old = self.nodes[node].attributes.remove(position);
        self.link_named(node);
        self.record(node, Aspects::OPERATOR);
        self.drop_graphs(old.value().graphs().to_vec());
        true
    }

    /// Keeps the attributes of a node for which `keep` says so, in linear time, and returns the number of the others. Nested graphs of
    /// these are removed.
    ///
    /// # Panics
    ///
    /// Panics if the node is not of this model or was erased.
    pub fn retain_attributes(
        &mut self,
        node: NodeId,
        mut keep: impl FnMut(usize, &Attribute) -> bool,
    ) -> usize {
        self.unlink_named(node);
        let mut graphs: Vec<GraphId> = Vec::new();
        let (mut index, mut gone) = (0, 0);
        self.nodes[node].attributes.retain(|attribute| {
            let is_kept = keep(index, attribute);
            index += 1;
            if !is_kept {
                gone += 1;
                graphs.extend_from_slice(attribute.value().graphs());
            }
            is_kept
        });
        self.link_named(node);
        self.record(node, Aspects::OPERATOR.when(gone > 0));
        self.drop_graphs(graphs);
        gone
    }

    /// Takes the nested graph out of an attribute, which is removed; the graph is detached and can be given to another
    /// node.
    ///
    /// # Panics
    ///
    /// Panics if the node is not of this model or was erased.
    pub fn detach_graph(&mut self, node: NodeId, name: Symbol) -> Option<GraphId> {
        let attributes = &mut self.nodes[node].attributes;
        let position = attributes
            .iter()
            .position(|attribute| attribute.name() == name && attribute.as_graph().is_some())?;
        let mut attribute = attributes.remove(position);
        let AttrValue::Graph(graph) = std::mem::replace(attribute.value_mut(), AttrValue::None) else {
            return None;
        };
        self.record(node, Aspects::OPERATOR);
        self.set_owner(graph, Owner::Detached);
        Some(graph)
    }

    /// Documentation, metadata, device configurations and unknown fields of a node, for editing.
    ///
    /// # Panics
    ///
    /// Panics if the node is not of this model or was erased.
    pub fn node_extras_mut(&mut self, node: NodeId) -> Edit<'_, Extras> {
        let extras = self.nodes[node].extras.get_or_insert_default();
        Edit::new(extras.as_mut(), &mut self.changes, node.into())
    }

    /// Sets which fields of a node are written although they hold their default.
    ///
    /// # Panics
    ///
    /// Panics if the node is not of this model or was erased.
    pub fn set_node_forms(&mut self, node: NodeId, forms: FieldForms) {
        let old = std::mem::replace(&mut self.nodes[node].forms, forms);
        self.record(node, Aspects::NAME.when(old != forms));
    }

    /// Documentation, metadata and unknown fields of a value, for editing.
    ///
    /// # Panics
    ///
    /// Panics if the value is not of this model or was erased.
    pub fn value_extras_mut(&mut self, value: ValueId) -> Edit<'_, Extras> {
        let extras = self.values[value].extras.get_or_insert_default();
        Edit::new(extras.as_mut(), &mut self.changes, value.into())
    }
}
