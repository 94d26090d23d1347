//! Reading and writing files.
//!
//! # Guarantees
//!
//! * Reading gives [`Bytes`] and is the caller's choice between a copy and a map ([`ReadMode`]); the bytes are the same.
//! * A write leaves either the old file or the complete new one. The new contents go into a temporary file of the same
//!   directory, reach the disk, and take the name in one step; a failure on the way removes the temporary file and changes
//!   nothing else. Where the system has files without names (Linux), the temporary file is one, so that nothing remains
//!   however the process ends; elsewhere [`Temporaries`] lists what to remove.
//! * Files that belong together are a [`FileSet`]: all of them reach the disk under temporary names before the first one takes
//!   its name, and a journal tells what is left to do. The next reader or writer of one of them finishes it if the writer was killed.
//! * A temporary file can be read by its owner only. When it is complete it gets the permissions of the file that it
//!   replaces, and its owner if the process may give files away; new data of a model that is replaced gets those of the
//!   model, and other new files those that the process gives to them.
//! * Because the name changes in one step, a model may be written over the file it is mapped from: the map keeps the old
//!   contents.
//! * Only regular files are replaced: a directory, pipe, socket or device under the name is an error. A symbolic link
//!   stays, and the file it leads to is replaced, in that file's directory; a link that leads nowhere is an error.
//! * Names that the program chooses cannot be used against it: those of temporary files are random ([`PrivateFolder`]), and a
//!   link that has the name of a file of a set is not followed.
//! * [`write_file`] and [`save`](crate::save) replace no file that an input reads, and files of other kinds or data files
//!   with other contents only where [`WriteOptions::force`] is set. [`write_atomically`] and [`write_segments`] are for files that the caller owns: they
//!   replace any regular file.
//!
//! The tests are in `tests/files.rs` and `tests/replacing.rs`.

pub(crate) mod dir;
pub(crate) mod protect;
pub(crate) mod stage;
pub(crate) mod target;

mod journal;
mod kind;
mod private;
mod set;
mod sparse;
mod stream;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use bytes::Bytes;
use onnx_diag::Clean;
use onnx_proto::wire::Segments;
use onnx_types::Interrupt;

use crate::source::location::Location;
use dir::Dir;
pub use kind::FileKind;
pub use private::{PrivateFile, PrivateFolder};
pub use protect::{InputFiles, ReplaceRefusal, WriteOptions};
use protect::{Outputs, decide};
pub use set::FileSet;
#[cfg(test)]
pub(crate) use set::INCOMPLETE;
pub use sparse::SparseFile;
use stage::Staged;
pub use stage::{Temporaries, WritersStopped};
pub use stream::{descriptor, is_stream, is_terminal, open_stream};
use target::Target;

/// The way in which the contents of a file are loaded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ReadMode {
    /// They are copied. Nothing that happens to the file later matters.
    #[default]
    Memory,
    /// The file is mapped: opening takes no time and no memory, and contents are read on access. Up to [`SMALL_FILE`]
    /// bytes, they are read at once.
    ///
    /// The caller must guarantee that no other process truncates or overwrites the file while any of the bytes are in
    /// use: truncation ends the process when it accesses a missing page, overwriting changes bytes that were checked.
    /// Replacing the file by a rename is safe. A file that is not a regular file, such as a pipe, is copied, as is any
    /// file without the feature `mmap`.
    Map,
    /// Like [`Map`](Self::Map), but the system reads the whole file at once, if it supports this. For callers that read
    /// all of it: writing a model elsewhere then does not wait for pages. It still takes no memory of the process
    /// itself.
    MapAll,
}

impl ReadMode {
    /// Whether the contents are mapped, not copied.
    #[must_use]
    pub const fn is_mapped(self) -> bool {
        matches!(self, Self::Map | Self::MapAll)
    }
}

/// A file that cannot be read or written: what was tried, where, and what the system says.
#[derive(Debug, thiserror::Error)]
#[error("{}: cannot be {}: {source}", self.shown(), self.participle())]
pub struct FileError {
    /// The failed operation: `read` or `write`.
    pub operation: &'static str,
    /// The path as it was given.
    pub path: PathBuf,
    /// Why it failed.
    pub source: io::Error,
}

/// The text of a path in messages and reports. Bytes that are not UTF-8 are escapes, as Python writes them, so that different paths
/// have different texts.
#[must_use]
pub fn path_text(path: &Path) -> String {
    use std::fmt::Write as _;
    let mut text = String::new();
    for chunk in path.as_os_str().as_encoded_bytes().utf8_chunks() {
        text.push_str(chunk.valid());
        for byte in chunk.invalid() {
            // Writing to a string cannot fail.
            let _ = write!(text, "\\x{byte:02x}");
        }
    }
    text
}

