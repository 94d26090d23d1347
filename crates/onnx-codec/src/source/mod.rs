//! External data in the file system.
//!
//! A model names the files of its external data by `location`, a path relative to its own directory. The model may come
//! from anywhere, so a location is an untrusted request to open a file. Only [`FileSource`] answers
//! it, and nothing is opened without one: it is the capability that readers of tensors must be given.
//!
//! # What is promised
//!
//! * No location opens a file outside the *root*, the directory of the model, unless [`Containment`] says so; see there
//!   for symbolic and hard links. The text of a location is checked first, with the same result on every system:
//!   absolute paths, drives, the component `..`, NUL characters and markers of addresses in memory are refused in all
//!   modes, while `a..b`, `...` and `..a` are names like others.
//! * Files are opened relative to a handle of the root that is taken once, with a resolution in the kernel that cannot
//!   leave it (or one step per component without following links, where the kernel has none). Exchanging files and
//!   directories meanwhile gives an error or a file inside the root, never one outside.
//! * Only regular files are read. Pipes, sockets, devices, directories and the files of `/proc` are refused before a byte
//!   is read, and opening them does not block.
//! * Size and contents come from the same handle. When a handle must be given up because there are too many, the file
//!   is opened again by the same rules, and one that was replaced or changed meanwhile is an error.
//! * Ranges are compared with the size of the file before memory is reserved; no number overflows.
//! * All ranges that one source gives, mapped or copied, have at most [`Limits::external_bytes`] together. Work that is done
//!   again, such as another run, [begins anew](DataSource::restarted).
//! * Where the model is known, a file that is opened after the model was replaced is an error: it may belong to the new
//!   model. [`save`](crate::save) replaces a model before the data that both have under the same name.
//!
//! The tests are in `tests/external.rs`; each names the case it covers. Where the standard library is all there is (not
//! on Unix), paths are compared after resolving them, which a process that exchanges files at the right moment can evade.
//!
//! ```
//! use onnx_codec::FileSource;
//! use onnx_types::tensor::DataSource;
//!
//! let folder = tempfile::tempdir()?;
//! std::fs::write(folder.path().join("weights.bin"), [1, 2, 3, 4])?;
//! let source = FileSource::for_model(folder.path().join("model.onnx"))?;
//! assert_eq!(source.read("weights.bin", 1, Some(2))?, [2, 3].as_slice());
//! assert!(source.read("../weights.bin", 0, None).is_err());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod checksum;
mod contain;
mod handle;
mod held;
pub(crate) mod location;
mod sent;

use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use onnx_types::tensor::{DataError, DataErrorReason, DataSource, checked_range};
use onnx_types::{Interrupt, Limits};

use crate::file::dir::{Dir, FileEntry, FileId};
use crate::file::{FileError, ReadMode};
pub(crate) use checksum::hex;
pub use checksum::{Checksum, verify_checksum};
pub use contain::Containment;
use contain::Roots;
use handle::{Handle, Identity};
use held::Held;
use location::Location;

/// Maximum number of files that are open at the same time. Systems allow a process as few as 256 or 1024.
const MAX_OPEN: usize = 128;

/// The files of a directory as external data of a model; see the [module](self).
#[derive(Debug)]
pub struct FileSource {
    roots: Result<Arc<Roots>, Refusal>,
    /// The only files that are read, if they are known, by location.
    stamps: Option<Arc<BTreeMap<String, String>>>,
    model: Option<ModelStamp>,
    containment: Containment,
    mode: ReadMode,
    max_files: usize,
    max_read: u64,
    files: Arc<Mutex<Files>>,
    /// The bytes of all ranges that were given.
    read: AtomicU64,
    held: Option<Arc<Held>>,
}

/// Why no file is opened.
#[derive(Clone, Debug)]
enum Refusal {
    /// The model came from a stream.
    Stream,
    /// The directory cannot be opened, for this reason.
    Directory(Arc<str>),
}

/// Which model is under a path at some moment, to notice later that it was replaced. It is taken before the model is read.
#[derive(Clone, Debug)]
pub struct ModelStamp {
    path: PathBuf,
    state: Option<State>,
}

type State = (FileId, u64, Option<std::time::SystemTime>);

