//! Contents on their way to a file: complete and on disk before they take its name.

use std::collections::hash_map::RandomState;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::hash::{BuildHasher, Hasher};
use std::io::{self, BufWriter, IoSlice, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use onnx_types::Interrupt;

use super::dir::{Access, Dir};
use crate::mmap;

/// The most pieces one vectored write takes; the limit of Linux.
const MAX_PIECES: usize = 1024;
/// The buffer for writers that produce small pieces.
const BUFFER: usize = 128 * 1024;
/// Maximum number of names that are tried for a temporary file. Names are random, so a second try is very rare.
const TRIES: u32 = 16;

/// The current temporary files of writers, for a program that removes them when it is terminated.
///
/// Clones share one list. Where the system has files without names, a temporary file is in the list only while it takes
/// its final name.
///
/// ```
/// use onnx_codec::file::{FileKind, Temporaries, WriteOptions, write_file};
///
/// let temporaries = Temporaries::default();
/// let options = WriteOptions::default().with_temporaries(temporaries.clone());
/// // A thread that waits for a signal ends the process while it holds this.
/// let stopped = temporaries.stop();
/// # drop(stopped);
/// let folder = tempfile::tempdir()?;
/// assert!(write_file(folder.path().join("x"), FileKind::Model, &options, |_| Ok(())).is_err());
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Temporaries {
    state: Arc<Mutex<State>>,
    /// What ends the writes of this clone.
    interrupt: Option<Interrupt>,
}

#[derive(Debug, Default)]
struct State {
    stopped: bool,
    files: Vec<(Arc<Dir>, OsString)>,
    folders: Vec<PathBuf>,
}

/// The state after [`Temporaries::stop`]: while it is held, all writers are blocked.
#[derive(Debug)]
pub struct WritersStopped<'a>(
    #[expect(dead_code, reason = "it keeps writers waiting")] MutexGuard<'a, State>,
);

impl Temporaries {
    /// The same list, for writes that fail when this interrupt ends the work: before a file takes its name, and at bounded
    /// intervals while it is written.
    #[must_use]
    pub fn ended_by(self, interrupt: Interrupt) -> Self {
        Self { interrupt: Some(interrupt), ..self }
    }

    /// Waits for a replacement that is under way, removes all temporary files, and makes every later write fail.
    #[must_use = "writers continue, and fail, as soon as this is dropped"]
    pub fn stop(&self) -> WritersStopped<'_> {
        let mut state = self.lock();
        state.stopped = true;
        for (dir, name) in std::mem::take(&mut state.files) {
            // What cannot be removed stays; the process is about to end.
            let _ = dir.remove(&name);
        }
        for folder in std::mem::take(&mut state.folders) {
            let _ = std::fs::remove_dir_all(folder);
        }
        WritersStopped(state)
    }

    /// The right to have named temporary files and to replace files. It is held for the few calls that this takes.
    pub(crate) fn hold(&self) -> io::Result<Held<'_>> {
        if self.interrupt.as_ref().is_some_and(|interrupt| interrupt.check().is_err()) {
            return Err(interrupted());
        }
        let state = self.lock();
        match state.stopped {
            true => Err(io::Error::other("writing was stopped")),
            false => Ok(Held(state)),
        }
    }

    /// Removes a file that does not exist any more from the list.
    pub(crate) fn forget(&self, name: &OsStr) {
        self.lock().files.retain(|(_, known)| known != name);
    }

    /// Removes a directory that does not exist any more from the list.
    pub(crate) fn forget_folder(&self, path: &Path) {
        self.lock().folders.retain(|known| known != path);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// See [`Temporaries::hold`].
#[derive(Debug)]
pub(crate) struct Held<'a>(MutexGuard<'a, State>);

impl Held<'_> {
    /// Adds a file to the list of those that a signal removes.
    pub(crate) fn add(&mut self, dir: &Arc<Dir>, name: &OsStr) {
        self.forget(name);
        self.0.files.push((Arc::clone(dir), name.to_owned()));
    }

    /// Adds a directory to the list of those that a signal removes.
    pub(crate) fn add_folder(&mut self, path: PathBuf) {
        self.0.folders.push(path);
    }

    fn forget(&mut self, name: &OsStr) {
        self.0.files.retain(|(_, known)| known != name);
    }

    /// Makes something under a temporary name, and gives it its final one, replacing what is there.
    pub(crate) fn through_temporary(
        &mut self,
        dir: &Arc<Dir>,
        name: &OsStr,
        make: impl Fn(&OsStr) -> io::Result<()>,
    ) -> io::Result<()> {
        let temporary = unused_name(|name| make(name))?.1;
        self.add(dir, &temporary);
        let renamed = dir.rename(&temporary, name);
        if renamed.is_err() {
            // The first failure is the one to report.
            let _ = dir.remove(&temporary);
        }
        self.forget(&temporary);
        renamed
    }
}