impl FileError {
    /// The path in a message, which an empty one would leave without a beginning.
    fn shown(&self) -> String {
        match path_text(&self.path).as_str() {
            "" => "\"\"".to_owned(),
            path => Clean(path).to_string(),
        }
    }

    /// The failed operation, after "cannot be".
    fn participle(&self) -> &'static str {
        if self.operation == "read" { "read" } else { "written" }
    }

    pub(crate) fn read(path: &Path, source: io::Error) -> Self {
        Self { operation: "read", path: path.to_owned(), source }
    }

    pub(crate) fn write(path: &Path, source: io::Error) -> Self {
        Self { operation: "write", path: path.to_owned(), source }
    }

    /// Why the file is not replaced, if that is the reason.
    #[must_use]
    pub fn refusal(&self) -> Option<&ReplaceRefusal> {
        self.source.get_ref()?.downcast_ref()
    }
}

/// The maximum size of a file that is mapped with all its pages, 64 KiB: what systems map at the first access anyway. Of larger files,
/// the pages of weights would be most of what opening them costs.
pub const SMALL_FILE: u64 = 64 << 10;

/// The most that is read from what has no size, such as a pipe: the most that other readers take for a model.
pub const MAX_STREAM_BYTES: u64 = i32::MAX as u64;

/// Reads a whole file that the user named: a regular file, or a pipe of at most [`MAX_STREAM_BYTES`].
///
/// # Errors
///
/// Returns an error if the file cannot be opened, read or mapped, is a directory, or does not fit into memory.
pub fn read(path: impl AsRef<Path>, mode: ReadMode) -> Result<Bytes, FileError> {
    read_until(path, mode, &Interrupt::NEVER)
}

/// Like [`read`], for work that an interrupt ends: it is checked before each piece of the file that is copied.
///
/// # Errors
///
/// As [`read`], and if the interrupt ends the work.
pub fn read_until(path: impl AsRef<Path>, mode: ReadMode, interrupt: &Interrupt) -> Result<Bytes, FileError> {
    let path = path.as_ref();
    read_from(path, mode, interrupt).map_err(|error| FileError::read(path, error))
}

/// The most bytes that are copied between two checks of an interrupt, 4 MiB: below a millisecond of work.
pub(crate) const PIECE: usize = 4 << 20;

fn read_from(path: &Path, mode: ReadMode, interrupt: &Interrupt) -> io::Result<Bytes> {
    journal::finish_for(path)?;
    let file = File::open(path)?;
    let metadata = file.metadata()?;
    if metadata.is_dir() {
        return Err(io::Error::new(io::ErrorKind::IsADirectory, "it is a directory"));
    }
    if !metadata.is_file() {
        return read_stream(file, interrupt);
    }
    if mode.is_mapped() {
        let whole = mode == ReadMode::MapAll || metadata.len() <= SMALL_FILE;
        return crate::mmap::map(&file, metadata.len(), whole);
    }
    let mut contents = reserve(metadata.len())?;
    append(&mut contents, file.take(metadata.len()), interrupt)?;
    Ok(contents.into())
}

/// Appends all bytes that a reader gives, in pieces.
fn append(contents: &mut Vec<u8>, mut reader: io::Take<File>, interrupt: &Interrupt) -> io::Result<()> {
    let limit = reader.limit();
    loop {
        interrupt.check().map_err(io::Error::other)?;
        let left = limit.saturating_sub(contents.len() as u64);
        reader.set_limit(left.min(PIECE as u64));
        if reader.read_to_end(contents)? == 0 {
            return Ok(());
        }
    }
}

fn read_stream(file: File, interrupt: &Interrupt) -> io::Result<Bytes> {
    let mut contents = Vec::new();
    append(&mut contents, file.take(MAX_STREAM_BYTES + 1), interrupt)?;
    if contents.len() as u64 > MAX_STREAM_BYTES {
        let message = format!(
            "it gives more than {MAX_STREAM_BYTES} bytes, the most that is read of what is not a regular file"
        );
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
    }
    Ok(contents.into())
}

/// A buffer of capacity `len`, or an error instead of an abort.
pub(crate) fn reserve(len: u64) -> io::Result<Vec<u8>> {
    let mut buffer = Vec::new();
    let len = usize::try_from(len).map_err(|_| io::ErrorKind::OutOfMemory)?;
    buffer.try_reserve_exact(len).map_err(|_| {
        io::Error::new(
            io::ErrorKind::OutOfMemory,
            format!("its {len} bytes do not fit into memory; map it instead"),
        )
    })?;
    Ok(buffer)
}