impl ModelStamp {
    /// The model that is under a path now. If there is none, nothing is noticed later.
    #[must_use]
    pub fn of(path: impl AsRef<Path>) -> Self {
        let path = path.as_ref().to_owned();
        Self { state: Self::state(&path), path }
    }

    fn state(path: &Path) -> Option<State> {
        let modified = std::fs::metadata(path).and_then(|metadata| metadata.modified()).ok();
        FileEntry::following(path).map(|entry| (entry.id, entry.len, modified))
    }

    fn is_replaced(&self) -> bool {
        self.state.is_some() && self.state != Self::state(&self.path)
    }
}

/// Information about the files that were opened.
#[derive(Debug, Default)]
struct Files {
    known: BTreeMap<String, Known>,
    /// The locations whose handles are open, the oldest first.
    open: VecDeque<String>,
    notes: Vec<SourceNote>,
}

#[derive(Debug)]
struct Known {
    identity: Identity,
    contents: Contents,
}

/// The source of the contents of a file.
#[derive(Clone, Debug)]
enum Contents {
    Mapped(Bytes),
    Open(Arc<Handle>),
    Closed,
}

/// Something about a file of external data that is allowed, but that one may want to know.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SourceNote {
    /// The file has other names as well. It is accepted because package managers and stores that share equal files make
    /// such links, but one of the other names may be outside the directory of the model.
    HardLinked {
        /// The location as the model gives it.
        location: String,
        /// The number of names.
        links: u64,
    },
}

impl std::fmt::Display for SourceNote {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::HardLinked { location, links } => {
                let location = location.escape_debug();
                write!(
                    f,
                    "external data `{location}` is a file with {links} names, which may be outside the directory"
                )
            }
        }
    }
}

impl FileSource {
    /// The external data of the model file at a path, which is best opened before the model is read (see
    /// [`with_stamp`](Self::with_stamp)). The model itself need not exist; where it is a symbolic link, the
    /// directory of the file it leads to counts as a second root for [`Containment::Contained`].
    ///
    /// # Errors
    ///
    /// Returns an error if the directory of the path cannot be opened.
    pub fn for_model(model: impl AsRef<Path>) -> Result<Self, FileError> {
        let model = model.as_ref();
        let stamp = ModelStamp::of(model);
        let directory = model.parent().unwrap_or(Path::new(""));
        let mut roots = roots(directory)?;
        if let Some(real) = model.canonicalize().ok().as_deref().and_then(Path::parent) {
            roots.add(Dir::open(real).map_err(|error| FileError::read(real, error))?);
        }
        Ok(Self { model: Some(stamp), ..Self::new(Ok(roots)) })
    }

    /// The external data of a model that came from a stream: without a directory, all files are refused.
    #[must_use]
    pub fn nowhere() -> Self {
        Self::new(Err(Refusal::Stream))
    }

    /// The external data of a model in a directory, whether or not the model exists; an empty path means the current
    /// one.
    ///
    /// # Errors
    ///
    /// Returns an error if the directory cannot be opened.
    pub fn in_directory(directory: impl AsRef<Path>) -> Result<Self, FileError> {
        Ok(Self::new(Ok(roots(directory.as_ref())?)))
    }

    fn new(roots: Result<Roots, Refusal>) -> Self {
        Self {
            roots: roots.map(Arc::new),
            stamps: None,
            model: None,
            containment: Containment::default(),
            mode: ReadMode::default(),
            max_files: Limits::DEFAULT.external_files,
            max_read: Limits::DEFAULT.external_bytes,
            files: Arc::default(),
            read: AtomicU64::new(0),
            held: None,
        }
    }

    /// Sets the stamp, which was taken before the model was read.
    #[must_use]
    pub fn with_stamp(mut self, stamp: ModelStamp) -> Self {
        self.model = Some(stamp);
        self
    }

    /// Sets the policy for links.
    #[must_use]
    pub fn with_containment(mut self, containment: Containment) -> Self {
        self.containment = containment;
        self
    }

    /// Sets whether contents are copied or mapped.
    #[must_use]
    pub fn with_mode(mut self, mode: ReadMode) -> Self {
        self.mode = mode;
        self
    }

