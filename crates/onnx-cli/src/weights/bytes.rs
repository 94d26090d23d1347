//! Bytes of the external data of a model: those that its tensors use, and those of the files.

use std::collections::{BTreeMap, HashSet};
use std::path::{Component, Path};

use onnx_codec::DataFile;
use onnx_codec::source::normalized;
use onnx_ir::Model;
use onnx_types::tensor::Payload;

use super::external_location;
use crate::tensors;

/// Bytes of external data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct DataBytes {
    /// Of the files, wherever they are.
    pub(crate) files: u64,
    /// Of these, what no tensor of the model uses.
    pub(crate) unused: u64,
}

impl DataBytes {
    /// The bytes for a model whose files are in a directory, except for those that are given. Of a file that does not exist, the
    /// bytes are those of the tensors.
    pub(crate) fn of(model: &Model, directory: Option<&Path>, files: &[DataFile]) -> Self {
        let mut found = Self::default();
        for (location, used) in used_bytes(model) {
            let given = files.iter().find(|file| normalized(file.location()) == location).map(DataFile::len);
            let file = given.or_else(|| bytes_of_file(directory?, &location)).unwrap_or(used);
            found.files = found.files.saturating_add(file);
            found.unused = found.unused.saturating_add(file.saturating_sub(used));
        }
        found
    }

    /// The bytes that no tensor uses, unless they are few, as those that align tensors.
    pub(crate) const fn notable_unused(self) -> Option<u64> {
        if self.unused >= 4096 && self.unused > self.files / 10 { Some(self.unused) } else { None }
    }
}

/// The bytes of a file that a location names, unless the location leads out of the directory.
fn bytes_of_file(directory: &Path, location: &str) -> Option<u64> {
    let is_inside = Path::new(location).components().all(|part| matches!(part, Component::Normal(_)));
    let metadata = is_inside.then(|| std::fs::metadata(directory.join(location)).ok()).flatten();
    metadata.filter(std::fs::Metadata::is_file).map(|found| found.len())
}

/// The bytes that tensors use in each file; elements that several tensors share count once.
fn used_bytes(model: &Model) -> BTreeMap<String, u64> {
    let (mut seen, mut used) = (HashSet::new(), BTreeMap::<String, u64>::new());
    tensors::for_each(model, |_, tensor| {
        let Some(location) = external_location(tensor) else { return };
        let Payload::External(data) = tensor.payload() else { return };
        let location = normalized(location);
        let sum = used.entry(location.clone()).or_default();
        if seen.insert((location, data.offset().unwrap_or_default())) {
            let length = data.length().ok().flatten().or_else(|| tensor.byte_len());
            *sum = sum.saturating_add(length.unwrap_or_default());
        }
    });
    used
}
