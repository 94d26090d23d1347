//! The pre-scan of nodes: locates the fields of a batch of nodes, and hashes and prefetches their names.
//!
//! A node defines new names, so each lookup in a large interner is a cache miss. In a batch, the misses overlap.

use onnx_proto::field::node;
use onnx_proto::wire::{Field, Payload, Reader, Value, WireError};
use onnx_types::{Interner, NameHash};

use super::Result;

/// A batch of more bytes is not checked for ASCII: most of them are tensor data.
const MAX_ASCII_SCAN: usize = BATCH * 384;

/// Number of nodes in a batch.
const BATCH: usize = 16;

/// A batch of nodes.
#[derive(Default)]
pub(super) struct ScannedNodes<'a> {
    nodes: Vec<ScannedNode<'a>>,
    /// The fields of all nodes.
    fields: Vec<ScannedField<'a>>,
    pub(super) text: AsciiText<'a>,
}

/// A range of the input that is ASCII. Checking many bytes at once is faster than checking each name.
#[derive(Clone, Copy, Default)]
pub(super) struct AsciiText<'a> {
    text: &'a str,
    offset: usize,
}

impl<'a> AsciiText<'a> {
    /// The content of a field; `None` if it is not in the range.
    #[inline]
    pub(super) fn get(self, content: Payload<'a>) -> Option<&'a str> {
        let start = content.offset().checked_sub(self.offset)?;
        self.text.get(start..start.checked_add(content.len())?)
    }
}

/// A node whose fields are located.
struct ScannedNode<'a> {
    message: Payload<'a>,
    /// The end of its fields in [`ScannedNodes`].
    fields: usize,
    /// The error that follows its fields.
    error: Option<WireError>,
}

/// A field of a node.
pub(super) struct ScannedField<'a> {
    pub(super) field: Field<'a>,
    /// The hash of the content if it is a name that the node defines: of an output, or its own.
    pub(super) hash: NameHash,
}

impl<'a> ScannedNodes<'a> {
    /// Replaces the batch by the next nodes in field `number` of a message. It is empty at the end. If the message is
    /// malformed, the batch has the nodes before the error.
    pub(super) fn scan(&mut self, message: &mut Reader<'a>, number: u32, names: &Interner) -> Result<()> {
        self.nodes.clear();
        self.fields.clear();
        let mut result = Ok(());
        while self.nodes.len() < BATCH {
            match next_field(message) {
                Ok(Some(Field { number: found, value: Value::Len(node), .. })) if found == number => {
                    let error = message.message(node).and_then(|fields| self.scan_node(fields, names)).err();
                    self.nodes.push(ScannedNode { message: node, fields: self.fields.len(), error });
                }
                Ok(Some(_)) => {}
                Ok(None) => break,
                Err(error) => {
                    result = Err(error);
                    break;
                }
            }
        }
        self.text = self.text(message);
        names.prefetch(self.fields.iter().map(|field| field.hash));
        result
    }

    /// The bytes of all nodes if they are ASCII.
    fn text(&self, message: &Reader<'a>) -> AsciiText<'a> {
        let (Some(first), Some(last)) = (self.nodes.first(), self.nodes.last()) else {
            return AsciiText::default();
        };
        let offset = first.message.offset();
        let bytes = message.input().bytes().get(offset..last.message.end()).unwrap_or_default();
        let is_ascii = bytes.len() <= MAX_ASCII_SCAN && bytes.is_ascii();
        let text = if is_ascii { std::str::from_utf8(bytes).unwrap_or_default() } else { "" };
        AsciiText { text, offset }
    }

    /// Locates the fields of a node.
    pub(super) fn scan_node(&mut self, mut node: Reader<'a>, names: &Interner) -> Result<()> {
        while let Some(field) = next_field(&mut node)? {
            let hash = match (field.number, field.value) {
                (node::OUTPUT | node::NAME, Value::Len(name)) => names.hash(&name),
                _ => NameHash::default(),
            };
            self.fields.push(ScannedField { field, hash });
        }
        Ok(())
    }

    /// The fields of all nodes.
    pub(super) fn fields(&self) -> &[ScannedField<'a>] {
        &self.fields
    }

    /// The nodes, each with its fields and the error that follows them.
    pub(super) fn drain(
        &mut self,
    ) -> impl Iterator<Item = (Payload<'a>, &[ScannedField<'a>], Option<WireError>)> {
        let mut start = 0;
        let fields = &self.fields;
        self.nodes.drain(..).map(move |node| {
            let of_node = fields.get(start..node.fields).unwrap_or_default();
            start = node.fields;
            (node.message, of_node, node.error)
        })
    }
}

/// Reads the next field, through the fast path if it applies.
#[inline(always)]
fn next_field<'a>(fields: &mut Reader<'a>) -> Result<Option<Field<'a>>> {
    let start = fields.offset();
    match fields.next_short_len() {
        Some((number, content)) => {
            Ok(Some(Field { number, start, end: content.end(), value: Value::Len(content) }))
        }
        None => fields.next_field(),
    }
}
