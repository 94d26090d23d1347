//! The name that a file will get.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::dir::{Access, Dir, Entry, FileEntry, FileId, Lock, kind_name};
use super::journal;
use crate::source::location::Location;

/// A name in an open directory: where a file is, or will be.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    pub(crate) dir: Arc<Dir>,
    pub(crate) name: OsString,
    id: FileId,
}

impl Target {
    /// The file that a user names by its path; a symbolic link is followed.
    pub(crate) fn for_path(path: &Path) -> io::Result<Self> {
        match Entry::of(path)? {
            Entry::Link => Self::without_link(&resolve(path)?),
            _ => Self::without_link(path),
        }
    }

    /// The file that a path names, as it is. A link is an error if the file would be replaced.
    pub(crate) fn without_link(path: &Path) -> io::Result<Self> {
        let names_file = !path.as_os_str().as_encoded_bytes().ends_with(b"/");
        let name =
            path.file_name().filter(|_| names_file).ok_or_else(|| invalid("the path names no file"))?;
        Self::in_dir(Arc::new(Dir::open(path.parent().unwrap_or(Path::new("")))?), name)
    }

    pub(crate) fn in_dir(dir: Arc<Dir>, name: &OsStr) -> io::Result<Self> {
        let id = dir.id()?;
        journal::finish(&dir)?;
        Ok(Self { dir, name: name.to_owned(), id })
    }

    /// The file of a location of external data, relative to a directory.
    pub(crate) fn for_data(root: &Dir, location: &str) -> io::Result<Self> {
        let location = Location::parse(location).map_err(invalid)?;
        let (folders, name) = location.split();
        Self::in_dir(Arc::new(root.open_dir(folders)?), name)
    }

    /// The identity of the directory.
    pub(crate) fn dir_id(&self) -> &FileId {
        &self.id
    }

    /// The file that has the name now.
    ///
    /// # Errors
    ///
    /// Returns an error if it is not a regular file. A symbolic link is an error, too: it might lead anywhere.
    pub(crate) fn entry(&self) -> io::Result<Option<FileEntry>> {
        match self.dir.entry(&self.name)? {
            Entry::Missing => Ok(None),
            Entry::File(file) => Ok(Some(file)),
            Entry::Link => Err(invalid("it is a symbolic link; remove it or choose another name")),
            Entry::Other(what) => Err(invalid(&format!("it is {what}, not a regular file"))),
        }
    }

    /// Whether both are the same name in the same directory.
    pub(crate) fn is(&self, other: &Self) -> bool {
        let folds_case = cfg!(any(windows, target_os = "macos"));
        let same_name =
            self.name == other.name || (folds_case && self.name.eq_ignore_ascii_case(&other.name));
        same_name && self.id == other.id
    }

    /// Who may access a file that replaces this one, or that belongs to one that is replaced.
    pub(crate) fn access(&self, replaced: Option<&FileEntry>) -> io::Result<Option<Access>> {
        match replaced {
            Some(file) => Ok(Some(file.access.clone())),
            None => Ok(self.dir.permissions_of_new_files()?.map(Access::new)),
        }
    }
}

/// Locks the directories of all files, in an order that is the same for all writers.
pub(crate) fn lock<'t>(targets: impl IntoIterator<Item = &'t Target>) -> io::Result<Vec<Lock>> {
    let mut targets: Vec<&Target> = targets.into_iter().collect();
    targets.sort_by(|a, b| a.dir_id().cmp(b.dir_id()));
    targets.dedup_by(|a, b| a.dir_id() == b.dir_id());
    targets.into_iter().map(|target| target.dir.lock()).collect()
}

/// The file that a symbolic link leads to.
fn resolve(path: &Path) -> io::Result<PathBuf> {
    match std::fs::metadata(path) {
        Ok(metadata) if !metadata.is_file() => {
            let what = kind_name(metadata.file_type());
            return Err(invalid(&format!("it leads to {what}, not a regular file")));
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(invalid("it is a symbolic link that leads nowhere; remove it first"));
        }
        other => other?,
    };
    path.canonicalize().map_err(|error| match error.kind() {
        // The table of descriptors shows files that have no name any more.
        io::ErrorKind::NotFound => invalid("it leads to a file without a name, which cannot be replaced"),
        _ => error,
    })
}

pub(crate) fn invalid(message: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, message)
}
