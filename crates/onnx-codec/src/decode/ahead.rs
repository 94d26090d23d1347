//! Looking at nodes before they are read: where their fields are, and what the symbols of their names are.
//!
//! Nodes are looked at some at a time: first their fields are found and their names hashed, then the names are looked up.
//! A name that a node defines is new, so its place in the table of names is one that nothing has touched; looking at many
//! such places at once is waiting for memory once.

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

use super::usual::Usual;
use super::{Pieces, Result, len};

/// How many nodes are looked at at once.
const AHEAD: usize = 16;

/// More bytes than this, in as few nodes as are looked at together, are not looked at for ASCII.
const LONG: usize = AHEAD * 384;

/// Whether the field of a node with this number is a name, or another text.
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

/// Whether the name in the field with this number is likely to be met again: operator, domain and overload.
const fn is_usual(number: u32) -> bool {
    matches!(number, node::OP_TYPE | node::DOMAIN | node::OVERLOAD)
}

/// Nodes that were looked at and not read so far.
#[derive(Default)]
pub(super) struct Ahead<'a> {
    nodes: Vec<Found<'a>>,
    /// The numbers of the fields that are names, and the names.
    names: Vec<(u8, Symbol)>,
    /// The numbers and contents of the fields that are messages.
    messages: Vec<(u8, Payload<'a>)>,
    /// What is wrong behind the nodes.
    fault: Option<WireError>,
}

/// A node that was looked at.
#[derive(Clone, Copy)]
pub(super) struct Found<'a> {
    pub(super) message: Payload<'a>,
    /// Where its names and its messages end. They are none if it is not plain.
    names: usize,
    messages: usize,
    /// The number of its attributes and of its entries of metadata.
    pub(super) attributes: u32,
    pub(super) metadata: u32,
    /// Whether all its fields were found; otherwise it is to be read field by field.
    is_plain: bool,
}

/// The fields of a plain node.
pub(super) struct Fields<'f, 'a> {
    names: &'f [(u8, Symbol)],
    messages: &'f [(u8, Payload<'a>)],
}

impl<'f, 'a> Fields<'f, 'a> {
    /// The numbers of the fields that are names, and the names.
    pub(super) fn names(&self) -> impl Iterator<Item = (u32, Symbol)> + use<'f, 'a> {
        self.names.iter().map(|&(number, name)| (number.into(), name))
    }

    /// The numbers and contents of the other fields.
    pub(super) fn messages(&self) -> impl Iterator<Item = (u32, Payload<'a>)> + use<'f, 'a> {
        self.messages.iter().map(|&(number, content)| (number.into(), content))
    }
}

impl<'a> Ahead<'a> {
    /// Forgets everything.
    pub(super) fn clear(&mut self) {
        self.nodes.clear();
        self.names.clear();
        self.messages.clear();
        self.fault = None;
    }

    /// What is wrong behind the nodes, once.
    pub(super) fn take_fault(&mut self) -> Option<WireError> {
        self.fault.take()
    }

    /// The nodes, each with its fields if it is plain.
    pub(super) fn nodes(&self) -> impl Iterator<Item = (&Found<'a>, Option<Fields<'_, 'a>>)> {
        let (mut names, mut messages) = (0, 0);
        self.nodes.iter().map(move |node| {
            let of_names = names..node.names;
            let of_messages = messages..node.messages;
            (names, messages) = (node.names, node.messages);
            let fields = || {
                Some(Fields { names: self.names.get(of_names)?, messages: self.messages.get(of_messages)? })
            };
            (node, node.is_plain.then(fields).flatten())
        })
    }
}

/// Finds the nodes of a graph, one group after the other.
pub(super) struct Search<'a> {
    /// What follows the piece that is being looked at.
    pieces: <Pieces<'a> as IntoIterator>::IntoIter,
    fields: Option<Reader<'a>>,
    /// The number of the field that holds a node.
    number: u32,
    /// How many nodes are still to come.
    left: usize,
    limits: &'a Limits,
    /// The group that is being looked at.
    group: Group<'a>,
}

impl<'a> Search<'a> {
    /// A search for `count` nodes in field `number` of a message.
    pub(super) fn new(pieces: Pieces<'a>, number: u32, count: usize, limits: &'a Limits) -> Self {
        let mut pieces = pieces.into_iter();
        Self { fields: pieces.next(), pieces, number, left: count, limits, group: Group::default() }
    }

    /// Uses the memory of a search that has ended.
    pub(super) fn use_memory_of(&mut self, group: Group<'a>) {
        self.group = group;
    }

