//! Inputs for calibration.

use std::path::{Path, PathBuf};

use onnx_eval::Value;
use onnx_quantize::Samples;

use crate::exit::Failure;
use crate::input::Loaded;
use crate::run::{Given, missing, read_feeds};

/// Inputs in files: one sample, or one in each entry of a directory.
pub(crate) struct FileSamples<'a> {
    loaded: &'a Loaded,
    samples: Vec<PathBuf>,
}

impl<'a> FileSamples<'a> {
    /// Finds the samples at a path, in the order of their names.
    pub(crate) fn find(loaded: &'a Loaded, path: &Path) -> Result<Self, Failure> {
        if !path.exists() {
            return Err(Failure::not_readable(format_args!("`{}` does not exist", path.display()))
                .help("name a directory with inputs: `input_0.pb`, or NAME.npy for the input NAME"));
        }
        let is_archive = path.extension().is_some_and(|extension| extension == "npz");
        if !path.is_dir() && !is_archive {
            return Err(Failure::new(format_args!(
                "`{}` is not a directory or an archive `.npz`",
                path.display()
            ))
            .help("name a directory with inputs: `input_0.pb`, or NAME.npy for the input NAME"));
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
        // What the first sample lacks is known before the model runs.
        found.read(0)?;
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
            let name = crate::output::shown(name);
            return Err(Failure::new(format_args!("{}: no value of the input `{name}`", path.display()))
                .help(format!("add a file `{name}.npy`, or let all inputs be generated: `--seed 0`")));
        }
        Ok(given)
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
