//! Directory handles where the standard library is all there is: paths, compared after resolving them.
//!
//! Checks and use are two steps here, so a process that exchanges directories at the right moment can get between them.

use std::ffi::OsStr;
use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use super::{Entry, FileId};

/// The exclusive right to replace files in a directory, which nothing enforces here.
#[derive(Debug)]
pub(crate) struct Lock;

/// A directory, by its resolved path.
#[derive(Debug)]
pub(crate) struct Dir {
    path: PathBuf,
}

impl Dir {
    /// Opens a directory; an empty path means the current one.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
        let path = path.canonicalize()?;
        if path.is_dir() { Ok(Self { path }) } else { Err(io::ErrorKind::NotADirectory.into()) }
    }

    /// The path without symbolic links that the directory had when it was opened.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Opens a file under this directory for reading. No component may be a symbolic link.
    pub(crate) fn open_file(&self, components: &[&OsStr]) -> io::Result<File> {
        File::open(self.beneath(components)?)
    }

    /// Opens a file relative to this directory for reading, following symbolic links wherever they lead.
    pub(crate) fn open_file_anywhere(&self, components: &[&OsStr]) -> io::Result<File> {
        File::open(self.join(components))
    }

    /// Opens a directory under this one. No component may be a symbolic link.
    pub(crate) fn open_dir(&self, components: &[&OsStr]) -> io::Result<Self> {
        Self::open(&self.beneath(components)?)
    }

    /// The identity of this directory.
    pub(crate) fn id(&self) -> io::Result<FileId> {
        Ok(FileId(self.path.clone()))
    }

    /// Waits until no other writer has the directory. Directories cannot be locked here, so writers do not wait.
    #[expect(clippy::unnecessary_wraps, clippy::unused_self, reason = "other systems must do something")]
    pub(crate) fn lock(&self) -> io::Result<Lock> {
        Ok(Lock)
    }

    /// Returns `None`: unnamed files are not supported here.
    #[expect(clippy::unnecessary_wraps, clippy::unused_self, reason = "other systems can do it")]
    pub(crate) fn create_unnamed(&self) -> io::Result<Option<File>> {
        Ok(None)
    }

    /// Returns an error if files cannot be made here, as far as the system tells without making one.
    #[expect(clippy::unnecessary_wraps, clippy::unused_self, reason = "other systems can do it")]
    pub(crate) fn check_writable(&self) -> io::Result<()> {
        Ok(())
    }

    /// Links an unnamed file to a name that must not exist yet.
    #[expect(clippy::unused_self, reason = "other systems can do it")]
    pub(crate) fn link_unnamed(&self, _: &File, _: &OsStr) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Links a file to a second name, which must not exist yet.
    pub(crate) fn link(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        std::fs::hard_link(self.path.join(from), self.path.join(to))
    }

    /// Opens a file of this directory for reading, without following a link.
    pub(crate) fn open_entry(&self, name: &OsStr) -> io::Result<File> {
        File::open(self.path.join(name))
    }

    /// The permissions of a new file, if the system has such that must be set.
    #[expect(clippy::unnecessary_wraps, clippy::unused_self, reason = "other systems must do something")]
    pub(crate) fn permissions_of_new_files(&self) -> io::Result<Option<std::fs::Permissions>> {
        Ok(None)
    }

    /// Makes a file that must not exist yet, for writing.
    pub(crate) fn create_new(&self, name: &OsStr) -> io::Result<File> {
        OpenOptions::new().write(true).create_new(true).open(self.path.join(name))
    }

    /// Makes a directory in this one.
    pub(crate) fn create_dir(&self, name: &OsStr) -> io::Result<()> {
        std::fs::create_dir(self.path.join(name))
    }

    /// Makes a directory in this one. Who can change it is inherited.
    pub(crate) fn create_private_dir(&self, name: &OsStr) -> io::Result<()> {
        self.create_dir(name)
    }

    /// Whether the directory is one of the user, which is not found out here.
    #[expect(clippy::unnecessary_wraps, clippy::unused_self, reason = "other systems must do something")]
    pub(crate) fn is_private(&self) -> io::Result<bool> {
        Ok(true)
    }

    /// Whether a file belongs to the user, which the standard library does not tell.
    #[expect(clippy::unnecessary_wraps, clippy::unused_self, reason = "other systems know it")]
    pub(crate) fn is_own(&self, _: &File) -> io::Result<bool> {
        Ok(false)
    }

    /// The directory entry of a name.
    pub(crate) fn entry(&self, name: &OsStr) -> io::Result<Entry> {
        Entry::of(&self.path.join(name))
    }

    /// Renames `from` to `to`, replacing an existing file.
    pub(crate) fn rename(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        std::fs::rename(self.path.join(from), self.path.join(to))
    }

    /// Removes a file.
    pub(crate) fn remove(&self, name: &OsStr) -> io::Result<()> {
        std::fs::remove_file(self.path.join(name))
    }

    /// Waits until renames in this directory are on disk, which needs no request here.
    #[expect(clippy::unnecessary_wraps, clippy::unused_self, reason = "other systems must do something")]
    pub(crate) fn sync(&self) -> io::Result<()> {
        Ok(())
    }

    fn join(&self, components: &[&OsStr]) -> PathBuf {
        let mut path = self.path.clone();
        path.extend(components);
        path
    }

    /// The path of what `components` name, if no component is a link and the result is under this directory.
    fn beneath(&self, components: &[&OsStr]) -> io::Result<PathBuf> {
        let mut path = self.path.clone();
        for component in components {
            path.push(component);
            if std::fs::symlink_metadata(&path)?.is_symlink() {
                return Err(link());
            }
        }
        // Other kinds of redirection, such as junctions, show in the resolved path.
        let resolved = path.canonicalize()?;
        if resolved.starts_with(&self.path) { Ok(resolved) } else { Err(link()) }
    }
}

/// A symbolic link where none may be.
#[derive(Debug, thiserror::Error)]
#[error("it is a symbolic link")]
struct Link;

fn link() -> io::Error {
    io::Error::other(Link)
}

/// Whether opening failed because of a symbolic link.
pub(crate) fn may_be_link(error: &io::Error) -> bool {
    error.get_ref().is_some_and(|inner| inner.is::<Link>())
}

/// Whether opening failed because it is something that cannot be opened at all.
pub(crate) fn is_special(_: &io::Error) -> bool {
    false
}
