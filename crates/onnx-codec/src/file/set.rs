//! Files that belong together: all of them are complete and on disk before the first one takes its name.
//!
//! No system replaces several files in one step. A reader that finds some old and some new files, each of which is valid, would
//! join them. So a set of several files is replaced in these steps:
//!
//! 1. a [journal](super::journal) tells which temporary files take which names: from here on, the set is the new one,
//! 2. the contents of each existing file are replaced by [`INCOMPLETE`], which no reader of any format accepts, and the name of
//!    the last file is taken by such contents, too,
//! 3. data files take their names, then the others, the last one last, and the journal is removed.
//!
//! A process that ends before step 1 leaves the old set. If it ends later, whatever reads or writes one of the files next finishes
//! the work. Programs that know nothing of the journal, and those that may not write to the directory, are refused by the last
//! file until then; so are all readers of a set whose files are in several directories, which have no journal.

use std::fmt::Write as _;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use onnx_diag::Quoted;
use onnx_ir::Model;

use super::dir::{Dir, FileEntry};
use super::journal::{self, Journal};
use super::protect::{Denied, Outputs, decide, external_data};
use super::stage::{Closed, Held, Staged};
use super::target::{Target, lock};
use super::{FileError, FileKind, WriteOptions, rehearse, replaced};
use crate::DataFile;

/// The contents of the files of a set that is being replaced. The first letter cannot begin a message of protobuf, and the text
/// is valid in no other format of models, tensors and indexes.
pub(crate) const INCOMPLETE: &[u8] =
    b"onnx: this file belongs to a set of files that was not written completely; write the set again\n";

/// Files that are written together.
///
/// Each file is written under a temporary name when it is added. [`finish`](Self::finish) gives all of them their names, in the
/// order in which they were added. A set that is dropped before changes nothing. If the process ends while files take their
/// names, [`read`](super::read) and the next writer find the old set or the new one.
///
/// The names are chosen by a program, not by its user, so a symbolic link that has one of them is not followed: it is an error.
///
/// ```
/// use onnx_codec::file::{FileSet, FileKind, WriteOptions};
///
/// let folder = tempfile::tempdir()?;
/// let options = WriteOptions::default();
/// let mut set = FileSet::new(&options);
/// for name in ["1.json", "2.json"] {
///     set.add(folder.path().join(name), FileKind::Json, |out| out.write_all(b"{}"))?;
/// }
/// assert!(!folder.path().join("1.json").exists());
/// set.finish()?;
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
    role: Role,
}

/// How readers get to a file of a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    /// By its name.
    Main {
        /// Whether the file that is replaced reads data that is replaced.
        reads_others: bool,
    },
    /// Through a model of the set.
    Data,
}

impl<'a> FileSet<'a> {
    /// An empty set. With [`WriteOptions::dry_run`], [`add`](Self::add) only finds out whether the file could be written;
    /// [`add_model`](Self::add_model) is not for dry runs.
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
        kind: FileKind,
        contents: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<(), FileError> {
        let path = path.as_ref();
        let staged = || {
            let target = Target::without_link(path)?;
            if self.options.dry_run {
                return rehearse(path, &target, kind, self.options, contents).map(|()| None);
            }
            let old = replaced(path, &target, kind, self.options)?;
            let staged = stage(&target, old.as_ref(), self.options, |staged| staged.write_with(contents))?;
            let role = Role::Main { reads_others: false };
            Ok(Some(Member { path: path.to_owned(), target, staged, role }))
        };
        self.members.extend(staged().map_err(|error| FileError::write(path, error))?);
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
        let main = Target::without_link(path).map_err(at_model)?;
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
            kind: FileKind::Model,
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
        let (mut members, old_main) = (Vec::new(), old.main.as_ref());
        for (index, ((file, target), old)) in files.iter().zip(&data).zip(&old.data).enumerate() {
            let path = data_path(index);
            // New data of a model that is replaced is not for more readers than the model is.
            let old = old.as_ref().or(old_main);
            let staged = stage(target, old, self.options, |staged| staged.write_pieces(file.pieces().iter()));
            let staged = staged.map_err(|error| FileError::write(&path, error))?;
            members.push(Member { path, target: target.clone(), staged, role: Role::Data });
        }
        self.members.extend(members);
        let role = Role::Main { reads_others: old.is_pair };
        self.members.push(Member { path: path.to_owned(), target: main, staged: last, role });
        Ok(())
    }

