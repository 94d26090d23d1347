//! Which files a write may replace. One function decides for all writers, before anything is changed.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::io::{self, Read};
use std::path::Path;

use bytes::Bytes;
use onnx_ir::Model;

use super::dir::{Dir, Entry, FileEntry, FileId};
use super::kind::FileKind;
use super::stage::{Temporaries, is_fresh_name};
use super::target::Target;
use crate::externalize::walk::for_each_tensor;
use crate::source::normalized;
use crate::{DataFile, DecodeOptions, decode};
use onnx_types::tensor::Payload;

/// Options for writing, and the files that must not be replaced.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct WriteOptions {
    /// Replace existing files of another kind, and existing data files by other contents: models that this writer does
    /// not know may read them. Files that the input or the new model reads are not replaced even so.
    pub force: bool,
    /// The models that the output was made from. Their external data is not replaced, unless the output replaces the
    /// model itself.
    pub inputs: InputFiles,
    /// The temporary files of all writes of the program.
    pub temporaries: Temporaries,
    /// Make the directories of data files that do not exist.
    pub folders: bool,
    /// Decide and produce the contents as for a write, and change nothing: no file and no directory.
    pub dry_run: bool,
}

onnx_types::option_setters! {
    WriteOptions {
        with_force => force: bool,
        with_inputs => inputs: InputFiles,
        with_temporaries => temporaries: Temporaries,
        with_folders => folders: bool,
        with_dry_run => dry_run: bool,
    }
}

/// Models that were read, the files of their external data, and other files that were read, known by device and inode.
#[derive(Clone, Debug, Default)]
pub struct InputFiles {
    models: Vec<InputModel>,
    others: Vec<FileId>,
}

#[derive(Clone, Debug)]
struct InputModel {
    /// The name and the number of names of its file, unless it was a stream.
    file: Option<(Target, FileEntry)>,
    /// The directory that the locations of its data are relative to.
    root: Option<FileId>,
    data: BTreeMap<FileId, String>,
}

impl InputFiles {
    /// The files of a model that was read from a path. Call it before the model is changed.
    ///
    /// # Errors
    ///
    /// Returns an error if the path cannot be accessed.
    pub fn add(&mut self, path: impl AsRef<Path>, model: &Model) -> io::Result<()> {
        let path = path.as_ref();
        let target = Target::for_path(path)?;
        let file = target.entry()?.map(|entry| (target, entry));
        self.push(file, path.parent().unwrap_or(Path::new("")), model);
        Ok(())
    }

    /// A file other than a model and its data, which is not replaced: the values of an input. One that does not exist is ignored.
    pub fn add_file(&mut self, path: impl AsRef<Path>) {
        self.others.extend(FileEntry::following(path.as_ref()).map(|entry| entry.id));
    }

    /// The files of further models.
    pub fn append(&mut self, mut others: Self) {
        self.models.append(&mut others.models);
        self.others.append(&mut others.others);
    }

    /// The files of a model that was read from a stream, if its data is in a directory.
    pub fn add_data(&mut self, directory: impl AsRef<Path>, model: &Model) {
        self.push(None, directory.as_ref(), model);
    }

    /// Decides whether a stream may be written to: not if it is a regular file that is one of the models, or has external
    /// data of one. `stream` describes what is open.
    ///
    /// # Errors
    ///
    /// [`ReplaceRefusal::IsInput`], [`ReplaceRefusal::ReadByInput`] and [`ReplaceRefusal::IsRead`].
    pub fn check_stream(&self, stream: &std::fs::Metadata) -> Result<(), ReplaceRefusal> {
        let Some(id) = FileEntry::of_open(stream).map(|entry| entry.id) else { return Ok(()) };
        if self.others.contains(&id) {
            return Err(ReplaceRefusal::IsRead);
        }
        for input in &self.models {
            if input.file.as_ref().is_some_and(|(_, file)| file.id == id) {
                return Err(ReplaceRefusal::IsInput);
            }
            if input.data.contains_key(&id) {
                return Err(ReplaceRefusal::ReadByInput);
            }
        }
        Ok(())
    }

