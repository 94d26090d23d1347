//! `NodeProto` and `AttributeProto`.

use onnx_ir::{AttrValue, Attribute, Node, NodeId, ValueId};
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
        let mask = node.mask();
        if window.has(1) {
            for input in node.inputs() {
                self.put(writer, 1, input.map_or("", |value| self.value_name(value)));
            }
        }
        if window.has(2) {
            for &output in node.outputs() {
                self.put(writer, 2, output.map_or("", |value| self.value_name(value)));
            }
        }
        if window.has(3) {
            self.text(writer, 3, node.name(), mask);
        }
        if window.has(4) {
            self.text(writer, 4, node.op(), mask);
        }
        if window.has(5) {
            for attribute in node.attributes() {
                // The node and the attribute are two levels below the graph.
                writer.message(5, |writer| self.attribute(writer, attribute, depth.saturating_add(2)))?;
            }
        }
        if window.has(6) {
            self.text(writer, 6, node.doc(), mask);
        }
        if window.has(7) {
            self.text(writer, 7, node.written_domain(), mask);
        }
        if window.has(8) {
            self.text(writer, 8, node.overload(), mask);
        }
        if window.has(9) {
            self.metadata(writer, 9, node.metadata());
        }
        if window.has(10) {
            for devices in node.device_configurations() {
                writer.message(10, |writer| self.node_devices(writer, devices))?;
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
        let mask = attribute.mask();
        if window.has(1) {
            self.text(writer, 1, attribute.name(), mask);
        }
        // Values stand in fields 2 to 11, 14, 15, 22 and 23; the fields between them are written where they belong.
        let (low, middle, high) = match attribute.value() {
            AttrValue::Type(_) | AttrValue::Types(_) => (false, true, false),
            AttrValue::SparseTensor(_) | AttrValue::SparseTensors(_) => (false, false, true),
            _ => (true, false, false),
        };
        if low {
            self.attribute_value(writer, attribute, depth, window)?;
        }
        if window.has(13) {
            self.text(writer, 13, attribute.doc(), mask);
        }
        if middle {
            self.attribute_value(writer, attribute, depth, window)?;
        }
        if let Some(code) = attribute.declared_kind().filter(|_| window.has(20)) {
            writer.int32(20, code);
        }
        match *attribute.value() {
            AttrValue::Ref(target) if window.has(21) => self.put(writer, 21, self.str(target)),
            _ if window.has(21) && mask.contains(21) => self.put(writer, 21, ""),
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
            AttrValue::Float(value) => writer.float(2, *value),
            AttrValue::Int(value) => writer.int64(3, *value),
            AttrValue::String(text) => writer.bytes(4, text),
            AttrValue::Tensor(tensor) => writer.message(5, |writer| self.tensor(writer, tensor, None))?,
            AttrValue::Graph(graph) => {
                writer.message(6, |writer| self.graph(writer, *graph, depth.saturating_add(1)))?;
            }
            AttrValue::Floats(values) if attribute.mask().contains(7) => {
                writer.packed_float(7, values.iter().copied());
            }
            AttrValue::Floats(values) => values.iter().for_each(|&value| writer.float(7, value)),
            AttrValue::Ints(values) => ints(writer, 8, values, attribute.mask().contains(8)),
            AttrValue::Strings(texts) => texts.iter().for_each(|text| writer.bytes(9, text)),
            AttrValue::Tensors(tensors) => {
                for tensor in tensors {
                    writer.message(10, |writer| self.tensor(writer, tensor, None))?;
                }
            }
            AttrValue::Graphs(graphs) => {
                for &graph in graphs {
                    writer.message(11, |writer| self.graph(writer, graph, depth.saturating_add(1)))?;
                }
            }
            AttrValue::Type(ty) => self.ty(writer, 14, ty)?,
            AttrValue::Types(types) => {
                for ty in types {
                    self.ty(writer, 15, ty)?;
                }
            }
            AttrValue::SparseTensor(sparse) => {
                writer.message(22, |writer| self.sparse(writer, sparse, None))?;
            }
            AttrValue::SparseTensors(list) => {
                for sparse in list {
                    writer.message(23, |writer| self.sparse(writer, sparse, None))?;
                }
            }
        }
        Ok(())
    }
}

/// The field that a value stands in.
const fn value_field(value: &AttrValue) -> Option<u32> {
    Some(match value {
        AttrValue::None | AttrValue::Ref(_) => return None,
        AttrValue::Float(_) => 2,
        AttrValue::Int(_) => 3,
        AttrValue::String(_) => 4,
        AttrValue::Tensor(_) => 5,
        AttrValue::Graph(_) => 6,
        AttrValue::Floats(_) => 7,
        AttrValue::Ints(_) => 8,
        AttrValue::Strings(_) => 9,
        AttrValue::Tensors(_) => 10,
        AttrValue::Graphs(_) => 11,
        AttrValue::Type(_) => 14,
        AttrValue::Types(_) => 15,
        AttrValue::SparseTensor(_) => 22,
        AttrValue::SparseTensors(_) => 23,
    })
}
