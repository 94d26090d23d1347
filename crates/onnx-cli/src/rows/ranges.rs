//! Where the bytes of a row come from: files, and objects that give ranges.

use std::fs::{File, FileType, Metadata};
use std::io::{self, ErrorKind, Read as _, Seek as _, SeekFrom};
use std::path::Path;

use bytes::Bytes;

/// An object that gives ranges of bytes, such as an object of a store.
pub trait ReadRanges {
    /// The number of bytes. It must not change.
    fn size(&self) -> u64;

    /// The bytes from `start` up to and without `end`, which is at most [`size`](Self::size).
    ///
    /// # Errors
    ///
    /// Returns an error if the bytes are missing.
    fn read(&mut self, start: u64, end: u64) -> Result<Bytes, ReadError>;

    /// Called when everything was read that is needed.
    ///
    /// # Errors
    ///
    /// Returns an error if the bytes may be those of different contents, because the object changed meanwhile.
    fn finish(&mut self) -> Result<(), ReadError> {
        Ok(())
    }
}

/// Why bytes are missing.
#[derive(Clone, Debug)]
pub struct ReadError {
    /// The column `error_code`: the name of the exception that Python has for it.
    pub code: String,
    /// The column `error`.
    pub message: String,
}

impl ReadError {
    /// An error with its name in Python.
    pub fn new(code: &str, message: impl Into<String>) -> Self {
        Self { code: code.to_owned(), message: message.into() }
    }

    /// An object that gave another number of bytes than it has.
    pub(super) fn changed(size: u64, range: (u64, u64), found: usize) -> Self {
        let (start, end) = range;
        let message =
            format!("it had {size} bytes, and gave {found} of the {} from byte {start} on", end - start);
        Self::new("FileChangedError", message)
    }
}

impl From<io::Error> for ReadError {
    fn from(error: io::Error) -> Self {
        let code = match error.kind() {
            ErrorKind::NotFound => "FileNotFoundError",
            ErrorKind::PermissionDenied => "PermissionError",
            ErrorKind::NotADirectory => "NotADirectoryError",
            // A path that no system has, such as one with a zero byte.
            ErrorKind::InvalidInput => "ValueError",
            ErrorKind::OutOfMemory => "LimitError",
            _ => "OSError",
        };
        // The words of the system, without its number.
        let text = error.to_string();
        Self::new(code, text.split(" (os error ").next().unwrap_or_default())
    }
}

/// A regular file, which must not change while it is read.
pub(super) struct FileRanges {
    file: File,
    found: Metadata,
}

impl FileRanges {
    pub(super) fn open(path: &Path) -> Result<Self, ReadError> {
        // A device is not opened: even that may have an effect.
        require_regular(path.metadata()?.file_type())?;
        let mut options = File::options();
        options.read(true);
        #[cfg(unix)]
        {
            use std::os::unix::fs::OpenOptionsExt as _;
            // A pipe may have taken the place of the file, and would wait for a writer.
            if let Ok(flag) = i32::try_from(rustix::fs::OFlags::NONBLOCK.bits()) {
                options.custom_flags(flag);
            }
        }
        let file = options.open(path)?;
        let found = file.metadata()?;
        require_regular(found.file_type())?;
        Ok(Self { file, found })
    }
}

impl ReadRanges for FileRanges {
    fn size(&self) -> u64 {
        self.found.len()
    }

    fn read(&mut self, start: u64, end: u64) -> Result<Bytes, ReadError> {
        let length = end.saturating_sub(start);
        let mut bytes = Vec::with_capacity(usize::try_from(length).unwrap_or(0));
        self.file.seek(SeekFrom::Start(start))?;
        (&self.file).take(length).read_to_end(&mut bytes)?;
        Ok(bytes.into())
    }

    fn finish(&mut self) -> Result<(), ReadError> {
        let now = self.file.metadata()?;
        let (before, after) = (self.found.len(), now.len());
        if before == after && self.found.modified().ok() == now.modified().ok() {
            return Ok(());
        }
        let message = format!("it changed while it was read: it had {before} bytes, and has {after}");
        Err(ReadError::new("FileChangedError", message))
    }
}

fn require_regular(kind: FileType) -> Result<(), ReadError> {
    if kind.is_file() {
        return Ok(());
    }
    let message = if kind.is_dir() {
        "it is a directory".to_owned()
    } else {
        format!("it is {}, not a regular file", name_of(kind))
    };
    Err(ReadError::new("NotAFileError", message))
}

#[cfg(unix)]
fn name_of(kind: FileType) -> &'static str {
    use std::os::unix::fs::FileTypeExt as _;
    match () {
        () if kind.is_fifo() => "a pipe",
        () if kind.is_socket() => "a socket",
        () if kind.is_char_device() || kind.is_block_device() => "a device",
        () => "of another kind",
    }
}

#[cfg(not(unix))]
fn name_of(_: FileType) -> &'static str {
    "of another kind"
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::*;

    #[test]
    fn a_file_that_changes_is_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("m.onnx");
        type Change = (&'static str, fn(&File));
        let changes: [Change; 3] = [
            ("it had 10 bytes, and has 3", |file| file.set_len(3).unwrap()),
            ("it had 10 bytes, and has 20", |file| file.set_len(20).unwrap()),
            ("it had 10 bytes, and has 10", |file| file.set_modified(SystemTime::UNIX_EPOCH).unwrap()),
        ];
        for (message, change) in changes {
            std::fs::write(&path, "0123456789").unwrap();
            let mut ranges = FileRanges::open(&path).unwrap();
            assert_eq!((ranges.size(), ranges.read(2, 5).unwrap().as_ref()), (10, b"234".as_slice()));
            ranges.finish().unwrap();
            change(&File::options().write(true).open(&path).unwrap());
            let error = ranges.finish().unwrap_err();
            assert_eq!(error.code, "FileChangedError");
            assert!(error.message.ends_with(message), "{}", error.message);
        }
        assert_eq!(FileRanges::open(folder.path()).err().unwrap().message, "it is a directory");
        assert_eq!(FileRanges::open(&path.join("x")).err().unwrap().code, "NotADirectoryError");
    }
}
