//! `onnx weights import`: weights from files, or generated ones.

use std::collections::HashMap;
use std::path::Path;

use onnx_codec::ReadMode;
use onnx_eval::Value;
use onnx_types::tensor::Tensor;
use onnx_types::{Shape, Type};
use onnx_weights::safetensors::{Safetensors, parse, parse_index};
use onnx_weights::{Replacement, Weight, WeightError, replace, restore, stripped_seed, weights};
use serde_json::json;

use super::place;
use super::verbs::{chosen, report};
use crate::args::{Changed, ExternalArgs, ImportWeightsArgs};
use crate::exit::{Failure, Outcome};
use crate::format;
use crate::input::{Loaded, display_name, load_to_copy};
use crate::output::{Out, shown};
use crate::progress::Progress;
use crate::reading::read;
use crate::run::files::Archive;
use crate::run::{extension, file_value};
use crate::size::plural;
use crate::store;

pub(super) fn run(args: &ImportWeightsArgs, out: &mut Out) -> Result<Outcome, Failure> {
    if args.weights_file.is_none() && args.replace.is_empty() && !args.generate {
        return Err(Failure::new("there is nothing to import")
            .help("name a file with weights, or use `--replace NAME=FILE` or `--generate`"));
    }
    let changed = Changed { path: &args.input_file, from: args.input.from, in_place: args.in_place.in_place };
    let placement = args.output.placement(Some(&changed), &ExternalArgs::DEFAULT, out)?;
    let progress = Progress::start("importing", 1);
    progress.begin(&display_name(&args.input_file));
    let mut loaded = load_to_copy(&args.input_file, &args.input)?;
    progress.aside(|| loaded.report_complete(&args.input.severity, out))?;
    let inputs = loaded.files()?;
    let mut replacements = Vec::new();
    if let Some(path) = &args.weights_file {
        replacements.extend(from_file(path, args.input.mode_of_copy(), &loaded)?);
    }
    for text in &args.replace {
        let one = from_argument(text, &loaded)?;
        replacements.retain(|known: &Replacement| known.name != one.name);
        replacements.push(one);
    }
    let replaced = replace(&mut loaded.model, replacements)?;
    let mut generated = 0;
    if args.generate {
        let seed = args.seed.or_else(|| stripped_seed(&loaded.model)).unwrap_or_default();
        generated = restore(&mut loaded.model, seed, &loaded.execution)?;
    }
    let item = json!({ "replaced": replaced, "generated": generated });
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

/// The tensors of a file, or of all files of an index.
fn from_file(path: &Path, mode: ReadMode, loaded: &Loaded) -> Result<Vec<Replacement>, Failure> {
    match extension(path).as_str() {
        "npz" => return of_archive(path, loaded),
        "npy" | "pb" => {
            return Err(Failure::new("holds one tensor without the name of a weight")
                .about(&display_name(path))
                .help("name the weight: `--replace NAME=FILE`"));
        }
        "onnx" | "onnxtxt" | "textproto" => {
            return Err(format::not_a(path, "a file of tensors").help("tensors are read from `.safetensors`, its index, and `.npz`: `onnx weights export` writes them"));
        }
        _ => {}
    }
    let about = |failure: Failure, path: &Path| failure.about(&display_name(path));
    let open = |path: &Path| -> Result<Safetensors, Failure> {
        let bytes = read(path, mode, &loaded.execution.interrupt)?;
        let most = loaded.execution.limits.tensors;
        parse(&bytes, most).map_err(|error| about(error.into(), path))
    };
    let mut found = Vec::new();
    let mut add = |file: &Safetensors, path: &Path| {
        let tensors = file.tensors().map_err(|error| about(error.into(), path))?;
        found.extend(tensors.into_iter().map(|(name, tensor)| Replacement::new(name, tensor)));
        Ok::<(), Failure>(())
    };
    if extension(path) == "json" {
        let text = read(path, ReadMode::Memory, &loaded.execution.interrupt)?;
        let index = parse_index(&text).map_err(|error| about(error.into(), path))?;
        let directory = path.parent().unwrap_or(Path::new(""));
        for name in index.file_names() {
            loaded.execution.interrupt.check()?;
            let shard = directory.join(name);
            let file = open(&shard)?;
            index.check(name, &file).map_err(|error| about(error.into(), path))?;
            add(&file, &shard)?;
        }
        return Ok(found);
    }
    add(&open(path)?, path)?;
    Ok(found)
}

/// The arrays of an archive of NumPy. A weight determines the element type of its array, which NumPy may lack.
fn of_archive(path: &Path, loaded: &Loaded) -> Result<Vec<Replacement>, Failure> {
    let known = weights(&loaded.model);
    let types: HashMap<&str, Type> = known.iter().map(|weight| (weight.name.as_str(), ty(weight))).collect();
    let mut archive = Archive::open(path, &loaded.execution)?;
    // Nothing is inflated of an archive with another array.
    if let Some(unknown) = archive.names().iter().find(|name| !types.contains_key(name.as_str())) {
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

/// Reads `NAME=FILE`.
fn from_argument(text: &str, loaded: &Loaded) -> Result<Replacement, Failure> {
    let malformed = || {
        Failure::new(format_args!("`{}` is not NAME=FILE", shown(text)))
            .help("write the name of a weight and a file: `--replace conv1.bias=bias.npy`")
    };
    let (name, path) = text.rsplit_once('=').ok_or_else(malformed)?;
    let weights = chosen(&loaded.model, &[name.to_owned()])?;
    let [weight] = weights.as_slice() else {
        let message = format_args!("`{}` selects {}", shown(name), plural(weights.len() as u64, "weight"));
        return Err(Failure::new(message).help("name one weight: `onnx weights list MODEL` lists them"));
    };
    let path = Path::new(path);
    let tensor = match extension(path).as_str() {
        "safetensors" => of_safetensors(path, &weight.name, loaded)?,
        _ => {
            let value = file_value(path, &weight.name, Some(&ty(weight)), &loaded.execution)?;
            let tensor = value.tensor().map(|tensor| Tensor::clone(tensor));
            tensor.ok_or_else(|| {
                Failure::new("is not a tensor").about(&display_name(path)).help("use a tensor")
            })?
        }
    };
    Ok(Replacement::new(weight.name.clone(), tensor))
}

/// The tensor of a name in a file, or its only one.
fn of_safetensors(path: &Path, name: &str, loaded: &Loaded) -> Result<Tensor, Failure> {
    let about = |failure: Failure| failure.about(&display_name(path));
    let bytes = read(path, ReadMode::Memory, &loaded.execution.interrupt)?;
    let file = parse(&bytes, loaded.execution.limits.tensors).map_err(|error| about(error.into()))?;
    let mut tensors = file.tensors().map_err(|error| about(error.into()))?;
    let only = if tensors.len() == 1 { Some(0) } else { None };
    let position = tensors.iter().position(|(known, _)| known == name).or(only);
    match position {
        Some(position) => Ok(tensors.swap_remove(position).1),
        None => Err(about(Failure::new(format_args!("has no tensor `{}`", shown(name))))
            .help("a file with one tensor may have any name for it")),
    }
}
