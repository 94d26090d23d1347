//! The prost messages of ONNX.

use std::collections::VecDeque;

use bytes::{Buf, Bytes};
use onnx_ir::Model;
use onnx_proto::messages::ModelProto;
use onnx_proto::wire::Segments;
use prost::Message;

use crate::{DecodeError, DecodeOptions, Decoded, EncodeError, EncodeOptions, decode, encode};

/// Why a model cannot become a message.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MessageError {
    /// The model cannot be encoded.
    #[error(transparent)]
    Encode(#[from] EncodeError),
    /// The messages cannot hold the encoded model.
    #[error("the model does not fit into messages: {0}")]
    Decode(#[from] prost::DecodeError),
}

/// The model as a prost message. Weights of 4 KiB and more in `raw_data` are shared; unknown fields are dropped, because
/// prost messages have no room for them.
///
/// # Errors
///
/// Returns an error if the model cannot be encoded, or nests messages deeper than prost allows, which is 100.
pub fn to_message(model: &Model, options: &EncodeOptions) -> Result<ModelProto, MessageError> {
    let pieces = Pieces::new(encode(model, options)?);
    Ok(ModelProto::decode(pieces)?)
}

/// The model that a prost message describes. The message is encoded on the way, so its weights are copied once.
///
/// # Errors
///
/// See [`decode`].
pub fn from_message(message: &ModelProto, options: &DecodeOptions) -> Result<Decoded, DecodeError> {
    decode(message.encode_to_vec().into(), options)
}

/// Pieces of an encoded message as one buffer, from which `bytes` fields are sliced.
struct Pieces {
    pieces: VecDeque<Bytes>,
    left: usize,
}

impl Pieces {
    fn new(segments: Segments) -> Self {
        let pieces: VecDeque<_> = segments.into_iter().filter(|piece| !piece.is_empty()).collect();
        let left = pieces.iter().map(Bytes::len).sum();
        Self { pieces, left }
    }

    /// Takes up to `most` bytes from the front, all of one piece.
    fn take(&mut self, most: usize) -> Option<Bytes> {
        let front = self.pieces.front_mut()?;
        let taken = front.split_to(most.min(front.len()));
        if front.is_empty() {
            self.pieces.pop_front();
        }
        self.left = self.left.saturating_sub(taken.len());
        Some(taken)
    }
}

impl Buf for Pieces {
    fn remaining(&self) -> usize {
        self.left
    }

    fn chunk(&self) -> &[u8] {
        self.pieces.front().map_or(&[], |front| front)
    }

    fn advance(&mut self, mut count: usize) {
        assert!(count <= self.left, "advanced behind the end");
        while count > 0 {
            count = count.saturating_sub(self.take(count).map_or(count, |taken| taken.len()));
        }
    }

    fn copy_to_bytes(&mut self, len: usize) -> Bytes {
        assert!(len <= self.left, "read behind the end");
        let first = self.take(len).unwrap_or_default();
        if first.len() == len {
            return first;
        }
        let mut copy = Vec::with_capacity(len);
        copy.extend_from_slice(&first);
        while copy.len() < len {
            let Some(piece) = self.take(len.saturating_sub(copy.len())) else { break };
            copy.extend_from_slice(&piece);
        }
        copy.into()
    }
}
