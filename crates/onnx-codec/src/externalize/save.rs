//! Writing a model together with its external data.
//!
//! Two files cannot be replaced in one step, so the order of the steps makes every intermediate state consistent. Where
//! the model that is replaced reads none of the data files, these take their names first, and the model last. Otherwise
//!
//! 1. the data takes new names next to the old ones, such as `w-0123456789abcdef.data`,
//! 2. the model is replaced by one that reads them there: from here on, the new pair is in force,
//! 3. the new data takes the names of the old data, as second names of the same files,
//! 4. the model is replaced by the one with the final locations, and the names of step 1 are removed.
//!
//! A process that ends before step 2 leaves the old pair, after it the new one. Other writers wait for a lock on the
//! directories meanwhile, and a reader that finds the model replaced after it opened the data knows that it must start
//! again.

use std::ffi::OsStr;
use std::io::{self, Write};
use std::path::Path;

use onnx_ir::Model;
use onnx_types::tensor::Payload;

use super::DataFile;
use super::walk::{for_each_tensor, replace_tensors};
use crate::file::dir::Dir;
use crate::file::protect::{Denied, Outputs, Replaced, decide, external_data};
use crate::file::stage::{Held, Staged, fresh_name};
use crate::file::target::{Target, lock};
use crate::file::{FileError, FileKind, WriteOptions, create_folders};
use crate::source::normalized as spelling;
use crate::{EncodeError, EncodeOptions, encode};

