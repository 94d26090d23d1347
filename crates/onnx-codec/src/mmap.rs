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
//! # Pages
//!
//! Pages that were touched count as memory of the process until the system needs it for something else. [`release`] gives them back
//! earlier, for callers that read a large map once: what is touched again is read again from the file.
//!
//! Without the feature `mmap`, files are copied instead.
#![allow(unsafe_code)]

#[cfg(feature = "mmap")]
use std::collections::BTreeMap;
use std::fs::File;
use std::io;
#[cfg(feature = "mmap")]
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

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
    Ok(Bytes::from_owner(Listed::new(map)))
}

/// Maps a part of a file that no other process can open, and nothing will be written to.
///
/// # Errors
///
/// Returns an error if the operating system refuses.
#[cfg(feature = "mmap")]
pub(crate) fn map_part(file: &File, offset: u64, len: usize) -> io::Result<Bytes> {
    let mut options = memmap2::MmapOptions::new();
    // SAFETY: as above, and no other process can change the file.
    let map = unsafe { options.offset(offset).len(len).map_copy_read_only(file)? };
    Ok(Bytes::from_owner(Listed::new(map)))
}

/// The maps that exist, by their addresses: like the maps themselves, they belong to the process. A slice of `Bytes` does not tell
/// whether it is one of a map, and only pages of a map may be given back.
#[cfg(feature = "mmap")]
static MAPS: Mutex<BTreeMap<usize, Arc<memmap2::Mmap>>> = Mutex::new(BTreeMap::new());

#[cfg(feature = "mmap")]
fn maps() -> MutexGuard<'static, BTreeMap<usize, Arc<memmap2::Mmap>>> {
    MAPS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A map that is in the list until it is dropped.
#[cfg(feature = "mmap")]
struct Listed(Arc<memmap2::Mmap>);

#[cfg(feature = "mmap")]
impl Listed {
    fn new(map: memmap2::Mmap) -> Self {
        let map = Arc::new(map);
        maps().insert(map.as_ptr() as usize, Arc::clone(&map));
        Self(map)
    }
}

#[cfg(feature = "mmap")]
impl AsRef<[u8]> for Listed {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

#[cfg(feature = "mmap")]
impl Drop for Listed {
    fn drop(&mut self) {
        maps().remove(&(self.0.as_ptr() as usize));
    }
}

/// Gives the pages of bytes back to the system if they are those of a map, which has the same bytes afterwards. Other memory, and
/// what is so small that the call would cost more than the pages, stays as it is.
#[cfg(all(feature = "mmap", unix))]
pub(crate) fn release(bytes: &[u8]) {
    const LEAST: usize = 1 << 16;
    if bytes.len() < LEAST {
        return;
    }
    let at = bytes.as_ptr() as usize;
    let maps = maps();
    let Some((from, map)) = maps.range(..=at).next_back() else { return };
    let offset = at.saturating_sub(*from);
    if offset.saturating_add(bytes.len()) <= map.len() {
        // SAFETY: the range is one of a map that is in the list, so it exists. It is private and read-only: all its pages are those of the
        // file, and one that was given back is read again when it is touched.
        let advised =
            unsafe { map.unchecked_advise_range(memmap2::UncheckedAdvice::DontNeed, offset, bytes.len()) };
        // Where the system refuses, the pages stay.
        drop(advised);
    }
}

#[cfg(not(all(feature = "mmap", unix)))]
pub(crate) const fn release(_: &[u8]) {}

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

    /// The pages of a map, by the system's list of them.
    #[cfg(all(feature = "mmap", target_os = "linux"))]
    fn resident(bytes: &[u8]) -> u64 {
        let list = std::fs::read_to_string("/proc/self/smaps").unwrap();
        let start = format!("{:x}-", bytes.as_ptr() as usize);
        let of_map = list.lines().skip_while(|line| !line.starts_with(&start));
        let line = of_map.into_iter().find_map(|line| line.strip_prefix("Rss:")).unwrap();
        line.trim().trim_end_matches(" kB").parse().unwrap()
    }

    #[test]
    #[cfg(all(feature = "mmap", target_os = "linux"))]
    fn pages_go_and_come_back() {
        let mut file = tempfile::tempfile().unwrap();
        let contents: Vec<u8> = (0..1_u32 << 16).flat_map(u32::to_le_bytes).collect();
        file.write_all(&contents).unwrap();
        for bytes in [map(&file, 1 << 18, false).unwrap(), map_part(&file, 0, 1 << 18).unwrap()] {
            assert!(bytes == contents);
            assert_eq!(resident(&bytes), 256);
            release(&bytes[..1 << 17]);
            assert_eq!(resident(&bytes), 128);
            release(&bytes);
            assert_eq!(resident(&bytes), 0);
            assert!(bytes == contents);
        }
        let part = map_part(&file, 12, 1 << 17).unwrap();
        release(&part);
        assert!(part == contents[12..][..1 << 17]);
        // Memory that is not of a map stays.
        release(&contents);
        assert!(contents.chunks(4).zip(0..).all(|(bytes, number): (_, u32)| bytes == number.to_le_bytes()));
    }

    #[test]
    fn a_shorter_file_is_an_error() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(b"0123456789").unwrap();
        assert_eq!(map(&file, 11, false).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
        assert!(map(&file, u64::MAX, true).is_err());
    }
}
