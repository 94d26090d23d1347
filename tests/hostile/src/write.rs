//! Messages by field numbers, with nothing in the way of writing wrong ones.

use bytes::Bytes;
use onnx_proto::wire::Writer;

use crate::encoding::{put_tag, put_varint};

/// What writes the fields of a message.
pub(crate) type Fields = fn(&mut Writer);

/// The fields that `fields` writes.
pub(crate) fn message(fields: impl FnOnce(&mut Writer)) -> Bytes {
    let mut writer = Writer::new();
    fields(&mut writer);
    writer.finish().into_bytes()
}

/// A model of IR version 10 and operator set 21 with a main graph of these fields behind its name.
#[must_use]
pub fn model_of(graph: impl FnOnce(&mut Writer)) -> Bytes {
    model_with(graph, |_| ())
}

/// The same with more fields of the model at the end.
pub(crate) fn model_with(graph: impl FnOnce(&mut Writer), more: impl FnOnce(&mut Writer)) -> Bytes {
    message(|model| {
        model.int64(1, 10);
        model.message(7, |writer| {
            writer.string(2, "g");
            graph(writer);
        });
        opset(model, 8, "", 21);
        more(model);
    })
}

pub(crate) fn opset(writer: &mut Writer, number: u32, domain: &str, version: i64) {
    writer.message(number, |import| {
        import.string(1, domain);
        import.int64(2, version);
    });
}

/// A node in field 1.
pub(crate) fn node(graph: &mut Writer, op: &str, inputs: &[&str], outputs: &[&str]) {
    node_with(graph, op, inputs, outputs, |_| ());
}

/// A node with more fields.
pub(crate) fn node_with(
    graph: &mut Writer,
    op: &str,
    inputs: &[&str],
    outputs: &[&str],
    more: impl FnOnce(&mut Writer),
) {
    graph.message(1, |node| {
        inputs.iter().for_each(|input| node.string(1, input));
        outputs.iter().for_each(|output| node.string(2, output));
        node.string(4, op);
        more(node);
    });
}

/// An attribute in field 5 of a node.
pub(crate) fn attribute(node: &mut Writer, name: &str, kind: i32, value: impl FnOnce(&mut Writer)) {
    node.message(5, |attribute| {
        attribute.string(1, name);
        value(attribute);
        attribute.int32(20, kind);
    });
}

/// A `ValueInfoProto` of a tensor of floats without a shape.
pub(crate) fn info(graph: &mut Writer, number: u32, name: &str) {
    graph.message(number, |info| {
        info.string(1, name);
        info.message(2, |ty| ty.message(1, |tensor| tensor.int32(1, 1)));
    });
}

/// Tag and length of a length-delimited field.
#[must_use]
pub fn header(number: u32, length: usize) -> Vec<u8> {
    let mut out = Vec::new();
    put_tag(&mut out, number, 2, 0);
    put_varint(&mut out, length as u64, 0);
    out
}

/// `content` inside a field of each of these numbers, the outermost first.
pub(crate) fn inside(path: &[u32], content: &[u8]) -> Vec<u8> {
    let mut nest = Nest::new(content.to_vec());
    path.iter().rev().for_each(|&number| nest.wrap(b"", number, b""));
    nest.finish()
}

/// Bytes that are put into more and more messages. It takes time linear in the result, however deep.
pub(crate) struct Nest {
    /// What comes before the innermost content, the innermost first.
    before: Vec<Vec<u8>>,
    content: Vec<u8>,
    len: usize,
}

impl Nest {
    pub(crate) const fn new(content: Vec<u8>) -> Self {
        let len = content.len();
        Self { before: Vec::new(), content, len }
    }

    /// Makes everything so far the content of field `number`, between other fields.
    pub(crate) fn wrap(&mut self, before: &[u8], number: u32, after: &[u8]) {
        let head = [before, &header(number, self.len)].concat();
        self.len += head.len() + after.len();
        self.before.push(head);
        self.content.extend_from_slice(after);
    }

    pub(crate) fn finish(self) -> Vec<u8> {
        let mut out: Vec<u8> = self.before.into_iter().rev().flatten().collect();
        out.extend_from_slice(&self.content);
        out
    }
}
