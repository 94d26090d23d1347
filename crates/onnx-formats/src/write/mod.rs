//! From the wire format to text, in one pass and without a tree of messages.

mod json;
mod output;
mod text;
mod walk;

use std::io::Write;

use onnx_types::Execution;

use crate::pieces::Pieces;
use crate::schema::Field;
use crate::{ConvertError, Losses, MessageType};

use output::Output;

/// A format in which a message is written: the syntax around the values, and the syntax of values.
trait Form {
    /// Begins a message: the whole one, or the value of a field.
    fn begin_message(&mut self, out: &mut Output<'_>, place: Option<(&Field, Entry)>);
    fn end_message(&mut self, out: &mut Output<'_>, is_empty: bool);
    /// Begins and ends the values of a repeated field.
    fn begin_list(&mut self, out: &mut Output<'_>, field: &Field, is_first: bool);
    fn end_list(&mut self, out: &mut Output<'_>);
    /// Writes what precedes and follows a value that is not a message.
    fn begin_value(&mut self, out: &mut Output<'_>, field: &Field, entry: Entry);
    fn end_value(&mut self, out: &mut Output<'_>);

    fn float(&mut self, out: &mut Output<'_>, value: f32);
    fn double(&mut self, out: &mut Output<'_>, value: f64);
    fn int32(&mut self, out: &mut Output<'_>, value: i32);
    fn int64(&mut self, out: &mut Output<'_>, value: i64);
    fn uint64(&mut self, out: &mut Output<'_>, value: u64);
    fn name(&mut self, out: &mut Output<'_>, name: &str);
    fn begin_string(&mut self, out: &mut Output<'_>);
    /// Writes a part of a `string` that ends between two characters; returns `false` if the form cannot express it.
    fn string(&mut self, out: &mut Output<'_>, part: &[u8]) -> bool;
    fn end_string(&mut self, out: &mut Output<'_>);
    fn begin_bytes(&mut self, out: &mut Output<'_>);
    fn bytes(&mut self, out: &mut Output<'_>, chunk: &[u8]);
    fn end_bytes(&mut self, out: &mut Output<'_>);
}

/// The index of a value in its list.
#[derive(Clone, Copy, Debug)]
enum Entry {
    /// The only value of its field; the first field of the message or a later one.
    Single { is_first: bool },
    /// A value of a repeated field.
    Element { is_first: bool },
}

/// Writes an encoded message, given in pieces that follow each other, in the text format of protobuf: one field to a line.
/// Nothing of it is copied as a whole, so memory does not grow with the model.
///
/// Strings that are not UTF-8 are written with escapes that [`from_text`](crate::from_text) reads back; readers of other
/// libraries may refuse them.
///
/// # Errors
///
/// Returns an error if the bytes are not the message, exceed a limit, or `out` fails. What was written until then is of
/// no use.
pub fn write_text<'a>(
    message: MessageType,
    pieces: impl IntoIterator<Item = &'a [u8]>,
    execution: &Execution,
    out: &mut dyn Write,
) -> Result<Losses, ConvertError> {
    walk::write(message.0, &Pieces::new(pieces), execution, text::Text::default(), out)
}

/// Writes an encoded message, given in pieces that follow each other, as JSON: indented, with the field names of the schema.
/// As protobuf prescribes, 64-bit integers are strings and bytes are base64. Memory does not grow with the model.
///
/// # Errors
///
/// As for [`write_text`], and when a string is not UTF-8.
pub fn write_json<'a>(
    message: MessageType,
    pieces: impl IntoIterator<Item = &'a [u8]>,
    execution: &Execution,
    out: &mut dyn Write,
) -> Result<Losses, ConvertError> {
    walk::write(message.0, &Pieces::new(pieces), execution, json::Json::default(), out)
}
