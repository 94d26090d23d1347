//! Directory handles on Unix: `openat2` where the kernel has it, else one `openat` for each component.

use std::ffi::OsStr;
use std::fs::{File, Permissions};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Mode, OFlags};
use rustix::io::Errno;

use super::{Access, Entry, FileEntry, FileId};

/// Reading without waiting for a writer of a pipe, and without making a terminal the process's own.
const READ: OFlags = OFlags::RDONLY.union(OFlags::NONBLOCK).union(OFlags::NOCTTY).union(OFlags::CLOEXEC);

/// A directory that needs only be searched, not listed.
#[cfg(any(target_os = "linux", target_os = "android"))]
const SEARCH: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
#[cfg(not(any(target_os = "linux", target_os = "android")))]
const SEARCH: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// The exclusive right to replace files in a directory, among processes that ask for it.
#[derive(Debug)]
pub(crate) struct Lock(#[expect(dead_code, reason = "closing it gives the lock back")] Option<OwnedFd>);

/// An open directory. It stays the same one when its name comes to mean another.
#[derive(Debug)]
pub(crate) struct Dir {
    handle: OwnedFd,
    path: PathBuf,
}

impl Dir {
    /// Opens a directory; an empty path means the current one.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
        let path = path.canonicalize()?;
        let handle = rustix::fs::openat(CWD, &path, SEARCH, Mode::empty())?;
        Ok(Self { handle, path })
    }

    /// The path without symbolic links that the directory had when it was opened.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Opens a file under this directory for reading. No component may be a symbolic link.
    pub(crate) fn open_file(&self, components: &[&OsStr]) -> io::Result<File> {
        self.beneath(components, READ).map(File::from)
    }

    /// Opens a file relative to this directory for reading, following symbolic links wherever they lead.
    pub(crate) fn open_file_anywhere(&self, components: &[&OsStr]) -> io::Result<File> {
        let path: PathBuf = components.iter().collect();
        Ok(rustix::fs::openat(&self.handle, path, READ, Mode::empty())?.into())
    }

    /// Opens a directory under this one. No component may be a symbolic link.
    pub(crate) fn open_dir(&self, components: &[&OsStr]) -> io::Result<Self> {
        let mut path = self.path.clone();
        path.extend(components);
        let handle = match components {
            [] => self.handle.try_clone()?,
            _ => self.beneath(components, SEARCH)?,
        };
        Ok(Self { handle, path })
    }

    /// The identity of this directory.
    pub(crate) fn id(&self) -> io::Result<FileId> {
        Ok(identity(&rustix::fs::fstat(&self.handle)?))
    }

    /// Waits until no other writer has the directory, and keeps others out until the lock is dropped or the process ends.
    /// A directory that cannot be listed, or whose file system has no locks, is not locked.
    pub(crate) fn lock(&self) -> io::Result<Lock> {
        use rustix::fs::FlockOperation;
        let handle = match self.open_to_list() {
            Err(Errno::ACCESS | Errno::PERM) => return Ok(Lock(None)),
            other => other?,
        };
        loop {
            match rustix::fs::flock(&handle, FlockOperation::LockExclusive) {
                Ok(()) => return Ok(Lock(Some(handle))),
                Err(Errno::INTR) => {}
                Err(Errno::NOLCK | Errno::OPNOTSUPP | Errno::INVAL | Errno::BADF | Errno::NOSYS) => {
                    return Ok(Lock(None));
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Makes a file that must not exist yet, for writing, which only the user can read.
    pub(crate) fn create_new(&self, name: &OsStr) -> io::Result<File> {
        self.create(name, Mode::from_raw_mode(0o600))
    }

    fn create(&self, name: &OsStr, mode: Mode) -> io::Result<File> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(rustix::fs::openat(&self.handle, name, flags, mode)?.into())
    }

    /// Creates a file without a name, which disappears with its handle; `None` if the system does not support this.
    #[cfg(any(target_os = "linux", target_os = "android"))]
    pub(crate) fn create_unnamed(&self) -> io::Result<Option<File>> {
        // Naming it later goes through the table of descriptors.
        if !Path::new("/proc/self/fd").exists() {
            return Ok(None);
        }
        self.unnamed(Mode::from_raw_mode(0o600))
    }

    #[cfg(any(target_os = "linux", target_os = "android"))]
    fn unnamed(&self, mode: Mode) -> io::Result<Option<File>> {
        // What is held until it is written is mapped, for which the system wants to read.
        let flags = OFlags::RDWR | OFlags::TMPFILE | OFlags::CLOEXEC;
        match rustix::fs::openat(&self.handle, ".", flags, mode) {
            Ok(file) => Ok(Some(file.into())),
            // The kernel or the file system has no such files.
            Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::NOENT | Errno::INVAL) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Makes a file without a name, which this system cannot do.
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    #[expect(clippy::unnecessary_wraps, clippy::unused_self, reason = "other systems can do it")]
    pub(crate) fn create_unnamed(&self) -> io::Result<Option<File>> {
        Ok(None)
    }

    /// Returns an error if files cannot be made here, as far as the system tells without making one.
    pub(crate) fn check_writable(&self) -> io::Result<()> {
        self.create_unnamed().map(drop)
    }

    /// Links an unnamed file to a name that must not exist yet.
    pub(crate) fn link_unnamed(&self, file: &File, name: &OsStr) -> io::Result<()> {
        use std::os::fd::AsRawFd;
        let path = format!("/proc/self/fd/{}", file.as_raw_fd());
        Ok(rustix::fs::linkat(CWD, path, &self.handle, name, AtFlags::SYMLINK_FOLLOW)?)
    }

    /// Links a file to a second name, which must not exist yet.
    pub(crate) fn link(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        Ok(rustix::fs::linkat(&self.handle, from, &self.handle, to, AtFlags::empty())?)
    }

    /// Opens a file of this directory for reading, without following a link.
    pub(crate) fn open_entry(&self, name: &OsStr) -> io::Result<File> {
        Ok(rustix::fs::openat(&self.handle, name, READ | OFlags::NOFOLLOW, Mode::empty())?.into())
    }

    /// The permissions that the process gives to a new file of this directory. They are read from a new file, because
    /// reading the mask of the process changes it for a moment, and directories may have separate defaults.
    pub(crate) fn permissions_of_new_files(&self) -> io::Result<Option<Permissions>> {
        let mode = Mode::from_raw_mode(0o666);
        #[cfg(any(target_os = "linux", target_os = "android"))]
        if let Some(file) = self.unnamed(mode)? {
            return Ok(Some(permissions(rustix::fs::fstat(&file)?.st_mode)));
        }
        let name = super::super::stage::temporary_name();
        let file = self.create(&name, mode)?;
        let found = rustix::fs::fstat(&file);
        self.remove(&name)?;
        Ok(Some(permissions(found?.st_mode)))
    }

    /// Makes a directory in this one.
    pub(crate) fn create_dir(&self, name: &OsStr) -> io::Result<()> {
        Ok(rustix::fs::mkdirat(&self.handle, name, Mode::from_raw_mode(0o777))?)
    }

    /// Makes a directory in this one, which only the user can list and change.
    pub(crate) fn create_private_dir(&self, name: &OsStr) -> io::Result<()> {
        Ok(rustix::fs::mkdirat(&self.handle, name, Mode::from_raw_mode(0o700))?)
    }

    /// Whether the directory belongs to the user only.
    pub(crate) fn is_private(&self) -> io::Result<bool> {
        let stat = rustix::fs::fstat(&self.handle)?;
        Ok(stat.st_uid == rustix::process::geteuid().as_raw() && stat.st_mode & 0o077 == 0)
    }

    /// Whether a file belongs to the user.
    #[expect(clippy::unused_self, reason = "other systems need the directory")]
    pub(crate) fn is_own(&self, file: &File) -> io::Result<bool> {
        Ok(rustix::fs::fstat(file)?.st_uid == rustix::process::geteuid().as_raw())
    }

    /// The directory entry of a name.
    pub(crate) fn entry(&self, name: &OsStr) -> io::Result<Entry> {
        use rustix::fs::FileType;
        let stat = match rustix::fs::statat(&self.handle, name, AtFlags::SYMLINK_NOFOLLOW) {
            Err(Errno::NOENT) => return Ok(Entry::Missing),
            other => other?,
        };
        Ok(match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => Entry::File(FileEntry {
                id: identity(&stat),
                access: Access::of_owner(permissions(stat.st_mode), (stat.st_uid, stat.st_gid)),
                len: number(stat.st_size),
            }),
            FileType::Symlink => Entry::Link,
            FileType::Directory => Entry::Other("a directory"),
            FileType::Fifo => Entry::Other("a named pipe"),
            FileType::Socket => Entry::Other("a socket"),
            _ => Entry::Other("a device"),
        })
    }

    /// Renames `from` to `to`, replacing an existing file.
    pub(crate) fn rename(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        Ok(rustix::fs::renameat(&self.handle, from, &self.handle, to)?)
    }

    /// Removes a file.
    pub(crate) fn remove(&self, name: &OsStr) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(&self.handle, name, AtFlags::empty())?)
    }

    /// Waits until renames in this directory are on disk. A directory that cannot be listed cannot be waited for, and
    /// neither can one of a file system that does not know the request.
    pub(crate) fn sync(&self) -> io::Result<()> {
        let handle = match self.open_to_list() {
            Err(Errno::ACCESS | Errno::PERM) => return Ok(()),
            other => other?,
        };
        match rustix::fs::fsync(handle) {
            Err(Errno::INVAL) => Ok(()),
            other => Ok(other?),
        }
    }

    /// A handle that can do more than [`SEARCH`].
    fn open_to_list(&self) -> Result<OwnedFd, Errno> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        rustix::fs::openat(&self.handle, ".", flags, Mode::empty())
    }

    /// Opens what `components` name under this directory, with no symbolic link on the way or at its end.
    fn beneath(&self, components: &[&OsStr], flags: OFlags) -> io::Result<OwnedFd> {
        let flags = flags | OFlags::NOFOLLOW;
        #[cfg(any(target_os = "linux", target_os = "android"))]
        {
            use rustix::fs::ResolveFlags;
            let path: PathBuf = components.iter().collect();
            let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
            match rustix::fs::openat2(&self.handle, path, flags, Mode::empty(), resolve) {
                Ok(handle) => return Ok(handle),
                // The kernel is too old, a sandbox forbids the call, or the path is too long in one piece.
                Err(Errno::NOSYS | Errno::PERM | Errno::AGAIN | Errno::NAMETOOLONG) => {}
                Err(error) => return Err(error.into()),
            }
        }
        self.walk(components, flags)
    }

    /// The same, one component after the other. Each is opened relative to the handle of the one before, so that
    /// exchanging a directory on the way changes nothing.
    fn walk(&self, components: &[&OsStr], flags: OFlags) -> io::Result<OwnedFd> {
        let Some((last, parents)) = components.split_last() else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        let mut handle: Option<OwnedFd> = None;
        for parent in parents {
            let here = handle.as_ref().unwrap_or(&self.handle);
            handle = Some(rustix::fs::openat(here, *parent, SEARCH | OFlags::NOFOLLOW, Mode::empty())?);
        }
        Ok(rustix::fs::openat(handle.as_ref().unwrap_or(&self.handle), *last, flags, Mode::empty())?)
    }
}