/// Why a model could not be saved.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SaveError {
    /// The model cannot be encoded.
    #[error(transparent)]
    Encode(#[from] EncodeError),
    /// A file cannot be written.
    #[error(transparent)]
    File(#[from] FileError),
}

/// Writes a model in its binary form and the files of its external data, whose locations are relative to the model's
/// directory.
///
/// No file that an input of [`WriteOptions::inputs`] or the model itself reads is replaced, and files of other kinds or data
/// files with other contents only where the options say so. All contents are written and brought to disk before any file is replaced, so the files may
/// replace those that the weights are mapped from. Whenever the process ends, the model and its data are both the old ones
/// or both the new ones. Of several processes that write the same files, one pair results.
///
/// A model that is a symbolic link stays one, and the file it leads to is replaced. If that is in another directory,
/// the model must not have external data, unless it replaces an input in place and no data is written. A data file must
/// neither be a link nor be reached through one, and its directory must exist unless [`WriteOptions::folders`] is set.
///
/// # Errors
///
/// Returns an error if the system fails, a file must not be replaced (see [`FileError::refusal`]), or a location is not
/// one that [`FileSource`](crate::FileSource) would read. Unless the message says otherwise, nothing was changed.
pub fn save(
    path: impl AsRef<Path>,
    model: &Model,
    files: &[DataFile],
    encoding: &EncodeOptions,
    options: &WriteOptions,
) -> Result<(), SaveError> {
    let mut failure = None;
    let saved = save_as(path, model, files, options, &mut |model, out| {
        let encoded = encode(model, encoding).map_err(|error| {
            failure = Some(error);
            io::Error::other(error)
        })?;
        encoded.iter().try_for_each(|piece| out.write_all(piece))
    });
    match failure {
        Some(error) => Err(error.into()),
        None => Ok(saved?),
    }
}

/// Like [`save`], for any format: `contents` writes the model that it is given. It may be called twice, with models
/// that differ only in the locations of the files.
///
/// # Errors
///
/// As [`save`], and those of `contents`.
pub fn save_as(
    path: impl AsRef<Path>,
    model: &Model,
    files: &[DataFile],
    options: &WriteOptions,
    contents: &mut dyn FnMut(&Model, &mut dyn Write) -> io::Result<()>,
) -> Result<(), FileError> {
    let path = path.as_ref();
    let folder = path.parent().unwrap_or(Path::new(""));
    match options.folders {
        true => save_in(folder, path, model, &with_folders(files, folder, options)?, options, contents),
        false => save_in(folder, path, model, files, options, contents),
    }
}

/// Writes a model and its data, whose locations are relative to `folder`.
fn save_in(
    folder: &Path,
    path: &Path,
    model: &Model,
    files: &[DataFile],
    options: &WriteOptions,
    contents: &mut dyn FnMut(&Model, &mut dyn Write) -> io::Result<()>,
) -> Result<(), FileError> {
    let at_model = |error| FileError::write(path, error);
    let at_file = |index: usize, error| {
        let location = files.get(index).map_or("", DataFile::location);
        FileError::write(&folder.join(location), error)
    };
    let denied = |(index, error): Denied| match index {
        Some(index) => at_file(index, error),
        None => at_model(error),
    };
    let main = Target::for_path(path).map_err(at_model)?;
    let root = Dir::open(folder).map_err(at_model)?;
    let targets: Vec<Target> = (files.iter().enumerate())
        .map(|(index, file)| Target::for_data(&root, file.location()).map_err(|error| at_file(index, error)))
        .collect::<Result<_, _>>()?;
    let written: Vec<String> = files.iter().map(|file| spelling(file.location())).collect();
    let (kept, is_external) = external_data(model, folder, files);
    let outputs = Outputs {
        main: &main,
        kind: FileKind::Model,
        folder,
        root: root.id().map_err(at_model)?,
        data: &targets,
        contents: files,
        is_external,
        kept: &kept,
    };
    // The answer may change until the files are replaced, but what is wrong now should not cost the time to write everything.
    // Another writer may be between two steps, so this takes the lock, too.
    let locks = lock(targets.iter().chain([&main])).map_err(at_model)?;
    decide(&outputs, options).map_err(denied)?;
    drop(locks);
    if options.dry_run {
        return contents(model, &mut io::sink()).and_then(|()| main.dir.check_writable()).map_err(at_model);
    }

    let mut data = Vec::new();
    for (index, (file, target)) in files.iter().zip(&targets).enumerate() {
        let staged = Staged::new(&target.dir, &options.temporaries).and_then(|mut staged| {
            staged.write_pieces(file.pieces().iter())?;
            staged.sync()?;
            Ok(staged)
        });
        data.push(staged.map_err(|error| at_file(index, error))?);
    }
    let last = staged(&main, model, options, contents).map_err(at_model)?;
    let locks = lock(targets.iter().chain([&main])).map_err(at_model)?;
    let replaced = decide(&outputs, options).map_err(denied)?;
    let pair = Pair { outputs, files, replaced, data, last };
    let done = if pair.replaced.is_pair {
        let fresh: Vec<String> = files.iter().map(|file| fresh_location(file.location())).collect();
        let first = relocated(model, &written, &fresh).map_err(io::Error::other);
        let first = first.and_then(|model| staged(&main, &model, options, contents)).map_err(at_model)?;
        pair.exchange(first, &fresh, options)
    } else {
        pair.place(options)
    };
    drop(locks);
    done.map_err(denied)
}

/// Makes the directories of data files. In a dry run, leaves out the files whose directories do not exist: they replace
/// nothing.
fn with_folders(
    files: &[DataFile],
    folder: &Path,
    options: &WriteOptions,
) -> Result<Vec<DataFile>, FileError> {
    if options.dry_run {
        let is_there = |file: &&DataFile| {
            let path = folder.join(file.location());
            path.parent().is_some_and(|parent| parent.as_os_str().is_empty() || parent.is_dir())
        };
        return Ok(files.iter().filter(is_there).cloned().collect());
    }
    files.iter().try_for_each(|file| create_folders(folder, file.location()))?;
    Ok(files.to_vec())
}

fn staged(
    target: &Target,
    model: &Model,
    options: &WriteOptions,
    contents: &mut dyn FnMut(&Model, &mut dyn Write) -> io::Result<()>,
) -> io::Result<Staged> {
    let mut staged = Staged::new(&target.dir, &options.temporaries)?;
    staged.write_with(|out| contents(model, out))?;
    staged.sync()?;
    Ok(staged)
}

/// `a/w.data` becomes `a/w-0123456789abcdef.data`.
fn fresh_location(location: &str) -> String {
    let name_at = location.rfind('/').map_or(0, |slash| slash.saturating_add(1));
    let (folder, name) = location.split_at(name_at);
    format!("{folder}{}", fresh_name(name))
}

/// The model with its data in other files.
fn relocated(model: &Model, from: &[String], to: &[String]) -> Result<Model, onnx_ir::EditError> {
    let mut replacements = Vec::new();
    for_each_tensor(model, |place, tensor| {
        let Payload::External(entries) = tensor.payload() else { return };
        let location = entries.location().ok().map(spelling);
        let new = from.iter().zip(to).find(|(from, _)| Some(*from) == location.as_ref());
        if let Some((_, to)) = new {
            let mut entries = entries.clone();
            entries.set("location", to.as_str());
            let mut tensor = tensor.clone();
            tensor.set_payload(Payload::External(entries));
            replacements.push((place, tensor));
        }
    });
    let mut model = model.clone();
    replace_tensors(&mut model, replacements)?;
    Ok(model)
}

/// Everything that is to take its name, complete and on disk.
struct Pair<'a> {
    outputs: Outputs<'a>,
    files: &'a [DataFile],
    replaced: Replaced,
    data: Vec<Staged>,
    /// The model with the final locations.
    last: Staged,
}