    fn push(&mut self, file: Option<(Target, FileEntry)>, directory: &Path, model: &Model) {
        let root = Dir::open(directory).and_then(|dir| dir.id()).ok();
        self.models.push(InputModel { file, root, data: data_files(model, directory, |_| true) });
    }
}

/// The files of a model's external data that exist, by their identity. Locations that this crate refuses to read count
/// as well: other readers may read them.
pub(crate) fn data_files(
    model: &Model,
    directory: &Path,
    wanted: impl Fn(&str) -> bool,
) -> BTreeMap<FileId, String> {
    let mut locations = std::collections::BTreeSet::new();
    for_each_tensor(model, |_, tensor| {
        if let Payload::External(entries) = tensor.payload()
            && let Ok(location) = entries.location()
            && wanted(location)
            && !locations.contains(location)
        {
            locations.insert(location.to_owned());
        }
    });
    let found = |location: String| {
        let entry = FileEntry::following(&directory.join(&location))?;
        Some((entry.id, location))
    };
    locations.into_iter().filter_map(found).collect()
}

/// The external data of a model that is written together with files of data: the files that it reads without their being
/// written, and whether it has any data.
pub(crate) fn external_data(
    model: &Model,
    folder: &Path,
    files: &[DataFile],
) -> (BTreeMap<FileId, String>, bool) {
    let written: Vec<String> = files.iter().map(|file| normalized(file.location())).collect();
    let kept = data_files(model, folder, |location| !written.contains(&normalized(location)));
    let mut is_external = !files.is_empty();
    for_each_tensor(model, |_, tensor| is_external |= tensor.is_external());
    (kept, is_external)
}

/// Why a file is not replaced.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReplaceRefusal {
    /// A model that was read has its external data in the file.
    ReadByInput,
    /// The file is a model that was read, and would become external data.
    IsInput,
    /// The file was read for something else than a model.
    IsRead,
    /// The model to be written has external data in the file.
    ReadByOutput,
    /// The file is the model to be written, or another of its data files.
    WrittenTwice,
    /// The model has external data, and its name is a symbolic link to a file in another directory. Readers that open the
    /// link look for the data in one directory, and readers that open the file in the other.
    LinkedElsewhere,
    /// The file exists and does not have the name and the contents of the kind to be written.
    OtherKind {
        /// The kind to be written.
        kind: FileKind,
    },
    /// The file is a model, and what would take its place leaves elements out.
    WouldLoseElements,
    /// The data file exists with other contents, which any model may read: copies of the model to be replaced, too.
    OtherData,
}

impl ReplaceRefusal {
    /// Whether [`WriteOptions::force`] makes a difference.
    #[must_use]
    pub const fn yields_to_force(&self) -> bool {
        matches!(self, Self::OtherKind { .. } | Self::OtherData)
    }
}

impl fmt::Display for ReplaceRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ReadByInput => {
                f.write_str("the input model has external data in it; choose another name, or write over the input model")
            }
            Self::IsInput => f.write_str("it is the input model, which neither an output nor external data may overwrite; choose another name"),
            Self::IsRead => f.write_str("it is a file that the command reads; choose another name"),
            Self::ReadByOutput => {
                f.write_str("the model to be written has external data in it; choose another name")
            }
            Self::WrittenTwice => {
                f.write_str("it is the model itself, or another file of its data; choose another name for the external data")
            }
            Self::LinkedElsewhere => f.write_str(
                "it is a symbolic link into another directory, and the model has external data, which readers look for \
                 in either; write to the file itself, or remove the link",
            ),
            Self::OtherKind { kind } => {
                write!(f, "it exists and is not {} by its name and contents", kind.name())
            }
            Self::WouldLoseElements => f.write_str(
                "it is a model, and the text leaves elements out, which would be lost; choose another name",
            ),
            Self::OtherData => f.write_str(
                "it exists with other contents, which other models may read; choose another name for the external data",
            ),
        }
    }
}

impl std::error::Error for ReplaceRefusal {}

impl From<ReplaceRefusal> for io::Error {
    fn from(refusal: ReplaceRefusal) -> Self {
        Self::new(io::ErrorKind::AlreadyExists, refusal)
    }
}

