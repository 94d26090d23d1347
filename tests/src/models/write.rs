//! Messages of models, field by field in the order of their numbers.

use bytes::Bytes;
use onnx_proto::wire::{Segments, Writer};

/// `TensorProto.DataType` of the element types in use.
pub(super) const FLOAT: i32 = 1;
pub(super) const INT64: i32 = 7;
pub(super) const BOOL: i32 = 9;

/// A dimension of a tensor type.
#[derive(Clone, Copy)]
pub(super) enum Size {
    Known(i64),
    Var(&'static str),
}

/// A tensor type.
#[derive(Clone, Copy)]
pub(super) struct Ty<'a> {
    pub(super) elem: i32,
    pub(super) dims: &'a [Size],
}

impl<'a> Ty<'a> {
    pub(super) const fn new(elem: i32, dims: &'a [Size]) -> Self {
        Self { elem, dims }
    }
}

/// A graph on its way to bytes. Every kind of field is gathered apart, because a file holds them in the order of field
/// numbers, and generators make them node by node.
#[derive(Default)]
pub(super) struct Graph {
    nodes: Writer,
    initializers: Writer,
    inputs: Writer,
    outputs: Writer,
    infos: Writer,
}

impl Graph {
    /// A graph with a capacity for about `nodes` nodes.
    pub(super) fn with_capacity(nodes: usize) -> Self {
        Self { nodes: Writer::with_capacity(nodes * 128), ..Self::default() }
    }

    pub(super) fn node(&mut self, op: &str, name: &str, inputs: &[&str], outputs: &[&str]) {
        self.node_with(op, name, inputs, outputs, |_| ());
    }

    /// A node with attributes, which `attributes` writes.
    pub(super) fn node_with(
        &mut self,
        op: &str,
        name: &str,
        inputs: &[&str],
        outputs: &[&str],
        attributes: impl FnOnce(&mut Writer),
    ) {
        self.nodes.message(1, |node| {
            node_fields(node, op, name, inputs, outputs);
            attributes(node);
        });
    }

    /// A call of a function.
    pub(super) fn call(&mut self, domain: &str, function: &str, name: &str, input: &str, output: &str) {
        self.nodes.message(1, |node| {
            node_fields(node, function, name, &[input], &[output]);
            node.string(7, domain);
        });
    }

    pub(super) fn initializer(&mut self, name: &str, elem: i32, dims: &[i64], data: &Bytes) {
        self.initializers.message(5, |writer| tensor(writer, name, elem, dims, data));
    }

    /// An initializer with external data.
    pub(super) fn external(&mut self, name: &str, elem: i32, dims: &[i64], place: &External<'_>) {
        self.initializers.message(5, |writer| {
            tensor_head(writer, name, elem, dims);
            let numbers = [place.offset.to_string(), place.length.to_string()];
            for (key, value) in
                [("location", place.location), ("offset", &numbers[0]), ("length", &numbers[1])]
            {
                writer.message(13, |entry| {
                    entry.string(1, key);
                    entry.string(2, value);
                });
            }
            writer.int32(14, 1);
        });
    }

    pub(super) fn input(&mut self, name: &str, ty: Ty<'_>) {
        value_info(&mut self.inputs, 11, name, ty);
    }

    pub(super) fn output(&mut self, name: &str, ty: Ty<'_>) {
        value_info(&mut self.outputs, 12, name, ty);
    }

    pub(super) fn value_info(&mut self, name: &str, ty: Ty<'_>) {
        value_info(&mut self.infos, 13, name, ty);
    }

    /// Writes the graph's fields.
    pub(super) fn write(self, name: &str, writer: &mut Writer) {
        put(writer, self.nodes);
        writer.string(2, name);
        for part in [self.initializers, self.inputs, self.outputs, self.infos] {
            put(writer, part);
        }
    }

    /// A model of this main graph, over the given versions of operator sets; `functions` writes fields after them.
    pub(super) fn model(self, opsets: &[(&str, i64)], functions: impl FnOnce(&mut Writer)) -> Segments {
        let mut model = Writer::new();
        model.int64(1, 8);
        model.string(2, "generator");
        model.string(3, "1.0");
        model.message(7, |graph| self.write("main_graph", graph));
        for &(domain, version) in opsets {
            opset_import(&mut model, 8, domain, version);
        }
        functions(&mut model);
        model.finish()
    }
}

/// The location of the elements of a tensor.
pub(super) struct External<'a> {
    pub(super) location: &'a str,
    pub(super) offset: u64,
    pub(super) length: u64,
}

/// Puts gathered fields behind what is written so far; large pieces are shared.
fn put(writer: &mut Writer, fields: Writer) {
    for segment in fields.finish() {
        writer.raw(&segment);
    }
}

/// The fields of a node before its attributes.
pub(super) fn node_fields(writer: &mut Writer, op: &str, name: &str, inputs: &[&str], outputs: &[&str]) {
    inputs.iter().for_each(|input| writer.string(1, input));
    outputs.iter().for_each(|output| writer.string(2, output));
    writer.string(3, name);
    writer.string(4, op);
}

pub(super) fn opset_import(writer: &mut Writer, number: u32, domain: &str, version: i64) {
    writer.message(number, |import| {
        import.string(1, domain);
        import.int64(2, version);
    });
}

/// Writes an attribute: its name, its value, its declared type.
fn attribute(node: &mut Writer, name: &str, declared: i32, value: impl FnOnce(&mut Writer)) {
    node.message(5, |attribute| {
        attribute.string(1, name);
        value(attribute);
        attribute.int32(20, declared);
    });
}

pub(super) fn int_attribute(node: &mut Writer, name: &str, value: i64) {
    attribute(node, name, 2, |attribute| attribute.int64(3, value));
}

pub(super) fn ints_attribute(node: &mut Writer, name: &str, values: &[i64]) {
    attribute(node, name, 7, |attribute| values.iter().for_each(|&value| attribute.int64(8, value)));
}

pub(super) fn tensor_attribute(node: &mut Writer, name: &str, elem: i32, dims: &[i64], data: &Bytes) {
    attribute(node, name, 4, |attribute| {
        attribute.message(5, |writer| tensor(writer, "", elem, dims, data));
    });
}

pub(super) fn graph_attribute(node: &mut Writer, name: &str, graph_name: &str, graph: Graph) {
    attribute(node, name, 5, |attribute| {
        attribute.message(6, |writer| graph.write(graph_name, writer));
    });
}

fn tensor_head(writer: &mut Writer, name: &str, elem: i32, dims: &[i64]) {
    dims.iter().for_each(|&dim| writer.int64(1, dim));
    writer.int32(2, elem);
    if !name.is_empty() {
        writer.string(8, name);
    }
}

fn tensor(writer: &mut Writer, name: &str, elem: i32, dims: &[i64], data: &Bytes) {
    tensor_head(writer, name, elem, dims);
    writer.bytes(9, data);
}

fn value_info(writer: &mut Writer, number: u32, name: &str, ty: Ty<'_>) {
    writer.message(number, |info| {
        info.string(1, name);
        info.message(2, |type_proto| {
            type_proto.message(1, |tensor| {
                tensor.int32(1, ty.elem);
                tensor.message(2, |shape| ty.dims.iter().for_each(|&dim| dimension(shape, dim)));
            });
        });
    });
}

fn dimension(shape: &mut Writer, dim: Size) {
    shape.message(1, |writer| match dim {
        Size::Known(size) => writer.int64(1, size),
        Size::Var(name) => writer.string(2, name),
    });
}
