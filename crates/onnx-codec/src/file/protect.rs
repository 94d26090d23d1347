//! Which files a write may replace. One function decides for all writers, before anything is changed.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::io;
use std::path::Path;

use onnx_ir::Model;

use super::dir::{Dir, Entry, FileEntry, FileId};
use super::kind::Kind;
use super::stage::{Temporaries, is_fresh_name};
use super::target::Target;
use crate::externalize::walk::for_each_tensor;
use crate::{DecodeOptions, decode};
use onnx_types::tensor::Payload;

/// How to write, and what must stay as it is.
#[derive(Clone, Debug, Default)]
pub struct WriteOptions {
    /// Replace existing files of another kind, and existing data files that no model to be replaced reads. Files that
    /// the input or the new model reads are not replaced even so.
    pub force: bool,
    /// The models that the output was made from. Their external data is not replaced, unless the output replaces the
    /// model itself.
    pub inputs: InputFiles,
    /// The temporary files of all writes of the program.
    pub temporaries: Temporaries,
}

/// Models that were read, and the files of their external data, known by device and inode.
#[derive(Clone, Debug, Default)]
pub struct InputFiles(Vec<InputModel>);

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
    /// When the path cannot be looked at.
    pub fn add(&mut self, path: impl AsRef<Path>, model: &Model) -> io::Result<()> {
        let path = path.as_ref();
        let target = Target::for_path(path)?;
        let file = target.entry()?.map(|entry| (target, entry));
        self.push(file, path.parent().unwrap_or(Path::new("")), model);
        Ok(())
    }

    /// The files of a model that was read from a stream, if its data is in a directory.
    pub fn add_data(&mut self, directory: impl AsRef<Path>, model: &Model) {
        self.push(None, directory.as_ref(), model);
    }

    fn push(&mut self, file: Option<(Target, FileEntry)>, directory: &Path, model: &Model) {
        let root = Dir::open(directory).and_then(|dir| dir.id()).ok();
        self.0.push(InputModel { file, root, data: data_files(model, directory, |_| true) });
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

/// Why a file is not replaced.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refusal {
    /// A model that was read has its external data in the file.
    ReadByInput,
    /// The file is a model that was read, and would become external data.
    IsInput,
    /// The model to be written has external data in the file.
    ReadByOutput,
    /// The file is the model to be written, or another of its data files.
    WrittenTwice,
    /// The model that would be replaced has other names (hard links), which would go with the new data.
    OtherNames {
        /// The number of names.
        names: u64,
    },
    /// The file exists and is not of the kind to be written.
    OtherKind {
        /// The kind to be written.
        kind: Kind,
    },
    /// The data file exists, and the model to be replaced does not read it.
    OtherData,
}

impl Refusal {
    /// Whether [`WriteOptions::force`] makes a difference.
    #[must_use]
    pub const fn yields_to_force(&self) -> bool {
        matches!(self, Self::OtherNames { .. } | Self::OtherKind { .. } | Self::OtherData)
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ReadByInput => {
                f.write_str("the input model has external data in it; choose another name, or write over the input model")
            }
            Self::IsInput => f.write_str("it is the input model; choose another name for the external data"),
            Self::ReadByOutput => {
                f.write_str("the model to be written has external data in it; choose another name")
            }
            Self::WrittenTwice => {
                f.write_str("it is the model itself, or another file of its data; choose another name for the external data")
            }
            Self::OtherNames { names } => write!(
                f,
                "the model that reads it has {names} names (hard links), and would be damaged under the others"
            ),
            Self::OtherKind { kind } => write!(f, "it exists and is not {}", kind.name()),
            Self::OtherData => f.write_str("it exists and is not known to be data of the model to be replaced"),
        }
    }
}

impl std::error::Error for Refusal {}

impl From<Refusal> for io::Error {
    fn from(refusal: Refusal) -> Self {
        Self::new(io::ErrorKind::AlreadyExists, refusal)
    }
}

