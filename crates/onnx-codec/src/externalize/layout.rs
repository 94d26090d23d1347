//! Which bytes of which file each tensor gets.

use std::collections::HashMap;

use bytes::Bytes;

use super::{ExternalizeOptions, Overflow};

/// One file of external data, ready to be written.
#[derive(Clone, Debug)]
pub struct DataFile {
    pub(super) location: String,
    pub(super) pieces: Vec<Bytes>,
    pub(super) len: u64,
}

impl DataFile {
    /// A file with contents that are there already, such as a copy of a file of external data.
    #[must_use]
    pub fn new(location: impl Into<String>, contents: Bytes) -> Self {
        let len = contents.len() as u64;
        Self { location: location.into(), pieces: vec![contents], len }
    }

    /// The path of the file relative to the model.
    #[must_use]
    pub fn location(&self) -> &str {
        &self.location
    }

    /// The contents, in pieces that follow each other and share memory with the tensors.
    #[must_use]
    pub fn pieces(&self) -> &[Bytes] {
        &self.pieces
    }

    /// The size of the file in bytes.
    #[must_use]
    pub const fn len(&self) -> u64 {
        self.len
    }

    /// Whether the file has no contents.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }
}

/// The place of a tensor: number of the file, offset, length.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spot {
    pub(super) file: usize,
    pub(super) offset: u64,
    pub(super) length: u64,
}

/// Identity of contents, determined without reading them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Sameness {
    /// The same bytes in memory: address and length.
    Memory(usize, usize),
    /// The same range of a file.
    Range(String, u64, u64),
}

/// Files that are being filled.
#[derive(Debug)]
pub(super) struct Layout<'o> {
    options: &'o ExternalizeOptions,
    files: Vec<DataFile>,
    known: HashMap<Sameness, Spot, foldhash::fast::RandomState>,
    /// Zeros for the gaps between tensors.
    zeros: Bytes,
}

impl<'o> Layout<'o> {
    pub(super) fn new(options: &'o ExternalizeOptions) -> Self {
        let zeros = Bytes::from(vec![0; options.large_alignment.max(options.alignment) as usize]);
        Self { options, files: Vec::new(), known: HashMap::default(), zeros }
    }

    /// The range of contents that were added before.
    pub(super) fn find(&self, same: &Sameness) -> Option<Spot> {
        self.known.get(same).copied()
    }

    /// Adds contents of `length` bytes.
    pub(super) fn add(
        &mut self,
        pieces: impl Iterator<Item = Bytes>,
        length: u64,
        same: Option<Sameness>,
    ) -> Result<Spot, Overflow> {
        let large = length >= self.options.large_from;
        let alignment = if large { self.options.large_alignment } else { self.options.alignment };
        let last = self.files.last().map_or(0, |file| file.len);
        let mut offset = last.checked_next_multiple_of(u64::from(alignment)).ok_or(Overflow)?;
        let end = offset.checked_add(length).ok_or(Overflow)?;
        let full = self.options.max_shard_bytes.is_some_and(|max| last > 0 && end > max);
        if self.files.is_empty() || full {
            offset = 0;
            self.files.push(DataFile { location: String::new(), pieces: Vec::new(), len: 0 });
        }
        let index = self.files.len().saturating_sub(1);
        let Some(file) = self.files.last_mut() else { return Err(Overflow) };
        let gap = usize::try_from(offset.saturating_sub(file.len)).map_err(|_| Overflow)?;
        if gap > 0 {
            file.pieces.push(self.zeros.slice(..gap));
        }
        file.pieces.extend(pieces.filter(|piece| !piece.is_empty()));
        file.len = offset.checked_add(length).ok_or(Overflow)?;
        let spot = Spot { file: index, offset, length };
        if let Some(same) = same {
            self.known.insert(same, spot);
        }
        Ok(spot)
    }

    /// The files with their names: the one that was asked for, or one derived from it for each of several.
    pub(super) fn finish(self) -> Vec<DataFile> {
        let mut files = self.files;
        let count = files.len();
        for (index, file) in files.iter_mut().enumerate() {
            file.location = match count {
                1 => self.options.location.clone(),
                _ => shard_name(&self.options.location, index.saturating_add(1), count),
            };
        }
        files
    }
}

/// `a/model.data` becomes `a/model-00001-of-00003.data`.
fn shard_name(location: &str, number: usize, count: usize) -> String {
    let name_at = location.rfind('/').map_or(0, |slash| slash.saturating_add(1));
    let (folder, name) = location.split_at(name_at);
    let dot = name.rfind('.').filter(|&dot| dot > 0).unwrap_or(name.len());
    let (stem, extension) = name.split_at(dot);
    format!("{folder}{stem}-{number:05}-of-{count:05}{extension}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_shards() {
        assert_eq!(shard_name("model.onnx.data", 1, 3), "model.onnx-00001-of-00003.data");
        assert_eq!(shard_name("a.b/w", 12, 100), "a.b/w-00012-of-00100");
        assert_eq!(shard_name(".data", 1, 2), ".data-00001-of-00002");
    }
}
