//! Paths that are streams: pipes, devices, and the descriptors of the process.

use std::fs::File;
use std::io;
use std::path::Path;

use super::{FileError, dir};

/// How many symbolic links a path may go through, as in Linux.
#[cfg(unix)]
const MAX_LINKS: usize = 40;

/// Whether a path names a stream, so that it has no directory in which external data could be, and cannot be replaced by
/// another file: a pipe, a socket, a device, or a descriptor of the process such as `/dev/stdin` or `/dev/fd/3`, whatever it
/// is connected to. What does not exist is no stream.
#[must_use]
pub fn is_stream(path: impl AsRef<Path>) -> bool {
    let path = path.as_ref();
    if is_descriptor(path) {
        return true;
    }
    std::fs::metadata(path).is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir())
}

/// Opens a stream for writing, from where it stands: a file that a descriptor is connected to is continued.
///
/// # Errors
///
/// When the system fails.
pub fn open_stream(path: impl AsRef<Path>) -> Result<File, FileError> {
    let path = path.as_ref();
    let open = || {
        let kind = std::fs::metadata(path)?.file_type();
        let is_file = kind.is_file();
        let file = File::options().write(true).append(is_file).open(path)?;
        match file.metadata()?.is_dir() {
            true => Err(io::Error::new(io::ErrorKind::IsADirectory, dir::kind_name(kind))),
            false => Ok(file),
        }
    };
    open().map_err(|error| FileError::write(path, error))
}

/// Whether a path names a terminal. Nothing but devices is opened to find out: a pipe would notice.
#[must_use]
pub fn is_terminal(path: impl AsRef<Path>) -> bool {
    #[cfg(unix)]
    {
        use rustix::fs::{Mode, OFlags};
        use std::io::IsTerminal;
        use std::os::unix::fs::FileTypeExt;
        let path = path.as_ref();
        let flags = OFlags::WRONLY | OFlags::NOCTTY | OFlags::CLOEXEC;
        std::fs::metadata(path).is_ok_and(|metadata| metadata.file_type().is_char_device())
            && rustix::fs::open(path, flags, Mode::empty()).is_ok_and(|file| file.is_terminal())
    }
    #[cfg(not(unix))]
    {
        let _ = path;
        false
    }
}

/// Whether a path leads into the table of descriptors.
#[cfg(unix)]
fn is_descriptor(path: &Path) -> bool {
    let mut path = path.to_owned();
    for _ in 0..MAX_LINKS {
        let Some(parent) = path.parent() else { return false };
        let parent = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
        let Ok(parent) = parent.canonicalize() else { return false };
        // On Linux `/dev/fd` leads to `/proc/self/fd`, elsewhere it is a directory of its own.
        if parent == Path::new("/dev/fd") || is_of_processes(&parent) {
            return true;
        }
        let is_standard = |name: &std::ffi::OsStr| name == "stdin" || name == "stdout" || name == "stderr";
        if parent == Path::new("/dev") && path.file_name().is_some_and(is_standard) {
            return true;
        }
        match std::fs::read_link(&path) {
            Ok(target) => path = parent.join(target),
            Err(_) => return false,
        }
    }
    false
}

#[cfg(any(target_os = "linux", target_os = "android"))]
fn is_of_processes(directory: &Path) -> bool {
    rustix::fs::statfs(directory).is_ok_and(|stat| stat.f_type == rustix::fs::PROC_SUPER_MAGIC)
}

#[cfg(all(unix, not(any(target_os = "linux", target_os = "android"))))]
fn is_of_processes(_: &Path) -> bool {
    false
}

#[cfg(not(unix))]
fn is_descriptor(_: &Path) -> bool {
    false
}
