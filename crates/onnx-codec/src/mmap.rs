//! The memory map: the only unsafe code of this crate.
//!
//! A file is mapped for reading, privately, into [`Bytes`]; every slice of them keeps the map alive, and the last one
//! unmaps it. Nothing is read until a page is touched, so that opening a file of any size takes microseconds.
//!
//! # What can go wrong with a map
//!
//! A map shows the file, not a copy of it:
//!
//! * When another process *truncates* the file, touching a page behind its new end makes the operating system stop this
//!   process (`SIGBUS`). No check can prevent it. The size is compared after mapping, so a file that shrank before that
//!   is an error; later truncation is not noticed.
//! * When another process *writes into* the file, the bytes change under the reader. Whatever was checked may no longer
//!   hold; readers must not rely on memory safety through a property of mapped bytes that they checked before.
//!
//! *Replacing* a file by renaming another over it, which is what this crate does when it writes, is safe: the map keeps
//! the old file. Where others may write to the files, read them with [`ReadMode::Memory`](crate::ReadMode::Memory), which
//! is the default.
//!
//! Without the feature `mmap`, files are copied instead.
#![allow(unsafe_code)]

use std::fs::File;
use std::io;

use bytes::Bytes;

/// Maps the first `len` bytes of a file, which must be its size; with `whole`, the system reads all of them in advance.
///
/// # Errors
///
/// Returns an error if the operating system refuses, or the file is shorter than `len` once it is mapped.
pub(crate) fn map(file: &File, len: u64, whole: bool) -> io::Result<Bytes> {
    // An empty map is an error for the operating system.
    if len == 0 {
        return Ok(Bytes::new());
    }
    let size = usize::try_from(len).map_err(|_| io::ErrorKind::FileTooLarge)?;
    let bytes = contents(file, size, whole)?;
    if file.metadata()?.len() < len {
        return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the file shrank while it was opened"));
    }
    Ok(bytes)
}

#[cfg(feature = "mmap")]
fn contents(file: &File, size: usize, whole: bool) -> io::Result<Bytes> {
    let mut options = memmap2::MmapOptions::new();
    if whole {
        options.populate();
    }
    // SAFETY: the map is read-only and private, and lives as long as the `Bytes` that own it, so the memory is valid
    // for their lifetime. The remaining requirement is the contract of `ReadMode::Map`: the caller guarantees that no
    // other process truncates or changes the file meanwhile; the module documentation describes the consequences
    // otherwise.
    let map = unsafe { options.len(size).map_copy_read_only(file)? };
    Ok(Bytes::from_owner(map))
}

/// The size comes from the file system, which may report holes of any size: what does not fit into memory is an error.
#[cfg(not(feature = "mmap"))]
fn contents(mut file: &File, size: usize, _whole: bool) -> io::Result<Bytes> {
    use io::{Read as _, Seek as _};
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(size)?;
    file.rewind()?;
    file.take(size as u64).read_to_end(&mut bytes)?;
    if bytes.len() < size {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(bytes.into())
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn maps_and_checks_the_size() {
        let mut file = tempfile::tempfile().unwrap();
        assert_eq!(map(&file, 0, false).unwrap(), Bytes::new());
        file.write_all(b"0123456789").unwrap();
        let bytes = map(&file, 10, false).unwrap();
        assert_eq!(map(&file, 10, true).unwrap(), bytes);
        let slice = bytes.slice(2..5);
        drop(bytes);
        drop(file);
        assert_eq!(slice, b"234".as_slice());
    }

    #[test]
    fn a_shorter_file_is_an_error() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(b"0123456789").unwrap();
        assert_eq!(map(&file, 11, false).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
        assert!(map(&file, u64::MAX, true).is_err());
    }
}
