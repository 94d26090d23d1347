//! Inputs that the user gives in files.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use onnx_eval::Value;
use onnx_ir::{GraphOutput, Model, ValueId};
use onnx_types::Execution;

use super::args::FeedArgs;
use super::files;
use crate::exit::Failure;
use crate::format;
use crate::input::Loaded;
use crate::known_names;
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
    let model = &loaded.model;
    let ports = Ports { model, values: inputs(model).to_vec(), kind: "input" };
    let mut given = match &args.feeds {
        Some(path) => ports.read(path, &loaded.execution)?,
        None => Given::new(),
    };
    let mut fed = Vec::new();
    for feed in &args.feed {
        let (input, path) = split(feed, model)?;
        let own = shown(name(model, input));
        if path.is_empty() {
            return Err(Failure::new(format_args!("`--feed {own}=` names no file"))
                .help(format!("write the name of a file `.npy`, `.npz` or `.pb`: `--feed {own}=FILE`")));
        }
        if fed.contains(&input) {
            return Err(Failure::new(format_args!("two values are given for the input `{own}`"))
                .help("keep one `--feed` for each input"));
        }
        fed.push(input);
        let value = files::value(Path::new(path), name(model, input), model.ty(input), &loaded.execution)?;
        given.insert(name(model, input).to_owned(), value);
    }
    Ok(given)
}

/// Reads the values of inputs from a directory or an archive.
pub(crate) fn read_feeds(path: &Path, loaded: &Loaded) -> Result<Given, Failure> {
    let model = &loaded.model;
    Ports { model, values: inputs(model).to_vec(), kind: "input" }.read(path, &loaded.execution)
}

/// Reads the values of outputs from an archive.
pub(crate) fn read_outputs(loaded: &Loaded, path: &Path) -> Result<Given, Failure> {
    let model = &loaded.model;
    let outputs = model.graph(model.main_graph()).outputs().iter().map(GraphOutput::value);
    Ports { model, values: outputs.collect(), kind: "output" }.read(path, &loaded.execution)
}

/// Splits `NAME=FILE`, where both may contain `=`. Only a file is for the only input that needs a value.
fn split<'a>(feed: &'a str, model: &Model) -> Result<(ValueId, &'a str), Failure> {
    for (at, _) in feed.match_indices('=') {
        let (wanted, file) = feed.split_at(at);
        let found = inputs(model).iter().find(|&&input| name(model, input) == wanted);
        if let (Some(&input), Some(path)) = (found, file.get(1..)) {
            return Ok((input, path));
        }
    }
    let Some((wanted, _)) = feed.split_once('=') else {
        let mut open = inputs(model).iter().filter(|&&input| model.value(input).initializer().is_none());
        if let (Some(&only), None) = (open.next(), open.next()) {
            return Ok((only, feed));
        }
        return Err(Failure::new(format_args!("`{}` is not NAME=FILE", shown(feed)))
            .help("write the name of an input and of a file `.npy`, `.npz` or `.pb`: `--feed x=x.npy`"));
    };
    Err(Ports { model, values: inputs(model).to_vec(), kind: "input" }.unknown(wanted))
}

/// The inputs or outputs of a model, whose values are in files.
pub(super) struct Ports<'m> {
    pub(super) model: &'m Model,
    pub(super) values: Vec<ValueId>,
    /// `input` or `output`, which is also the beginning of the names of files by index.
    pub(super) kind: &'static str,
}

