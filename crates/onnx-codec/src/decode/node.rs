//! `NodeProto`, the message that there are most of.
//!
//! Nodes are read some at a time: first their fields are found and their names hashed, then the names are looked up. A
//! name that a node defines is new, so its place in the table of names is one that nothing has touched; looking at many
//! such places at once is waiting for memory once.

use onnx_ir::{Attribute, Extras, GraphId, LoadedNode, NodeId, Origin};
use onnx_proto::wire::{Field, Payload, Reader, Value, WireError};
use onnx_types::{Limits, NameHash, Symbol};
use smallvec::SmallVec;

use super::{Cx, Result, Step, len, note};

/// The numbers that a node's fields have.
const KNOWN: std::ops::RangeInclusive<u32> = 1..=10;

/// How many nodes are looked at before they are read.
const AHEAD: usize = 16;

/// More bytes than this, in as few nodes as are looked at together, are not looked at for ASCII.
const LONG: usize = AHEAD * 384;

/// A node that is being read, its graph, and its position among the nodes there.
#[derive(Clone, Copy)]
struct Place {
    graph: GraphId,
    node: NodeId,
    index: usize,
}

/// A piece of the input that is ASCII.
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

    /// The content of a field.
    #[inline]
    #[cfg_attr(
        not(test),
        expect(clippy::arithmetic_side_effects, reason = "both ends of a payload are in memory")
    )]
    fn get(self, content: Payload<'a>) -> Option<&'a str> {
        let start = content.offset().checked_sub(self.offset)?;
        self.text.get(start..start + content.len())
    }
}

/// A field of a node that was looked at.
#[derive(Clone, Copy)]
struct Seen<'a> {
    number: u32,
    /// The hash of the content where that is a name.
    hash: NameHash,
    content: Payload<'a>,
}

/// Nodes that were looked at and not read so far.
#[derive(Default)]
pub(super) struct Ahead<'a> {
    /// The bytes of all of them and the offset of the first, if they are ASCII, which is quicker to see of many bytes at
    /// once than of one name after the other.
    text: Option<Text<'a>>,
    fields: Vec<Seen<'a>>,
    nodes: Vec<Found<'a>>,
}

/// A node that was looked at.
#[derive(Clone, Copy)]
struct Found<'a> {
    message: Payload<'a>,
    /// Where its fields end; `None` for a node with a field that is not plain, whose fields are not kept.
    fields: Option<usize>,
    /// The number of its attributes.
    attributes: usize,
    /// The number of its entries of metadata.
    metadata: usize,
    /// Where the names end that stand before the attributes, whose values may be any bytes.
    names: usize,
}

/// A node that is being read: everything but its operands, which go straight into the record.
#[derive(Default)]
struct Parts {
    node: LoadedNode,
    outputs: SmallVec<[Symbol; 4]>,
}

impl Parts {
    /// What few nodes have.
    fn rare(&mut self) -> &mut Extras {
        self.node.extras.get_or_insert_default()
    }
}

impl<'a> Ahead<'a> {
    /// Looks at the fields of a node.
    #[inline]
    fn look(&mut self, message: Payload<'a>, node: Result<Reader<'a>>, hash: impl Fn(&[u8]) -> NameHash) {
        let start = self.fields.len();
        let mut found = Found { message, fields: None, attributes: 0, metadata: 0, names: message.end() };
        if let Ok(mut node) = node
            && self.plain_fields(&mut node, start, &mut found, hash)
        {
            found.fields = Some(self.fields.len());
        } else {
            self.fields.truncate(start);
        }
        self.nodes.push(found);
    }

    /// Looks at all fields of a node; says whether they are plain.
    #[inline(always)]
    fn plain_fields(
        &mut self,
        node: &mut Reader<'a>,
        start: usize,
        found: &mut Found<'a>,
        hash: impl Fn(&[u8]) -> NameHash,
    ) -> bool {
        while let Some((number, content)) = node.next_plain() {
            if !KNOWN.contains(&number) {
                return false;
            }
            let mut field = Seen { number, hash: NameHash::default(), content };
            if matches!(number, 1..=4 | 6..=8) {
                field.hash = hash(&content);
            } else {
                self.count_message(number, start, found);
            }
            self.fields.push(field);
        }
        node.remaining() == 0
    }

