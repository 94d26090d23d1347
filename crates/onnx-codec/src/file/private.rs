//! Private temporary files: their names cannot be foreseen, only the user can read them, and no link is followed.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use onnx_proto::wire::Segments;

use super::dir::Dir;
use super::stage::{Staged, Temporaries, random_name, unused_name};
use super::{FileError, target};

/// A new directory for temporary files, in a directory that other users may write to.
///
/// Its name is random and only the user can list it, so that no other user can prepare a link in it. It is removed with its
/// [files](PrivateFile) when it is dropped.
///
/// ```
/// use onnx_codec::file::{PrivateFolder, Temporaries};
/// use std::io::Write;
///
/// let folder = PrivateFolder::new(&std::env::temp_dir(), &Temporaries::default())?;
/// let file = folder.file(".log");
/// file.create()?.write_all(b"output of a command")?;
/// assert_eq!(std::fs::read(file.path())?, b"output of a command");
/// let path = folder.path().to_owned();
/// drop((file, folder));
/// assert!(!path.exists());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct PrivateFolder {
    dir: Arc<Dir>,
    temporaries: Temporaries,
}

impl PrivateFolder {
    /// Makes a directory in `parent`, such as [`std::env::temp_dir`].
    ///
    /// # Errors
    ///
    /// Returns an error if the system fails.
    pub fn new(parent: &Path, temporaries: &Temporaries) -> Result<Self, FileError> {
        let make = || {
            let dir = Arc::new(Dir::open(parent)?);
            let mut held = temporaries.hold()?;
            let ((), name) = unused_name(|name| dir.create_private_dir(name))?;
            held.add_folder(dir.path().join(&name));
            let folder = dir.open_dir(&[&*name])?;
            // In a directory in which other users may rename entries, the name can mean another directory already.
            if !folder.is_private()? {
                return Err(target::invalid("another user replaced a temporary directory"));
            }
            Ok(Self { dir: Arc::new(folder), temporaries: temporaries.clone() })
        };
        make().map_err(|error| FileError::write(parent, error))
    }

    /// The path of the directory.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    /// A file of this directory with a random name that ends with `suffix`. It does not exist yet.
    #[must_use]
    pub fn file(&self, suffix: &str) -> PrivateFile {
        PrivateFile::in_dir(Arc::clone(&self.dir), suffix, &self.temporaries)
    }
}

impl Drop for PrivateFolder {
    fn drop(&mut self) {
        // With what a command left there, which has no other owner. Nothing can be done about a failure here.
        let _ = std::fs::remove_dir_all(self.path());
        self.temporaries.forget_folder(self.path());
    }
}

/// A temporary file with a random name, which only the user can read. It is removed when it is dropped.
///
/// It is written relative to the open directory, and what has its name is replaced as a directory entry: a link of that name
/// is never followed.
#[derive(Debug)]
pub struct PrivateFile {
    dir: Arc<Dir>,
    name: OsString,
    temporaries: Temporaries,
}

impl PrivateFile {
    /// A file in a directory that other users may write to, for what must be next to other files. It does not exist yet.
    ///
    /// # Errors
    ///
    /// Returns an error if the directory cannot be opened.
    pub fn beside(directory: &Path, suffix: &str, temporaries: &Temporaries) -> Result<Self, FileError> {
        let dir = Dir::open(directory).map_err(|error| FileError::write(directory, error))?;
        Ok(Self::in_dir(Arc::new(dir), suffix, temporaries))
    }

    fn in_dir(dir: Arc<Dir>, suffix: &str, temporaries: &Temporaries) -> Self {
        Self { dir, name: random_name(suffix), temporaries: temporaries.clone() }
    }

