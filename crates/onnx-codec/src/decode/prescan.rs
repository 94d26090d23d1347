//! The pre-scan of nodes: locates their fields and looks up the symbols of their names before they are built.
//!
//! Nodes are scanned in batches. The first pass locates the fields and hashes the names, the second looks the names up. Whether
//! the names are ASCII is checked for a whole batch.

#![cfg_attr(
    not(test),
    expect(
        clippy::arithmetic_side_effects,
        reason = "all numbers count bytes or fields of a message that is in memory"
    )
)]

use onnx_proto::field::node;
use onnx_proto::wire::{Input, Payload, Reader, Value, WireError};
use onnx_types::raw_text::holds_raw_bytes;
use onnx_types::{Interner, Limits, NameHash, Symbol};

use super::name_cache::NameCache;
use super::{Occurrences, Result, len};

/// Number of nodes in a batch.
const BATCH: usize = 16;

/// A longer batch is not checked for ASCII as a whole: most of its bytes are tensor data.
const MAX_ASCII_SCAN: usize = BATCH * 384;

/// Returns `true` for the fields of a node that are strings.
pub(super) const fn is_name(number: u32) -> bool {
    matches!(
        number,
        node::INPUT
            | node::OUTPUT
            | node::NAME
            | node::OP_TYPE
            | node::DOC_STRING
            | node::DOMAIN
            | node::OVERLOAD
    )
}

/// Returns `true` for the fields whose strings usually recur, which the [`NameCache`] serves: operator, domain and overload.
const fn is_cached_field(number: u32) -> bool {
    matches!(number, node::OP_TYPE | node::DOMAIN | node::OVERLOAD)
}

/// The output of the pre-scan: a batch of nodes to build.
#[derive(Default)]
pub(super) struct ScannedNodes<'a> {
    nodes: Vec<ScannedNode<'a>>,
    /// The numbers and symbols of the string fields.
    names: Vec<(u8, Symbol)>,
    /// The numbers and contents of the message fields.
    messages: Vec<(u8, Payload<'a>)>,
    /// The error that ended the scan, which follows the nodes in the input.
    error: Option<WireError>,
    /// Memory of the scanner between its two passes.
    buffer: ScanBuffer<'a>,
}

/// A node whose fields are located.
#[derive(Clone, Copy)]
pub(super) struct ScannedNode<'a> {
    pub(super) message: Payload<'a>,
    /// The ends of its entries in `names` and `messages` of [`ScannedNodes`]. It has no entries if it is not simple.
    names: usize,
    messages: usize,
    /// The number of its attributes and of its entries of metadata.
    pub(super) attributes: u32,
    pub(super) metadata: u32,
    /// Whether all its fields are located and known; otherwise the general path decodes it field by field.
    is_simple: bool,
}

/// The fields of a simple node.
pub(super) struct Fields<'f, 'a> {
    names: &'f [(u8, Symbol)],
    messages: &'f [(u8, Payload<'a>)],
}

impl<'f, 'a> Fields<'f, 'a> {
    /// The numbers and symbols of the string fields.
    pub(super) fn names(&self) -> impl Iterator<Item = (u32, Symbol)> + use<'f, 'a> {
        self.names.iter().map(|&(number, name)| (number.into(), name))
    }

    /// The numbers and contents of the other fields.
    pub(super) fn messages(&self) -> impl Iterator<Item = (u32, Payload<'a>)> + use<'f, 'a> {
        self.messages.iter().map(|&(number, content)| (number.into(), content))
    }
}

impl<'a> ScannedNodes<'a> {
    /// Removes all nodes.
    fn clear(&mut self) {
        self.nodes.clear();
        self.names.clear();
        self.messages.clear();
        self.error = None;
    }

    const fn is_empty(&self) -> bool {
        self.nodes.is_empty() && self.error.is_none()
    }

    /// Returns the error that ended the scan, and removes it.
    pub(super) fn take_error(&mut self) -> Option<WireError> {
        self.error.take()
    }

    /// The nodes, each with its fields if it is simple.
    pub(super) fn nodes(&self) -> impl Iterator<Item = (&ScannedNode<'a>, Option<Fields<'_, 'a>>)> {
        let (mut names, mut messages) = (0, 0);
        self.nodes.iter().map(move |node| {
            let of_names = names..node.names;
            let of_messages = messages..node.messages;
            (names, messages) = (node.names, node.messages);
            let fields = || {
                Some(Fields { names: self.names.get(of_names)?, messages: self.messages.get(of_messages)? })
            };
            (node, node.is_simple.then(fields).flatten())
        })
    }
}

/// Scans the nodes of a graph in batches.
pub(super) struct NodeScanner<'a> {
    /// The occurrences of the graph that follow the current one.
    occurrences: <Occurrences<'a> as IntoIterator>::IntoIter,
    fields: Option<Reader<'a>>,
    /// The number of the field that holds a node.
    number: u32,
    /// Number of nodes that are not scanned yet.
    left: usize,
    limits: &'a Limits,
}

