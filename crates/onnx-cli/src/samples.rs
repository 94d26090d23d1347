//! Inputs of the runs that find ranges and measure errors: files of the user, or generated ones.

use std::path::{Path, PathBuf};

use onnx_eval::{Value, contradiction};
use onnx_pass::{FeedError, FeedGenerator, FeedOptions};
use onnx_quantize::{GeneratedInput, GeneratedSamples, MeasureOptions, Samples};
use onnx_schema::Registry;
use onnx_shape_infer::InferOptions;

use crate::exit::Failure;
use crate::format;
use crate::input::Loaded;
use crate::output::{Out, shown};
use crate::run::{Given, Set, missing, parse_set, read_feeds, refused_size};

/// The sizes that the user sets for generated inputs.
///
/// # Errors
///
/// Fails if the model does not have such a dimension.
pub(crate) fn sizes(loaded: &Loaded, texts: &[String], registry: &Registry) -> Result<Vec<Set>, Failure> {
    let mut sizes = Vec::new();
    for text in texts {
        sizes.extend(parse_set(text)?);
    }
    if sizes.is_empty() {
        return Ok(sizes);
    }
    let inference = loaded.infer(InferOptions::default().with_registry(registry))?;
    let options = FeedOptions::default().with_sizes(&sizes).with_registry(registry);
    match FeedGenerator::new(&loaded.model, &inference, &options, &[]) {
        Err(FeedError::Size(error)) => Err(refused_size(&loaded.model, &error)),
        _ => Ok(sizes),
    }
}

/// Generated inputs in a sentence, with their sizes: `generated inputs (x [1,3,2..4,4])`.
fn generated(inputs: &[GeneratedInput]) -> String {
    /// More inputs are counted.
    const MOST: usize = 4;
    let axis = |(&least, &greatest): (&i64, &i64)| match least == greatest {
        true => least.to_string(),
        false => format!("{least}..{greatest}"),
    };
    let mut parts: Vec<String> = Vec::new();
    for input in inputs.iter().take(MOST) {
        let dims: Vec<String> = input.least.iter().zip(&input.greatest).map(axis).collect();
        parts.push(format!("`{}` [{}]", shown(&input.name), dims.join(",")));
    }
    if inputs.len() > MOST {
        parts.push(format!("{} others", inputs.len() - MOST));
    }
    match parts.is_empty() {
        true => "generated inputs".to_owned(),
        false => format!("generated inputs ({})", parts.join(", ")),
    }
}

/// Warns of ranges from generated inputs whose sizes nothing states: those of small images say little about those of large ones.
pub(crate) fn warn_of_sizes(samples: &GeneratedSamples<'_>, out: &Out) {
    let open = samples.open();
    let Some(first) = open.first() else { return };
    let names: Vec<String> = open.iter().take(4).map(|name| format!("`{}`", shown(name))).collect();
    let more = if open.len() > names.len() { ", ..." } else { "" };
    out.warning(
        &format!(
            "the ranges are those of {}: the sizes of {}{more} are chosen, as the model does not state them",
            generated(&samples.inputs()),
            names.join(", ")
        ),
        Some(&format!(
            "`--calibrate DIR` takes inputs of yours, which is better; `--set '{}=SIZE'` sets sizes of generated ones",
            shown(first)
        )),
    );
}

/// What has inputs.
const PLACES: &str = "name an archive `.npz` with an array for each input, a directory with the inputs of one run (`input_0.pb`, or \
                      NAME.npy for the input NAME), or a directory of such archives and directories";

/// The inputs of runs in a sentence.
pub(crate) fn described(is_given: bool, inputs: &[GeneratedInput]) -> String {
    if is_given { "the inputs of the calibration".to_owned() } else { generated(inputs) }
}