    /// The path of the file.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        self.dir.path().join(&self.name)
    }

    /// Makes the file empty, for writing.
    ///
    /// # Errors
    ///
    /// Returns an error if the system fails.
    pub fn create(&self) -> Result<File, FileError> {
        let make = || {
            let mut held = self.temporaries.hold()?;
            remove(&self.dir, &self.name)?;
            let file = self.dir.create_new(&self.name)?;
            held.add(&self.dir, &self.name);
            Ok(file)
        };
        make().map_err(|error| FileError::write(&self.path(), error))
    }

    /// Writes the pieces of an encoded message into the file, in place of what it contains.
    ///
    /// # Errors
    ///
    /// Returns an error if the system fails.
    pub fn write(&self, segments: &Segments) -> Result<(), FileError> {
        let write = || {
            let mut staged = Staged::new(&self.dir, &self.temporaries)?;
            staged.write_pieces(segments.iter())?;
            let mut held = self.temporaries.hold()?;
            staged.place(&mut held, &self.name, None)?;
            held.add(&self.dir, &self.name);
            Ok(())
        };
        write().map_err(|error: io::Error| FileError::write(&self.path(), error))
    }
}

impl Drop for PrivateFile {
    fn drop(&mut self) {
        // It may not have been made.
        let _ = self.dir.remove(&self.name);
        self.temporaries.forget(&self.name);
    }
}

fn remove(dir: &Dir, name: &OsStr) -> io::Result<()> {
    match dir.remove(name) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    fn names(folder: &Path) -> Vec<OsString> {
        let mut names: Vec<OsString> =
            std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        names
    }

    fn message(text: &str) -> Segments {
        let mut writer = onnx_proto::wire::Writer::new();
        writer.string(1, text);
        writer.finish()
    }

    #[test]
    fn names_are_random_and_nothing_stays() {
        let parent = tempfile::tempdir().unwrap();
        let temporaries = Temporaries::default();
        let folders = [(); 2].map(|()| PrivateFolder::new(parent.path(), &temporaries).unwrap());
        assert_ne!(folders[0].path(), folders[1].path());
        let files = [(); 2].map(|()| folders[0].file(".onnx"));
        assert_ne!(files[0].name, files[1].name);
        for file in &files {
            file.create().unwrap().write_all(b"old").unwrap();
            file.write(&message("new")).unwrap();
            assert_eq!(std::fs::read(file.path()).unwrap(), message("new").to_vec());
        }
        // A file that something else made goes, too.
        std::fs::write(folders[0].path().join("other"), "x").unwrap();
        drop((files, folders));
        assert!(names(parent.path()).is_empty());
    }

    #[test]
    fn a_signal_removes_files_and_folders() {
        let parent = tempfile::tempdir().unwrap();
        let temporaries = Temporaries::default();
        let folder = PrivateFolder::new(parent.path(), &temporaries).unwrap();
        let file = folder.file(".log");
        file.create().unwrap();
        let beside = PrivateFile::beside(parent.path(), ".onnx", &temporaries).unwrap();
        beside.write(&message("x")).unwrap();
        assert_eq!(names(parent.path()).len(), 2);
        drop(temporaries.stop());
        assert!(names(parent.path()).is_empty());
        assert!(beside.write(&message("y")).is_err() && file.create().is_err());
        assert!(PrivateFolder::new(parent.path(), &temporaries).is_err());
    }

    /// A link or a file that another user puts in the place of the name is replaced, and what the link leads to stays.
    #[cfg(unix)]
    #[test]
    fn links_of_the_name_are_not_followed() {
        use std::os::unix::fs::{PermissionsExt as _, symlink};

        let parent = tempfile::tempdir().unwrap();
        let victim = parent.path().join("victim");
        let temporaries = Temporaries::default();
        let file = PrivateFile::beside(parent.path(), ".onnx", &temporaries).unwrap();
        let is_own = || {
            let metadata = std::fs::symlink_metadata(file.path()).unwrap();
            assert!(metadata.is_file() && metadata.permissions().mode() & 0o777 == 0o600);
            assert_eq!(std::fs::read(&victim).unwrap(), b"precious");
        };
        std::fs::write(&victim, "precious").unwrap();
        symlink(&victim, file.path()).unwrap();
        file.write(&message("model")).unwrap();
        is_own();
        assert_eq!(std::fs::read(file.path()).unwrap(), message("model").to_vec());
        std::fs::remove_file(file.path()).unwrap();
        symlink(&victim, file.path()).unwrap();
        file.create().unwrap().write_all(b"log").unwrap();
        is_own();
        assert_eq!(std::fs::read(file.path()).unwrap(), b"log");
        let folder = PrivateFolder::new(parent.path(), &temporaries).unwrap();
        let mode = std::fs::symlink_metadata(folder.path()).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
    }
}