    /// Gives the files their names. If the process ends meanwhile, readers find the old set or the new one; see the [type](Self).
    ///
    /// # Errors
    ///
    /// Returns an error if the system fails, or if one of the names is not one of a regular file any more. The message names the
    /// files that were replaced before.
    pub fn finish(mut self) -> Result<(), FileError> {
        let Some(first) = self.members.first().map(|member| member.path.clone()) else { return Ok(()) };
        let at_first = |error| FileError::write(&first, error);
        let locks = lock(self.members.iter().map(|member| &member.target)).map_err(at_first)?;
        for member in &self.members {
            journal::finish_locked(&member.target.dir)
                .map_err(|error| FileError::write(&member.path, error))?;
        }
        let mut held = self.options.temporaries.hold().map_err(at_first)?;
        let mut marks = self.marks(&mut held)?;
        // From here on, the set is the new one.
        let journal = if marks.is_empty() { None } else { self.journal(&mut held).map_err(at_first)? };
        // Whatever comes last is that which readers need to accept the set.
        self.members.sort_by_key(|member| member.role != Role::Data);
        let mut done: Vec<PathBuf> = Vec::new();
        for (path, target, mark) in &mut marks {
            let placed = target.access(target.entry().ok().flatten().as_ref());
            let placed = placed.and_then(|access| mark.place(&mut held, &target.name, access));
            placed.map_err(|error| FileError::write(path, incomplete(error, &done)))?;
            done.push(path.clone());
        }
        // On disk, too, no new file may be older than the marks.
        if !marks.is_empty() {
            self.sync().map_err(|(path, error)| FileError::write(&path, incomplete(error, &done)))?;
            done.clear();
        }
        for member in &mut self.members {
            let placed = member.staged.place(&mut held, &member.target.name);
            placed.map_err(|error| FileError::write(&member.path, incomplete(error, &done)))?;
            done.push(member.path.clone());
        }
        drop(held);
        let synced = self.sync().map_err(|(path, error)| FileError::write(&path, error));
        drop(journal);
        drop(locks);
        synced
    }

    /// The journal of the set, which is on disk; `None` if its files are in several directories.
    fn journal(&self, held: &mut Held<'_>) -> io::Result<Option<Journal>> {
        let Some(first) = self.members.first() else { return Ok(None) };
        let mut entries = Vec::new();
        for member in &self.members {
            let Some(temporary) = member.staged.name() else { return Ok(None) };
            if member.target.dir_id() != first.target.dir_id() {
                return Ok(None);
            }
            entries.push((temporary, member.target.name.as_os_str(), member.target.entry()?));
        }
        Journal::begin(&first.target.dir, &self.options.temporaries, held, &entries).map(Some)
    }

    /// The files whose contents are [`INCOMPLETE`] until the set is complete, and these contents, which are on disk.
    fn marks(&self, held: &mut Held<'_>) -> Result<Vec<(PathBuf, Target, Staged)>, FileError> {
        let mains = || self.members.iter().filter(|member| member.role != Role::Data);
        let reads_others = |member: &Member| member.role == (Role::Main { reads_others: true });
        let is_one_step = mains().count() <= 1 && !mains().any(reads_others);
        let last = mains().next_back().map(|member| &member.path);
        let mut marks = Vec::new();
        for member in &self.members {
            let at_member = |error| FileError::write(&member.path, error);
            let old = member.target.entry().map_err(at_member)?;
            let is_needed = old.is_some() || last == Some(&member.path);
            if is_one_step || member.role == Role::Data || !is_needed {
                continue;
            }
            let mut mark = || {
                let mut mark = Staged::new_held(&member.target.dir, &self.options.temporaries, held)?;
                mark.write_with(|out| out.write_all(INCOMPLETE))?;
                mark.sync()?;
                Ok(mark)
            };
            marks.push((member.path.clone(), member.target.clone(), mark().map_err(at_member)?));
        }
        Ok(marks)
    }

    /// Waits until the names of all files are on disk.
    fn sync(&self) -> Result<(), (PathBuf, io::Error)> {
        let mut done: Vec<&Arc<Dir>> = Vec::new();
        for member in &self.members {
            let dir = &member.target.dir;
            if done.iter().any(|known| known.path() == dir.path()) {
                continue;
            }
            dir.sync().map_err(|error| (member.path.clone(), error))?;
            done.push(dir);
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
    staged.close(target.access(old)?)
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
