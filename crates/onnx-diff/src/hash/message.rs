//! The messages that are hashed, and their digests.

use std::fmt;

use sha2::{Digest as _, Sha256};

/// The version of the scheme. It is part of every message, so digests of different schemes differ.
pub(super) const SCHEME: &str = "onnx-hash/1";

/// A SHA-256 digest of one of the kinds of messages of the [scheme](crate::hash_model). It is displayed as 64 hexadecimal
/// digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Digest([u8; 32]);

impl Digest {
    /// The bytes of the digest.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// The digest of a text.
    pub(crate) fn of_text(text: &str) -> Self {
        Message::new().begin("text").text(text.as_bytes()).finish()
    }

    /// A number in the place of a digest.
    pub(crate) fn of_number(number: u64) -> Self {
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&number.to_le_bytes());
        Self(bytes)
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A message under construction. Each kind of message has a name, and each field a fixed length or a length before it, so
/// different contents have different bytes.
pub(crate) struct Message {
    bytes: Vec<u8>,
}

impl Message {
    pub(crate) const fn new() -> Self {
        Self { bytes: Vec::new() }
    }

    /// Begins the next message.
    pub(crate) fn begin(&mut self, kind: &str) -> &mut Self {
        self.bytes.clear();
        for part in [SCHEME, kind] {
            self.bytes.extend_from_slice(part.as_bytes());
            self.bytes.push(0);
        }
        self
    }

    pub(crate) fn byte(&mut self, byte: u8) -> &mut Self {
        self.bytes.push(byte);
        self
    }

    pub(crate) fn count(&mut self, count: usize) -> &mut Self {
        self.number(count as u64)
    }

    pub(crate) fn number(&mut self, number: u64) -> &mut Self {
        self.bytes.extend_from_slice(&number.to_le_bytes());
        self
    }

    pub(crate) fn signed(&mut self, number: i64) -> &mut Self {
        self.bytes.extend_from_slice(&number.to_le_bytes());
        self
    }

    pub(crate) fn text(&mut self, text: &[u8]) -> &mut Self {
        self.count(text.len());
        self.bytes.extend_from_slice(text);
        self
    }

    pub(crate) fn digest(&mut self, digest: Digest) -> &mut Self {
        self.bytes.extend_from_slice(&digest.0);
        self
    }

    /// A list whose order does not count.
    pub(crate) fn multiset(&mut self, mut digests: Vec<Digest>) -> &mut Self {
        digests.sort_unstable();
        self.count(digests.len());
        for digest in digests {
            self.digest(digest);
        }
        self
    }

    pub(crate) fn finish(&self) -> Digest {
        Digest(Sha256::digest(&self.bytes).into())
    }
}

/// The digest of bytes that come in pieces: the elements of a tensor.
#[derive(Default)]
pub(crate) struct Stream(Sha256);

impl Stream {
    pub(crate) fn update(&mut self, piece: &[u8]) {
        self.0.update(piece);
    }

    pub(crate) fn finish(self) -> Digest {
        Digest(self.0.finalize().into())
    }
}