/// Files that are written together.
pub(crate) struct Outputs<'a> {
    pub(crate) main: &'a Target,
    pub(crate) kind: FileKind,
    /// The directory that locations of data files are relative to.
    pub(crate) folder: &'a Path,
    pub(crate) root: FileId,
    pub(crate) data: &'a [Target],
    /// The contents of the data files.
    pub(crate) contents: &'a [DataFile],
    /// Whether the model to be written has external data.
    pub(crate) is_external: bool,
    /// The files that the model to be written reads without their being written.
    pub(crate) kept: &'a BTreeMap<FileId, String>,
}

/// The files that are replaced.
pub(crate) struct Replaced {
    pub(crate) main: Option<FileEntry>,
    pub(crate) data: Vec<Option<FileEntry>>,
    /// Whether the model to be replaced reads a file that is written, or may do so. A reader that has one of the two in
    /// its old and the other in its new state would then get wrong weights.
    pub(crate) is_pair: bool,
    /// Names that an incomplete save gave to data, in addition to the name that this data file will have.
    pub(crate) stale: Vec<(usize, OsString)>,
}

/// A file that must not be replaced: its place in the list of data files, or none for the main one.
pub(crate) type Denied = (Option<usize>, io::Error);

/// Decides whether all outputs may take their names, from what has these names now.
pub(crate) fn decide(outputs: &Outputs<'_>, options: &WriteOptions) -> Result<Replaced, Denied> {
    let main = outputs.main.entry().map_err(|error| (None, error))?;
    if let Some(entry) = &main {
        may_replace_main(outputs, entry, options).map_err(|error| (None, error))?;
    }
    // In place, without new data, a model finds its data as before.
    let stays =
        || outputs.data.is_empty() && options.inputs.models.iter().any(|input| input.is_replaced(outputs));
    if outputs.is_external && *outputs.main.dir_id() != outputs.root && !stays() {
        return Err((None, ReplaceRefusal::LinkedElsewhere.into()));
    }
    let old = Old::of(outputs, main.as_ref());
    let (mut data, mut stale) = (Vec::new(), Vec::new());
    let mut is_pair = false;
    for (index, target) in outputs.data.iter().enumerate() {
        let denied = |error| (Some(index), error);
        let earlier = outputs.data.iter().take(index);
        if earlier.chain([outputs.main]).any(|other| other.is(target)) {
            return Err(denied(ReplaceRefusal::WrittenTwice.into()));
        }
        let entry = target.entry().map_err(denied)?;
        if let Some(entry) = &entry {
            may_replace_data(outputs, entry, options).map_err(|refusal| denied(refusal.into()))?;
            let pieces = outputs.contents.get(index).map_or(&[][..], DataFile::pieces);
            if !options.force && !has_contents(target, entry, pieces).map_err(denied)? {
                return Err(denied(ReplaceRefusal::OtherData.into()));
            }
            // A copy of the model may read it as well.
            stale.extend(old.unfinished(target).filter(|_| options.force).map(|name| (index, name)));
        }
        is_pair |= entry.is_some();
        data.push(entry);
    }
    Ok(Replaced { is_pair: is_pair || old.missing, main, data, stale })
}

fn may_replace_main(outputs: &Outputs<'_>, entry: &FileEntry, options: &WriteOptions) -> io::Result<()> {
    if outputs.kept.contains_key(&entry.id) {
        return Err(ReplaceRefusal::ReadByOutput.into());
    }
    if options.inputs.others.contains(&entry.id) {
        return Err(ReplaceRefusal::IsRead.into());
    }
    let mut is_input = false;
    for input in &options.inputs.models {
        let is_this = input.is_replaced(outputs);
        if input.data.contains_key(&entry.id) && !is_this {
            return Err(ReplaceRefusal::ReadByInput.into());
        }
        is_input |= is_this || input.file.as_ref().is_some_and(|(_, file)| file.id == entry.id);
    }
    let is_same_kind = outputs.kind.matches(outputs.main, entry)?;
    if outputs.kind == FileKind::Abridged && !is_same_kind && FileKind::Model.matches(outputs.main, entry)? {
        return Err(ReplaceRefusal::WouldLoseElements.into());
    }
    if options.force || is_same_kind {
        return Ok(());
    }
    // In place, the name is the user's choice; but what is made of a model need not be one.
    let is_kept = outputs.kind != FileKind::Model && FileKind::Model.matches(outputs.main, entry)?;
    if is_input && !is_kept { Ok(()) } else { Err(ReplaceRefusal::OtherKind { kind: outputs.kind }.into()) }
}

