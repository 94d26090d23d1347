//! Why a form cannot be read or written.

use std::{fmt, io};

use onnx_proto::wire::{WireError, WireErrorKind};
use onnx_types::Stopped;

/// A position in a text: line and column from 1, the column in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextPosition {
    /// The line.
    pub line: usize,
    /// The column.
    pub column: usize,
}

impl TextPosition {
    /// The position of a byte of a text.
    pub(crate) fn of(text: &[u8], byte: usize) -> Self {
        let before = text.get(..byte).unwrap_or(text);
        let start = memchr::memrchr(b'\n', before).map_or(0, |newline| newline.saturating_add(1));
        let line = memchr::memchr_iter(b'\n', before).count().saturating_add(1);
        let of_line = before.get(start..).unwrap_or_default();
        // Every character has one byte that does not continue another.
        let column = of_line.iter().filter(|&&byte| byte & 0xc0 != 0x80).count().saturating_add(1);
        Self { line, column }
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
pub enum ConvertError {
    /// The text is not of the form.
    #[error("{position}: {message}")]
    Syntax {
        /// Where.
        position: TextPosition,
        /// The message that states the defect.
        message: String,
    },
    /// The text exceeds a limit.
    #[error("{position}: {message}: raise the limit `{name}` to accept it")]
    Limit {
        /// Where.
        position: TextPosition,
        /// The message that names the exceeding quantity.
        message: String,
        /// The limit, as [`onnx_types::Limits`] names it.
        name: &'static str,
    },
    /// The bytes are not an encoded message.
    #[error("the bytes are not a model: {0}")]
    Bytes(#[from] WireError),
    /// JSON cannot contain a field, because it is a `string` that is not UTF-8.
    #[error("`{path}` is not UTF-8, which JSON cannot express: use the text format")]
    NotUtf8 {
        /// The field, such as `graph.node[3].name`.
        path: String,
    },
    /// The caller stopped the work.
    #[error(transparent)]
    Stopped(#[from] Stopped),
    /// The text cannot be written.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl ConvertError {
    /// The limit that was exceeded, if that is the reason, as [`onnx_types::Limits`] names it.
    #[must_use]
    pub fn limit(&self) -> Option<&'static str> {
        match self {
            Self::Limit { name, .. } => Some(*name),
            Self::Bytes(error) => match error.kind() {
                WireErrorKind::Limit { name, .. } => Some(name),
                _ => None,
            },
            _ => None,
        }
    }
}

impl From<ConvertError> for io::Error {
    fn from(error: ConvertError) -> Self {
        match error {
            ConvertError::Io(error) => error,
            other => Self::other(other),
        }
    }
}

/// The error in a text, with its byte offset.
#[derive(Debug)]
pub(crate) struct SyntaxError {
    pub(crate) at: usize,
    pub(crate) message: String,
    /// The limit that is exceeded.
    limit: Option<&'static str>,
    /// Set if the caller stopped the work.
    stopped: Option<Stopped>,
}

impl SyntaxError {
    #[cold]
    pub(crate) fn new(at: usize, message: impl Into<String>) -> Self {
        Self { at, message: message.into(), limit: None, stopped: None }
    }

    /// More than a limit allows.
    #[cold]
    pub(crate) fn limit(at: usize, name: &'static str, message: impl Into<String>) -> Self {
        Self { at, message: message.into(), limit: Some(name), stopped: None }
    }

    #[cold]
    pub(crate) fn stopped(at: usize, stopped: Stopped) -> Self {
        Self { stopped: Some(stopped), ..Self::new(at, String::new()) }
    }

    pub(crate) fn located(self, text: &[u8]) -> ConvertError {
        if let Some(stopped) = self.stopped {
            return ConvertError::Stopped(stopped);
        }
        let (position, message) = (TextPosition::of(text, self.at), self.message);
        match self.limit {
            Some(name) => ConvertError::Limit { position, message, name },
            None => ConvertError::Syntax { position, message },
        }
    }
}