    /// Counts a field that holds a message.
    #[inline(never)]
    #[cfg_attr(
        not(test),
        expect(
            clippy::arithmetic_side_effects,
            reason = "a message in memory has no more fields than bytes"
        )
    )]
    fn count_message(&self, number: u32, start: usize, found: &mut Found<'a>) {
        if number == 9 {
            found.metadata += 1;
        }
        if number == 5 {
            if found.attributes == 0 {
                let before = self.fields.get(start..).and_then(|fields| fields.last());
                found.names = before.map_or(found.message.offset(), |field| field.content.end());
            }
            found.attributes += 1;
        }
    }
}

impl<'a> Cx<'a> {
    /// Reads the nodes in field `number` of a message, of which there are `count`.
    pub(super) fn nodes<'p>(
        &mut self,
        pieces: impl Iterator<Item = &'p Reader<'a>>,
        number: u32,
        count: usize,
        graph: GraphId,
    ) -> Result<()>
    where
        'a: 'p,
    {
        let mut ahead = self.ahead.pop().unwrap_or_default();
        let mut index = 0;
        for piece in pieces {
            let mut fields = piece.clone();
            while index < count {
                // What is wrong behind the nodes that were found comes after what is wrong in them.
                let fault =
                    self.look_ahead(&mut fields, number, count.saturating_sub(index), &mut ahead).err();
                if ahead.nodes.is_empty() && fault.is_none() {
                    break;
                }
                self.found_nodes(&fields, &ahead, graph, &mut index)?;
                fault.map_or(Ok(()), Err)?;
            }
        }
        self.ahead.push(ahead);
        self.check("values", self.model.value_count(), self.options.limits.values, 0)
    }

    /// Finds the next nodes, and touches the places of their names.
    fn look_ahead(
        &self,
        fields: &mut Reader<'a>,
        number: u32,
        most: usize,
        ahead: &mut Ahead<'a>,
    ) -> Result<()> {
        ahead.nodes.clear();
        ahead.fields.clear();
        ahead.text = None;
        let names = self.model.names();
        while ahead.nodes.len() < most.min(AHEAD)
            && let Some((found, value)) = next_field(fields)?
        {
            if found == number
                && let Some(message) = len(value)
            {
                ahead.look(message, fields.message(message), |name| names.hash(name));
            }
        }
        names.touch(ahead.fields.iter().map(|field| field.hash));
        if let (Some(first), Some(last)) = (ahead.nodes.first(), ahead.nodes.last()) {
            let (start, end) = (first.message.offset(), last.message.end());
            let bytes = self.input.bytes().get(start..end).unwrap_or_default();
            ahead.text = Text::new(bytes, start, &self.options.limits);
        }
        Ok(())
    }

    /// Reads the nodes that were found.
    #[cfg_attr(
        not(test),
        expect(
            clippy::arithmetic_side_effects,
            reason = "a message in memory has no more fields than bytes"
        )
    )]
    fn found_nodes(
        &mut self,
        reader: &Reader<'a>,
        ahead: &Ahead<'a>,
        graph: GraphId,
        index: &mut usize,
    ) -> Result<()> {
        let mut start = 0;
        for found in &ahead.nodes {
            let read = match found.fields.and_then(|end| ahead.fields.get(start..end)) {
                Some(fields) => {
                    start += fields.len();
                    self.plain_node(reader, found, fields, ahead.text, graph, *index)
                }
                None => reader.message(found.message).and_then(|fields| {
                    self.node_fields(fields, found.message.offset(), graph, *index).map(drop)
                }),
            };
            read.map_err(|error: WireError| error.in_item("node", *index))?;
            *index += 1;
        }
        Ok(())
    }

    /// Reads a node whose fields were found.
    fn plain_node(
        &mut self,
        reader: &Reader<'a>,
        found: &Found<'a>,
        fields: &[Seen<'a>],
        text: Option<Text<'a>>,
        graph: GraphId,
        index: usize,
    ) -> Result<()> {
        let message = found.message;
        let reader = reader.message(message)?;
        let place = Place { graph, index, node: self.loader.begin_node(&mut self.model, graph) };
        let text = text.or_else(|| {
            let length = found.names.checked_sub(message.offset())?;
            Text::new(message.as_slice().get(..length)?, message.offset(), &self.options.limits)
        });
        let mut parts = Parts::default();
        if found.attributes > 0 {
            // A list that grows takes room for four at once.
            parts.node.attributes.reserve_exact(found.attributes);
        }
        if found.metadata > 0 {
            parts.rare().metadata.reserve_exact(found.metadata);
        }
        for &field in fields {
            self.node_field(&reader, field, text, &mut parts, place)?;
        }
        self.finish_node(parts, message.offset(), place.node);
        Ok(())
    }

    /// Reads a node whose message begins at `offset`.
    pub(super) fn node_fields(
        &mut self,
        mut fields: Reader<'a>,
        offset: usize,
        graph: GraphId,
        index: usize,
    ) -> Result<NodeId> {
        let place = Place { graph, index, node: self.loader.begin_node(&mut self.model, graph) };
        let mut parts = Parts::default();
        while let Some(field) = fields.next_field()? {
            let known = KNOWN.contains(&field.number);
            match field {
                Field { number, value: Value::Len(content), .. } if known => {
                    let hash = self.model.names().hash(&content);
                    self.node_field(&fields, Seen { number, hash, content }, None, &mut parts, place)?;
                }
                _ => self.keep(&mut parts.rare().unknown, &field, known),
            }
        }
        self.finish_node(parts, offset, place.node);
        Ok(place.node)
    }

    #[inline(always)]
    fn node_field(
        &mut self,
        reader: &Reader<'a>,
        Seen { number, hash, content }: Seen<'a>,
        text: Option<Text<'a>>,
        parts: &mut Parts,
        Place { graph, node, index }: Place,
    ) -> Result<()> {
        if matches!(number, 5 | 9 | 10) {
            return self.node_message(reader, number, content, parts, index);
        }
        let name = match text.and_then(|text| text.get(content)) {
            // Names that stand for other bytes are not ASCII, so this one is not among them.
            Some(text) => self.model.names_mut().intern_plain(text, hash),
            None => self.hashed_name(reader, content, hash)?,
        };
        match number {
            1 => self.loader.operand(&mut self.model, graph, node, name),
            2 => parts.outputs.push(name),
            3 => parts.node.name = name,
            4 => parts.node.op = name,
            6 => parts.rare().doc = name,
            7 => parts.node.domain = name,
            _ => parts.node.overload = name,
        }
        if number > 2 {
            note(&mut parts.node.mask, number, content.is_empty());
        }
        Ok(())
    }

    /// A field of a node that holds a message.
    #[inline(never)]
    fn node_message(
        &mut self,
        reader: &Reader<'a>,
        number: u32,
        content: Payload<'a>,
        parts: &mut Parts,
        index: usize,
    ) -> Result<()> {
        match number {
            5 => {
                let attribute = self.node_attribute(reader, content, &parts.node, index)?;
                parts.node.attributes.push(attribute);
            }
            9 => parts.rare().metadata.push(self.metadata(reader, content)?),
            _ => parts.rare().device_configurations.push(self.node_devices(reader, content)?),
        }
        Ok(())
    }

    #[inline]
    fn finish_node(&mut self, parts: Parts, offset: usize, node: NodeId) {
        let Parts { node: mut loaded, outputs } = parts;
        loaded.extras.take_if(|extras| extras.is_empty());
        self.loader.finish_node(&mut self.model, node, loaded, &outputs);
        if !self.options.no_offsets {
            self.model.set_node_origin(node, Origin::Byte(offset as u64));
        }
    }

    fn node_attribute(
        &mut self,
        reader: &Reader<'a>,
        payload: Payload<'a>,
        node: &LoadedNode,
        index: usize,
    ) -> Result<Attribute> {
        self.steps.push(Step::Node { index, op: node.op, name: node.name });
        let attribute = self
            .attribute(reader, payload)
            .map_err(|error| error.in_item("attribute", node.attributes.len()))?;
        self.steps.pop();
        Ok(attribute)
    }
}

/// The next field, by the quick way where that serves.
#[inline(always)]
fn next_field<'a>(fields: &mut Reader<'a>) -> Result<Option<(u32, Value<'a>)>> {
    match fields.next_plain() {
        Some((number, content)) => Ok(Some((number, Value::Len(content)))),
        None => Ok(fields.next_field()?.map(|field| (field.number, field.value))),
    }
}