impl Ports<'_> {
    /// The values in a directory, or in an archive `.npz`.
    pub(super) fn read(&self, path: &Path, execution: &Execution) -> Result<Given, Failure> {
        if files::extension(path) == "npz" && !path.is_dir() {
            return self.archive(path, execution);
        }
        self.directory(path, execution)
    }

    fn archive(&self, path: &Path, execution: &Execution) -> Result<Given, Failure> {
        let mut archive = files::Archive::open(path, execution)?;
        let model = self.model;
        let ports: HashMap<&str, ValueId> =
            self.values.iter().rev().map(|&port| (name(model, port), port)).collect();
        // Nothing is inflated of an archive with another array.
        if let Some(unknown) = archive.names().iter().find(|name| !ports.contains_key(name.as_str())) {
            return Err(self.unknown(unknown).about(&path.to_string_lossy()));
        }
        let mut given = Given::new();
        for wanted in archive.names().to_vec() {
            let ty = ports.get(wanted.as_str()).and_then(|&port| model.ty(port));
            if let Some(value) = archive.array(&wanted, ty)? {
                given.insert(wanted, value);
            }
        }
        Ok(given)
    }

    /// The model has no input or output of this name.
    fn unknown(&self, wanted: &str) -> Failure {
        let (model, kind) = (self.model, self.kind);
        let known: Vec<&str> = self.values.iter().map(|&port| name(model, port)).collect();
        Failure::new(format_args!("the model has no {kind} `{}`", shown(wanted)))
            .help(known_names::of_ports(wanted, &known, kind))
    }

    /// The files that can hold the value of an input or output in a directory: by name, which comes first, or by index.
    pub(super) fn files(&self, path: &Path, index: usize) -> Option<[PathBuf; 3]> {
        let own = name(self.model, *self.values.get(index)?);
        let [npy, pb] = ["npy", "pb"].map(|extension| path.join(files::file_name(own, extension)));
        Some([npy, pb, self.by_index(path, index)])
    }

    /// The files that are read of a directory, or the archive.
    pub(super) fn recorded(&self, path: &Path) -> Vec<PathBuf> {
        if !path.is_dir() {
            return vec![path.to_owned()];
        }
        let of_index = |index| self.files(path, index).into_iter().flatten().find(|file| file.exists());
        (0..self.values.len()).filter_map(of_index).collect()
    }

    /// The file of an index: `input_0.pb`.
    pub(super) fn by_index(&self, path: &Path, index: usize) -> PathBuf {
        path.join(format!("{}_{index}.pb", self.kind))
    }

    /// The files of a directory: `input_K.pb`, where K is the index of the input, or `NAME.npy`.
    fn directory(&self, path: &Path, execution: &Execution) -> Result<Given, Failure> {
        let kind = self.kind;
        if !path.is_dir() {
            let help = match kind {
                "input" => "`--feed NAME=FILE` gives the value of one input",
                _ => "name a directory with files `output_K.pb`, or an archive `.npz`",
            };
            return Err(format::not_a(path, "a directory or an archive `.npz`", help));
        }
        let model = self.model;
        let mut given = Given::new();
        for (index, &port) in self.values.iter().enumerate() {
            let own = name(model, port);
            let file = self.files(path, index).into_iter().flatten().find(|file| file.exists());
            if let Some(file) = file {
                // A pipe that nothing writes to would be waited for; one that is named by itself is wanted.
                if !file.is_file() {
                    return Err(Failure::not_readable(format_args!("`{}` is not a file", file.display()))
                        .help("remove it from the directory, or give the value with `--feed NAME=FILE`"));
                }
                given.insert(own.to_owned(), files::value(&file, own, model.ty(port), execution)?);
            }
        }
        if given.is_empty() {
            let failure = Failure::new(format_args!("`{}` has no file of an {kind}", path.display()));
            return Err(match directory_in(path) {
                Some(inner) => failure
                    .help(format!("its directories may be runs: name one, such as `{}`", shown(&inner))),
                None => {
                    failure.help(format!("their files are `{kind}_0.pb`, or NAME.npy for the {kind} NAME"))
                }
            });
        }
        Ok(given)
    }
}

/// The first directory in a directory.
fn directory_in(path: &Path) -> Option<String> {
    let entries = std::fs::read_dir(path).ok()?.flatten();
    let inner = entries.map(|entry| entry.path()).filter(|path| path.is_dir()).min()?;
    Some(inner.display().to_string())
}