/// A number of a file's record, whose type differs between systems.
fn number<N: TryInto<u64>>(number: N) -> u64 {
    number.try_into().unwrap_or(0)
}

fn identity(stat: &rustix::fs::Stat) -> FileId {
    FileId(number(stat.st_dev), number(stat.st_ino))
}

#[allow(clippy::useless_conversion, reason = "some systems have 16 bits")]
fn permissions(mode: rustix::fs::RawMode) -> Permissions {
    Permissions::from_mode(u32::from(mode) & 0o777)
}

/// Whether opening failed because of a symbolic link, or may have.
pub(crate) fn may_be_link(error: &io::Error) -> bool {
    // `O_NOFOLLOW` fails with ELOOP on a link to a file, with ENOTDIR on a link to a directory on some kernels, and with
    // EMLINK on FreeBSD.
    [Errno::LOOP, Errno::NOTDIR, Errno::MLINK]
        .iter()
        .any(|errno| error.raw_os_error() == Some(errno.raw_os_error()))
}

/// Whether opening failed because it is a socket or a device without driver, which cannot be opened at all.
pub(crate) fn is_special(error: &io::Error) -> bool {
    [Errno::NXIO, Errno::NODEV, Errno::OPNOTSUPP]
        .iter()
        .any(|errno| error.raw_os_error() == Some(errno.raw_os_error()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Both ways of opening must give the same answers.
    #[test]
    fn walking_agrees_with_openat2() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path();
        std::fs::create_dir_all(path.join("a/b")).unwrap();
        std::fs::write(path.join("a/b/file"), "x").unwrap();
        std::os::unix::fs::symlink("a", path.join("link")).unwrap();
        std::os::unix::fs::symlink("a/b/file", path.join("direct")).unwrap();
        let dir = Dir::open(path).unwrap();
        for (names, good) in [
            (&["a", "b", "file"][..], true),
            (&["a", "b"], true),
            (&["a", "b", "none"], false),
            (&["link", "b", "file"], false),
            (&["direct"], false),
            (&["a", "b", "file", "c"], false),
        ] {
            let components: Vec<&OsStr> = names.iter().map(OsStr::new).collect();
            let walked = dir.walk(&components, READ | OFlags::NOFOLLOW);
            let opened = dir.beneath(&components, READ);
            assert_eq!((walked.is_ok(), opened.is_ok()), (good, good), "{names:?}");
            let links = names.contains(&"link") || names.contains(&"direct");
            if links {
                assert!(may_be_link(&walked.unwrap_err()) && may_be_link(&opened.unwrap_err()), "{names:?}");
            }
        }
    }
}