/// The inputs of runs.
pub(crate) enum Inputs<'a> {
    Files(FileSamples<'a>),
    Generated(Box<GeneratedSamples<'a>>),
}

impl<'a> Inputs<'a> {
    /// Those of a path, or a number of generated ones.
    pub(crate) fn new(
        loaded: &'a Loaded,
        path: Option<&Path>,
        (count, settings): (usize, &'a MeasureOptions<'a>),
    ) -> Result<Self, Failure> {
        Ok(match path {
            Some(path) => Self::Files(FileSamples::find(loaded, path)?),
            None => Self::Generated(Box::new(GeneratedSamples::new(&loaded.model, count, settings))),
        })
    }

    pub(crate) fn samples(&self) -> &dyn Samples {
        match self {
            Self::Files(files) => files,
            Self::Generated(generated) => generated.as_ref(),
        }
    }

    /// The sizes of generated inputs.
    pub(crate) fn generated(&self) -> Vec<GeneratedInput> {
        match self {
            Self::Files(_) => Vec::new(),
            Self::Generated(generated) => generated.inputs(),
        }
    }
}

/// Inputs in files: one sample, or one in each entry of a directory.
pub(crate) struct FileSamples<'a> {
    loaded: &'a Loaded,
    samples: Vec<PathBuf>,
}

impl<'a> FileSamples<'a> {
    /// Finds the samples at a path, in the order of their names.
    pub(crate) fn find(loaded: &'a Loaded, path: &Path) -> Result<Self, Failure> {
        let is_archive = path.extension().is_some_and(|extension| extension == "npz");
        if !(path.is_dir() || is_archive && path.exists()) {
            return Err(format::not_a(path, "a directory or an archive `.npz`", PLACES));
        }
        let mut samples = Vec::new();
        if path.is_dir() {
            let failed = |error| Failure::not_readable(format_args!("{}: {error}", path.display()));
            for entry in std::fs::read_dir(path).map_err(failed)? {
                let entry = entry.map_err(failed)?.path();
                let is_archive = entry.extension().is_some_and(|extension| extension == "npz");
                if entry.is_dir() || (is_archive && entry.is_file()) {
                    samples.push(entry);
                }
            }
            samples.sort();
        }
        if samples.is_empty() {
            samples.push(path.to_owned());
        }
        let found = Self { loaded, samples };
        // What a sample lacks is known before the model runs.
        (0..found.samples.len()).try_for_each(|index| found.read(index).map(|_| ()))?;
        Ok(found)
    }

    fn read(&self, index: usize) -> Result<Given, Failure> {
        let Some(path) = self.samples.get(index) else { return Ok(Given::new()) };
        let given = read_feeds(path, self.loaded).map_err(|failure| {
            // The advice is about an option of `onnx run`.
            let is_of_run = failure.help.as_deref().is_some_and(|help| help.contains("--feed "));
            let help = "a sample has files `input_K.pb`, or NAME.npy for the input NAME";
            if is_of_run { failure.help(help) } else { failure }
        })?;
        let missing = missing(&self.loaded.model, &given);
        if let Some(name) = missing.first() {
            let name = shown(name);
            return Err(Failure::new(format_args!("{}: no value of the input `{name}`", path.display()))
                .help(format!("add a file `{name}.npy`, or let all inputs be generated: `--seed 0` in place of `--calibrate`")));
        }
        self.refuse_contradictions(path, &given)?;
        Ok(given)
    }

    /// Refuses values that do not have the declared types of the inputs.
    fn refuse_contradictions(&self, path: &Path, given: &Given) -> Result<(), Failure> {
        let model = &self.loaded.model;
        for &input in model.graph(model.main_graph()).inputs() {
            let name = model.str(model.value(input).name());
            let (Some(ty), Some(value)) = (model.ty(input), given.get(name)) else { continue };
            if let Some(problem) = contradiction(ty, value) {
                let message = format!("{}: input `{}`: {problem}", path.display(), shown(name));
                return Err(Failure::new(message).help("`onnx info MODEL` lists the inputs with their types"));
            }
        }
        Ok(())
    }
}

impl Samples for FileSamples<'_> {
    fn count(&self) -> usize {
        self.samples.len()
    }

    fn sample(&self, index: usize) -> Result<Vec<(String, Value)>, String> {
        let given = self.read(index).map_err(|failure| failure.message)?;
        Ok(given.into_iter().collect())
    }
}
