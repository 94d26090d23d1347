//! `onnx weights import`: weights from files, among them other models, or generated ones.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use bytes::Bytes;
use onnx_codec::InputFiles;
use onnx_eval::Value;
use onnx_types::tensor::Tensor;
use onnx_types::{Shape, Type};
use onnx_weights::safetensors::{Safetensors, parse, parse_index};
use onnx_weights::{
    Replacement, Weight, WeightError, replace, replacements, replacements_for, restore, stripped_names,
    stripped_seed, weights,
};
use serde_json::json;

use super::verbs::{chosen, report};
use super::{RESTORE, about_data, place};
use crate::args::{Changed, ExternalArgs, ImportWeightsArgs};
use crate::exit::{Failure, Outcome};
use crate::input::{
    Contents, DataPlace, Loaded, display_name, is_stdin, load_contents, load_to_copy, reading,
};
use crate::output::{Out, shown};
use crate::part::Part;
use crate::progress::Progress;
use crate::reading::{read, read_stdin};
use crate::run::files::Archive;
use crate::run::{extension, file_value};
use crate::size::plural;
use crate::{format, known_names, store};

pub(super) fn run(args: &ImportWeightsArgs, out: &mut Out) -> Result<Outcome, Failure> {
    if args.weights_file.is_none() && args.replace.is_empty() && !args.generate {
        return Err(Failure::new("there is nothing to import").help(
            "name a file with weights or another model, or use `--replace NAME=FILE` or `--generate`",
        ));
    }
    let changed = Changed { path: &args.input_file, from: args.input.from, in_place: args.in_place.in_place };
    let placement = args.output.placement(Some(&changed), &ExternalArgs::DEFAULT, out)?;
    let progress = Progress::start("importing", 1);
    progress.begin(&display_name(&args.input_file));
    let mut loaded = load_to_copy(&args.input_file, &args.input)?;
    progress.aside(|| loaded.report_complete(&args.input.severity, out))?;
    let inputs = loaded.files()?;
    let mut files = Files { args, loaded: &loaded, inputs, others: Vec::new() };
    let mut found = Vec::new();
    if let Some(path) = &args.weights_file {
        let all = files.all(path)?;
        found.extend(progress.aside(|| for_stripped(all, path, files.loaded, out))?);
    }
    for text in &args.replace {
        let one = files.of_argument(text)?;
        found.retain(|known: &Replacement| known.name != one.name);
        found.push(one);
    }
    let Files { inputs, others, .. } = files;
    progress.aside(|| {
        others.into_iter().try_for_each(|mut other| other.report_complete(&args.input.severity, out))
    })?;
    let replaced = replace(&mut loaded.model, found)?;
    let mut generated = 0;
    if args.generate {
        let seed = args.seed.or_else(|| stripped_seed(&loaded.model)).unwrap_or_default();
        generated = restore(&mut loaded.model, seed, &loaded.execution)?;
    }
    let left = progress.aside(|| mention_left(&loaded, out));
    let item = json!({ "replaced": replaced, "generated": generated, "stripped": left });
    progress.aside(|| {
        let mut text = format!("replaced {}", plural(replaced as u64, "tensor"));
        if args.generate {
            text.push_str(&format!(", generated {}", plural(generated as u64, "tensor")));
        }
        out.summary(&text);
        report(&loaded, "weights-import/1", item, out)
    })?;
    let to = placement.destination(loaded.execution.clone(), args.output.write, inputs);
    let files = place(&mut loaded, &placement, out)?;
    store::write(&loaded.model, &to, &files, progress, out)?;
    Ok(Outcome::Fine)
}

/// The files that replacements are read from.
struct Files<'a> {
    args: &'a ImportWeightsArgs,
    /// The model that gets the weights.
    loaded: &'a Loaded,
    /// The files that the output must not replace.
    inputs: InputFiles,
    /// Models among the files.
    others: Vec<Loaded>,
}

/// What a file holds.
enum Source {
    Model(Box<Loaded>),
    /// A file of tensors, or an index of several.
    Tensors(Bytes),
}