/// Files that are never replaced as data files.
fn may_replace_data(
    outputs: &Outputs<'_>,
    entry: &FileEntry,
    options: &WriteOptions,
) -> Result<(), ReplaceRefusal> {
    if outputs.kept.contains_key(&entry.id) {
        return Err(ReplaceRefusal::ReadByOutput);
    }
    if options.inputs.others.contains(&entry.id) {
        return Err(ReplaceRefusal::IsRead);
    }
    for input in &options.inputs.models {
        if input.file.as_ref().is_some_and(|(_, file)| file.id == entry.id) {
            return Err(ReplaceRefusal::IsInput);
        }
        if input.data.contains_key(&entry.id) && !input.is_replaced(outputs) {
            return Err(ReplaceRefusal::ReadByInput);
        }
    }
    Ok(())
}

/// Whether a file has just these contents, so that replacing it changes nothing for its readers.
fn has_contents(target: &Target, entry: &FileEntry, pieces: &[Bytes]) -> io::Result<bool> {
    const AT_ONCE: usize = 1 << 18;
    let len: u64 = pieces.iter().map(|piece| piece.len() as u64).sum();
    if len != entry.len {
        return Ok(false);
    }
    let mut file = match target.dir.open_entry(&target.name) {
        // What cannot be read cannot be compared.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return Ok(false),
        other => other?,
    };
    let mut buffer = vec![0; AT_ONCE];
    for part in pieces.iter().flat_map(|piece| piece.chunks(AT_ONCE)) {
        let Some(found) = buffer.get_mut(..part.len()) else { return Ok(false) };
        match file.read_exact(found) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(false),
            other => other?,
        }
        if found != part {
            return Ok(false);
        }
    }
    Ok(true)
}

impl InputModel {
    /// Returns `true` if writing the outputs replaces this model, so that its data has no more readers: the same name,
    /// not only the same file, and data in the same directory.
    fn is_replaced(&self, outputs: &Outputs<'_>) -> bool {
        let is_main = self.file.as_ref().is_some_and(|(target, _)| target.is(outputs.main));
        is_main && self.root.as_ref() == Some(&outputs.root)
    }
}

/// Information about the model that is replaced.
#[derive(Default)]
struct Old {
    data: BTreeMap<FileId, String>,
    /// It has external data under the location of a file to be written, which does not exist.
    missing: bool,
}

impl Old {
    /// The name under which the model reads the data that was about to take the name of `target`, if a save did not come
    /// to its end.
    fn unfinished(&self, target: &Target) -> Option<OsString> {
        let names =
            self.data.iter().filter_map(|(id, location)| Some((id, Path::new(location).file_name()?)));
        let mut unfinished = names.filter(|(id, name)| {
            let is_here = |entry| matches!(entry, Ok(Entry::File(file)) if file.id == **id);
            is_fresh_name(name, &target.name) && is_here(target.dir.entry(name))
        });
        unfinished.next().map(|(_, name)| name.to_owned())
    }

    /// Reads the model that is replaced, if that matters. What is not a binary model is not known to have data.
    fn of(outputs: &Outputs<'_>, main: Option<&FileEntry>) -> Self {
        let Some(entry) = main.filter(|entry| entry.len > 0 && !outputs.data.is_empty()) else {
            return Self::default();
        };
        let Ok(file) = outputs.main.dir.open_entry(&outputs.main.name) else { return Self::default() };
        let Ok(bytes) = crate::mmap::map(&file, entry.len, false) else { return Self::default() };
        let Ok(decoded) = decode(bytes, &DecodeOptions::default()) else { return Self::default() };
        let mut external = false;
        for_each_tensor(&decoded.model, |_, tensor| external |= tensor.is_external());
        let data = data_files(&decoded.model, outputs.folder, |_| true);
        let exist = outputs.data.iter().all(|target| target.entry().is_ok_and(|entry| entry.is_some()));
        Self { data, missing: external && !exist }
    }
}
