//! Handles of directories: what is opened or written relative to one stays inside it.

#[cfg(unix)]
mod unix;
#[cfg(unix)]
pub(crate) use unix::{Dir, Lock, is_special, may_be_link};

#[cfg(not(unix))]
mod portable;
#[cfg(not(unix))]
pub(crate) use portable::{Dir, Lock, is_special, may_be_link};

use std::fs::{File, Metadata, Permissions};
use std::io;
use std::path::Path;

/// The identity of a file: its device and inode, so that hard links and symbolic links to one file are recognized.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[cfg(unix)]
pub(crate) struct FileId(u64, u64);

/// The identity of a file: its path without symbolic links, as the standard library gives no number for it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[cfg(not(unix))]
pub(crate) struct FileId(std::path::PathBuf);

impl FileId {
    /// The identity in a file, which is compared with others of this form.
    pub(crate) fn text(&self) -> String {
        #[cfg(unix)]
        return format!("{}:{}", self.0, self.1);
        #[cfg(not(unix))]
        self.0.to_string_lossy().replace(char::is_whitespace, "?")
    }
}

/// A regular file in a directory.
#[derive(Clone, Debug)]
pub(crate) struct FileEntry {
    pub(crate) id: FileId,
    pub(crate) access: Access,
    pub(crate) len: u64,
}

/// Who may access a file: its permissions, and the owner and group that it gets from the process.
#[derive(Clone, Debug)]
pub(crate) struct Access {
    permissions: Permissions,
    /// `None` if they are those of the process, or if the process cannot give files away.
    #[cfg(unix)]
    owner: Option<(u32, u32)>,
}

impl Access {
    /// That of a file of the process.
    pub(crate) const fn new(permissions: Permissions) -> Self {
        Self {
            permissions,
            #[cfg(unix)]
            owner: None,
        }
    }

    /// That of a file of an owner and a group. Only the superuser can give files away.
    #[cfg(unix)]
    fn of_owner(permissions: Permissions, owner: (u32, u32)) -> Self {
        let process = rustix::process::geteuid();
        let own = (process.as_raw(), rustix::process::getegid().as_raw());
        Self { permissions, owner: Some(owner).filter(|&owner| process.is_root() && owner != own) }
    }

    fn of(metadata: &Metadata) -> Self {
        #[cfg(unix)]
        {
            use std::os::unix::fs::MetadataExt as _;
            Self::of_owner(metadata.permissions(), (metadata.uid(), metadata.gid()))
        }
        #[cfg(not(unix))]
        Self::new(metadata.permissions())
    }

    /// Gives a new file this access.
    pub(crate) fn apply(self, file: &File) -> io::Result<()> {
        #[cfg(unix)]
        if let Some((user, group)) = self.owner {
            // Some file systems have no owners.
            let _ = std::os::unix::fs::fchown(file, Some(user), Some(group));
        }
        file.set_permissions(self.permissions)
    }
}

impl FileEntry {
    /// The regular file that a path names, through symbolic links; `None` if there is none.
    pub(crate) fn following(path: &Path) -> Option<Self> {
        let metadata = std::fs::metadata(path).ok().filter(Metadata::is_file)?;
        Self::new(&metadata, path).ok()
    }

    /// The open file; `None` if it is not a regular file, or if the system does not identify open files.
    pub(crate) fn of_open(metadata: &Metadata) -> Option<Self> {
        #[cfg(unix)]
        return Self::new(metadata, Path::new("")).ok().filter(|_| metadata.is_file());
        #[cfg(not(unix))]
        {
            let _ = metadata;
            None
        }
    }

    #[cfg(unix)]
    #[expect(clippy::unnecessary_wraps, reason = "other systems must resolve the path")]
    fn new(metadata: &Metadata, _: &Path) -> io::Result<Self> {
        use std::os::unix::fs::MetadataExt;
        let id = FileId(metadata.dev(), metadata.ino());
        Ok(Self { id, access: Access::of(metadata), len: metadata.len() })
    }

    #[cfg(not(unix))]
    fn new(metadata: &Metadata, path: &Path) -> io::Result<Self> {
        let id = FileId(path.canonicalize()?);
        Ok(Self { id, access: Access::of(metadata), len: metadata.len() })
    }
}

/// A directory entry.
#[derive(Debug)]
pub(crate) enum Entry {
    /// Nothing.
    Missing,
    /// A regular file.
    File(FileEntry),
    /// A symbolic link.
    Link,
    /// Something that cannot be replaced by a file, such as a directory or a device.
    Other(&'static str),
}

impl Entry {
    /// The entry that a path names, without following a link.
    pub(crate) fn of(path: &Path) -> io::Result<Self> {
        match std::fs::symlink_metadata(path) {
            Ok(metadata) if metadata.is_symlink() => Ok(Self::Link),
            Ok(metadata) if metadata.is_file() => FileEntry::new(&metadata, path).map(Self::File),
            Ok(metadata) => Ok(Self::Other(kind_name(metadata.file_type()))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Self::Missing),
            Err(error) => Err(error),
        }
    }
}

/// The name of a kind of file, for messages.
pub(crate) fn kind_name(kind: std::fs::FileType) -> &'static str {
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt;
        if kind.is_fifo() {
            return "a named pipe";
        } else if kind.is_socket() {
            return "a socket";
        } else if kind.is_block_device() || kind.is_char_device() {
            return "a device";
        }
    }
    if kind.is_dir() {
        "a directory"
    } else if kind.is_symlink() {
        "a symbolic link"
    } else if kind.is_file() {
        "a file"
    } else {
        "no regular file"
    }
}
