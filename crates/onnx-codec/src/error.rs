//! Why reading or writing could not be done.

use onnx_proto::wire::{WireError, WireErrorKind};
use onnx_types::{Limits, Stopped};
use thiserror::Error;

/// Why a model could not be read: the bytes are not protobuf, a limit is exceeded, or the caller stopped the work.
#[derive(Debug, Error)]
#[error("the model cannot be read: {0}")]
pub struct DecodeError(#[from] WireError);

impl DecodeError {
    /// The error in the bytes, with its location.
    #[must_use]
    pub const fn wire(&self) -> &WireError {
        &self.0
    }

    /// Returns `Some` if the caller stopped the work, `None` if the bytes are the reason.
    #[must_use]
    pub fn stopped(&self) -> Option<Stopped> {
        matches!(self.0.kind(), WireErrorKind::Stopped).then_some(Stopped)
    }

    /// Whether the system refused memory, so that the bytes may be right.
    #[must_use]
    pub fn is_out_of_memory(&self) -> bool {
        matches!(self.0.kind(), WireErrorKind::Memory { .. })
    }

    /// Whether the bytes end too early.
    #[must_use]
    pub fn is_truncated(&self) -> bool {
        matches!(self.0.kind(), WireErrorKind::Truncated { .. } | WireErrorKind::GroupNotClosed { .. })
    }

    /// The name of the limit that is exceeded, [`Limits::MEMORY`] if the system has no memory; `None` if the bytes are malformed.
    #[must_use]
    pub fn limit(&self) -> Option<&'static str> {
        match self.0.kind() {
            WireErrorKind::Limit { name, .. } => Some(name),
            WireErrorKind::Memory { .. } => Some(Limits::MEMORY),
            _ => None,
        }
    }
}

/// Why a model could not be written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum EncodeError {
    /// Graphs or types are nested deeper than readers accept.
    #[error(
        "messages are nested more than {limit} levels deep: raise the limit `message_depth` to write the model anyway"
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

#[cfg(test)]
mod tests {
    use std::error::Error;

    use super::*;

    #[test]
    fn the_source_of_an_error_says_where_the_bytes_are_wrong() {
        let error = crate::decode(bytes::Bytes::from_static(b"\x08"), &crate::DecodeOptions::default());
        let error = error.err().unwrap();
        let wire = error.source().unwrap().downcast_ref::<WireError>().unwrap();
        assert_eq!((wire.offset(), error.stopped()), (1, None));
    }
}
