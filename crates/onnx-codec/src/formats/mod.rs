//! Other forms of a model file: the text format and the JSON form of protobuf, and prost messages.
//!
//! Text and JSON are what other protobuf tools read and write, with field names as in the schema (`graph`, `node`,
//! `op_type`), so that files can be exchanged with them. They are forms of the *bytes* of a `ModelProto`: [`to_text`] and
//! [`to_json`] take an encoded model, [`from_text`] and [`from_json`] give one. They are not the ONNX text syntax, which
//! is for people.
//!
//! # What is promised
//!
//! * What the forms can express comes back: every field of the schema, with its presence. What they cannot, fields that
//!   the schema does not know and the payload bits of a NaN, is left out and listed ([`Loss`]). Freedoms of the wire format,
//!   such as the order of fields, are not kept.
//! * No input overflows the stack: messages nest at most [`MAX_NESTING`] deep, and JSON values at most 128. The work is
//!   done on a thread of its own, whose stack has room for that much.
//! * Syntax errors say line and column.
//!
//! The tests are in `tests/formats.rs`.
//!
//! ```
//! use onnx_codec::formats::{from_text, to_json, to_text};
//!
//! let bytes = from_text("ir_version: 10 graph { name: \"main\" node { op_type: \"Relu\" } }")?;
//! let json = to_json(bytes.clone())?;
//! assert!(json.text.contains("\"op_type\": \"Relu\""));
//! assert!(json.losses.is_empty());
//! assert_eq!(from_text(&to_text(bytes.clone())?.text)?, bytes);
//!
//! let error = from_text("ir_version: 10\n  nodes { }").unwrap_err();
//! assert!(error.to_string().starts_with("line 2, column 3: "));
//! # Ok::<(), onnx_codec::formats::FormatError>(())
//! ```

mod json;
mod loss;
mod message;
mod nesting;
mod print;
mod stack;
mod text;

use std::fmt;

use bytes::Bytes;
use prost_reflect::{DescriptorPool, DynamicMessage, MessageDescriptor};

pub use json::{from_json, to_json};
pub use loss::{Loss, LossKind};
pub use message::{MessageError, from_message, to_message};
pub use text::{from_text, operator_set_from_text, operator_set_to_text, to_text};

/// How deeply messages may nest, in all forms; what every other reader allows.
pub const MAX_NESTING: u32 = 100;

/// A model in another form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rendered {
    /// The text.
    pub text: String,
    /// What it leaves out, in the order of the fields.
    pub losses: Vec<Loss>,
}

/// A place in a text: line and column from 1, the column in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextPosition {
    /// The line.
    pub line: usize,
    /// The column.
    pub column: usize,
}

impl TextPosition {
    /// The position of a byte of a text.
    fn of(text: &str, byte: usize) -> Self {
        let before = text.get(..byte).unwrap_or(text);
        let start = before.rfind('\n').map_or(0, |newline| newline.saturating_add(1));
        let line = before.bytes().filter(|&byte| byte == b'\n').count().saturating_add(1);
        Self { line, column: before.get(start..).unwrap_or_default().chars().count().saturating_add(1) }
    }
}

impl fmt::Display for TextPosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}", self.line, self.column)
    }
}

/// Why a form cannot be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FormatError {
    /// The text is not of the form.
    #[error("{position}: {message}")]
    Syntax {
        /// Where.
        position: TextPosition,
        /// What is wrong.
        message: String,
    },
    /// The bytes are no encoded model.
    #[error("the bytes are no model: {0}")]
    Bytes(#[from] prost::DecodeError),
    /// The model cannot be written in the form.
    #[error("the model cannot be written: {0}")]
    Write(String),
    /// The system gives no thread to work on.
    #[error("no thread can be started: {0}")]
    Thread(String),
    /// The descriptors that this crate carries are damaged, which is a fault of the build.
    #[error("the descriptors of ONNX cannot be read: {0}")]
    Descriptors(String),
}

/// The names of the messages that files hold.
const MODEL: &str = "onnx.ModelProto";
const OPERATOR_SET: &str = "onnx.OperatorSetProto";

/// The descriptor of a message. Reading the descriptors takes some two milliseconds each time, which nobody who converts
/// a file notices; keeping them would need global state.
fn descriptor(name: &str) -> Result<MessageDescriptor, FormatError> {
    let pool = DescriptorPool::decode(onnx_proto::FILE_DESCRIPTOR_SET)
        .map_err(|error| FormatError::Descriptors(error.to_string()))?;
    pool.get_message_by_name(name).ok_or_else(|| FormatError::Descriptors(format!("`{name}` is missing")))
}

/// An encoded message with names for its fields. Contents of `bytes` fields are shared.
fn decode_dynamic(name: &str, bytes: Bytes) -> Result<DynamicMessage, FormatError> {
    Ok(DynamicMessage::decode(descriptor(name)?, bytes)?)
}

fn encode_dynamic(message: &DynamicMessage) -> Bytes {
    prost::Message::encode_to_vec(message).into()
}
