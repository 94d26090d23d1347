//! An open file of external data: known to be a regular one, and read only through its handle.

use std::fs::{File, Metadata};
use std::io;

use bytes::Bytes;
use onnx_types::Interrupt;
use onnx_types::tensor::DataErrorReason;

use super::contain::reason;
use super::refused;
use crate::file::PIECE;
use crate::file::dir::kind_name;

/// An open regular file.
#[derive(Debug)]
pub(super) struct Handle {
    file: File,
    pub(super) identity: Identity,
    /// Number of names of the file.
    pub(super) links: u64,
    /// Whose turn it is to move the position.
    #[cfg(not(unix))]
    turn: std::sync::Mutex<()>,
}

/// The identity of a file and of its contents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Identity {
    /// The size in bytes.
    pub(super) len: u64,
    /// Device and number on it, where the system tells them.
    pub(super) place: (u64, u64),
    pub(super) modified: Option<std::time::SystemTime>,
}

impl Handle {
    /// Takes charge of a file that was just opened, if it is one to read.
    pub(super) fn new(file: File) -> Result<Self, DataErrorReason> {
        let metadata = file.metadata().map_err(reason)?;
        if !metadata.is_file() {
            return Err(refused(&format!("it is {}, not a regular file", kind_name(metadata.file_type()))));
        }
        if is_of_process_table(&file).map_err(reason)? {
            return Err(refused("it is not a stored file but a view of the system's state"));
        }
        let identity =
            Identity { len: metadata.len(), place: place(&metadata), modified: metadata.modified().ok() };
        Ok(Self {
            file,
            identity,
            links: links(&metadata),
            #[cfg(not(unix))]
            turn: std::sync::Mutex::default(),
        })
    }

    /// The whole file, mapped.
    pub(super) fn map(&self) -> Result<Bytes, DataErrorReason> {
        crate::mmap::map(&self.file, self.identity.len, false).map_err(reason)
    }

    /// A range of the file, which must be inside its size, copied. The interrupt is checked before each piece.
    pub(super) fn read(
        &self,
        offset: u64,
        len: u64,
        interrupt: &Interrupt,
    ) -> Result<Bytes, DataErrorReason> {
        let mut buffer = crate::file::reserve(len).map_err(reason)?;
        match self.fill(&mut buffer, offset, len, interrupt) {
            // A file that grew or shrank since it was opened.
            Ok(()) if buffer.len() as u64 != len => {
                Err(DataErrorReason::ShortRead { found: buffer.len() as u64 })
            }
            Ok(()) => Ok(buffer.into()),
            Err(error) => Err(reason(error)),
        }
    }

    #[cfg(unix)]
    fn fill(&self, buffer: &mut Vec<u8>, offset: u64, len: u64, interrupt: &Interrupt) -> io::Result<()> {
        use std::os::unix::fs::FileExt;
        let len = usize::try_from(len).unwrap_or(usize::MAX);
        while buffer.len() < len {
            interrupt.check().map_err(io::Error::other)?;
            let (start, end) = (buffer.len(), len.min(buffer.len().saturating_add(PIECE)));
            // Zeros that are overwritten while they are in the cache.
            buffer.resize(end, 0);
            let piece = buffer.get_mut(start..).unwrap_or_default();
            match self.file.read_at(piece, offset.saturating_add(start as u64)) {
                Ok(count) => {
                    buffer.truncate(start.saturating_add(count));
                    if count == 0 {
                        break;
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => buffer.truncate(start),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Moves the position of the file and reads from there. There is one position, so callers take turns.
    #[cfg(not(unix))]
    fn fill(&self, buffer: &mut Vec<u8>, offset: u64, len: u64, interrupt: &Interrupt) -> io::Result<()> {
        use std::io::{Read, Seek, SeekFrom};
        let _turn = self.turn.lock();
        let mut file = &self.file;
        file.seek(SeekFrom::Start(offset))?;
        while (buffer.len() as u64) < len {
            interrupt.check().map_err(io::Error::other)?;
            let left = len.saturating_sub(buffer.len() as u64);
            if file.take(left.min(PIECE as u64)).read_to_end(buffer)? == 0 {
                break;
            }
        }
        Ok(())
    }
}

#[cfg(unix)]
fn links(metadata: &Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::nlink(metadata)
}

#[cfg(not(unix))]
fn links(_: &Metadata) -> u64 {
    1
}

#[cfg(unix)]
fn place(metadata: &Metadata) -> (u64, u64) {
    use std::os::unix::fs::MetadataExt;
    (metadata.dev(), metadata.ino())
}

#[cfg(not(unix))]
fn place(_: &Metadata) -> (u64, u64) {
    (0, 0)
}

/// Whether a file shows the state of processes or of the kernel. Such files claim to be regular and empty.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn is_of_process_table(file: &File) -> io::Result<bool> {
    // The number of sysfs, from the kernel's list of magic numbers.
    const SYSFS_MAGIC: rustix::fs::FsWord = 0x6265_6572;
    let kind = rustix::fs::fstatfs(file)?.f_type;
    Ok(kind == rustix::fs::PROC_SUPER_MAGIC || kind == SYSFS_MAGIC)
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
#[expect(clippy::unnecessary_wraps, reason = "Linux can fail")]
fn is_of_process_table(_: &File) -> io::Result<bool> {
    Ok(false)
}
