//! Passes: each one, and all in a pipeline, with structure, rules and types proved.

use std::error::Error;

use bytes::Bytes;
use onnx_codec::ReadMode;
use onnx_codec::file::read;
use onnx_pass::{Level, Pass, PassCx, PassOptions, Pipeline};
use onnx_schema::Registry;

use crate::decode;
use crate::samples::Samples;

type Result<T = (), E = Box<dyn Error>> = std::result::Result<T, E>;

/// The passes of the pipeline that is measured.
const PIPELINE: [&str; 20] = [
    "sorted",
    "no-dead-nodes",
    "no-unused-initializers",
    "no-unused-functions",
    "no-unused-imports",
    "no-unused-outputs",
    "constants-as-initializers",
    "no-nested-initializers",
    "unique-constants",
    "no-identities",
    "known-elements",
    "folded-constants",
    "no-known-branches",
    "no-short-loops",
    "unique-subexpressions",
    "unique-functions",
    "folded-batch-normalization",
    "no-default-attributes",
    "unique-names",
    "value-info",
];

/// Values of nodes are not compared: that costs what the tests of the claims cost, not the passes.
fn options() -> PassOptions<'static> {
    PassOptions::default().with_level(Level::Types)
}

/// Runs each pass on the model of a file, in a context that is made before. `context` is the time for that, and
/// `NAME-edits` the number of edits.
///
/// # Errors
///
/// Returns an error if the file cannot be read or an edit is refused.
pub fn each(path: &str, rounds: &str, samples: &mut Samples) -> Result {
    let bytes = read(path, ReadMode::Memory)?;
    let mut warm_up = Samples::default();
    for round in 0..=rounds.parse::<usize>()? {
        let samples = if round == 0 { &mut warm_up } else { &mut *samples };
        for pass in Pass::standard() {
            let mut model = samples.time("decode", || decode(bytes.clone()));
            let mut cx = samples.time("context", || PassCx::new(&mut model, options()));
            let report = samples.time(pass.name(), || pass.run(&mut cx));
            if let Some(refusal) = report.refusals.into_iter().next() {
                return Err(refusal.into());
            }
            samples.push(format!("{}-edits", pass.name()), report.edits as u64);
        }
    }
    Ok(())
}

/// Reads a model and runs the pipeline on it, interleaved.
///
/// # Errors
///
/// Returns an error if the file cannot be read or an edit is refused.
pub fn pipeline(path: &str, rounds: &str, samples: &mut Samples) -> Result {
    let mut warm_up = Samples::default();
    for round in 0..=rounds.parse::<usize>()? {
        let samples = if round == 0 { &mut warm_up } else { &mut *samples };
        let model = samples.time("load", || read(path, ReadMode::Memory).map(decode))?;
        drop(model);
        sample(&read(path, ReadMode::Memory)?, "pipeline", samples)?;
    }
    Ok(())
}

/// Runs the pipeline on the model in these bytes, once.
///
/// # Errors
///
/// Returns an error if an edit is refused.
pub fn sample(bytes: &Bytes, name: &str, samples: &mut Samples) -> Result {
    let pipeline = Pipeline::named(&PIPELINE, Registry::STANDARD)?;
    let mut model = decode(bytes.clone());
    let report = samples.time(name, || pipeline.run(&mut model, &options()));
    let edits = report.edits();
    match report.passes.into_iter().flat_map(|pass| pass.report.refusals).next() {
        Some(refusal) => Err(refusal.into()),
        None => {
            samples.push(format!("{name}-edits"), edits as u64);
            Ok(())
        }
    }
}
