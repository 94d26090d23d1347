//! A message as a tree in which order, packing, splitting and padding have no trace left.
//!
//! Two files hold the same fields exactly if their trees are equal: of a singular field the last value counts,
//! occurrences of a message are merged, members of a `oneof` exclude each other, undefined numbers of an enum and known
//! fields with a wrong wire type are unknown fields, and unknown fields are kept unchanged. These are the parsing rules
//! of protobuf.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::schema::{Field, FieldType, Message, MessageId, Schema};
use super::wire::{Malformed, Record, Records, Value, packed_varints, put_tag, put_varint};

/// How many levels of messages may be nested below the top.
pub const LEVELS: u32 = 100;

/// A message.
#[derive(Clone, Default, PartialEq, Debug)]
pub struct Tree<'a> {
    /// The known fields that are present.
    pub fields: BTreeMap<u32, Node<'a>>,
    /// The unknown fields by number, each with its records as encoded in the file.
    pub unknown: BTreeMap<u32, Vec<Cow<'a, [u8]>>>,
}

/// The values of a field.
#[derive(Clone, PartialEq, Debug)]
pub enum Node<'a> {
    /// Numbers as bits; a singular field has one.
    Numbers(Vec<u64>),
    /// Texts and byte strings; a singular field has one.
    Bytes(Vec<&'a [u8]>),
    /// Messages; a singular field has one.
    Messages(Vec<Tree<'a>>),
}

impl Node<'_> {
    /// How many values there are.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::Numbers(list) => list.len(),
            Self::Bytes(list) => list.len(),
            Self::Messages(list) => list.len(),
        }
    }

    /// Whether there is no value: a packed field of no elements.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<'a> Tree<'a> {
    /// Reads a message.
    ///
    /// # Errors
    ///
    /// When the bytes are not protobuf.
    pub fn read(schema: &Schema, message: MessageId, bytes: &'a [u8]) -> Result<Self, Malformed> {
        let mut tree = Self::default();
        tree.merge(schema, message, bytes, LEVELS)?;
        tree.drop_empty();
        Ok(tree)
    }

    fn merge(
        &mut self,
        schema: &Schema,
        message: MessageId,
        bytes: &'a [u8],
        levels: u32,
    ) -> Result<(), Malformed> {
        let ty = schema.message(message);
        for record in Records::new(bytes, levels) {
            let record = record?;
            let taken = match ty.field(record.number) {
                Some(field) => self.field(schema, ty, field, &record, levels)?,
                None => false,
            };
            if !taken {
                self.unknown.entry(record.number).or_default().push(Cow::Borrowed(record.raw));
            }
        }
        Ok(())
    }

    /// Adds a known field. Returns `true` if its wire type matches.
    fn field(
        &mut self,
        schema: &Schema,
        ty: &Message,
        field: &Field,
        record: &Record<'a>,
        levels: u32,
    ) -> Result<bool, Malformed> {
        if !fits(field, record) {
            return Ok(false);
        }
        if let (FieldType::Enum(known), Value::Varint(value)) = (&field.ty, record.value)
            && !known.contains(&(value as i32))
        {
            let mut raw = Vec::new();
            put_tag(&mut raw, field.number, 0, 0);
            put_varint(&mut raw, i64::from(value as i32).cast_unsigned(), 0);
            self.unknown.entry(field.number).or_default().push(Cow::Owned(raw));
            return Ok(true);
        }
        self.clear_others(ty, field);
        let node = self.fields.entry(field.number).or_insert_with(|| match field.ty {
            FieldType::String | FieldType::Bytes => Node::Bytes(Vec::new()),
            FieldType::Message(_) => Node::Messages(Vec::new()),
            _ => Node::Numbers(Vec::new()),
        });
        match (node, record.value, &field.ty) {
            (Node::Numbers(list), value, _) => {
                if !field.repeated {
                    list.clear();
                }
                numbers(&field.ty, value, list)?;
            }
            (Node::Bytes(list), Value::Len(bytes), _) => {
                if !field.repeated {
                    list.clear();
                }
                list.push(bytes);
            }
            (Node::Messages(list), Value::Len(bytes), &FieldType::Message(inner)) => {
                let levels = levels.checked_sub(1).ok_or(Malformed(0))?;
                if field.repeated || list.is_empty() {
                    list.push(Tree::default());
                }
                if let Some(last) = list.last_mut() {
                    last.merge(schema, inner, bytes, levels)?;
                }
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// The members of a `oneof` exclude each other.
    fn clear_others(&mut self, ty: &Message, field: &Field) {
        if field.oneof.is_some() {
            for other in ty.fields.iter().filter(|other| other.oneof == field.oneof) {
                if other.number != field.number {
                    self.fields.remove(&other.number);
                }
            }
        }
    }

    /// A packed field of no elements is as good as absent.
    fn drop_empty(&mut self) {
        self.fields.retain(|_, node| !node.is_empty());
        for node in self.fields.values_mut() {
            if let Node::Messages(list) = node {
                list.iter_mut().for_each(Self::drop_empty);
            }
        }
    }

    /// The first number of a field.
    #[must_use]
    pub fn number(&self, field: u32) -> Option<u64> {
        match self.fields.get(&field)? {
            Node::Numbers(list) => list.first().copied(),
            _ => None,
        }
    }

    /// The messages of a field.
    #[must_use]
    pub fn messages(&self, field: u32) -> &[Self] {
        match self.fields.get(&field) {
            Some(Node::Messages(list)) => list,
            _ => &[],
        }
    }

    /// Where and how this tree differs from another one first; `None` when they are equal.
    #[must_use]
    pub fn difference(&self, other: &Self, schema: &Schema, message: MessageId) -> Option<String> {
        let ty = schema.message(message);
        for number in self.fields.keys().chain(other.fields.keys()) {
            let (mine, theirs) = (self.fields.get(number), other.fields.get(number));
            if mine != theirs
                && let Some(field) = ty.field(*number)
            {
                return Some(node_difference(mine, theirs, schema, field));
            }
        }
        for number in self.unknown.keys().chain(other.unknown.keys()) {
            let (mine, theirs) = (self.unknown.get(number), other.unknown.get(number));
            if mine != theirs {
                let (mine, theirs) = (mine.map_or(0, Vec::len), theirs.map_or(0, Vec::len));
                return Some(format!("unknown field {number}: {mine} records before, {theirs} after"));
            }
        }
        None
    }
}

fn node_difference(
    mine: Option<&Node<'_>>,
    theirs: Option<&Node<'_>>,
    schema: &Schema,
    field: &Field,
) -> String {
    let name = &field.name;
    let (mine, theirs) = match (mine, theirs) {
        (Some(mine), Some(theirs)) => (mine, theirs),
        (None, _) => return format!("{name}: absent before, present after"),
        (_, None) => return format!("{name}: present before, absent after"),
    };
    if mine.len() != theirs.len() {
        return format!("{name}: {} values before, {} after", mine.len(), theirs.len());
    }
    if let (Node::Messages(mine), Node::Messages(theirs), &FieldType::Message(inner)) =
        (mine, theirs, &field.ty)
    {
        let inside = mine.iter().zip(theirs).enumerate().find_map(|(index, (mine, theirs))| {
            let inside = mine.difference(theirs, schema, inner)?;
            Some(if field.repeated {
                format!("{name}[{index}].{inside}")
            } else {
                format!("{name}.{inside}")
            })
        });
        return inside.unwrap_or_else(|| format!("{name}: other messages"));
    }
    let mut text = format!("{name}: {mine:?} before, {theirs:?} after");
    if let Some((end, _)) = text.char_indices().nth(200) {
        text.truncate(end);
        text.push('…');
    }
    text
}

/// Whether a known field is written in a form that its type can have.
#[must_use]
pub fn fits(field: &Field, record: &Record<'_>) -> bool {
    match record.value {
        Value::Varint(_) => field.ty.wire_type() == 0,
        Value::Fixed64(_) => field.ty.wire_type() == 1,
        Value::Fixed32(_) => field.ty.wire_type() == 5,
        Value::Len(_) => field.ty.wire_type() == 2 || (field.repeated && field.ty.packable()),
        Value::Group(_) => false,
    }
}

/// Appends the numbers of a record, which may be packed.
fn numbers(ty: &FieldType, value: Value<'_>, list: &mut Vec<u64>) -> Result<(), Malformed> {
    // Of a 32-bit number only the lower half counts.
    let narrow = |value: u64| match ty {
        FieldType::Int32 | FieldType::Enum(_) => u64::from(value as u32),
        _ => value,
    };
    match value {
        Value::Varint(value) => list.push(narrow(value)),
        Value::Fixed64(bits) => list.push(bits),
        Value::Fixed32(bits) => list.push(u64::from(bits)),
        Value::Len(packed) => match ty.wire_type() {
            1 => {
                let (chunks, rest) = packed.as_chunks::<8>();
                require(rest.is_empty())?;
                list.extend(chunks.iter().map(|chunk| u64::from_le_bytes(*chunk)));
            }
            5 => {
                let (chunks, rest) = packed.as_chunks::<4>();
                require(rest.is_empty())?;
                list.extend(chunks.iter().map(|chunk| u64::from(u32::from_le_bytes(*chunk))));
            }
            _ => list.extend(packed_varints(packed)?.into_iter().map(|(value, ..)| narrow(value))),
        },
        Value::Group(_) => {}
    }
    Ok(())
}

fn require(holds: bool) -> Result<(), Malformed> {
    if holds { Ok(()) } else { Err(Malformed(0)) }
}
