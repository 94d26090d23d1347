//! Why reading or writing could not be done.

use std::fmt;

use onnx_proto::wire::{WireError, WireErrorKind};
use onnx_types::{Execution, Stopped};
use thiserror::Error;

/// Why a model could not be read: the bytes are not protobuf, a limit is exceeded, or the caller stopped the work.
#[derive(Debug, Error)]
#[error("the model cannot be read: {}", self.reason())]
pub struct DecodeError {
    wire: WireError,
    stopped: Option<Stopped>,
}

impl From<WireError> for DecodeError {
    fn from(wire: WireError) -> Self {
        Self { wire, stopped: None }
    }
}

impl DecodeError {
    /// An error of work in this context, which knows why the work was stopped if it was.
    pub(crate) fn new(wire: WireError, execution: &Execution) -> Self {
        let is_stopped = matches!(wire.kind(), WireErrorKind::Stopped);
        Self { wire, stopped: execution.interrupt.check().err().filter(|_| is_stopped) }
    }

    fn reason(&self) -> &dyn fmt::Display {
        self.stopped.as_ref().map_or(&self.wire, |stopped| stopped as &dyn fmt::Display)
    }

    /// What is wrong with the bytes, and where.
    #[must_use]
    pub const fn wire(&self) -> &WireError {
        &self.wire
    }

    /// Why the work was stopped; `None` if the bytes are the reason.
    #[must_use]
    pub const fn stopped(&self) -> Option<Stopped> {
        self.stopped
    }

    /// The name of the limit that is exceeded; `None` if the bytes are malformed.
    #[must_use]
    pub fn limit(&self) -> Option<&'static str> {
        match self.wire.kind() {
            WireErrorKind::Limit { name, .. } => Some(name),
            _ => None,
        }
    }
}

/// Why a model could not be written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum EncodeError {
    /// Graphs or types are nested deeper than readers accept.
    #[error(
        "the model nests messages deeper than {limit}: raise the limit `message_depth` to write it all the same"
    )]
    TooDeep {
        /// The limit.
        limit: u32,
    },
    /// The elements of a tensor are unknown: they were left out of the text that the model was read from.
    #[error(
        "the elements of tensors were left out of the text that the model was read from: name the model that the text was \
         printed from (`--weights-from MODEL`)"
    )]
    Elided,
    /// A tensor of one repeated element takes too much room written out, or more than can be counted.
    #[error(
        "a tensor of one repeated element takes more than {limit} bytes: raise the limit `splat_bytes` to write it"
    )]
    SplatTooLarge {
        /// The limit in bytes.
        limit: u64,
    },
}

impl EncodeError {
    /// The name of the limit that is exceeded.
    #[must_use]
    pub const fn limit(self) -> Option<&'static str> {
        Some(match self {
            Self::TooDeep { .. } => "message_depth",
            Self::SplatTooLarge { .. } => "splat_bytes",
            Self::Elided => return None,
        })
    }
}