    /// The same within other limits: [`Limits::external_files`] different files, [`Limits::external_bytes`] in all ranges
    /// together.
    #[must_use]
    pub fn with_limits(mut self, limits: &Limits) -> Self {
        (self.max_files, self.max_read) = (limits.external_files, limits.external_bytes);
        self
    }

    /// The same, which [holds](DataSource::hold) large elements in a temporary file of a directory: that of the result, where its size has
    /// room. The file has no name, so nothing remains of it however the process ends. Where the system has no such files, and where it
    /// cannot be written, elements stay in memory.
    #[must_use]
    pub fn with_held_in(mut self, directory: impl Into<PathBuf>) -> Self {
        self.held = Some(Arc::new(Held::new(directory.into())));
        self
    }

    /// The notes about the files opened so far.
    #[must_use]
    pub fn notes(&self) -> Vec<SourceNote> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner).notes.clone()
    }

    /// The contents of a file and its size.
    fn contents(&self, location: &str) -> Result<(Contents, u64), DataErrorReason> {
        let place = Location::parse(location).map_err(refused)?;
        let key = place.to_string();
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        match files.known.get(&key) {
            Some(Known { contents: Contents::Closed, identity }) => {
                let expected = identity.clone();
                self.open(&mut files, location, &place, key, Some(&expected))
            }
            Some(known) => Ok((known.contents.clone(), known.identity.len)),
            None if files.known.len() >= self.max_files => Err(DataErrorReason::Limit {
                message: format!("the model uses more than {} files of external data", self.max_files),
                name: "external_files",
            }),
            None => self.open(&mut files, location, &place, key, None),
        }
    }

    fn open(
        &self,
        files: &mut Files,
        location: &str,
        place: &Location<'_>,
        key: String,
        expected: Option<&Identity>,
    ) -> Result<(Contents, u64), DataErrorReason> {
        let roots = match &self.roots {
            Ok(roots) => roots,
            Err(Refusal::Directory(reason)) => return Err(refused(reason)),
            Err(Refusal::Stream) => {
                return Err(refused(
                    "the model came from a stream, which has no directory; specify the directory of the data",
                ));
            }
        };
        let handle = Handle::new(roots.open(place.components(), self.containment)?)?;
        let identity = handle.identity.clone();
        if expected.is_some_and(|expected| *expected != identity) {
            return Err(refused(
                "the file was changed or replaced since it was first opened; open the model again",
            ));
        }
        if self.stamps.as_ref().is_some_and(|stamps| stamps.get(&key) != Some(&identity.stamp())) {
            return Err(refused(
                "the file was changed or replaced since the model was sent to this process; send the model again",
            ));
        }
        // Asked after the file was opened: a writer replaces the model before the data.
        if self.model.as_ref().is_some_and(ModelStamp::is_replaced) {
            return Err(refused(
                "the model file was changed or replaced since it was read, so these may be the data of another model; open it again",
            ));
        }
        if handle.links > 1 {
            match self.containment {
                Containment::Strict => {
                    let message = format!(
                        "the file has {} names (hard links), which strict containment does not allow; copy it",
                        handle.links
                    );
                    return Err(refused(&message));
                }
                Containment::Contained if expected.is_none() => {
                    let note = SourceNote::HardLinked { location: location.to_owned(), links: handle.links };
                    files.notes.push(note);
                }
                Containment::Contained | Containment::Trusted => {}
            }
        }
        let len = identity.len;
        let contents = match self.mode {
            ReadMode::Map | ReadMode::MapAll => Contents::Mapped(handle.map()?),
            ReadMode::Memory => {
                files.keep_open(&key);
                Contents::Open(Arc::new(handle))
            }
        };
        files.known.insert(key, Known { identity, contents: contents.clone() });
        Ok((contents, len))
    }

    fn read_range(
        &self,
        location: &str,
        offset: u64,
        length: Option<u64>,
        interrupt: &Interrupt,
    ) -> Result<Bytes, DataErrorReason> {
        interrupt.check()?;
        let (contents, file_len) = self.contents(location)?;
        let range =
            checked_range(offset, length, file_len).ok_or(DataErrorReason::OutOfRange { file_len })?;
        let len = range.end.saturating_sub(range.start);
        self.charge(len)?;
        match contents {
            Contents::Mapped(bytes) => {
                let ends = (usize::try_from(range.start), usize::try_from(range.end));
                let (Ok(start), Ok(end)) = ends else { return Err(DataErrorReason::OutOfRange { file_len }) };
                Ok(bytes.slice(start..end))
            }
            Contents::Open(handle) => handle.read(range.start, len, interrupt),
            // `contents` opens closed files.
            Contents::Closed => Err(DataErrorReason::NotFound),
        }
    }

    /// Counts bytes that are about to be given.
    fn charge(&self, len: u64) -> Result<(), DataErrorReason> {
        // What is refused does not count.
        let more = |read: u64| self.total(read, len).ok();
        match self.read.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more) {
            Ok(_) => Ok(()),
            Err(read) => self.total(read, len).map(drop),
        }
    }

    /// The total number of bytes after reading `len` more, if the limit allows it.
    fn total(&self, read: u64, len: u64) -> Result<u64, DataErrorReason> {
        let total = read.saturating_add(len);
        if total <= self.max_read {
            return Ok(total);
        }
        let message = format!("{total} bytes of external data are more than the {} allowed", self.max_read);
        Err(DataErrorReason::Limit { message, name: "external_bytes" })
    }

    /// The same source, of which nothing was read; see [`DataSource::restarted`]. Files that are open stay open.
    #[must_use]
    pub fn anew(&self) -> Self {
        Self {
            roots: self.roots.clone(),
            stamps: self.stamps.clone(),
            model: self.model.clone(),
            containment: self.containment,
            mode: self.mode,
            max_files: self.max_files,
            max_read: self.max_read,
            files: Arc::clone(&self.files),
            read: AtomicU64::new(0),
            held: self.held.clone(),
        }
    }
}

