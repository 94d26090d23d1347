//! Attributes that name values: those of `Gradient`, which differentiates the nodes between the values.
//!
//! A name is resolved like an input, and is a use of its value ([`User::Attribute`]): it follows renaming and replacement, keeps
//! what the value is computed by, and counts as a capture. Decoders resolve all names of a model, also those of values that
//! nothing defines. An attribute that is set in memory as a string is resolved where the node sees a value of that name.

use bytes::Bytes;
use onnx_schema::{attr, domain, op};
use onnx_types::{Symbol, raw_text};
use slotmap::SecondaryMap;
use smallvec::SmallVec;

use crate::attr::AttrValue;
use crate::changes::Aspects;
use crate::entity::{NodeId, ValueId};
use crate::model::Model;
use crate::value::User;

/// The attributes of an operator whose strings are names of values. A string that is one is resolved like an input, so that no edit
/// of values can miss it.
///
/// `Gradient` is the only operator of ONNX, and of the operators that onnxruntime adds, with such attributes.
#[must_use]
pub fn naming_attributes(domain: Symbol, op: Symbol) -> &'static [Symbol] {
    if op == op::GRADIENT && domain == domain::PREVIEW_TRAINING {
        return &[attr::XS, attr::ZS, attr::Y];
    }
    &[]
}

impl Model {
    /// Lets an attribute of a node name another value: the one at `index` among [`Node::named_values`](crate::Node::named_values).
    ///
    /// # Panics
    ///
    /// Panics if the node or the value is not of this model or was erased, or the attributes name fewer values.
    pub fn set_named_value(&mut self, node: NodeId, index: usize, value: ValueId) {
        let record = &mut self.nodes[node];
        let slot = record.name_slots[index];
        let mut named = record.attributes.iter_mut().flat_map(|attribute| attribute.value_mut().values_mut());
        let Some(place) = named.nth(index) else { return };
        let old = std::mem::replace(place, value);
        if old == value {
            return;
        }
        self.unlink_use(old, slot);
        let slot = self.link_use(value, User::Attribute(node), index as u32);
        self.nodes[node].name_slots[index] = slot;
        self.record(node, Aspects::OPERANDS);
        self.names_touched = true;
    }

    /// Adds the uses of the values that the attributes of a node name. It has none of them so far.
    pub(crate) fn link_named(&mut self, node: NodeId) {
        let attributes = self.nodes[node].attributes.iter();
        let named: SmallVec<[ValueId; 4]> =
            attributes.flat_map(|attribute| attribute.value().values()).copied().collect();
        if named.is_empty() {
            return;
        }
        let slots = named.iter().enumerate();
        let slots = slots.map(|(index, &value)| self.link_use(value, User::Attribute(node), index as u32));
        self.nodes[node].name_slots = slots.collect();
    }

    /// Removes the uses of the values that the attributes of a node name, before the attributes change.
    pub(crate) fn unlink_named(&mut self, node: NodeId) {
        if self.nodes[node].name_slots.is_empty() {
            return;
        }
        let named: SmallVec<[ValueId; 4]> = self.nodes[node].named_values().collect();
        for (index, value) in named.into_iter().enumerate() {
            // Removing a use can move another one of the same node.
            let slot = self.nodes[node].name_slots[index];
            self.unlink_use(value, slot);
        }
        self.nodes[node].name_slots = Box::default();
    }

    /// Lets the strings in attributes that name values by the operator of the node be the values of these names that the node sees.
    /// A string that is the name of nothing stays a string, and so does the whole list.
    pub(crate) fn resolve_named(&mut self, node: NodeId) {
        let record = &self.nodes[node];
        let naming = naming_attributes(record.domain(), record.op);
        if naming.is_empty() {
            return;
        }
        let graph = record.graph;
        let find = |text: &Bytes| self.find_value(graph, &raw_text::from_bytes(text));
        let resolved: Vec<(usize, AttrValue)> = (record.attributes.iter().enumerate())
            .filter(|(_, attribute)| naming.contains(&attribute.name()))
            .filter_map(|(position, attribute)| Some((position, attribute.value().resolved_by(find)?)))
            .collect();
        if resolved.is_empty() {
            return;
        }
        self.unlink_named(node);
        for (position, value) in resolved {
            *self.nodes[node].attributes[position].value_mut() = value;
        }
        self.link_named(node);
    }

    /// Whether an attribute of a node names the value.
    ///
    /// # Panics
    ///
    /// Panics if the value is not of this model or was erased.
    #[must_use]
    pub fn is_named_by_attribute(&self, value: ValueId) -> bool {
        self.values[value].uses.iter().any(|at| matches!(at.user, User::Attribute(_)))
    }

    /// The values that a `Gradient` differentiates: its `y`, and what that is computed from, up to the values that `xs` and `zs`
    /// name, which are not included. How they are computed from each other is part of what the node computes, not only their
    /// elements. Empty for other nodes.
    ///
    /// # Panics
    ///
    /// Panics if the node is not of this model or was erased.
    #[must_use]
    pub fn differentiated_values(&self, node: NodeId) -> Vec<ValueId> {
        let record = &self.nodes[node];
        if naming_attributes(record.domain(), record.op).is_empty() {
            return Vec::new();
        }
        let named = |name| record.attribute(name).map_or(&[][..], |attribute| attribute.value().values());
        let mut seen: SecondaryMap<ValueId, ()> =
            [attr::XS, attr::ZS].into_iter().flat_map(named).map(|&value| (value, ())).collect();
        let mut found: Vec<ValueId> =
            named(attr::Y).iter().copied().filter(|&value| seen.insert(value, ()).is_none()).collect();
        let mut next = 0;
        while let Some(&value) = found.get(next) {
            next += 1;
            let Some(producer) = self.values[value].producer() else { continue };
            self.for_each_use_within(producer, |operand| {
                if seen.insert(operand, ()).is_none() {
                    found.push(operand);
                }
            });
        }
        found
    }
}
