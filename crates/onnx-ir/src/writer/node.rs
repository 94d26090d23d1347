//! Adding a node, the most frequent part of a model.

use bytes::Bytes;
use onnx_schema::normalize_domain;
use onnx_types::{FieldForms, Symbol, raw_text};
use smallvec::SmallVec;

use super::ModelWriter;
use crate::attr::{AttrValue, Attribute};
use crate::entity::NodeId;
use crate::extras::{Extras, NodeDeviceConfiguration, ValueRef};
use crate::graph::Owner;
use crate::named::naming_attributes;
use crate::node::{Node, Operand};
use crate::value::{Def, Use, User, Value, ValueFlags};

/// The fields of a `NodeProto` other than its inputs and outputs.
#[derive(Debug, Default)]
pub struct NodeFields {
    /// `op_type`.
    pub op: Symbol,
    /// `domain` as it is encoded.
    pub domain: Symbol,
    /// `overload`.
    pub overload: Symbol,
    /// `name`.
    pub name: Symbol,
    /// The attributes, whose graphs are detached and will belong to the node.
    pub attributes: Vec<Attribute>,
    /// Documentation, metadata and the like.
    pub extras: Option<Box<Extras>>,
    /// The explicitly encoded defaults.
    pub forms: FieldForms,
}

impl ModelWriter {
    /// Appends a node to the graph in constant time. Inputs and outputs are names; an empty name is an absent one.
    pub fn write_node(&mut self, fields: NodeFields, inputs: &[Symbol], outputs: &[Symbol]) -> NodeId {
        let graph = self.current();
        let prev = self.model.graphs[graph].last;
        let order = self.model.order_at_end(prev);
        // A record of constants that a closure returns is constructed in the arena; any other would be copied there.
        let node = self.model.nodes.insert_with_key(|_| Node {
            op: Symbol::EMPTY,
            domain: Symbol::EMPTY,
            overload: Symbol::EMPTY,
            name: Symbol::EMPTY,
            inputs: SmallVec::new(),
            outputs: SmallVec::new(),
            attributes: Vec::new(),
            name_slots: Box::default(),
            extras: None,
            forms: FieldForms::CANONICAL,
            graph,
            prev,
            next: None,
            order,
        });
        let list = &mut self.model.graphs[graph];
        list.last = Some(node);
        list.node_count += 1;
        match prev {
            Some(prev) => self.model.nodes[prev].next = Some(node),
            None => list.first = Some(node),
        }
        self.link_inputs(node, inputs);
        self.define_outputs(node, outputs);
        for attribute in &fields.attributes {
            for &nested in attribute.value().graphs() {
                self.model.set_owner(nested, Owner::Node(node));
            }
        }
        let NodeFields { op, domain, overload, name, mut attributes, mut extras, forms } = fields;
        let naming = naming_attributes(normalize_domain(domain), op);
        if !naming.is_empty() {
            self.resolve_names(naming, &mut attributes);
        }
        if let Some(extras) = &mut extras {
            self.refer_to_outputs(node, &mut extras.device_configurations);
        }
        let record = &mut self.model.nodes[node];
        (record.op, record.domain, record.overload, record.name) = (op, domain, overload, name);
        record.forms = forms;
        if !attributes.is_empty() {
            record.attributes = attributes;
        }
        if extras.is_some() {
            record.extras = extras;
        }
        if !naming.is_empty() {
            self.model.link_named(node);
        }
        node
    }

    /// Lets strings that are names of values be the values, which a later node may define. Lists with an empty text stay.
    #[cold]
    fn resolve_names(&mut self, naming: &[Symbol], attributes: &mut [Attribute]) {
        for attribute in attributes.iter_mut().filter(|attribute| naming.contains(&attribute.name())) {
            let mut texts = match attribute.value() {
                AttrValue::String(text) => std::slice::from_ref(text).iter(),
                AttrValue::Strings(texts) => texts.iter(),
                _ => continue,
            };
            if texts.any(|text| text.is_empty()) {
                continue;
            }
            let used = |text: &Bytes| {
                let name = self.model.intern(&raw_text::from_bytes(text));
                Some(self.used(name))
            };
            if let Some(values) = attribute.value().resolved_by(used) {
                *attribute.value_mut() = values;
            }
        }
    }

    /// Shardings of a node are read before its outputs are there: a name that is that of an output means the output, not the
    /// value of an outer graph that it hides.
    fn refer_to_outputs(&self, node: NodeId, configurations: &mut [NodeDeviceConfiguration]) {
        let values = &self.model.values;
        for sharding in configurations.iter_mut().flat_map(|configuration| &mut configuration.shardings) {
            let name = match sharding.tensor {
                ValueRef::Name(name) => name,
                ValueRef::Value(value) => values[value].name(),
            };
            let mut outputs = self.model.nodes[node].outputs.iter().flatten();
            if let Some(&output) = outputs.find(|&&output| values[output].name() == name) {
                sharding.tensor = ValueRef::Value(output);
            }
        }
    }

    #[inline]
    fn link_inputs(&mut self, node: NodeId, names: &[Symbol]) {
        for (index, &name) in names.iter().enumerate() {
            let operand = if name.is_empty() {
                Operand::ABSENT
            } else {
                let value = self.used(name);
                let uses = &mut self.model.values[value].uses;
                // A value has fewer than 2^32 uses: each belongs to an operand in memory.
                let slot = uses.len() as u32;
                uses.push(Use { user: User::Node(node), index: index as u32 });
                Operand { value: Some(value), slot }
            };
            self.model.nodes[node].inputs.push(operand);
        }
    }

    #[inline]
    fn define_outputs(&mut self, node: NodeId, names: &[Symbol]) {
        for (index, &name) in names.iter().enumerate() {
            let def = Def::Output { node, index: index as u32 };
            let known = self.scope.get(name).filter(|_| !name.is_empty());
            let output = match known {
                _ if name.is_empty() => None,
                Some(binding)
                    if binding.graph == self.scope.current()
                        && matches!(self.model.values[binding.value].def, Def::Unresolved(_)) =>
                {
                    self.model.values[binding.value].def = def;
                    Some(binding.value)
                }
                _ => {
                    let value = self.model.values.insert_with_key(|_| Value::new(name, def));
                    if known.is_some() {
                        self.model.values[value].flags.set(ValueFlags::NAME_AS_READ, true);
                    }
                    self.scope.bind(name, value);
                    Some(value)
                }
            };
            self.model.nodes[node].outputs.push(output);
        }
    }
}