fn roots(directory: &Path) -> Result<Roots, FileError> {
    let root = Dir::open(directory).map_err(|error| FileError::read(directory, error))?;
    Ok(Roots::new(root))
}

impl Files {
    /// Remembers that a file is open, and closes the oldest when there are too many.
    fn keep_open(&mut self, key: &str) {
        if self.open.len() >= MAX_OPEN
            && let Some(oldest) = self.open.pop_front()
            && let Some(known) = self.known.get_mut(&oldest)
        {
            known.contents = Contents::Closed;
        }
        self.open.push_back(key.to_owned());
    }
}

impl DataSource for FileSource {
    fn read(&self, location: &str, offset: u64, length: Option<u64>) -> Result<Bytes, DataError> {
        self.read_until(location, offset, length, &Interrupt::NEVER)
    }

    fn read_until(
        &self,
        location: &str,
        offset: u64,
        length: Option<u64>,
        interrupt: &Interrupt,
    ) -> Result<Bytes, DataError> {
        self.read_range(location, offset, length, interrupt).map_err(|reason| DataError {
            location: location.to_owned(),
            offset,
            length,
            reason,
        })
    }

    fn len(&self, location: &str) -> Result<u64, DataError> {
        match self.contents(location) {
            Ok((_, len)) => Ok(len),
            Err(reason) => Err(DataError::of_file(location, reason)),
        }
    }

    fn admit(&self, location: &str, length: u64) -> Result<(), DataError> {
        let admitted = self.total(self.read.load(Ordering::Relaxed), length);
        admitted.map(drop).map_err(|reason| DataError::of_file(location, reason))
    }

    fn restarted(&self) -> Option<Arc<dyn DataSource>> {
        Some(Arc::new(self.anew()))
    }

    fn hold(&self, bytes: Bytes) -> Bytes {
        match &self.held {
            Some(held) => held.hold(bytes),
            None => bytes,
        }
    }

    fn release(&self, bytes: &[u8]) {
        crate::mmap::release(bytes);
    }
}

/// The canonical form of all locations of the same file: without empty components and `.`. What is refused stays as it
/// is.
#[must_use]
pub fn normalized(location: &str) -> String {
    match Location::parse(location) {
        Ok(place) => place.to_string(),
        Err(_) => location.to_owned(),
    }
}

fn refused(message: &str) -> DataErrorReason {
    DataErrorReason::Refused(message.to_owned())
}