impl Files<'_> {
    /// The tensors of a file, or of all files of an index, or the weights of a model.
    fn all(&mut self, path: &Path) -> Result<Vec<Replacement>, Failure> {
        match extension(path).as_str() {
            "npz" => return of_archive(path, self.loaded),
            "npy" => return Err(one_tensor(path)),
            _ => {}
        }
        let about = |failure: Failure| failure.about(&display_name(path));
        match self.open(path)? {
            Source::Model(other) => self.of_model(*other, None),
            Source::Tensors(_) if extension(path) == "pb" => Err(one_tensor(path)),
            Source::Tensors(text) if extension(path) == "json" => self.of_index(path, &text),
            Source::Tensors(bytes) => {
                let file = parse(&bytes, self.loaded.execution.limits.tensors)
                    .map_err(|error| about(error.into()))?;
                tensors(&file).map_err(about)
            }
        }
    }

    /// Opens a file that may be a model. Models, and what looks like one, are those that other commands read.
    fn open(&self, path: &Path) -> Result<Source, Failure> {
        let (mode, execution) = (self.args.input.mode_of_copy(), &self.loaded.execution);
        // Before the file is read, so that it is noticed if another one takes its place.
        let place = DataPlace::new(path);
        let bytes = match is_stdin(path) {
            true => read_stdin(&execution.interrupt)?,
            false => read(path, mode, &execution.interrupt)?,
        };
        let Some(format) = format::of_model(path, &bytes) else { return Ok(Source::Tensors(bytes)) };
        let contents = Contents { name: display_name(path), bytes, place, format: Some(format), mode };
        Ok(Source::Model(Box::new(load_contents(contents, Part::Model, &reading(execution.clone()))?)))
    }

    /// The weights of a model for this one, or the one of a name.
    fn of_model(&mut self, other: Loaded, only: Option<&str>) -> Result<Vec<Replacement>, Failure> {
        let source = other.source()?;
        let interrupt = &self.loaded.execution.interrupt;
        let found = match only {
            Some(only) => replacements(&other.model, &source, &|weight| weight.name == only, interrupt),
            None => replacements_for(&self.loaded.model, &other.model, &source, interrupt),
        };
        let found = found.map_err(|error| match &error {
            WeightError::Named { .. } => about_data(error.into(), &other).about(&other.name),
            WeightError::NoneStripped(first) => {
                let of_other = weights(&other.model);
                let help = prefix_help(first, of_other.iter().map(|weight| weight.name.as_str()));
                let failure = Failure::from(error).about(&other.name);
                match help {
                    Some(help) => failure.help(help),
                    None => failure,
                }
            }
            _ => Failure::from(error).about(&other.name),
        })?;
        self.inputs.append(other.files()?);
        self.others.push(other);
        Ok(found)
    }

    fn of_index(&self, path: &Path, text: &[u8]) -> Result<Vec<Replacement>, Failure> {
        let about = |failure: Failure, path: &Path| failure.about(&display_name(path));
        let execution = &self.loaded.execution;
        let index = parse_index(text).map_err(|error| about(error.into(), path))?;
        let directory = path.parent().unwrap_or(Path::new(""));
        let mut found = Vec::new();
        for name in index.file_names() {
            execution.interrupt.check()?;
            let shard = directory.join(name);
            let bytes = read(&shard, self.args.input.mode_of_copy(), &execution.interrupt)?;
            let file =
                parse(&bytes, execution.limits.tensors).map_err(|error| about(error.into(), &shard))?;
            index.check(name, &file).map_err(|error| about(error.into(), path))?;
            found.extend(tensors(&file).map_err(|failure| about(failure, &shard))?);
        }
        Ok(found)
    }

    /// Reads `NAME=FILE`.
    fn of_argument(&mut self, text: &str) -> Result<Replacement, Failure> {
        let malformed = || {
            Failure::new(format_args!("`{}` is not NAME=FILE", shown(text)))
                .help("write the name of a weight and a file: `--replace conv1.bias=bias.npy`")
        };
        let (name, path) = text.rsplit_once('=').ok_or_else(malformed)?;
        let chosen = chosen(&self.loaded.model, &[name.to_owned()])?;
        let [weight] = chosen.as_slice() else {
            let message = format_args!("`{}` selects {}", shown(name), plural(chosen.len() as u64, "weight"));
            return Err(Failure::new(message).help("name one weight: `onnx weights list MODEL` lists them"));
        };
        let tensor = self.one(Path::new(path), weight)?;
        Ok(Replacement::new(weight.name.clone(), tensor))
    }

    /// The tensor of a file for a weight.
    fn one(&mut self, path: &Path, weight: &Weight<'_>) -> Result<Tensor, Failure> {
        let about = |failure: Failure| failure.about(&display_name(path));
        if ["npy", "npz", "pb"].contains(&extension(path).as_str()) {
            let value = file_value(path, &weight.name, Some(&ty(weight)), &self.loaded.execution)?;
            let tensor = value.tensor().map(|tensor| Tensor::clone(tensor));
            return tensor.ok_or_else(|| about(Failure::new("is not a tensor").help("use a tensor")));
        }
        let named = || Failure::new(format_args!("has no tensor `{}`", shown(&weight.name)));
        match self.open(path)? {
            Source::Model(other) => {
                let found = self.of_model(*other, Some(&weight.name))?.pop();
                let found = found.map(|replacement| replacement.tensor);
                found.ok_or_else(|| {
                    about(named()).help("`onnx weights list MODEL` lists the weights of a model")
                })
            }
            Source::Tensors(bytes) => {
                let file = parse(&bytes, self.loaded.execution.limits.tensors)
                    .map_err(|error| about(error.into()))?;
                let mut found = tensors(&file).map_err(about)?;
                let only = if found.len() == 1 { Some(0) } else { None };
                match found.iter().position(|one| one.name == weight.name).or(only) {
                    Some(position) => Ok(found.swap_remove(position).tensor),
                    None => Err(about(named()).help("a file with one tensor may have any name for it")),
                }
            }
        }
    }
}

