//! Paths that are streams: pipes, devices, and the descriptors of the process.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use super::{FileError, InputFiles, dir};

/// Maximum number of symbolic links in the resolution of a path, as in Linux.
#[cfg(unix)]
const MAX_LINKS: usize = 40;

/// Returns `true` if a path names a stream, so that it has no directory in which external data could be, and cannot be
/// replaced by another file: a pipe, a socket, a device, or a descriptor of the process such as `/dev/stdin` or
/// `/dev/fd/3`, whatever it is connected to. A path that does not exist is not a stream.
#[must_use]
pub fn is_stream(path: impl AsRef<Path>) -> bool {
    let path = path.as_ref();
    if is_descriptor(path) {
        return true;
    }
    std::fs::metadata(path).is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir())
}

/// Opens a stream for writing, from its current position: what is written to a descriptor of the process by its path and
/// by its number follows each other.
///
/// # Errors
///
/// Returns an error if the system fails, or if a descriptor is connected to a file that one of the inputs is or
/// reads ([`FileError::refusal`]).
pub fn open_stream(path: impl AsRef<Path>, inputs: &InputFiles) -> Result<File, FileError> {
    let path = path.as_ref();
    let open = || {
        let file = match descriptor(path).map(duplicate) {
            Some(Some(file)) => file,
            // Opening the path of a descriptor opens its file again, at the beginning.
            _ => File::options().write(true).append(std::fs::metadata(path)?.is_file()).open(path)?,
        };
        let metadata = file.metadata()?;
        if metadata.is_dir() {
            return Err(io::Error::new(io::ErrorKind::IsADirectory, dir::kind_name(metadata.file_type())));
        }
        inputs.check_stream(&metadata)?;
        Ok(file)
    };
    open().map_err(|error| FileError::write(path, error))
}

/// A second handle of an open file. Only the kernel finds a descriptor by its number without an unsafe promise that it is
/// open.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn duplicate(descriptor: i32) -> Option<File> {
    use rustix::process::{PidfdFlags, PidfdGetfdFlags, getpid, pidfd_getfd, pidfd_open};
    let process = pidfd_open(getpid(), PidfdFlags::empty()).ok()?;
    pidfd_getfd(process, descriptor, PidfdGetfdFlags::empty()).ok().map(File::from)
}

/// Elsewhere, opening the path of a descriptor duplicates it.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn duplicate(_: i32) -> Option<File> {
    None
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

/// Whether a path leads into a table of descriptors.
fn is_descriptor(path: &Path) -> bool {
    entry_of_table(path).is_some()
}

/// The number of the descriptor of this process that a path stands for, such as 1 for `/dev/stdout`.
#[must_use]
pub fn descriptor(path: impl AsRef<Path>) -> Option<i32> {
    let (table, name) = entry_of_table(path.as_ref())?;
    match name.to_str()? {
        "stdin" => Some(0),
        "stdout" => Some(1),
        "stderr" => Some(2),
        number => {
            let own = ["/dev/fd", "/proc/self/fd", "/proc/thread-self/fd"].map(Path::new);
            let is_own = own.iter().any(|own| own.canonicalize().is_ok_and(|own| own == table));
            number.parse().ok().filter(|number| is_own && *number >= 0)
        }
    }
}

/// The directory without symbolic links and the name of an entry in a table of descriptors, if a path leads there.
#[cfg(unix)]
fn entry_of_table(path: &Path) -> Option<(PathBuf, OsString)> {
    let mut path = path.to_owned();
    for _ in 0..MAX_LINKS {
        let parent = path.parent()?;
        let parent = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
        let parent = parent.canonicalize().ok()?;
        let name = path.file_name()?.to_owned();
        // On Linux `/dev/fd` leads to `/proc/self/fd`, elsewhere it is a separate directory.
        if parent == Path::new("/dev/fd") || is_of_processes(&parent) {
            return Some((parent, name));
        }
        let is_standard = name == "stdin" || name == "stdout" || name == "stderr";
        if parent == Path::new("/dev") && is_standard {
            return Some((parent, name));
        }
        path = parent.join(std::fs::read_link(&path).ok()?);
    }
    None
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
fn entry_of_table(_: &Path) -> Option<(PathBuf, OsString)> {
    None
}