/// Contents on their way to a file. Unless they are [placed](Self::place) they are removed.
#[derive(Debug)]
pub(crate) struct Staged {
    dir: Arc<Dir>,
    file: File,
    /// The temporary name, on systems without unnamed files, until the file has its final one.
    temporary: Option<OsString>,
    temporaries: Temporaries,
}

impl Staged {
    /// An empty file in a directory, which only the user can read.
    pub(crate) fn new(dir: &Arc<Dir>, temporaries: &Temporaries) -> io::Result<Self> {
        Self::new_held(dir, temporaries, &mut temporaries.hold()?)
    }

    /// Like [`new`](Self::new), for callers that already hold the right to write.
    pub(crate) fn new_held(
        dir: &Arc<Dir>,
        temporaries: &Temporaries,
        held: &mut Held<'_>,
    ) -> io::Result<Self> {
        match dir.create_unnamed()? {
            Some(file) => {
                let (dir, temporaries) = (Arc::clone(dir), temporaries.clone());
                Ok(Self { dir, file, temporary: None, temporaries })
            }
            None => Self::new_named(dir, temporaries, held),
        }
    }

    /// Like [`new_held`](Self::new_held), with a temporary name, for systems without unnamed files.
    fn new_named(dir: &Arc<Dir>, temporaries: &Temporaries, held: &mut Held<'_>) -> io::Result<Self> {
        let (file, name) = unused_name(|name| dir.create_new(name))?;
        held.add(dir, &name);
        Ok(Self { dir: Arc::clone(dir), file, temporary: Some(name), temporaries: temporaries.clone() })
    }

    /// Like [`new`](Self::new), with a temporary name.
    pub(crate) fn named(dir: &Arc<Dir>, temporaries: &Temporaries) -> io::Result<Self> {
        Self::new_named(dir, temporaries, &mut temporaries.hold()?)
    }

    /// Closes a file with a temporary name, which is complete and on disk.
    pub(crate) fn close(mut self, access: Option<Access>) -> io::Result<Closed> {
        if let Some(access) = access {
            access.apply(&self.file)?;
        }
        Ok(Closed {
            dir: Arc::clone(&self.dir),
            temporary: self.temporary.take(),
            temporaries: self.temporaries.clone(),
        })
    }

    /// Writes what a function produces.
    pub(crate) fn write_with(
        &mut self,
        contents: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> io::Result<()> {
        let polled = Polled::new(&self.file, &self.temporaries);
        let mut buffered = BufWriter::with_capacity(BUFFER, polled);
        contents(&mut buffered)?;
        buffered.flush()
    }

    /// Writes pieces that follow each other, many at a time and without copying them.
    pub(crate) fn write_pieces<'a>(&mut self, pieces: impl Iterator<Item = &'a Bytes>) -> io::Result<()> {
        let mut pieces = pieces.peekable();
        let mut batch = Vec::new();
        let mut polled = Polled::new(&self.file, &self.temporaries);
        while pieces.peek().is_some() {
            batch.clear();
            batch.extend(pieces.by_ref().take(MAX_PIECES).map(|piece| IoSlice::new(piece)));
            write_all_vectored(&mut polled, &mut batch)?;
        }
        Ok(())
    }

    /// Waits until the contents are on disk.
    pub(crate) fn sync(&self) -> io::Result<()> {
        self.file.sync_all()
    }

    /// Gives the file a name, replacing what is there. Its contents must be on disk.
    pub(crate) fn place(
        &mut self,
        held: &mut Held<'_>,
        name: &OsStr,
        access: Option<Access>,
    ) -> io::Result<()> {
        if let Some(access) = access {
            access.apply(&self.file)?;
        }
        if let Some(temporary) = &self.temporary {
            self.dir.rename(temporary, name)?;
            held.forget(temporary);
            self.temporary = None;
            return Ok(());
        }
        match self.dir.link_unnamed(&self.file, name) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                held.through_temporary(&self.dir, name, |temporary| {
                    self.dir.link_unnamed(&self.file, temporary)
                })
            }
            other => other,
        }
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        if let Some(temporary) = &self.temporary {
            discard(&self.dir, temporary, &self.temporaries);
        }
    }
}

/// A complete file with a temporary name. Unless it is [placed](Self::place) it is removed.
#[derive(Debug)]
pub(crate) struct Closed {
    dir: Arc<Dir>,
    temporary: Option<OsString>,
    temporaries: Temporaries,
}

