//! Handles of directories: what is opened or written relative to one stays inside it.

#[cfg(unix)]
mod unix;
#[cfg(unix)]
pub(crate) use unix::{Dir, is_special, may_be_link};

#[cfg(not(unix))]
mod portable;
#[cfg(not(unix))]
pub(crate) use portable::{Dir, is_special, may_be_link};

use std::path::Path;

/// What stands in a directory under a name.
#[derive(Debug)]
pub(crate) enum Entry {
    /// Nothing.
    Missing,
    /// A regular file with these permissions.
    File(std::fs::Permissions),
    /// A symbolic link.
    Link,
    /// Something that cannot be replaced by a file, such as a directory or a device.
    Other(&'static str),
}

impl Entry {
    /// What a path names, without following a link.
    pub(crate) fn of(path: &Path) -> std::io::Result<Self> {
        match std::fs::symlink_metadata(path) {
            Ok(metadata) if metadata.is_symlink() => Ok(Self::Link),
            Ok(metadata) if metadata.is_file() => Ok(Self::File(metadata.permissions())),
            Ok(metadata) => Ok(Self::Other(kind_name(metadata.file_type()))),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Self::Missing),
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
