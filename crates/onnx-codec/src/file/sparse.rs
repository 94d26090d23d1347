//! Files without names that have holes: contents of which only some parts were read.

use std::fs::File;
use std::io::{self, Seek as _, SeekFrom, Write as _};
use std::path::Path;

use bytes::Bytes;

use super::{PrivateFile, PrivateFolder, Temporaries};
use crate::mmap;

/// Contents of a known length, of which only some parts are written; the others are holes, which are zeros and take no memory.
///
/// The decoder takes them in the place of a file whose weights nobody reads, and finds what it finds in the file itself. No
/// other process can open them, so that mapping them is safe.
///
/// ```
/// use onnx_codec::file::SparseFile;
///
/// let mut file = SparseFile::new(1 << 30, &std::env::temp_dir())?;
/// file.write(1 << 29, b"weights")?;
/// let bytes = file.into_bytes(false)?;
/// assert_eq!(bytes.len(), 1 << 30);
/// assert_eq!(bytes.slice(1 << 29..).slice(..8), b"weights\0".as_slice());
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct SparseFile {
    file: File,
    length: u64,
    /// Where the system has no files without names.
    named: Option<(PrivateFile, PrivateFolder)>,
}

impl SparseFile {
    /// Contents of `length` bytes, all of which are a hole. Where the system has no files without names, the file is in `folder`,
    /// such as [`std::env::temp_dir`].
    ///
    /// # Errors
    ///
    /// Returns an error if the system fails.
    pub fn new(length: u64, folder: &Path) -> io::Result<Self> {
        let (file, named) = match unnamed() {
            Some(file) => (file, None),
            None => named(folder)?,
        };
        file.set_len(length)?;
        Ok(Self { file, length, named })
    }

    /// Writes a part.
    ///
    /// # Errors
    ///
    /// Returns an error if the system fails.
    pub fn write(&mut self, at: u64, bytes: &[u8]) -> io::Result<()> {
        self.file.seek(SeekFrom::Start(at))?;
        self.file.write_all(bytes)
    }

    /// The contents, which are mapped.
    ///
    /// A map takes address space, but no memory. With `beyond_limit`, the limit of the address space of the process is raised by
    /// the length of the map while it exists, if it is too low and the system allows that.
    ///
    /// # Errors
    ///
    /// Returns an error if the system fails.
    pub fn into_bytes(self, beyond_limit: bool) -> io::Result<Bytes> {
        let map = || mmap::map(&self.file, self.length, false);
        let (bytes, raised) = match map() {
            Err(error) if beyond_limit && error.kind() == io::ErrorKind::OutOfMemory => {
                let raised = Raised::by(self.length);
                let mapped = if raised.is_some() { map() } else { Err(error) };
                (mapped?, raised)
            }
            mapped => (mapped?, None),
        };
        if raised.is_none() && self.named.is_none() {
            return Ok(bytes);
        }
        Ok(Bytes::from_owner(Owner { bytes, _raised: raised, _named: self.named }))
    }
}

/// A map with what must outlive it. Fields are dropped in their order.
struct Owner {
    bytes: Bytes,
    _raised: Option<Raised>,
    _named: Option<(PrivateFile, PrivateFolder)>,
}

impl AsRef<[u8]> for Owner {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

/// The limit of the address space of the process, raised until this is dropped.
struct Raised {
    #[cfg(unix)]
    by: u64,
}

#[cfg(unix)]
impl Raised {
    /// `None` if a limit of this name does not exist, or the system does not allow a higher one.
    fn by(by: u64) -> Option<Self> {
        use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

        let Rlimit { current, maximum } = getrlimit(Resource::As);
        let current = current?.checked_add(by)?;
        setrlimit(Resource::As, Rlimit { current: Some(current), maximum }).ok()?;
        Some(Self { by })
    }
}

#[cfg(not(unix))]
impl Raised {
    const fn by(_: u64) -> Option<Self> {
        None
    }
}

#[cfg(unix)]
impl Drop for Raised {
    fn drop(&mut self) {
        use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

        let Rlimit { current, maximum } = getrlimit(Resource::As);
        let current = current.map(|current| current.saturating_sub(self.by));
        // Lowering a limit is always allowed.
        let _ = setrlimit(Resource::As, Rlimit { current, maximum });
    }
}

/// A file that never had a name, so that nothing remains of it however the process ends.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn unnamed() -> Option<File> {
    rustix::fs::memfd_create("onnx", rustix::fs::MemfdFlags::CLOEXEC).ok().map(File::from)
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
const fn unnamed() -> Option<File> {
    None
}

/// A file in a folder that only the user can list; both are removed when they are dropped.
fn named(folder: &Path) -> io::Result<(File, Option<(PrivateFile, PrivateFolder)>)> {
    let folder = PrivateFolder::new(folder, &Temporaries::default()).map_err(|error| error.source)?;
    let file = folder.file(".onnx");
    // The handle of a new file is for writing only.
    drop(file.create().map_err(|error| error.source)?);
    let opened = File::options().read(true).write(true).open(file.path())?;
    Ok((opened, Some((file, folder))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_where_they_were_written() {
        let parent = std::env::temp_dir();
        let (file, named) = named(&parent).unwrap();
        file.set_len(1 << 20).unwrap();
        let folder = named.as_ref().unwrap().1.path().to_owned();
        for mut file in
            [SparseFile { file, length: 1 << 20, named }, SparseFile::new(1 << 20, &parent).unwrap()]
        {
            for at in [0, 1 << 19, (1 << 20) - 3] {
                file.write(at, b"abc").unwrap();
            }
            let bytes = file.into_bytes(true).unwrap();
            assert_eq!(bytes.len(), 1 << 20);
            for at in [0, 1 << 19, (1 << 20) - 3] {
                assert_eq!(&bytes[at..at + 3], b"abc");
            }
            assert_eq!(bytes.iter().filter(|&&byte| byte != 0).count(), 9);
        }
        assert!(!folder.exists());
        assert!(SparseFile::new(0, &parent).unwrap().into_bytes(false).unwrap().is_empty());
    }
}
