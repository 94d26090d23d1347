//! Running models: time, memory, and the cost of planning.

use std::error::Error;
use std::path::Path;

use onnx_codec::file::read;
use onnx_codec::value::{ValueMessage, ValueMessageKind, decode_value};
use onnx_codec::{DecodeOptions, FileSource, ReadMode};
use onnx_eval::{EvalOptions, Evaluator, Limits, Value};
use onnx_ir::Model;
use onnx_tests::models::chain;

use crate::samples::Samples;
use crate::{decode, status};

type Result<T = (), E = Box<dyn Error>> = std::result::Result<T, E>;

/// Runs the model in a folder on the inputs in it, `input_K.pb` for the input at index K.
///
/// # Errors
///
/// Returns an error if a file cannot be read or the model does not run.
pub fn runs(folder: &str, rounds: &str, samples: &mut Samples) -> Result {
    let (model, source) = open(folder)?;
    let options = options(&source);
    let evaluator = Evaluator::new(&model, &options)?;
    let inputs = inputs(folder, &evaluator)?;
    let mut warm_up = Samples::default();
    for round in 0..=rounds.parse::<usize>()? {
        let samples = if round == 0 { &mut warm_up } else { &mut *samples };
        samples.time("run", || evaluator.run_in_order(inputs.clone()))?;
    }
    Ok(())
}

/// Opens the model in a folder and runs it once, and records the memory that this takes at most; the mapped pages of the
/// file count.
///
/// # Errors
///
/// Returns an error if a file cannot be read or the model does not run.
pub fn held(folder: &str, samples: &mut Samples) -> Result {
    let before = status("VmHWM")?;
    let (model, source) = open(folder)?;
    let options = options(&source);
    let evaluator = Evaluator::new(&model, &options)?;
    let outputs = evaluator.run_in_order(inputs(folder, &evaluator)?)?;
    samples.push("held-peak", status("VmHWM")?.saturating_sub(before));
    drop(outputs);
    Ok(())
}

/// Plans chains of nodes, by their number.
///
/// # Errors
///
/// Returns an error if a number cannot be read.
pub fn growth(rounds: &str, sizes: &[&str], samples: &mut Samples) -> Result {
    let rounds: usize = rounds.parse()?;
    for size in sizes {
        let nodes: usize = size.parse()?;
        let model = decode(chain(nodes));
        let mut warm_up = Samples::default();
        for round in 0..=rounds {
            let samples = if round == 0 { &mut warm_up } else { &mut *samples };
            let plan = || Evaluator::new(&model, &EvalOptions::default());
            drop(samples.time(format!("plan/{nodes}"), plan)?);
        }
    }
    Ok(())
}

/// The model in a folder, with the source of its weights.
fn open(folder: &str) -> Result<(Model, FileSource)> {
    let path = Path::new(folder).join("model.onnx");
    let source = FileSource::for_model(&path)?.with_mode(ReadMode::Map);
    Ok((decode(read(path, ReadMode::Map)?), source))
}

/// Options without bounds on work: the models are known.
fn options(source: &FileSource) -> EvalOptions<'_> {
    let limits = Limits { run_steps: u64::MAX, run_bytes: u64::MAX, ..Limits::default() };
    EvalOptions::default().with_data(source).with_limits(limits)
}

/// The values of the inputs in a folder.
fn inputs(folder: &str, evaluator: &Evaluator<'_>) -> Result<Vec<Option<Value>>> {
    let mut inputs = Vec::new();
    for index in 0..evaluator.inputs().len() {
        let path = Path::new(folder).join(format!("input_{index}.pb"));
        if !path.exists() {
            inputs.push(None);
            continue;
        }
        let bytes = read(path, ReadMode::Memory)?;
        match decode_value(bytes, ValueMessageKind::Tensor, &DecodeOptions::default())? {
            ValueMessage::Tensor(tensor) => inputs.push(Some(tensor.into())),
            _ => return Err("an input is not a tensor".into()),
        }
    }
    Ok(inputs)
}