impl Closed {
    /// The temporary name; `None` if the file is placed.
    pub(crate) fn name(&self) -> Option<&OsStr> {
        self.temporary.as_deref()
    }

    /// Gives the file a name, replacing what is there.
    pub(crate) fn place(&mut self, held: &mut Held<'_>, name: &OsStr) -> io::Result<()> {
        if let Some(temporary) = &self.temporary {
            self.dir.rename(temporary, name)?;
            held.forget(temporary);
            self.temporary = None;
        }
        Ok(())
    }
}

impl Drop for Closed {
    fn drop(&mut self) {
        if let Some(temporary) = &self.temporary {
            discard(&self.dir, temporary, &self.temporaries);
        }
    }
}

fn discard(dir: &Dir, temporary: &OsStr, temporaries: &Temporaries) {
    // Nothing can be done about a failure here; the error that led here is what the caller learns.
    let _ = dir.remove(temporary);
    // This thread may already hold the lock of the list. An entry of a file that is gone is harmless.
    if let Ok(mut state) = temporaries.state.try_lock() {
        state.files.retain(|(_, known)| known != temporary);
    }
}

fn interrupted() -> io::Error {
    io::Error::other("the work was ended before the file was complete")
}

/// A file that is written in bounded steps, between which something can end the work.
struct Polled<'a> {
    file: &'a File,
    interrupt: Option<&'a Interrupt>,
    /// Bytes that are not on disk yet.
    pending: u64,
}

impl<'a> Polled<'a> {
    /// Bytes of one step.
    const STEP: usize = 4 << 20;
    /// Bytes after which the disk is waited for: to wait for all of a large file at its end could not be ended.
    const SYNCED: u64 = 64 << 20;

    fn new(file: &'a File, temporaries: &'a Temporaries) -> Self {
        Self { file, interrupt: temporaries.interrupt.as_ref(), pending: 0 }
    }

    fn step(&mut self, write: impl FnOnce(&mut &File) -> io::Result<usize>) -> io::Result<usize> {
        let Some(interrupt) = self.interrupt else { return write(&mut self.file) };
        interrupt.check().map_err(|_| interrupted())?;
        let written = write(&mut self.file)?;
        self.pending = self.pending.saturating_add(written as u64);
        if self.pending >= Self::SYNCED {
            self.file.sync_data()?;
            self.pending = 0;
        }
        Ok(written)
    }
}

