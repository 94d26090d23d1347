//! Inputs that the user gives in files.

use std::collections::BTreeMap;
use std::path::Path;

use onnx_eval::Value;
use onnx_ir::{Model, ValueId};

use super::args::FeedArgs;
use super::files;
use crate::exit::Failure;
use crate::input::Loaded;
use crate::output::shown;

/// Values by the names of inputs.
pub(crate) type Given = BTreeMap<String, Value>;

/// The inputs of a model.
pub(crate) fn inputs(model: &Model) -> &[ValueId] {
    model.graph(model.main_graph()).inputs()
}

pub(crate) fn name(model: &Model, value: ValueId) -> &str {
    model.str(model.value(value).name())
}

/// Reads the files that the arguments name, for a model.
pub(crate) fn read(args: &FeedArgs, loaded: &Loaded) -> Result<Given, Failure> {
    let mut given = match &args.feeds {
        Some(path) if files::extension(path) == "npz" && !path.is_dir() => archive(path, loaded)?,
        Some(path) => directory(path, loaded)?,
        None => Given::new(),
    };
    let model = &loaded.model;
    let mut fed = Vec::new();
    for feed in &args.feed {
        let (input, path) = split(feed, model)?;
        let own = shown(name(model, input));
        if path.is_empty() {
            return Err(Failure::new(format_args!("`--feed {own}=` names no file"))
                .help(format!("write the name of a file `.npy`, `.npz` or `.pb`: `--feed {own}=FILE`")));
        }
        if fed.contains(&input) {
            return Err(Failure::new(format_args!("two values are given for the input `{own}`")));
        }
        fed.push(input);
        let value = files::value(Path::new(path), name(model, input), model.ty(input), &loaded.execution)?;
        given.insert(name(model, input).to_owned(), value);
    }
    Ok(given)
}

/// Splits `NAME=FILE`, where both may contain `=`.
fn split<'a>(feed: &'a str, model: &Model) -> Result<(ValueId, &'a str), Failure> {
    for (at, _) in feed.match_indices('=') {
        let (wanted, file) = feed.split_at(at);
        let found = inputs(model).iter().find(|&&input| name(model, input) == wanted);
        if let (Some(&input), Some(path)) = (found, file.get(1..)) {
            return Ok((input, path));
        }
    }
    let Some((wanted, _)) = feed.split_once('=') else {
        return Err(Failure::new(format_args!("`{}` is not NAME=FILE", shown(feed))));
    };
    Err(unknown(model, wanted))
}

/// The model has no input of this name.
pub(crate) fn unknown(model: &Model, wanted: &str) -> Failure {
    let known: Vec<String> =
        inputs(model).iter().take(20).map(|&input| format!("`{}`", shown(name(model, input)))).collect();
    let failure = Failure::new(format_args!("the model has no input `{}`", shown(wanted)));
    if known.is_empty() { failure } else { failure.help(format!("its inputs are {}", known.join(", "))) }
}

fn archive(path: &Path, loaded: &Loaded) -> Result<Given, Failure> {
    let arrays = files::archive(path, &loaded.execution)?;
    let model = &loaded.model;
    let mut given = Given::new();
    for (wanted, bytes) in arrays {
        let input = inputs(model).iter().find(|&&input| name(model, input) == wanted);
        let &input = input.ok_or_else(|| unknown(model, &wanted).about(&path.to_string_lossy()))?;
        let value = files::array(&bytes, model.ty(input));
        given.insert(wanted, value.map_err(|failure| failure.about(&path.to_string_lossy()))?);
    }
    Ok(given)
}

/// The files of a directory: `input_K.pb`, where K is the index of the input, or `NAME.npy`.
fn directory(path: &Path, loaded: &Loaded) -> Result<Given, Failure> {
    if !path.is_dir() {
        return Err(Failure::new(format_args!("`{}` is not a directory", path.display()))
            .help("`--feed NAME=FILE` gives the value of one input"));
    }
    let model = &loaded.model;
    let mut given = Given::new();
    for (index, &input) in inputs(model).iter().enumerate() {
        let own = name(model, input);
        let named = ["npy", "pb"].map(|extension| path.join(files::file_name(own, extension)));
        let by_index = path.join(format!("input_{index}.pb"));
        let file = named.into_iter().chain([by_index]).find(|file| file.exists());
        if let Some(file) = file {
            given.insert(own.to_owned(), files::value(&file, own, model.ty(input), &loaded.execution)?);
        }
    }
    if given.is_empty() {
        return Err(Failure::new(format_args!("`{}` has no file of an input", path.display()))
            .help("their files are `input_0.pb`, or NAME.npy for the input NAME"));
    }
    Ok(given)
}
