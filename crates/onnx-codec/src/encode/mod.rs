//! Encoding of the graph.
//!
//! Fields are written in the order of their numbers, as the protobuf libraries do. Explicitly encoded defaults, lists
//! that are packed although their default is unpacked, and unknown fields are written as they were read. Encoding is
//! deterministic.

mod device;
mod graph;
mod model;
mod node;
mod operator_set;
mod parts;
mod tensor;
mod ty;

use std::borrow::Cow;

use onnx_ir::{MetadataEntry, Model, NamePlan, ValueId, ValueRef};
use onnx_proto::field::string_string_entry;
use onnx_proto::wire::{Segments, Writer};
use onnx_types::raw_text::to_bytes;
use onnx_types::{FieldForms, Limits, Symbol, Text, UnknownField};

use crate::error::EncodeError;

pub use operator_set::encode_operator_set;
pub use parts::{encode_function, encode_graph, encode_node};
pub(crate) use parts::{functions, part as encode_parts, tensor_into};

/// Options for encoding a model.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct EncodeOptions {
    /// Maximum nesting depth of messages. Default: 100, the limit of all other readers.
    pub message_depth: u32,
    /// The greatest length of a tensor that passes made of one repeated element, in bytes once written out.
    /// Default: 1 GiB.
    pub splat_bytes: u64,
}

impl Default for EncodeOptions {
    fn default() -> Self {
        Self::within(&Limits::DEFAULT)
    }
}

impl EncodeOptions {
    /// The default options with other limits: [`Limits::message_depth`] and [`Limits::splat_bytes`].
    #[must_use]
    pub const fn within(limits: &Limits) -> Self {
        Self { message_depth: limits.message_depth, splat_bytes: limits.splat_bytes }
    }
}

onnx_types::option_setters! {
    EncodeOptions {
        with_message_depth => message_depth: u32,
        with_splat_bytes => splat_bytes: u64,
    }
}

/// Writes a model as `ModelProto`.
///
/// Large payloads are shared with the model, not copied; the result is a list of segments for a vectored write. Values
/// without a name get one, and names that collide after edits are made unique: see [`Model::name_plan`]. The encoded
/// bytes of unmodified nodes are reused if encoding them again would give the same bytes.
///
/// ```
/// use onnx_codec::{DecodeOptions, EncodeOptions, decode, encode};
///
/// let file = bytes::Bytes::from_static(b"\x08\x0a\x3a\x03\x12\x01g");
/// let model = decode(file.clone(), &DecodeOptions::default())?.model;
/// assert_eq!(encode(&model, &EncodeOptions::default())?.to_vec(), file);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// Returns an error if graphs or types are nested too deeply for any reader, or a repeated element would fill too much.
pub fn encode(model: &Model, options: &EncodeOptions) -> Result<Segments, EncodeError> {
    let plan = model.name_plan();
    let cx = Cx { model, plan: &plan, options, raw_bytes: model.names().holds_raw_bytes() };
    // A node takes some sixty bytes; growing a few times costs little.
    let mut writer = Writer::with_capacity(model.node_count().saturating_mul(64));
    cx.model(&mut writer)?;
    Ok(writer.finish())
}

type Result<T = (), E = EncodeError> = std::result::Result<T, E>;

pub(crate) struct Cx<'m> {
    model: &'m Model,
    plan: &'m NamePlan,
    options: &'m EncodeOptions,
    /// Whether names may hold bytes that are not UTF-8.
    raw_bytes: bool,
}

/// A range of field numbers: which fields of a message to write now.
#[derive(Clone, Copy)]
struct Window {
    from: u32,
    to: u32,
}

impl Window {
    const ALL: Self = Self { from: 0, to: u32::MAX };

    /// Returns `true` if field `number` is in the window.
    #[inline]
    const fn has(self, number: u32) -> bool {
        self.from <= number && number < self.to
    }
}