/// Writes a file that `contents` produces, all or nothing, over any regular file; see the [module](self).
///
/// ```
/// use std::io::Write;
///
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("notes.txt");
/// onnx_codec::file::write_atomically(&path, |out| out.write_all(b"all of it"))?;
/// assert_eq!(std::fs::read(&path)?, b"all of it");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// Returns an error if `contents` or the system fails, or if the path does not name a regular file. The old file is
/// unchanged then.
pub fn write_atomically(
    path: impl AsRef<Path>,
    contents: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), FileError> {
    replace(path.as_ref(), None, &WriteOptions::default(), |staged| staged.write_with(contents))
}

/// Writes a file from the pieces of an encoded message, all or nothing, without copying them together, over any regular
/// file; see the [module](self).
///
/// # Errors
///
/// Returns an error if the system fails, or if the path does not name a regular file. The old file is unchanged then.
pub fn write_segments(path: impl AsRef<Path>, segments: &Segments) -> Result<(), FileError> {
    replace(path.as_ref(), None, &WriteOptions::default(), |staged| staged.write_pieces(segments.iter()))
}

/// Writes a file that `contents` produces, all or nothing, if it may be replaced; see the [module](self).
///
/// # Errors
///
/// As [`write_atomically`], and when an input reads the existing file or it is of another kind
/// ([`FileError::refusal`]).
pub fn write_file(
    path: impl AsRef<Path>,
    kind: FileKind,
    options: &WriteOptions,
    contents: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), FileError> {
    let path = path.as_ref();
    if options.dry_run {
        let rehearsed =
            Target::for_path(path).and_then(|target| rehearse(path, &target, kind, options, contents));
        return rehearsed.map_err(|error| FileError::write(path, error));
    }
    replace(path, Some(kind), options, |staged| staged.write_with(contents))
}

/// Makes the directories that the file of some external data needs, in the directory of its model. None may be a symbolic
/// link.
///
/// # Errors
///
/// Returns an error if the system fails, or the location is not one that [`FileSource`](crate::FileSource) would read.
pub(crate) fn create_folders(root: &Path, location: &str) -> Result<(), FileError> {
    let create = || {
        let location = Location::parse(location).map_err(target::invalid)?;
        let mut dir = Dir::open(root)?;
        for folder in location.split().0 {
            match dir.create_dir(folder) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
                _ => dir = dir.open_dir(&[*folder])?,
            }
        }
        Ok(())
    };
    create().map_err(|error| FileError::write(&root.join(location), error))
}

/// The existing file, if it may be replaced by one of this kind.
fn replaced(
    path: &Path,
    target: &Target,
    kind: FileKind,
    options: &WriteOptions,
) -> io::Result<Option<dir::FileEntry>> {
    let folder = path.parent().unwrap_or(Path::new(""));
    let kept = BTreeMap::new();
    let outputs = Outputs {
        main: target,
        kind,
        folder,
        root: Dir::open(folder)?.id()?,
        data: &[],
        contents: &[],
        is_external: false,
        kept: &kept,
    };
    decide(&outputs, options).map(|replaced| replaced.main).map_err(|(_, error)| error)
}

/// Does what [`write_file`] does up to the first change.
fn rehearse(
    path: &Path,
    target: &Target,
    kind: FileKind,
    options: &WriteOptions,
    contents: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    replaced(path, target, kind, options)?;
    contents(&mut io::sink())?;
    target.dir.check_writable()
}

/// Replaces one file, if it may be replaced by one of this kind.
fn replace(
    path: &Path,
    kind: Option<FileKind>,
    options: &WriteOptions,
    contents: impl FnOnce(&mut Staged) -> io::Result<()>,
) -> Result<(), FileError> {
    let write = || {
        let target = Target::for_path(path)?;
        let allowed = || match kind {
            Some(kind) => replaced(path, &target, kind, options),
            None => target.entry(),
        };
        allowed()?;
        let mut staged = Staged::new(&target.dir, &options.temporaries)?;
        contents(&mut staged)?;
        staged.sync()?;
        let lock = target.dir.lock()?;
        let replaced = allowed()?;
        let access = target.access(replaced.as_ref())?;
        let mut held = options.temporaries.hold()?;
        staged.place(&mut held, &target.name, access)?;
        drop(held);
        drop(lock);
        target.dir.sync()
    };
    write().map_err(|error| FileError::write(path, error))
}