impl Write for Polled<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let bytes = bytes.get(..Self::STEP).unwrap_or(bytes);
        let written = self.step(|file| file.write(bytes))?;
        // A weight is written once: without this, all mapped ones would be in memory in the end.
        mmap::release(bytes.get(..written).unwrap_or(bytes));
        Ok(written)
    }

    fn write_vectored(&mut self, pieces: &[IoSlice<'_>]) -> io::Result<usize> {
        let mut total = 0_usize;
        let is_in_step = |piece: &&IoSlice<'_>| {
            total = total.saturating_add(piece.len());
            total <= Self::STEP
        };
        let count = pieces.iter().take_while(is_in_step).count();
        match (pieces.get(..count), pieces.first()) {
            (Some(step), _) if count > 0 => {
                let written = self.step(|file| file.write_vectored(step))?;
                step.iter().for_each(|piece| mmap::release(piece));
                Ok(written)
            }
            (_, Some(first)) => self.write(first),
            _ => Ok(0),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// A name that cannot be foreseen.
fn random() -> u64 {
    RandomState::new().build_hasher().finish()
}

/// A name for a temporary file.
pub(crate) fn temporary_name() -> OsString {
    random_name(".tmp")
}

/// A name that cannot be foreseen, for a file that is removed in the end.
pub(crate) fn random_name(suffix: &str) -> OsString {
    format!(".onnx-{:016x}{suffix}", random()).into()
}

/// Whether a name is one of a temporary file.
pub(crate) fn is_temporary_name(name: &str) -> bool {
    let digits = name.strip_prefix(".onnx-").and_then(|rest| rest.strip_suffix(".tmp"));
    digits.is_some_and(|digits| digits.len() == 16 && digits.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// A name that no file should have, in the same directory and with the same extension as `name`: `w.data` becomes
/// `w-0123456789abcdef.data`.
pub(crate) fn fresh_name(name: &str) -> String {
    let dot = name.rfind('.').filter(|&dot| dot > 0).unwrap_or(name.len());
    let (stem, extension) = name.split_at(dot);
    format!("{stem}-{:016x}{extension}", random())
}

/// Whether a name is one that [`fresh_name`] gives for another one.
pub(crate) fn is_fresh_name(name: &OsStr, of: &OsStr) -> bool {
    let (Some(name), Some(of)) = (name.to_str(), of.to_str()) else { return false };
    let dot = of.rfind('.').filter(|&dot| dot > 0).unwrap_or(of.len());
    let (stem, extension) = of.split_at(dot);
    let digits = name.strip_prefix(stem).and_then(|rest| rest.strip_suffix(extension)?.strip_prefix('-'));
    digits.is_some_and(|digits| digits.len() == 16 && digits.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// Makes something under a temporary name that is not taken.
pub(crate) fn unused_name<T>(make: impl Fn(&OsStr) -> io::Result<T>) -> io::Result<(T, OsString)> {
    let mut tries = 0;
    loop {
        let name = temporary_name();
        tries = u32::saturating_add(tries, 1);
        match make(&name) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && tries < TRIES => {}
            other => return Ok((other?, name)),
        }
    }
}

fn write_all_vectored(file: &mut impl Write, mut pieces: &mut [IoSlice<'_>]) -> io::Result<()> {
    IoSlice::advance_slices(&mut pieces, 0);
    while !pieces.is_empty() {
        match file.write_vectored(pieces) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => IoSlice::advance_slices(&mut pieces, written),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A write that is ended leaves nothing, whether the contents come in one piece or in many.
    #[test]
    fn writes_end_with_the_interrupt() {
        use std::sync::atomic::{AtomicU32, Ordering};

        let folder = tempfile::tempdir().unwrap();
        let dir = Arc::new(Dir::open(folder.path()).unwrap());
        let large = Bytes::from(vec![0_u8; 3 * Polled::STEP]);
        for pieces in [vec![large.clone()], vec![large, Bytes::from_static(b"x")]] {
            for left in 0..3 {
                let asked = AtomicU32::new(0);
                let interrupt = Interrupt::when(move || asked.fetch_add(1, Ordering::Relaxed) > left);
                let temporaries = Temporaries::default().ended_by(interrupt);
                // To begin takes one question.
                let staged = Staged::new(&dir, &temporaries);
                assert!(staged.and_then(|mut staged| staged.write_pieces(pieces.iter())).is_err(), "{left}");
                assert!(temporaries.hold().is_err());
            }
        }
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    /// Files with temporary names, as on systems that have no others.
    #[test]
    fn named_files_are_listed_until_they_are_placed() {
        let folder = tempfile::tempdir().unwrap();
        let names = || {
            let entries = std::fs::read_dir(folder.path()).unwrap();
            let mut names: Vec<OsString> = entries.map(|entry| entry.unwrap().file_name()).collect();
            names.sort();
            names
        };
        let dir = Arc::new(Dir::open(folder.path()).unwrap());
        let temporaries = Temporaries::default();
        let staged = |contents: &[u8]| {
            let mut held = temporaries.hold().unwrap();
            let mut staged = Staged::new_named(&dir, &temporaries, &mut held).unwrap();
            staged.write_with(|out| out.write_all(contents)).unwrap();
            staged
        };
        let mut placed = staged(b"placed");
        placed.place(&mut temporaries.hold().unwrap(), OsStr::new("placed"), None).unwrap();
        assert!(temporaries.lock().files.is_empty());
        drop(staged(b"dropped"));
        assert!(temporaries.lock().files.is_empty());
        assert_eq!(names(), ["placed"]);
        let mut stopped = [staged(b"one"), staged(b"two")];
        assert_eq!((names().len(), temporaries.lock().files.len()), (3, 2));
        drop(temporaries.stop());
        assert_eq!(names(), ["placed"]);
        // What was placed before stays, and the writers fail.
        assert!(temporaries.hold().is_err());
        assert!(stopped.iter_mut().all(|staged| {
            staged.dir.rename(staged.temporary.as_ref().unwrap(), OsStr::new("late")).is_err()
        }));
        drop((placed, stopped));
        assert_eq!(std::fs::read(folder.path().join("placed")).unwrap(), b"placed");
        assert_eq!(names(), ["placed"]);
    }

    #[test]
    fn fresh_names_are_recognized() {
        for name in ["w.data", "w", ".data", "a.b.c"] {
            let fresh = fresh_name(name);
            assert!(is_fresh_name(OsStr::new(&fresh), OsStr::new(name)), "{fresh}");
            assert_ne!(fresh, fresh_name(name));
        }
        for other in ["w.data", "w-1.data", "w-0123456789abcdeg.data", "w-0123456789abcdef.bin"] {
            assert!(!is_fresh_name(OsStr::new(other), OsStr::new("w.data")), "{other}");
        }
    }
}
