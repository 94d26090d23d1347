//! Files that belong together: all of them are complete and on disk before the first one takes its name.

use std::fmt::Write as _;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use onnx_diag::Quoted;
use onnx_ir::Model;

use super::dir::{Dir, FileEntry};
use super::protect::{Denied, Outputs, decide, external_data};
use super::stage::{Closed, Staged};
use super::target::{Target, lock};
use super::{FileError, Kind, WriteOptions, replaced};
use crate::DataFile;

/// Files that are written together.
///
/// Each file is written under a temporary name when it is added. [`finish`](Self::finish) gives all of them their names, in the
/// order in which they were added. A set that is dropped before changes nothing.
///
/// ```
/// use onnx_codec::file::{FileSet, Kind, WriteOptions};
///
/// let folder = tempfile::tempdir()?;
/// let options = WriteOptions::default();
/// let mut set = FileSet::new(&options);
/// for name in ["1.json", "2.json"] {
///     set.add(folder.path().join(name), Kind::Json, |out| out.write_all(b"{}"))?;
/// }
/// assert!(!folder.path().join("1.json").exists());
/// set.finish(None)?;
/// assert!(folder.path().join("1.json").exists() && folder.path().join("2.json").exists());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct FileSet<'a> {
    options: &'a WriteOptions,
    members: Vec<Member>,
}

#[derive(Debug)]
struct Member {
    path: PathBuf,
    target: Target,
    staged: Closed,
    /// Whether the file that is replaced reads others that are replaced.
    reads_others: bool,
}

impl<'a> FileSet<'a> {
    /// An empty set. [`WriteOptions::dry_run`] has no effect.
    #[must_use]
    pub const fn new(options: &'a WriteOptions) -> Self {
        Self { options, members: Vec::new() }
    }

    /// Writes a file that `contents` produces under a temporary name, if it may be replaced.
    ///
    /// # Errors
    ///
    /// As [`write_file`](super::write_file). The set is unchanged then.
    pub fn add(
        &mut self,
        path: impl AsRef<Path>,
        kind: Kind,
        contents: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<(), FileError> {
        let path = path.as_ref();
        let staged = || {
            let target = Target::for_path(path)?;
            let old = replaced(path, &target, kind, self.options)?;
            let staged = stage(&target, old.as_ref(), self.options, |staged| staged.write_with(contents))?;
            Ok(Member { path: path.to_owned(), target, staged, reads_others: false })
        };
        self.members.push(staged().map_err(|error| FileError::write(path, error))?);
        Ok(())
    }

    /// Writes the files of the external data of a model and the model, which `contents` produces, under temporary names, if they
    /// may be replaced. The directories of the data must exist.
    ///
    /// # Errors
    ///
    /// As [`save_as`](crate::save_as). The set is unchanged then.
    pub fn add_model(
        &mut self,
        path: impl AsRef<Path>,
        model: &Model,
        files: &[DataFile],
        contents: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<(), FileError> {
        let path = path.as_ref();
        let folder = path.parent().unwrap_or(Path::new(""));
        let at_model = |error| FileError::write(path, error);
        let data_path =
            |index: usize| folder.join(files.get(index).map_or("", |file: &DataFile| file.location()));
        let main = Target::for_path(path).map_err(at_model)?;
        let root = Dir::open(folder).map_err(at_model)?;
        let data: Vec<Target> = (files.iter().enumerate())
            .map(|(index, file)| {
                Target::for_data(&root, file.location())
                    .map_err(|error| FileError::write(&data_path(index), error))
            })
            .collect::<Result<_, _>>()?;
        let (kept, is_external) = external_data(model, folder, files);
        let outputs = Outputs {
            main: &main,
            kind: Kind::Model,
            folder,
            root: root.id().map_err(at_model)?,
            data: &data,
            contents: files,
            is_external,
            kept: &kept,
        };
        let old = decide(&outputs, self.options).map_err(|(index, error): Denied| match index {
            Some(index) => FileError::write(&data_path(index), error),
            None => at_model(error),
        })?;
        let last = stage(&main, old.main.as_ref(), self.options, |staged| staged.write_with(contents));
        let last = last.map_err(at_model)?;
        let mut members = Vec::new();
        for (index, ((file, target), old)) in files.iter().zip(&data).zip(&old.data).enumerate() {
            let path = data_path(index);
            let staged =
                stage(target, old.as_ref(), self.options, |staged| staged.write_pieces(file.pieces().iter()));
            let staged = staged.map_err(|error| FileError::write(&path, error))?;
            members.push(Member { path, target: target.clone(), staged, reads_others: false });
        }
        self.members.extend(members);
        let reads_others = old.is_pair;
        self.members.push(Member { path: path.to_owned(), target: main, staged: last, reads_others });
        Ok(())
    }

    /// Gives the files their names. An existing `index` of the set, and models whose data is replaced, are removed before the
    /// first file is replaced, so that none refers to a mixture of old and new files.
    ///
    /// # Errors
    ///
    /// Returns an error if the system fails, or if one of the names is not one of a regular file any more. The message names the
    /// files that were replaced before.
    pub fn finish(mut self, index: Option<&Path>) -> Result<(), FileError> {
        let first = self.members.first().map(|member| member.path.clone()).unwrap_or_default();
        let locks = lock(self.members.iter().map(|member| &member.target))
            .map_err(|error| FileError::write(&first, error))?;
        for member in &self.members {
            member.target.entry().map_err(|error| FileError::write(&member.path, error))?;
        }
        let mut held = self.options.temporaries.hold().map_err(|error| FileError::write(&first, error))?;
        for member in &self.members {
            let is_removed = member.reads_others || index == Some(member.path.as_path());
            if is_removed && member.target.entry().is_ok_and(|entry| entry.is_some()) {
                let removed = member.target.dir.remove(&member.target.name);
                removed.map_err(|error| FileError::write(&member.path, error))?;
            }
        }
        let mut done: Vec<PathBuf> = Vec::new();
        for member in &mut self.members {
            let placed = member.staged.place(&mut held, &member.target.name);
            placed.map_err(|error| FileError::write(&member.path, incomplete(error, &done)))?;
            done.push(member.path.clone());
        }
        drop(held);
        drop(locks);
        for member in &self.members {
            member.target.dir.sync().map_err(|error| FileError::write(&member.path, error))?;
        }
        Ok(())
    }
}

/// A complete file with a temporary name and the permissions of the file that it replaces.
fn stage(
    target: &Target,
    old: Option<&FileEntry>,
    options: &WriteOptions,
    contents: impl FnOnce(&mut Staged) -> io::Result<()>,
) -> io::Result<Closed> {
    let mut staged = Staged::named(&target.dir, &options.temporaries)?;
    contents(&mut staged)?;
    staged.sync()?;
    staged.close(target.permissions(old)?)
}

/// An error with the files that were replaced before it.
fn incomplete(error: io::Error, done: &[PathBuf]) -> io::Error {
    /// The others have names like these.
    const MOST: usize = 20;
    if done.is_empty() {
        return error;
    }
    let mut text = format!("{error}; these files of the set were already written:");
    for (index, path) in done.iter().take(MOST).enumerate() {
        let separator = if index == 0 { "" } else { "," };
        let path = path.to_string_lossy();
        let _ = write!(text, "{separator} {}", Quoted(&path));
    }
    if let Some(more) = done.len().checked_sub(MOST).filter(|&more| more > 0) {
        let _ = write!(text, " and {more} more");
    }
    io::Error::new(error.kind(), text)
}