fn one_tensor(path: &Path) -> Failure {
    Failure::new("holds one tensor without the name of a weight")
        .about(&display_name(path))
        .help("name the weight: `--replace NAME=FILE`")
}

/// The tensors of a file that a model has weights for. Others are left out if weights of the model were stripped: what has happened to
/// it since then can have removed some.
fn for_stripped(
    found: Vec<Replacement>,
    path: &Path,
    loaded: &Loaded,
    out: &Out,
) -> Result<Vec<Replacement>, Failure> {
    let stripped = stripped_names(&loaded.model);
    let Some(first) = stripped.first().cloned() else { return Ok(found) };
    let stripped: HashSet<String> = stripped.into_iter().collect();
    let all = weights(&loaded.model);
    let all: HashMap<&str, &Tensor> =
        all.iter().map(|weight| (weight.name.as_str(), weight.tensor)).collect();
    let fits = |one: &Replacement| {
        let same = |old: &&Tensor| (old.elem(), old.dims()) == (one.tensor.elem(), one.tensor.dims());
        stripped.contains(&one.name) || all.get(one.name.as_str()).is_some_and(same)
    };
    let (known, others): (Vec<Replacement>, Vec<Replacement>) = found.into_iter().partition(fits);
    let file = display_name(path);
    if known.is_empty() {
        let help = prefix_help(&first, others.iter().map(|one| one.name.as_str()));
        let failure = Failure::from(WeightError::NoneStripped(first)).about(&file);
        return Err(match help {
            Some(help) => failure.help(help),
            None => failure,
        });
    }
    if !others.is_empty() {
        let left = plural(others.len() as u64, "tensor");
        out.note(
            &format!("left out {left} of {file}: the model has no weights of these names and types"),
            "the weights of a stripped model can be gone since then, by `simplify` for example",
        );
    }
    Ok(known)
}

/// What to do if the stripped weights have a prefix since then.
fn prefix_help<'n>(stripped: &str, mut names: impl Iterator<Item = &'n str>) -> Option<String> {
    let prefix = names.find_map(|name| stripped.strip_suffix(name)).filter(|prefix| !prefix.is_empty())?;
    let prefix = shown(prefix);
    Some(format!(
        "the names of the model begin with `{prefix}`: import after `onnx edit MODEL --remove-prefix {prefix} -o NEW`; \
         `onnx edit --prefix {prefix}` gives the prefix back"
    ))
}

/// The tensors of a file.
fn tensors(file: &Safetensors) -> Result<Vec<Replacement>, Failure> {
    let found = file.tensors()?;
    Ok(found.into_iter().map(|(name, tensor)| Replacement::new(name, tensor)).collect())
}

/// Warns of weights that have no elements after the import.
fn mention_left(loaded: &Loaded, out: &Out) -> u64 {
    /// More names are in the model that is written.
    const MOST_NAMES: usize = 5;
    let left = stripped_names(&loaded.model);
    let left: Vec<&str> = left.iter().map(String::as_str).collect();
    let count = left.len() as u64;
    if count > 0 {
        let verb = if count == 1 { "stays" } else { "stay" };
        let names = known_names::listed(&left, MOST_NAMES);
        let message = format!("{} {verb} without elements: {names}", plural(count, "stripped tensor"));
        out.warning(&message, Some(RESTORE));
    }
    count
}

/// The arrays of an archive of NumPy. A weight determines the element type of its array, which NumPy may lack.
fn of_archive(path: &Path, loaded: &Loaded) -> Result<Vec<Replacement>, Failure> {
    let known = weights(&loaded.model);
    let types: HashMap<&str, Type> = known.iter().map(|weight| (weight.name.as_str(), ty(weight))).collect();
    let mut archive = Archive::open(path, &loaded.execution)?;
    // Nothing is inflated of an archive with another array.
    let unknown = archive.names().iter().find(|name| !types.contains_key(name.as_str()));
    if let Some(unknown) = unknown.filter(|_| stripped_names(&loaded.model).is_empty()) {
        return Err(WeightError::NoSuchWeight(unknown.clone()).into());
    }
    let mut replacements = Vec::new();
    for name in archive.names().to_vec() {
        let value = archive.array(&name, types.get(name.as_str()))?;
        if let Some(tensor) = value.as_ref().and_then(Value::tensor) {
            replacements.push(Replacement::new(name, Tensor::clone(tensor)));
        }
    }
    Ok(replacements)
}

/// The type of a weight.
fn ty(weight: &Weight<'_>) -> Type {
    Type::tensor(weight.tensor.elem(), Some(Shape::known(weight.tensor.dims())))
}