/// Files that are to be written together.
pub(crate) struct Outputs<'a> {
    pub(crate) main: &'a Target,
    pub(crate) kind: Kind,
    /// The directory that locations of data files are relative to.
    pub(crate) folder: &'a Path,
    pub(crate) data: &'a [Target],
    /// The files that the model to be written reads without their being written.
    pub(crate) kept: &'a BTreeMap<FileId, String>,
}

/// What is replaced.
pub(crate) struct Replaced {
    pub(crate) main: Option<FileEntry>,
    pub(crate) data: Vec<Option<FileEntry>>,
    /// Whether the model to be replaced reads a file that is written, or may do so. A reader that has one of the two in
    /// its old and the other in its new state would then get wrong weights.
    pub(crate) is_pair: bool,
    /// Names that a save which did not come to its end gave to data, beside the name that this data file will have.
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
    let old = Old::of(outputs, main.as_ref());
    let (mut data, mut stale) = (Vec::new(), Vec::new());
    let mut is_pair = false;
    for (index, target) in outputs.data.iter().enumerate() {
        let denied = |error| (Some(index), error);
        let earlier = outputs.data.iter().take(index);
        if earlier.chain([outputs.main]).any(|other| other.is(target)) {
            return Err(denied(Refusal::WrittenTwice.into()));
        }
        let entry = target.entry().map_err(denied)?;
        if let Some(entry) = &entry {
            let unfinished = old.unfinished(target);
            let belongs = entry.len == 0 || old.data.contains_key(&entry.id) || unfinished.is_some();
            let decision = may_replace_data(outputs, entry, main.as_ref(), belongs, options);
            decision.map_err(|refusal| denied(refusal.into()))?;
            stale.extend(unfinished.map(|name| (index, name)));
        }
        is_pair |= entry.is_some();
        data.push(entry);
    }
    Ok(Replaced { is_pair: is_pair || old.missing, main, data, stale })
}

fn may_replace_main(outputs: &Outputs<'_>, entry: &FileEntry, options: &WriteOptions) -> io::Result<()> {
    if outputs.kept.contains_key(&entry.id) {
        return Err(Refusal::ReadByOutput.into());
    }
    let mut is_input = false;
    for input in &options.inputs.0 {
        let is_this = input.is_replaced(outputs);
        if input.data.contains_key(&entry.id) && !is_this {
            return Err(Refusal::ReadByInput.into());
        }
        is_input |= is_this || input.file.as_ref().is_some_and(|(_, file)| file.id == entry.id);
    }
    match is_input || options.force || outputs.kind.matches(outputs.main, entry)? {
        true => Ok(()),
        false => Err(Refusal::OtherKind { kind: outputs.kind }.into()),
    }
}

fn may_replace_data(
    outputs: &Outputs<'_>,
    entry: &FileEntry,
    main: Option<&FileEntry>,
    mut belongs: bool,
    options: &WriteOptions,
) -> Result<(), Refusal> {
    if outputs.kept.contains_key(&entry.id) {
        return Err(Refusal::ReadByOutput);
    }
    for input in &options.inputs.0 {
        if input.file.as_ref().is_some_and(|(_, file)| file.id == entry.id) {
            return Err(Refusal::IsInput);
        }
        if input.data.contains_key(&entry.id) {
            if !input.is_replaced(outputs) {
                return Err(Refusal::ReadByInput);
            }
            belongs = true;
        }
    }
    match main.map_or(1, |main| main.names) {
        _ if options.force => Ok(()),
        _ if !belongs => Err(Refusal::OtherData),
        names if names > 1 && entry.len > 0 => Err(Refusal::OtherNames { names }),
        _ => Ok(()),
    }
}

impl InputModel {
    /// Whether writing the outputs replaces this model, so that nobody reads its data any more: the same name, not only
    /// the same file, and data in the same directory.
    fn is_replaced(&self, outputs: &Outputs<'_>) -> bool {
        let same_root = || {
            let root = Dir::open(outputs.folder).and_then(|dir| dir.id()).ok();
            root.is_some() && root == self.root
        };
        self.file.as_ref().is_some_and(|(target, _)| target.is(outputs.main)) && same_root()
    }
}

/// What is known of the model that is replaced.
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