/// Writes a message: its known fields through `write`, and the unknown ones in the order of their numbers.
#[inline]
fn merged(
    writer: &mut Writer,
    unknown: &[UnknownField],
    mut write: impl FnMut(&mut Writer, Window) -> Result,
) -> Result {
    if unknown.is_empty() {
        return write(writer, Window::ALL);
    }
    let mut sorted: Vec<&UnknownField> = unknown.iter().collect();
    sorted.sort_by_key(|field| field.number);
    let mut from = 0;
    for field in sorted {
        let to = field.number.saturating_add(1);
        if to > from {
            write(writer, Window { from, to })?;
            from = to;
        }
        writer.raw(&field.bytes);
    }
    write(writer, Window { from, to: u32::MAX })
}

impl<'m> Cx<'m> {
    fn str(&self, symbol: Symbol) -> &'m str {
        self.model.str(symbol)
    }

    /// The name that a value is written with.
    #[inline]
    fn value_name(&self, value: ValueId) -> &str {
        self.plan.name(value, self.model)
    }

    /// Writes a string field; the bytes that a file did not hold as UTF-8 are written back.
    #[inline]
    fn put(&self, writer: &mut Writer, number: u32, text: &str) {
        if self.raw_bytes {
            writer.slice(number, &to_bytes(text));
        } else {
            writer.string(number, text);
        }
    }

    /// Writes a string field that is left out when it is empty, unless the file had it.
    #[inline]
    fn text(&self, writer: &mut Writer, number: u32, symbol: Symbol, forms: FieldForms) {
        if !symbol.is_empty() || forms.is_explicit(number) {
            self.put(writer, number, self.str(symbol));
        }
    }

    /// Writes the name of a reference's target; nothing is written if its value is gone.
    fn reference(&self, writer: &mut Writer, number: u32, reference: ValueRef, forms: FieldForms) {
        if let Some(name) = self.plan.reference(reference, self.model)
            && (!name.is_empty() || forms.is_explicit(number))
        {
            self.put(writer, number, name);
        }
    }

    /// Writes a list of metadata.
    fn metadata(&self, writer: &mut Writer, number: u32, metadata: &[MetadataEntry]) {
        for entry in metadata {
            match entry.source() {
                Some(source) => writer.bytes(number, source),
                None => writer.message(number, |writer| {
                    self.put(writer, string_string_entry::KEY, self.str(entry.key()));
                    writer.slice(string_string_entry::VALUE, &text_bytes(entry.value()));
                }),
            }
        }
    }

    /// Refuses to nest deeper than the limit; returns the next level.
    fn deeper(&self, depth: u32, levels: u32) -> Result<u32> {
        let depth = depth.saturating_add(levels);
        if depth > self.options.message_depth {
            return Err(EncodeError::TooDeep { limit: self.options.message_depth });
        }
        Ok(depth)
    }
}

/// The encoded bytes of a text outside the interner; bytes of a file that are not UTF-8 are restored.
fn text_bytes(text: &Text) -> Cow<'_, [u8]> {
    let bytes = text.as_bytes();
    // Nearly all texts are ASCII, and need no search for restored bytes.
    if bytes.is_ascii() { Cow::Borrowed(bytes) } else { to_bytes(text) }
}

/// Writes a number that is left out when it is 0, unless the file had it.
#[inline]
fn int(writer: &mut Writer, number: u32, value: i64, forms: FieldForms) {
    if value != 0 || forms.is_explicit(number) {
        writer.int64(number, value);
    }
}

/// Writes a list of integers, packed if the file had it so.
fn ints(writer: &mut Writer, number: u32, values: &[i64], forms: FieldForms) {
    ints_packed_if(forms.is_packed(number), writer, number, values);
}

fn ints_packed_if(packed: bool, writer: &mut Writer, number: u32, values: &[i64]) {
    if packed {
        writer.packed_int64(number, values.iter().copied());
    } else {
        for &value in values {
            writer.int64(number, value);
        }
    }
}