impl Pair<'_> {
    /// Renames the data files to their names, then the model.
    fn place(mut self, options: &WriteOptions) -> Result<(), Denied> {
        let mut held = options.temporaries.hold().map_err(|error| (None, error))?;
        self.place_data(&mut held, |target| target.name.clone())?;
        self.sync_data()?;
        place_main(&self.outputs, &self.replaced, &mut self.last, &mut held).map_err(|error| (None, error))
    }

    /// The steps that the [module](self) lists, with the model for the time in between.
    fn exchange(mut self, mut first: Staged, fresh: &[String], options: &WriteOptions) -> Result<(), Denied> {
        let mut held = options.temporaries.hold().map_err(|error| (None, error))?;
        let names: Vec<&OsStr> = fresh
            .iter()
            .map(|location| OsStr::new(location.rsplit('/').next().unwrap_or(location)))
            .collect();
        let mut index = 0..;
        let placed = self.place_data(&mut held, |_| {
            let name = index.next().and_then(|index: usize| names.get(index));
            name.map_or_else(Default::default, |name| (*name).to_owned())
        });
        let placed = placed.and_then(|()| self.sync_data()).and_then(|()| {
            place_main(&self.outputs, &self.replaced, &mut first, &mut held).map_err(|error| (None, error))
        });
        if placed.is_err() {
            self.remove(&names);
            return placed;
        }
        self.rename_data(&mut held, &names, options)?;
        self.sync_data()?;
        place_main(&self.outputs, &self.replaced, &mut self.last, &mut held)
            .map_err(|error| (None, error))?;
        self.remove(&names);
        for (index, name) in &self.replaced.stale {
            if let Some(target) = self.outputs.data.get(*index) {
                let _ = target.dir.remove(name);
            }
        }
        Ok(())
    }

    fn place_data(
        &mut self,
        held: &mut Held<'_>,
        mut name: impl FnMut(&Target) -> std::ffi::OsString,
    ) -> Result<(), Denied> {
        let targets = self.outputs.data.iter().zip(&self.replaced.data);
        for (index, ((target, replaced), staged)) in targets.zip(&mut self.data).enumerate() {
            // New data of a model that is replaced is not for more readers than the model is.
            let access = target.access(replaced.as_ref().or(self.replaced.main.as_ref()));
            let placed = access.and_then(|access| staged.place(held, &name(target), access));
            placed.map_err(|error| (Some(index), error))?;
        }
        Ok(())
    }

    /// Links the data files to their final names, in addition to their current ones.
    fn rename_data(
        &mut self,
        held: &mut Held<'_>,
        names: &[&OsStr],
        options: &WriteOptions,
    ) -> Result<(), Denied> {
        for (index, (target, name)) in self.outputs.data.iter().zip(names).enumerate() {
            let linked = held
                .through_temporary(&target.dir, &target.name, |temporary| target.dir.link(name, temporary));
            if linked.is_ok() {
                continue;
            }
            // File systems without hard links get a second copy.
            let file = self.files.get(index);
            let replaced =
                self.replaced.data.get(index).and_then(Option::as_ref).or(self.replaced.main.as_ref());
            let copied = copy(target, replaced, file, held, options);
            copied.map_err(|error| (Some(index), unfinished(&error, name)))?;
        }
        Ok(())
    }

    fn sync_data(&self) -> Result<(), Denied> {
        for (index, target) in self.outputs.data.iter().enumerate() {
            target.dir.sync().map_err(|error| (Some(index), error))?;
        }
        Ok(())
    }

    /// Removes names of the data that no model reads.
    fn remove(&self, names: &[&OsStr]) {
        for (target, name) in self.outputs.data.iter().zip(names) {
            // Ignore failures: a remaining file only takes space.
            let _ = target.dir.remove(name);
        }
    }
}

fn place_main(
    outputs: &Outputs<'_>,
    replaced: &Replaced,
    staged: &mut Staged,
    held: &mut Held<'_>,
) -> io::Result<()> {
    let access = outputs.main.access(replaced.main.as_ref())?;
    staged.place(held, &outputs.main.name, access)?;
    outputs.main.dir.sync()
}

fn copy(
    target: &Target,
    replaced: Option<&crate::file::dir::FileEntry>,
    file: Option<&DataFile>,
    held: &mut Held<'_>,
    options: &WriteOptions,
) -> io::Result<()> {
    let mut staged = Staged::new_held(&target.dir, &options.temporaries, held)?;
    staged.write_pieces(file.into_iter().flat_map(DataFile::pieces))?;
    staged.sync()?;
    staged.place(held, &target.name, target.access(replaced)?)
}

fn unfinished(error: &io::Error, name: &OsStr) -> io::Error {
    let name = name.to_string_lossy();
    let message = format!(
        "{error}; the model was written and is complete, but its data has the name `{}`",
        name.escape_debug()
    );
    io::Error::new(error.kind(), message)
}