impl<'a> NodeScanner<'a> {
    /// A scanner of `count` nodes in field `number` of a message.
    pub(super) fn new(occurrences: Occurrences<'a>, number: u32, count: usize, limits: &'a Limits) -> Self {
        let mut occurrences = occurrences.into_iter();
        Self { fields: occurrences.next(), occurrences, number, left: count, limits }
    }

    /// Scans the next batch into the memory of another one, and looks up its names. Returns `false` at the end. If the bytes are malformed, the batch contains
    /// the nodes before the error, and the error.
    pub(super) fn next(
        &mut self,
        scanned: &mut ScannedNodes<'a>,
        names: &mut Interner,
        cache: &mut NameCache<'a>,
    ) -> bool {
        scanned.clear();
        let mut buffer = std::mem::take(&mut scanned.buffer);
        while scanned.is_empty()
            && self.left > 0
            && let Some(fields) = &mut self.fields
        {
            buffer.clear();
            scanned.error = buffer.find(fields, self.number, self.left.min(BATCH), names).err();
            buffer.look_up(fields.input(), (names, cache), self.limits, scanned);
            self.left = self.left.saturating_sub(buffer.nodes.len());
            if scanned.error.is_some() {
                self.left = 0;
            } else if buffer.nodes.is_empty() {
                self.fields = self.occurrences.next();
            }
        }
        scanned.buffer = buffer;
        !scanned.is_empty()
    }
}

/// The nodes of a batch between the two passes.
#[derive(Default)]
struct ScanBuffer<'a> {
    nodes: Vec<PendingNode<'a>>,
    fields: Vec<ScannedField<'a>>,
    /// The last output so far; `None` after a node that is not simple.
    output: Option<Payload<'a>>,
}

/// A node whose names are hashed but not looked up.
#[derive(Clone, Copy)]
struct PendingNode<'a> {
    message: Payload<'a>,
    is_simple: bool,
    /// The end of its fields in [`ScanBuffer`].
    fields: usize,
    attributes: u32,
    metadata: u32,
    /// The end of the names before the first attribute, whose value may be any bytes.
    names: usize,
}

/// The bits of the field number, without the mark.
const FIELD: u8 = !LAST;

/// The mark of an input that is the last output above it.
const LAST: u8 = 0x80;

/// The number of an input, with the mark that it is the last output above it: nodes usually follow each other as their
/// values do, and comparing two names is faster than looking one up.
const LAST_OUTPUT: u8 = LAST | node::INPUT as u8;

/// A field of a simple node.
#[derive(Clone, Copy)]
struct ScannedField<'a> {
    /// Its number, or [`LAST_OUTPUT`].
    number: u8,
    /// The hash of the content if it is looked up by hash.
    hash: NameHash,
    content: Payload<'a>,
}

impl<'a> ScanBuffer<'a> {
    fn clear(&mut self) {
        self.nodes.clear();
        self.fields.clear();
        self.output = None;
    }

    /// Scans the next nodes of a message, at most `most`.
    fn find(&mut self, fields: &mut Reader<'a>, number: u32, most: usize, names: &Interner) -> Result<()> {
        while self.nodes.len() < most
            && let Some((found, value)) = next_field(fields)?
        {
            if found == number
                && let Some(message) = len(value)
            {
                self.scan_node(message, fields.message(message), names);
            }
        }
        Ok(())
    }

    /// Scans a node.
    #[inline]
    fn scan_node(&mut self, message: Payload<'a>, node: Result<Reader<'a>>, names: &Interner) {
        let start = self.fields.len();
        let mut pending = PendingNode {
            message,
            is_simple: true,
            fields: start,
            attributes: 0,
            metadata: 0,
            names: message.end(),
        };
        pending.is_simple =
            node.is_ok_and(|mut node| self.scan_fields(&mut node, start, &mut pending, names));
        if !pending.is_simple {
            self.fields.truncate(start);
            self.output = None;
        }
        pending.fields = self.fields.len();
        self.nodes.push(pending);
    }

    /// Scans the fields of a node. Returns `true` if the node is simple.
    #[inline(always)]
    fn scan_fields(
        &mut self,
        node: &mut Reader<'a>,
        start: usize,
        pending: &mut PendingNode<'a>,
        names: &Interner,
    ) -> bool {
        while let Some((number, content)) = node.next_short_len() {
            if !node::is_known(number) {
                return false;
            }
            let mut field = ScannedField { number: number as u8, hash: NameHash::default(), content };
            match number {
                node::INPUT if self.output.is_some_and(|output| *output == *content) => {
                    field.number = LAST_OUTPUT;
                }
                node::INPUT | node::OUTPUT | node::NAME | node::DOC_STRING => {
                    field.hash = names.hash(&content)
                }
                // The cache compares bytes and needs no hash.
                _ if is_cached_field(number) => {}
                _ => self.count_message(number, start, pending),
            }
            if number == node::OUTPUT {
                self.output = Some(content);
            }
            self.fields.push(field);
        }
        node.remaining() == 0
    }

    /// Counts a field that holds a message.
    #[inline(never)]
    fn count_message(&self, number: u32, start: usize, pending: &mut PendingNode<'a>) {
        if number == node::METADATA_PROPS {
            pending.metadata += 1;
        }
        if number == node::ATTRIBUTE {
            if pending.attributes == 0 {
                let before = self.fields.get(start..).and_then(|fields| fields.last());
                pending.names = before.map_or(pending.message.offset(), |field| field.content.end());
            }
            pending.attributes += 1;
        }
    }

