//! Elements that stand in another file.

use bytes::Bytes;

use crate::text::Text;

/// The `external_data` entries of a tensor, as written and in file order.
///
/// The keys that the specification knows are `location`, `offset`, `length` and `checksum`; others, and repetitions, are
/// kept and can be found with [`ExternalData::entries`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExternalData {
    entries: Vec<TensorMetadata>,
}

/// One key with its value (`StringStringEntryProto`) in a tensor's metadata or external data.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TensorMetadata {
    /// The key.
    pub key: Text,
    /// The value.
    pub value: Text,
    /// The bytes the entry was decoded from (contents, without tag and length), kept only if an encoder would write
    /// other bytes.
    pub source: Option<Bytes>,
}

impl TensorMetadata {
    /// An entry that no file spelled.
    #[must_use]
    pub fn new(key: impl Into<Text>, value: impl Into<Text>) -> Self {
        Self { key: key.into(), value: value.into(), source: None }
    }
}

impl ExternalData {
    /// The given entries, whatever they say.
    #[must_use]
    pub fn from_entries(entries: Vec<TensorMetadata>) -> Self {
        Self { entries }
    }

    /// The entries in file order.
    #[must_use]
    pub fn entries(&self) -> &[TensorMetadata] {
        &self.entries
    }
}