    /// The memory for another search.
    pub(super) fn take_memory(&mut self) -> Group<'a> {
        std::mem::take(&mut self.group)
    }

    /// Finds the next group of nodes and looks up their names; says whether there is one, or something is wrong. Where the
    /// bytes are wrong, the nodes before are found all the same.
    pub(super) fn next(
        &mut self,
        ahead: &mut Ahead<'a>,
        names: &mut Interner,
        usual: &mut Usual<'a>,
    ) -> bool {
        while self.left > 0
            && let Some(fields) = &mut self.fields
        {
            self.group.clear();
            ahead.fault = self.group.find(fields, self.number, self.left.min(AHEAD), names).err();
            self.group.look_up(fields.input(), (names, usual), self.limits, ahead);
            self.left = self.left.saturating_sub(self.group.nodes.len());
            if ahead.fault.is_some() {
                self.left = 0;
                return true;
            }
            if !self.group.nodes.is_empty() {
                return true;
            }
            self.fields = self.pieces.next();
        }
        false
    }
}

/// Some nodes whose names are to be looked up.
#[derive(Clone, Default)]
pub(super) struct Group<'a> {
    nodes: Vec<Seen<'a>>,
    fields: Vec<Field<'a>>,
    /// The content of the last output above; none behind a node that is not plain.
    output: Option<Payload<'a>>,
}

/// A node whose names are to be looked up.
#[derive(Clone, Copy)]
struct Seen<'a> {
    message: Payload<'a>,
    is_plain: bool,
    /// Where its fields end.
    fields: usize,
    attributes: u32,
    metadata: u32,
    /// Where the names end that stand before the attributes, whose values may be any bytes.
    names: usize,
}

/// The number of a field without the mark.
const FIELD: u8 = !LAST;

/// The mark of an input that is the last output above it.
const LAST: u8 = 0x80;

/// The number of an input, with the mark that it is the last output above it: nodes usually follow each other as their
/// values do, and comparing two names is faster than looking one up.
const LAST_OUTPUT: u8 = LAST | node::INPUT as u8;

/// A field of a plain node.
#[derive(Clone, Copy)]
struct Field<'a> {
    /// Its number, or [`LAST_OUTPUT`].
    number: u8,
    /// The hash of the content where that is a name.
    hash: NameHash,
    content: Payload<'a>,
}

impl<'a> Group<'a> {
    fn clear(&mut self) {
        self.nodes.clear();
        self.fields.clear();
        self.output = None;
    }

    /// Finds the next nodes of a message, at most so many.
    fn find(&mut self, fields: &mut Reader<'a>, number: u32, most: usize, names: &Interner) -> Result<()> {
        while self.nodes.len() < most
            && let Some((found, value)) = next_field(fields)?
        {
            if found == number
                && let Some(message) = len(value)
            {
                self.look(message, fields.message(message), names);
            }
        }
        Ok(())
    }

    /// Looks at the fields of a node.
    #[inline]
    fn look(&mut self, message: Payload<'a>, node: Result<Reader<'a>>, names: &Interner) {
        let start = self.fields.len();
        let mut seen =
            Seen { message, is_plain: true, fields: start, attributes: 0, metadata: 0, names: message.end() };
        seen.is_plain = node.is_ok_and(|mut node| self.plain_fields(&mut node, start, &mut seen, names));
        if !seen.is_plain {
            self.fields.truncate(start);
            self.output = None;
        }
        seen.fields = self.fields.len();
        self.nodes.push(seen);
    }

