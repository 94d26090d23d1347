//! Other forms of a model file: the text format and the JSON form of protobuf.
//!
//! Text and JSON are what other protobuf tools read and write, with field names as in the schema (`graph`, `node`,
//! `op_type`), so that files can be exchanged with them. They are forms of the *bytes* of a message: [`write_text`] and
//! [`write_json`] take an encoded message, [`read_text`] and [`read_json`] return one. They are not the ONNX text syntax,
//! which is for people.
//!
//! # What is promised
//!
//! * What the forms can express comes back: every field of the schema, with its presence, and every number with all its
//!   bits. What they cannot, fields that the schema does not know and the payload bits of a NaN, is left out and listed
//!   ([`Losses`]). Freedoms of the wire format, such as the order of fields, are not kept.
//! * Writing takes a constant amount of memory, whatever the size of the model; reading takes that of the encoded message.
//!   Neither builds a tree of messages.
//! * No input is recursed on: messages nest as deeply as [`Limits::message_depth`] allows, which is what decoding allows.
//! * Nothing acts on a terminal: characters that would, and invisible ones, are escaped ([`onnx_diag::is_unprintable`]).
//! * Syntax errors have line and column.
//!
//! The other form of a file is that of operator set documents: [`signatures_to_json`].
//!
//! ```
//! use onnx_formats::{from_text, to_json, to_text};
//!
//! let bytes = from_text("ir_version: 10 graph { node { op_type: \"Relu\" } name: \"main\" }")?;
//! let json = to_json(&bytes)?;
//! assert!(json.text.contains("\"op_type\": \"Relu\""));
//! assert!(json.losses.is_empty());
//! assert_eq!(from_text(&to_text(&bytes)?.text)?, bytes);
//!
//! let error = from_text("ir_version: 10\n  nodes { }").unwrap_err();
//! assert!(error.to_string().starts_with("line 2, column 3: "));
//! # Ok::<(), onnx_formats::ConvertError>(())
//! ```
#![forbid(unsafe_code)]
// What comes from outside is neither indexed nor added up unchecked.
#![cfg_attr(not(test), deny(clippy::indexing_slicing, clippy::arithmetic_side_effects))]

mod base64;
mod error;
#[path = "generated/schema.rs"]
mod generated;
mod loss;
mod pieces;
mod read;
mod schema;
mod signatures;
mod write;

use bytes::Bytes;

pub use error::{ConvertError, TextPosition};
pub use loss::{Loss, LossKind, Losses};
pub use onnx_types::{Execution, Limits};
pub use read::{read_json, read_text};
pub use signatures::{SignatureError, signatures_from_json, signatures_to_json};
pub use write::{write_json, write_text};

/// Which message the bytes or the text are.
#[derive(Clone, Copy, Debug)]
pub struct MessageType(&'static schema::Message);

impl MessageType {
    /// A model: `ModelProto`.
    pub const MODEL: Self = Self(&generated::MODEL_PROTO);
    /// An operator set document: `OperatorSetProto`.
    pub const OPERATOR_SET: Self = Self(&generated::OPERATOR_SET_PROTO);

    /// The message of this name, such as `TensorProto`.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        generated::MESSAGES.iter().find(|message| message.name == name).map(|message| Self(message))
    }

    /// The name of the message in the schema, without the package.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.0.name
    }
}

/// A message in another form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rendered {
    /// The text.
    pub text: String,
    /// The omitted content.
    pub losses: Losses,
}

/// An encoded model in the text format of protobuf, as a whole; see [`write_text`].
///
/// # Errors
///
/// Like [`write_text`], within the default limits.
pub fn to_text(model: impl AsRef<[u8]>) -> Result<Rendered, ConvertError> {
    rendered(|out| write_text(MessageType::MODEL, [model.as_ref()], &Execution::DEFAULT, out))
}

/// An encoded model as JSON, as a whole; see [`write_json`].
///
/// # Errors
///
/// Like [`write_json`], within the default limits.
pub fn to_json(model: impl AsRef<[u8]>) -> Result<Rendered, ConvertError> {
    rendered(|out| write_json(MessageType::MODEL, [model.as_ref()], &Execution::DEFAULT, out))
}

/// An encoded operator set document in the text format of protobuf, as a whole; see [`write_text`].
///
/// # Errors
///
/// Like [`write_text`], within the default limits.
pub fn operator_set_to_text(document: impl AsRef<[u8]>) -> Result<Rendered, ConvertError> {
    rendered(|out| write_text(MessageType::OPERATOR_SET, [document.as_ref()], &Execution::DEFAULT, out))
}

fn rendered(
    write: impl FnOnce(&mut dyn std::io::Write) -> Result<Losses, ConvertError>,
) -> Result<Rendered, ConvertError> {
    let mut buffer = Vec::new();
    let losses = write(&mut buffer)?;
    // What the writers put down is UTF-8.
    let text = String::from_utf8(buffer).map_err(std::io::Error::other)?;
    Ok(Rendered { text, losses })
}

/// Reads a model in the text format of protobuf, and encodes it; see [`read_text`].
///
/// # Errors
///
/// Like [`read_text`], within the default limits.
pub fn from_text(text: impl AsRef<[u8]>) -> Result<Bytes, ConvertError> {
    read_text(MessageType::MODEL, text.as_ref(), &Execution::DEFAULT)
}

/// Reads a model in JSON, and encodes it; see [`read_json`].
///
/// # Errors
///
/// Like [`read_json`], within the default limits.
pub fn from_json(text: impl AsRef<[u8]>) -> Result<Bytes, ConvertError> {
    read_json(MessageType::MODEL, text.as_ref(), &Execution::DEFAULT)
}

/// Reads an operator set document in the text format of protobuf, and encodes it; see [`read_text`].
///
/// # Errors
///
/// Like [`read_text`], within the default limits.
pub fn operator_set_from_text(text: impl AsRef<[u8]>) -> Result<Bytes, ConvertError> {
    read_text(MessageType::OPERATOR_SET, text.as_ref(), &Execution::DEFAULT)
}
