//! `NodeProto` and `AttributeProto`.

use onnx_ir::{AttrValue, Attribute, Node, NodeId, ValueId};
use onnx_proto::field::{attribute, node};
use onnx_proto::wire::Writer;

use super::{Cx, Result, Window, ints, merged};

impl Cx<'_> {
    /// Writes the fields of a node in a graph at the given depth.
    pub(super) fn node(
        &self,
        writer: &mut Writer,
        node: NodeId,
        depth: u32,
        typed: &mut Vec<ValueId>,
    ) -> Result {
        let node = self.model.node(node);
        for &value in node.outputs().iter().flatten() {
            self.note_typed(value, typed);
        }
        merged(writer, node.unknown(), |writer, window| self.node_fields(writer, node, depth, window))
    }

    #[inline]
    fn node_fields(&self, writer: &mut Writer, node: &Node, depth: u32, window: Window) -> Result {
        let forms = node.forms();
        if window.has(node::INPUT) {
            for input in node.inputs() {
                self.put(writer, node::INPUT, input.map_or("", |value| self.value_name(value)));
            }
        }
        if window.has(node::OUTPUT) {
            for &output in node.outputs() {
                self.put(writer, node::OUTPUT, output.map_or("", |value| self.value_name(value)));
            }
        }
        if window.has(node::NAME) {
            self.text(writer, node::NAME, node.name(), forms);
        }
        if window.has(node::OP_TYPE) {
            self.text(writer, node::OP_TYPE, node.op(), forms);
        }
        if window.has(node::ATTRIBUTE) {
            for attribute in node.attributes() {
                // The node and the attribute are two levels below the graph.
                writer.message(node::ATTRIBUTE, |writer| {
                    self.attribute(writer, attribute, depth.saturating_add(2))
                })?;
            }
        }
        if window.has(node::DOC_STRING) {
            self.text(writer, node::DOC_STRING, node.doc(), forms);
        }
        if window.has(node::DOMAIN) {
            self.text(writer, node::DOMAIN, node.written_domain(), forms);
        }
        if window.has(node::OVERLOAD) {
            self.text(writer, node::OVERLOAD, node.overload(), forms);
        }
        if window.has(node::METADATA_PROPS) {
            self.metadata(writer, node::METADATA_PROPS, node.metadata());
        }
        if window.has(node::DEVICE_CONFIGURATIONS) {
            for devices in node.device_configurations() {
                writer.message(node::DEVICE_CONFIGURATIONS, |writer| self.node_devices(writer, devices))?;
            }
        }
        Ok(())
    }

    /// Writes the fields of an attribute; `depth` is the number of messages around it, its own included.
    pub(super) fn attribute(&self, writer: &mut Writer, attribute: &Attribute, depth: u32) -> Result {
        merged(writer, attribute.unknown(), |writer, window| {
            self.attribute_fields(writer, attribute, depth, window)
        })
    }

    fn attribute_fields(
        &self,
        writer: &mut Writer,
        attribute: &Attribute,
        depth: u32,
        window: Window,
    ) -> Result {
        let forms = attribute.forms();
        if window.has(attribute::NAME) {
            self.text(writer, attribute::NAME, attribute.name(), forms);
        }
        // Fields are written in the order of their numbers. Those of values lie before the documentation, between it and the
        // type, or after the reference.
        let (low, middle, high) = match attribute.value() {
            AttrValue::Type(_) | AttrValue::Types(_) => (false, true, false),
            AttrValue::SparseTensor(_) | AttrValue::SparseTensors(_) => (false, false, true),
            _ => (true, false, false),
        };
        if low {
            self.attribute_value(writer, attribute, depth, window)?;
        }
        if window.has(attribute::DOC_STRING) {
            self.text(writer, attribute::DOC_STRING, attribute.doc(), forms);
        }
        if middle {
            self.attribute_value(writer, attribute, depth, window)?;
        }
        if let Some(code) = attribute.declared_kind().filter(|_| window.has(attribute::TYPE)) {
            writer.int32(attribute::TYPE, code);
        }
        match *attribute.value() {
            AttrValue::Ref(target) if window.has(attribute::REF_ATTR_NAME) => {
                self.put(writer, attribute::REF_ATTR_NAME, self.str(target))
            }
            _ if window.has(attribute::REF_ATTR_NAME) && forms.is_explicit(attribute::REF_ATTR_NAME) => {
                self.put(writer, attribute::REF_ATTR_NAME, "")
            }
            _ => {}
        }
        if high {
            self.attribute_value(writer, attribute, depth, window)?;
        }
        Ok(())
    }

    fn attribute_value(
        &self,
        writer: &mut Writer,
        attribute: &Attribute,
        depth: u32,
        window: Window,
    ) -> Result {
        if value_field(attribute.value()).is_some_and(|number| !window.has(number)) {
            return Ok(());
        }
        match attribute.value() {
            AttrValue::None | AttrValue::Ref(_) => {}
            AttrValue::Float(value) => writer.float(attribute::F, *value),
            AttrValue::Int(value) => writer.int64(attribute::I, *value),
            AttrValue::String(text) => writer.bytes(attribute::S, text),
            AttrValue::Value(value) => self.put(writer, attribute::S, self.value_name(*value)),
            AttrValue::Values(values) => {
                for &value in values {
                    self.put(writer, attribute::STRINGS, self.value_name(value));
                }
            }
            AttrValue::Tensor(tensor) => {
                writer.message(attribute::T, |writer| self.tensor(writer, tensor, None))?
            }
            AttrValue::Graph(graph) => {
                writer.message(attribute::G, |writer| self.graph(writer, *graph, depth.saturating_add(1)))?;
            }
            AttrValue::Floats(values) if attribute.forms().is_packed(attribute::FLOATS) => {
                writer.packed_float(attribute::FLOATS, values.iter().copied());
            }
            AttrValue::Floats(values) => {
                values.iter().for_each(|&value| writer.float(attribute::FLOATS, value))
            }
            AttrValue::Ints(values) => ints(writer, attribute::INTS, values, attribute.forms()),
            AttrValue::Strings(texts) => texts.iter().for_each(|text| writer.bytes(attribute::STRINGS, text)),
            AttrValue::Tensors(tensors) => {
                for tensor in tensors {
                    writer.message(attribute::TENSORS, |writer| self.tensor(writer, tensor, None))?;
                }
            }
            AttrValue::Graphs(graphs) => {
                for &graph in graphs {
                    writer.message(attribute::GRAPHS, |writer| {
                        self.graph(writer, graph, depth.saturating_add(1))
                    })?;
                }
            }
            AttrValue::Type(ty) => self.ty(writer, attribute::TP, ty)?,
            AttrValue::Types(types) => {
                for ty in types {
                    self.ty(writer, attribute::TYPE_PROTOS, ty)?;
                }
            }
            AttrValue::SparseTensor(sparse) => {
                writer.message(attribute::SPARSE_TENSOR, |writer| self.sparse(writer, sparse, None))?;
            }
            AttrValue::SparseTensors(list) => {
                for sparse in list {
                    writer.message(attribute::SPARSE_TENSORS, |writer| self.sparse(writer, sparse, None))?;
                }
            }
        }
        Ok(())
    }
}

/// The number of the field that contains a value.
const fn value_field(value: &AttrValue) -> Option<u32> {
    Some(match value {
        AttrValue::None | AttrValue::Ref(_) => return None,
        AttrValue::Float(_) => attribute::F,
        AttrValue::Int(_) => attribute::I,
        AttrValue::String(_) | AttrValue::Value(_) => attribute::S,
        AttrValue::Tensor(_) => attribute::T,
        AttrValue::Graph(_) => attribute::G,
        AttrValue::Floats(_) => attribute::FLOATS,
        AttrValue::Ints(_) => attribute::INTS,
        AttrValue::Strings(_) | AttrValue::Values(_) => attribute::STRINGS,
        AttrValue::Tensors(_) => attribute::TENSORS,
        AttrValue::Graphs(_) => attribute::GRAPHS,
        AttrValue::Type(_) => attribute::TP,
        AttrValue::Types(_) => attribute::TYPE_PROTOS,
        AttrValue::SparseTensor(_) => attribute::SPARSE_TENSOR,
        AttrValue::SparseTensors(_) => attribute::SPARSE_TENSORS,
    })
}
