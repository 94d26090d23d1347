//! External data of several models, as the data of one.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use onnx_codec::DataFile;
use onnx_types::tensor::{DataErrorReason, DataSource as _, Payload, Tensor};

use crate::args::Weights;
use crate::exit::Failure;
use crate::input::{DataPlace, Loaded, is_stream};
use crate::output::Out;
use crate::tensors;
use crate::weights::{self, Placement};

/// Gives the external data of all models locations that are relative to one directory. Returns the place of that, and the files
/// that have to be written with the output.
pub(super) fn gather(
    loaded: &mut [Loaded],
    to: &Placement<'_>,
    out: &Out,
) -> Result<(DataPlace, Vec<DataFile>), Failure> {
    let directories = loaded.iter().map(directory).collect::<Result<Vec<_>, _>>()?;
    let mut used: Vec<&PathBuf> = directories.iter().flatten().collect();
    used.dedup();
    let first = loaded.iter().zip(&directories).find(|(_, directory)| directory.is_some());
    let first = first.map(|(loaded, _)| loaded).or(loaded.first());
    let place = first.map(|loaded| loaded.place.clone()).unwrap_or_default();
    if used.len() < 2 {
        // As for one model.
        return Ok((place, Vec::new()));
    }
    if is_stream(to.path) || matches!(to.weights, Weights::Embed | Weights::External(_)) {
        for loaded in loaded.iter_mut() {
            weights::embed(loaded, out)?;
        }
        return Ok((place, Vec::new()));
    }
    if *to.weights == Weights::Keep {
        let message =
            "the models have external data in different directories, which one model cannot refer to";
        return Err(Failure::new(message).help("`--weights auto` copies it into the directory of the output"));
    }
    let target = to.path.parent().unwrap_or(Path::new("")).to_owned();
    let files = relocate(loaded, &directories, &target, out)?;
    Ok((DataPlace::in_directory(target), files))
}

/// The directory of the external data of a model that has some.
fn directory(loaded: &Loaded) -> Result<Option<PathBuf>, Failure> {
    if weights::external_locations(loaded) == 0 {
        return Ok(None);
    }
    match loaded.place.directory() {
        Some(directory) => Ok(Some(resolved(directory))),
        None => {
            let message = "the model has external data, but came from a stream, which has no directory";
            Err(Failure::new(message).about(&loaded.name).help("`--data-dir DIR` specifies the directory"))
        }
    }
}

fn resolved(path: &Path) -> PathBuf {
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

/// Lets models refer to files in one directory: those that are there stay, others are copied, under other names where these
/// are taken.
fn relocate(
    loaded: &mut [Loaded],
    directories: &[Option<PathBuf>],
    target: &Path,
    out: &Out,
) -> Result<Vec<DataFile>, Failure> {
    let target = resolved(target);
    let mut taken: BTreeSet<String> = BTreeSet::new();
    let is_there = |directory: &Option<PathBuf>| directory.as_ref() == Some(&target);
    for (loaded, _) in loaded.iter().zip(directories).filter(|(_, directory)| is_there(directory)) {
        taken.extend(locations(loaded));
    }
    let mut files = Vec::new();
    let mut known: BTreeMap<(&PathBuf, String), String> = BTreeMap::new();
    for (loaded, directory) in loaded.iter_mut().zip(directories) {
        let Some(directory) = directory.as_ref().filter(|&directory| *directory != target) else { continue };
        let source = loaded.source()?;
        let mut names: BTreeMap<String, String> = BTreeMap::new();
        for location in locations(loaded) {
            if let Some(new) = known.get(&(directory, location.clone())) {
                names.insert(location, new.clone());
                continue;
            }
            match source.read(&location, 0, None) {
                Ok(contents) => {
                    let new = free(&mut taken, &location);
                    files.push(DataFile::new(new.clone(), contents));
                    known.insert((directory, location.clone()), new.clone());
                    names.insert(location, new);
                }
                Err(error) if error.reason == DataErrorReason::NotFound => {
                    let help = "copy the file to the directory of the output, under the same name";
                    out.warning(&format!("{error}; the output still refers to it"), Some(help));
                }
                Err(error) => return Err(Failure::from(error).about(&loaded.name)),
            }
        }
        loaded.model.replace_tensors(|_, tensor| moved(tensor, &names));
    }
    Ok(files)
}

/// The files that a model refers to.
fn locations(loaded: &Loaded) -> BTreeSet<String> {
    let mut locations = BTreeSet::new();
    tensors::for_each(&loaded.model, |_, tensor| {
        if let Payload::External(entries) = tensor.payload()
            && let Ok(location) = entries.location()
        {
            locations.insert(onnx_codec::source::normalized(location));
        }
    });
    locations
}

/// The tensor with another location.
fn moved(tensor: &Tensor, names: &BTreeMap<String, String>) -> Option<Tensor> {
    let Payload::External(entries) = tensor.payload() else { return None };
    let new = names.get(&onnx_codec::source::normalized(entries.location().ok()?))?;
    let mut entries = entries.clone();
    entries.set("location", new.as_str());
    let mut tensor = tensor.clone();
    tensor.set_payload(Payload::External(entries));
    Some(tensor)
}

/// A location like another one that is free: `w.data`, `w_2.data`.
fn free(taken: &mut BTreeSet<String>, location: &str) -> String {
    let (stem, extension) = match location.rsplit_once('.') {
        Some((stem, extension)) if !extension.contains('/') => (stem, format!(".{extension}")),
        _ => (location, String::new()),
    };
    let mut name = location.to_owned();
    let mut number = 2_u64;
    while !taken.insert(name.clone()) {
        name = format!("{stem}_{number}{extension}");
        number += 1;
    }
    name
}
