//! A file under a temporary name that takes its real name when it is complete.

use std::collections::hash_map::RandomState;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::hash::{BuildHasher, Hasher};
use std::io::{self, BufWriter, IoSlice, Write};
use std::path::{Path, PathBuf};

use bytes::Bytes;

use super::dir::{Dir, Entry};

/// The most pieces one vectored write takes; the limit of Linux.
const MAX_PIECES: usize = 1024;
/// The buffer for writers that produce small pieces.
const BUFFER: usize = 128 * 1024;
/// How many names for a temporary file are tried. Names are random, so that a second try is hardly ever needed.
const TRIES: u32 = 16;

/// Contents on their way to a file. Unless [committed](Self::commit) they are removed.
#[derive(Debug)]
pub(crate) struct Staged {
    dir: Dir,
    file: File,
    temporary: OsString,
    target: OsString,
    committed: bool,
}

impl Staged {
    /// For the file that a user names by its path; a symbolic link is followed.
    pub(crate) fn for_path(path: &Path) -> io::Result<Self> {
        let path = match Entry::of(path)? {
            Entry::Link => resolve(path)?,
            _ => path.to_owned(),
        };
        let names_file = !path.as_os_str().as_encoded_bytes().ends_with(b"/");
        let name =
            path.file_name().filter(|_| names_file).ok_or_else(|| invalid("the path names no file"))?;
        let dir = Dir::open(path.parent().unwrap_or(Path::new("")))?;
        Self::in_dir(dir, name)
    }

    /// For the file `name` in a directory. A symbolic link is an error: it might lead anywhere.
    pub(crate) fn in_dir(dir: Dir, name: &OsStr) -> io::Result<Self> {
        let permissions = match dir.entry(name)? {
            Entry::Missing => None,
            Entry::File(permissions) => Some(permissions),
            Entry::Link => return Err(invalid("it is a symbolic link; remove it or choose another name")),
            Entry::Other(what) => return Err(invalid(&format!("it is {what}, not a regular file"))),
        };
        let (file, temporary) = create(&dir)?;
        let staged = Self { dir, file, temporary, target: name.to_owned(), committed: false };
        if let Some(permissions) = permissions {
            staged.file.set_permissions(permissions)?;
        }
        Ok(staged)
    }

    /// Whether both will take the same name in the same directory.
    pub(crate) fn has_same_target(&self, other: &Self) -> bool {
        self.target == other.target && self.dir.path() == other.dir.path()
    }

    /// Writes what a function produces.
    pub(crate) fn write_with(
        &mut self,
        contents: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> io::Result<()> {
        let mut buffered = BufWriter::with_capacity(BUFFER, &self.file);
        contents(&mut buffered)?;
        buffered.flush()
    }

    /// Writes pieces that follow each other, many at a time and without copying them.
    pub(crate) fn write_pieces<'a>(&mut self, pieces: impl Iterator<Item = &'a Bytes>) -> io::Result<()> {
        let mut pieces = pieces.peekable();
        let mut batch = Vec::new();
        while pieces.peek().is_some() {
            batch.clear();
            batch.extend(pieces.by_ref().take(MAX_PIECES).map(|piece| IoSlice::new(piece)));
            write_all_vectored(&mut self.file, &mut batch)?;
        }
        Ok(())
    }

    /// Waits until the contents are on disk.
    pub(crate) fn sync(&self) -> io::Result<()> {
        self.file.sync_all()
    }

    /// Gives the file its name, once its contents are on disk.
    pub(crate) fn commit(mut self) -> io::Result<()> {
        self.sync()?;
        self.dir.rename(&self.temporary, &self.target)?;
        self.committed = true;
        self.dir.sync()
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        if !self.committed {
            // Nothing can be done about a failure here; the error that led here is what the caller hears of.
            let _ = self.dir.remove(&self.temporary);
        }
    }
}

/// What a symbolic link leads to.
fn resolve(path: &Path) -> io::Result<PathBuf> {
    path.canonicalize().map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => invalid("it is a symbolic link that leads nowhere; remove it first"),
        _ => error,
    })
}

/// A new file under a name that nobody can foresee.
fn create(dir: &Dir) -> io::Result<(File, OsString)> {
    let seed = RandomState::new();
    let mut tries = 0;
    loop {
        let mut hasher = seed.build_hasher();
        hasher.write_u32(tries);
        let name = OsString::from(format!(".onnx-{:016x}.tmp", hasher.finish()));
        tries = tries.saturating_add(1);
        match dir.create_new(&name) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && tries < TRIES => {}
            other => return Ok((other?, name)),
        }
    }
}

fn write_all_vectored(file: &mut File, mut pieces: &mut [IoSlice<'_>]) -> io::Result<()> {
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

fn invalid(message: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, message)
}
