//! Archives of NumPy (`.npz`). An array is inflated when it is asked for, and no further than its header says.

use std::collections::HashSet;
use std::io::{Cursor, Read as _};
use std::path::Path;

use bytes::Bytes;
use onnx_codec::ReadMode;
use onnx_eval::Value;
use onnx_types::{Execution, Type};
use zip::ZipArchive;

use super::{PIECE, elem, name_of_entry, npy};
use crate::exit::{Failure, LibraryError};
use crate::input::display_name;
use crate::output::shown;
use crate::reading::read;

/// An archive, of which only the directory has been read.
pub(crate) struct Archive<'a> {
    zip: ZipArchive<Cursor<Bytes>>,
    /// The names of the arrays, in the order of the archive.
    names: Vec<String>,
    /// The name of the file, for messages.
    file: String,
    execution: &'a Execution,
    /// Bytes that may still be inflated.
    left: u64,
}

impl<'a> Archive<'a> {
    /// Reads the directory of an archive. All arrays that are asked for may together take as much memory as the values of a run.
    ///
    /// # Errors
    ///
    /// Returns an error if the file is not an archive, or two of its entries have one name.
    pub(crate) fn open(path: &Path, execution: &'a Execution) -> Result<Self, Failure> {
        let file = display_name(path);
        let bytes = read(path, ReadMode::Memory, &execution.interrupt)?;
        let zip = ZipArchive::new(Cursor::new(bytes.clone())).map_err(|error| malformed(&file, error))?;
        // The reader keeps one of several entries of a name.
        let listed = entries(&bytes, zip.central_directory_start());
        let mut names = Vec::new();
        for name in zip.file_names() {
            let name = name.map_err(|error| malformed(&file, error))?;
            names.push(name_of_entry(name.strip_suffix(".npy").unwrap_or(&name)));
        }
        let mut seen = HashSet::new();
        if let Some(name) = names.iter().find(|name| !seen.insert(name.as_str())) {
            let message = format_args!("two entries have the name `{}`", shown(name));
            return Err(twice(message).about(&file));
        }
        if listed > names.len() {
            return Err(twice("two entries have the same name").about(&file));
        }
        Ok(Self { zip, names, file, execution, left: execution.limits.run_bytes })
    }

    /// The names of the arrays.
    pub(crate) fn names(&self) -> &[String] {
        &self.names
    }

    /// The array of a name, for an input or weight of a type; `None` if there is none.
    ///
    /// # Errors
    ///
    /// Returns an error if it is not an array, is damaged, or takes too much memory.
    pub(crate) fn array(&mut self, name: &str, ty: Option<&Type>) -> Result<Option<Value>, Failure> {
        let Some(index) = self.names.iter().position(|known| known == name) else { return Ok(None) };
        let file = self.file.clone();
        let about = |failure: Failure| failure.about(&format!("{file}: {}", shown(name)));
        let bytes = self.inflated(index, ty).map_err(about)?;
        let tensor = npy::read(&bytes, elem(ty), self.execution).map_err(about)?;
        Ok(Some(Value::from(tensor)))
    }

    /// The bytes of an entry up to the end of its array.
    fn inflated(&mut self, index: usize, ty: Option<&Type>) -> Result<Bytes, Failure> {
        let mut entry = self.zip.by_index(index).map_err(|error| Failure::new(error).help(WRITE))?;
        let mut bytes = Vec::new();
        // Of a malformed array, no more than its beginning is needed.
        let mut wanted = npy::START;
        loop {
            let missing = wanted.saturating_sub(bytes.len());
            if missing == 0 {
                match npy::extent(&bytes, elem(ty))? {
                    Some(more) if more > wanted => wanted = more,
                    _ => break,
                }
                if wanted as u64 > self.left {
                    return Err(TooLarge.into());
                }
                continue;
            }
            self.execution.interrupt.check()?;
            let piece = missing.min(PIECE);
            bytes.try_reserve(piece).map_err(|_| npy::out_of_memory(wanted))?;
            let taken = entry.by_ref().take(piece as u64).read_to_end(&mut bytes).map_err(damaged)?;
            if taken == 0 {
                break;
            }
        }
        // The checksum is compared at the end of the entry.
        entry.read(&mut [0]).map_err(damaged)?;
        self.left = self.left.saturating_sub(bytes.len() as u64);
        Ok(bytes.into())
    }
}

const WRITE: &str = "write the archive with `numpy.savez`";

fn malformed(file: &str, error: impl std::fmt::Display) -> Failure {
    Failure::new(error).about(file).help(WRITE)
}

fn damaged(error: std::io::Error) -> Failure {
    Failure::not_readable(error).help("write the archive again: it is damaged")
}

fn twice(message: impl std::fmt::Display) -> Failure {
    Failure::new(message).help("give each array one name: readers disagree on which of two they take")
}

/// The number of entries in the directory of an archive that begins at an offset.
fn entries(bytes: &[u8], start: u64) -> usize {
    const SIGNATURE: &[u8] = b"PK\x01\x02";
    /// The fixed part of an entry, which ends with the lengths of name, extra field and comment.
    const FIXED: usize = 46;
    let mut rest = usize::try_from(start).ok().and_then(|start| bytes.get(start..)).unwrap_or_default();
    let mut count = 0;
    while let Some(entry) = rest.get(..FIXED).filter(|entry| entry.starts_with(SIGNATURE)) {
        let length = |at: usize| match entry.get(at..at + 2) {
            Some(&[low, high]) => usize::from(u16::from_le_bytes([low, high])),
            _ => 0,
        };
        count += 1;
        rest = rest.get(FIXED + length(28) + length(30) + length(32)..).unwrap_or_default();
    }
    count
}

/// Arrays take more memory than the values of a run may take.
pub(super) struct TooLarge;

impl std::fmt::Display for TooLarge {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the arrays take too much memory: raise the limit `run_bytes` to allow it")
    }
}

impl LibraryError for TooLarge {
    fn limit(&self) -> Option<&'static str> {
        Some("run_bytes")
    }
}