    /// Looks up the names of all nodes. A node with a name that is too long or not UTF-8 is not simple.
    fn look_up(
        &self,
        input: &'a Input,
        (names, cache): (&mut Interner, &mut NameCache<'a>),
        limits: &Limits,
        scanned: &mut ScannedNodes<'a>,
    ) {
        let all = self.text(input, limits);
        let (mut start, mut output) = (0, None);
        for node in &self.nodes {
            let fields = self.fields.get(start..node.fields).unwrap_or_default();
            start = node.fields;
            let text = all.or_else(|| AsciiText::of_names(node, limits));
            let mut is_simple = node.is_simple;
            for &ScannedField { number, hash, content } in fields {
                if !is_name((number & FIELD).into()) {
                    scanned.messages.push((number, content));
                    continue;
                }
                let name = match number {
                    LAST_OUTPUT => output,
                    _ if is_cached_field(number.into()) => match cache.get(&content) {
                        Some(name) => Some(name),
                        None => cached_name(names, cache, content, limits),
                    },
                    _ => match text.and_then(|text| text.get(content)) {
                        // The names that represent invalid UTF-8 are not ASCII.
                        Some(text) => Some(names.intern_verbatim(text, hash)),
                        None => general_name(names, content, hash, limits),
                    },
                };
                if u32::from(number) == node::OUTPUT {
                    output = name;
                }
                is_simple &= name.is_some();
                scanned.names.push((number & FIELD, name.unwrap_or_default()));
            }
            let &PendingNode { message, attributes, metadata, .. } = node;
            let (names, messages) = (scanned.names.len(), scanned.messages.len());
            scanned.nodes.push(ScannedNode { message, names, messages, attributes, metadata, is_simple });
        }
    }

    /// The bytes of all nodes, if they are ASCII.
    fn text(&self, input: &'a Input, limits: &Limits) -> Option<AsciiText<'a>> {
        let (start, end) = (self.nodes.first()?.message.offset(), self.nodes.last()?.message.end());
        AsciiText::new(input.bytes().get(start..end)?, start, limits)
    }
}

/// A range of the input that is ASCII. Checking many bytes at once is faster than checking each name.
#[derive(Clone, Copy)]
struct AsciiText<'a> {
    text: &'a str,
    offset: usize,
}

impl<'a> AsciiText<'a> {
    /// Checks the bytes that begin at `offset`. Returns `None` if they are more than [`MAX_ASCII_SCAN`], or more than the limit
    /// on one string, which must then be checked for each name.
    fn new(bytes: &'a [u8], offset: usize, limits: &Limits) -> Option<Self> {
        let is_short = bytes.len() <= MAX_ASCII_SCAN && bytes.len() as u64 <= limits.string_bytes;
        let text = (is_short && bytes.is_ascii()).then(|| std::str::from_utf8(bytes).ok())??;
        Some(Self { text, offset })
    }

    /// Checks the names of a node.
    fn of_names(node: &PendingNode<'a>, limits: &Limits) -> Option<Self> {
        let start = node.message.offset();
        let length = node.names.checked_sub(start)?;
        Self::new(node.message.as_slice().get(..length)?, start, limits)
    }

    /// The content of a field.
    #[inline]
    fn get(self, content: Payload<'a>) -> Option<&'a str> {
        let start = content.offset().checked_sub(self.offset)?;
        self.text.get(start..start + content.len())
    }
}

/// Like [`general_name`], but adds the symbol to the cache.
#[inline(never)]
fn cached_name<'a>(
    names: &mut Interner,
    cache: &mut NameCache<'a>,
    content: Payload<'a>,
    limits: &Limits,
) -> Option<Symbol> {
    let name = general_name(names, content, names.hash(&content), limits)?;
    cache.put(content.as_slice(), name);
    Some(name)
}

/// The symbol of a name that is not known to be ASCII. Returns `None` if the name is not UTF-8 or exceeds the limit.
fn general_name(
    names: &mut Interner,
    content: Payload<'_>,
    hash: NameHash,
    limits: &Limits,
) -> Option<Symbol> {
    // If some names represent invalid UTF-8, an equal string in the file is a different name.
    if names.holds_raw_bytes() {
        return None;
    }
    names.find(&content, hash).or_else(|| {
        let is_short = content.len() as u64 <= limits.string_bytes;
        let text = is_short.then(|| std::str::from_utf8(content.as_slice()).ok())??;
        (!holds_raw_bytes(text)).then(|| names.intern_verbatim(text, hash))
    })
}

/// Reads the next field, through the fast path if it applies.
#[inline(always)]
fn next_field<'a>(fields: &mut Reader<'a>) -> Result<Option<(u32, Value<'a>)>> {
    match fields.next_short_len() {
        Some((number, content)) => Ok(Some((number, Value::Len(content)))),
        None => Ok(fields.next_field()?.map(|field| (field.number, field.value))),
    }
}
