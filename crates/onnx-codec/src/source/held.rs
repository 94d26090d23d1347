//! New elements in a temporary file, until they are written.

use std::fs::File;
use std::io;
#[cfg(feature = "mmap")]
use std::io::{Seek as _, SeekFrom, Write as _};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use bytes::Bytes;

use crate::file::dir::Dir;

/// Smaller elements stay in memory: each part of the file is mapped separately, and the system limits the maps of a process.
const LEAST: usize = 1 << 20;

/// A file without a name in a directory, which is made when it is needed.
#[derive(Debug)]
pub(super) struct Held {
    directory: PathBuf,
    state: Mutex<State>,
}

#[derive(Debug)]
enum State {
    New,
    /// A file of this size.
    Open(File, u64),
    /// There is no such file, or no room in it.
    Refused,
}

impl Held {
    pub(super) const fn new(directory: PathBuf) -> Self {
        Self { directory, state: Mutex::new(State::New) }
    }

    /// The same bytes, in the file if that is possible.
    pub(super) fn hold(&self, bytes: Bytes) -> Bytes {
        if bytes.len() < LEAST || !cfg!(feature = "mmap") {
            return bytes;
        }
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if matches!(*state, State::New) {
            let file = Dir::open(&self.directory).and_then(|dir| dir.create_unnamed()).ok().flatten();
            *state = file.map_or(State::Refused, |file| State::Open(file, 0));
        }
        let State::Open(file, len) = &mut *state else { return bytes };
        match append(file, *len, &bytes) {
            Ok(held) => {
                *len = len.saturating_add(bytes.len() as u64);
                held
            }
            Err(_) => {
                *state = State::Refused;
                bytes
            }
        }
    }
}

#[cfg(feature = "mmap")]
fn append(mut file: &File, at: u64, bytes: &Bytes) -> io::Result<Bytes> {
    let len = bytes.len() as u64;
    // The result has what is held a second time, and must not fail because of it.
    if room(file)? < at.saturating_add(len.saturating_mul(2)) {
        return Err(io::ErrorKind::StorageFull.into());
    }
    file.seek(SeekFrom::Start(at))?;
    file.write_all(bytes)?;
    crate::mmap::map_part(file, at, bytes.len())
}

/// The bytes that the file system of a file has left.
#[cfg(all(feature = "mmap", unix))]
fn room(file: &File) -> io::Result<u64> {
    let system = rustix::fs::fstatvfs(file)?;
    Ok(system.f_bavail.saturating_mul(system.f_frsize))
}

#[cfg(all(feature = "mmap", not(unix)))]
fn room(_: &File) -> io::Result<u64> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(not(feature = "mmap"))]
fn append(_: &File, _: u64, bytes: &Bytes) -> io::Result<Bytes> {
    Ok(bytes.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_back_and_nothing_is_left() {
        let folder = tempfile::tempdir().unwrap();
        let held = Held::new(folder.path().to_owned());
        let of = |byte: u8, len: usize| Bytes::from(vec![byte; len]);
        let (one, two) = (held.hold(of(1, LEAST)), held.hold(of(2, LEAST + 3)));
        assert!(one == of(1, LEAST) && two == of(2, LEAST + 3));
        #[cfg(all(feature = "mmap", target_os = "linux"))]
        {
            assert!(
                matches!(&*held.state.lock().unwrap(), State::Open(_, len) if *len == 2 * LEAST as u64 + 3)
            );
        }
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        // What is held stays when the source is gone.
        drop(held);
        assert!(two == of(2, LEAST + 3));
    }

    #[test]
    fn without_a_file_bytes_stay_in_memory() {
        let folder = tempfile::tempdir().unwrap();
        let missing = Held::new(folder.path().join("missing"));
        let large = Bytes::from(vec![1; LEAST]);
        assert_eq!(missing.hold(large.clone()).as_ptr(), large.as_ptr());
        let small = Bytes::from_static(b"small");
        let held = Held::new(folder.path().to_owned());
        assert_eq!(held.hold(small.clone()).as_ptr(), small.as_ptr());
        assert!(matches!(&*held.state.lock().unwrap(), State::New));
    }
}