    /// Looks at all fields of a node; says whether they are plain.
    #[inline(always)]
    fn plain_fields(
        &mut self,
        node: &mut Reader<'a>,
        start: usize,
        seen: &mut Seen<'a>,
        names: &Interner,
    ) -> bool {
        while let Some((number, content)) = node.next_plain() {
            if !node::is_known(number) {
                return false;
            }
            let mut field = Field { number: number as u8, hash: NameHash::default(), content };
            match number {
                node::INPUT if self.output.is_some_and(|output| *output == *content) => {
                    field.number = LAST_OUTPUT;
                }
                node::INPUT | node::OUTPUT | node::NAME | node::DOC_STRING => {
                    field.hash = names.hash(&content)
                }
                // These are looked up by their bytes.
                _ if is_usual(number) => {}
                _ => self.count_message(number, start, seen),
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
    fn count_message(&self, number: u32, start: usize, seen: &mut Seen<'a>) {
        if number == node::METADATA_PROPS {
            seen.metadata += 1;
        }
        if number == node::ATTRIBUTE {
            if seen.attributes == 0 {
                let before = self.fields.get(start..).and_then(|fields| fields.last());
                seen.names = before.map_or(seen.message.offset(), |field| field.content.end());
            }
            seen.attributes += 1;
        }
    }

    /// Looks up the names of all nodes. A node with a name that is no text, or too long, is not plain.
    fn look_up(
        &self,
        input: &'a Input,
        (names, usual): (&mut Interner, &mut Usual<'a>),
        limits: &Limits,
        ahead: &mut Ahead<'a>,
    ) {
        names.touch(self.fields.iter().map(|field| field.hash));
        let all = self.text(input, limits);
        let (mut start, mut output) = (0, None);
        for node in &self.nodes {
            let fields = self.fields.get(start..node.fields).unwrap_or_default();
            start = node.fields;
            let text = all.or_else(|| Text::of_names(node, limits));
            let mut is_plain = node.is_plain;
            for &Field { number, hash, content } in fields {
                if !is_name((number & FIELD).into()) {
                    ahead.messages.push((number, content));
                    continue;
                }
                let name = match number {
                    LAST_OUTPUT => output,
                    _ if is_usual(number.into()) => match usual.get(&content) {
                        Some(name) => Some(name),
                        None => usual_name(names, usual, content, limits),
                    },
                    _ => match text.and_then(|text| text.get(content)) {
                        // Names that stand for other bytes are not ASCII, so this one is not among them.
                        Some(text) => Some(names.intern_plain(text, hash)),
                        None => other_name(names, content, hash, limits),
                    },
                };
                if u32::from(number) == node::OUTPUT {
                    output = name;
                }
                is_plain &= name.is_some();
                ahead.names.push((number & FIELD, name.unwrap_or_default()));
            }
            let &Seen { message, attributes, metadata, .. } = node;
            let (names, messages) = (ahead.names.len(), ahead.messages.len());
            ahead.nodes.push(Found { message, names, messages, attributes, metadata, is_plain });
        }
    }

    /// The bytes of all nodes, if they are ASCII.
    fn text(&self, input: &'a Input, limits: &Limits) -> Option<Text<'a>> {
        let (start, end) = (self.nodes.first()?.message.offset(), self.nodes.last()?.message.end());
        Text::new(input.bytes().get(start..end)?, start, limits)
    }
}

/// A piece of the input that is ASCII, which is quicker to see of many bytes at once than of one name after the other.
#[derive(Clone, Copy)]
struct Text<'a> {
    text: &'a str,
    offset: usize,
}

impl<'a> Text<'a> {
    /// Looks at the bytes that begin at `offset`, unless there are many: then most of them are no names. Where there are
    /// more than one name may have, each name must be looked at.
    fn new(bytes: &'a [u8], offset: usize, limits: &Limits) -> Option<Self> {
        let is_short = bytes.len() <= LONG && bytes.len() as u64 <= limits.string_bytes;
        let text = (is_short && bytes.is_ascii()).then(|| std::str::from_utf8(bytes).ok())??;
        Some(Self { text, offset })
    }

    /// Looks at the names of a node.
    fn of_names(node: &Seen<'a>, limits: &Limits) -> Option<Self> {
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

/// The symbol of a name that is likely to be met again, as [`other_name`].
#[inline(never)]
fn usual_name<'a>(
    names: &mut Interner,
    usual: &mut Usual<'a>,
    content: Payload<'a>,
    limits: &Limits,
) -> Option<Symbol> {
    let name = other_name(names, content, names.hash(&content), limits)?;
    usual.put(content.as_slice(), name);
    Some(name)
}

/// The symbol of a name that was not seen to be ASCII, if it is text and no limit is in its way.
fn other_name(names: &mut Interner, content: Payload<'_>, hash: NameHash, limits: &Limits) -> Option<Symbol> {
    // Where names stand for bytes that are not UTF-8, the same text in the file is another name.
    if names.holds_raw_bytes() {
        return None;
    }
    names.find(&content, hash).or_else(|| {
        let is_short = content.len() as u64 <= limits.string_bytes;
        let text = is_short.then(|| std::str::from_utf8(content.as_slice()).ok())??;
        (!holds_raw_bytes(text)).then(|| names.intern_plain(text, hash))
    })
}

/// The next field, by the quick way where that serves.
#[inline(always)]
fn next_field<'a>(fields: &mut Reader<'a>) -> Result<Option<(u32, Value<'a>)>> {
    match fields.next_plain() {
        Some((number, content)) => Ok(Some((number, Value::Len(content)))),
        None => Ok(fields.next_field()?.map(|field| (field.number, field.value))),
    }
}
