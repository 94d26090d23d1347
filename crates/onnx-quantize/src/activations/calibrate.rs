//! Calibration: the ranges of values in runs.

use std::collections::HashMap;
use std::sync::Mutex;

use foldhash::fast::RandomState;
use onnx_compose::Quantization;
use onnx_diag::Quoted;
use onnx_eval::{EvalOptions, Evaluator, NodeRun, Observer, Value};
use onnx_ir::{Model, NodeId, ValueId};
use onnx_types::tensor::NoData;
use onnx_types::{ElemType, Stopped};

use super::histogram::Histogram;
use super::plan::Candidates;
use super::{Method, Ranges, StaticOptions};
use crate::measure::{Samples, reason};
use crate::weights::Format;

/// Why ranges are not found.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CalibrateError {
    /// Activations are not quantized to this type.
    #[error("activations are not quantized to {0}")]
    Type(ElemType),
    /// A sample is missing.
    #[error("the calibration has no inputs")]
    NoSamples,
    /// The inputs cannot be read, or the model does not run on them.
    #[error("the calibration on sample {sample} failed: {reason}")]
    Run {
        /// Its number, from 0.
        sample: usize,
        /// The reason.
        reason: String,
        /// The name of the limit that the run exceeded, if it did.
        limit: Option<&'static str>,
    },
    /// No value has a range, because all had numbers that are not finite.
    #[error("the numbers of all values are not finite: {} is the first", Quoted(.0))]
    NotFinite(String),
    /// The percentile is not between 0 and 100.
    #[error("a percentile is above 0 and at most 100, not {0}")]
    Percentile(f64),
    /// The work was ended early.
    #[error(transparent)]
    Stopped(#[from] Stopped),
}

/// Runs a model on samples, and finds the ranges of the values that the operators of a table take and give. Values that had a number
/// that is not finite, or none at all, have no range.
///
/// # Errors
///
/// Returns an error without a sample, or if the model does not run on one.
pub fn calibrate(
    model: &Model,
    to: ElemType,
    method: Method,
    samples: &dyn Samples,
    options: &StaticOptions<'_>,
) -> Result<Ranges, CalibrateError> {
    let format = Format::of(to).ok_or(CalibrateError::Type(to))?;
    if let Method::Percentile(part) = method
        && !(part > 0.0 && part <= 100.0)
    {
        return Err(CalibrateError::Percentile(part));
    }
    if samples.count() == 0 {
        return Err(CalibrateError::NoSamples);
    }
    let values = watched(model, options.table, options);
    if values.is_empty() {
        // Runs can take long.
        return Ok(Ranges::default());
    }
    let is_counted = method != Method::MinMax;
    let mut histograms = vec![Histogram::default(); values.len()];
    observe(
        model,
        &values,
        samples,
        options,
        &|index, _, numbers, histograms: &mut Vec<Histogram>| {
            if let Some(histogram) = histograms.get_mut(index) {
                histogram.add(numbers, is_counted);
            }
        },
        &mut histograms,
    )?;
    let symmetric = options.is_symmetric();
    let mut ranges = Ranges::default();
    for (&value, histogram) in values.iter().zip(&histograms) {
        let range = histogram.range(method, &format, symmetric).filter(|_| !histogram.has_other);
        if let Some(range) = range {
            ranges.join(model.str(model.value(value).name()), range);
        }
    }
    let other = values.iter().zip(&histograms).find(|(_, histogram)| histogram.has_other);
    match other.filter(|_| ranges.iter().len() == 0) {
        Some((&value, _)) => Err(CalibrateError::NotFinite(model.str(model.value(value).name()).to_owned())),
        None => Ok(ranges),
    }
}

/// The values of which ranges are found, in the order of the model.
fn watched(model: &Model, table: &Quantization, options: &StaticOptions<'_>) -> Vec<ValueId> {
    let candidates = Candidates::find(model, table, options);
    candidates.watched(model)
}

/// A function that gets the index of a value, its dimensions and its numbers.
type Visit<'a, T> = dyn Fn(usize, &[i64], &[f32], &mut T) + Sync + 'a;

/// Calls a function with the dimensions and the numbers of values in runs on all samples.
///
/// # Errors
///
/// See [`calibrate`].
pub(crate) fn observe<T: Send>(
    model: &Model,
    values: &[ValueId],
    samples: &dyn Samples,
    options: &StaticOptions<'_>,
    visit: &Visit<'_, T>,
    into: &mut T,
) -> Result<(), CalibrateError> {
    let index: HashMap<ValueId, usize, RandomState> =
        values.iter().enumerate().map(|(index, &value)| (value, index)).collect();
    let main = model.graph(model.main_graph()).inputs();
    let inputs: HashMap<&str, usize, RandomState> = main
        .iter()
        .filter_map(|input| Some((model.str(model.value(*input).name()), *index.get(input)?)))
        .collect();
    let watch = Watch { model, index, visit, into: Mutex::new(into) };
    let run = EvalOptions::default()
        .with_registry(options.registry)
        .with_data(options.data)
        .with_execution(options.execution.clone())
        .with_threads(options.threads)
        .with_observer(&watch);
    let failed = |sample: usize, failure: &onnx_eval::Failure| CalibrateError::Run {
        sample,
        reason: reason(failure),
        limit: failure.limit(),
    };
    let evaluator = Evaluator::new(model, &run).map_err(|failure| failed(0, &failure))?;
    for sample in 0..samples.count() {
        options.execution.interrupt.check()?;
        let unreadable = |reason: String| CalibrateError::Run { sample, reason, limit: None };
        let given = samples.sample(sample).map_err(unreadable)?;
        for (name, value) in &given {
            if let Some(&index) = inputs.get(name.as_str()) {
                watch.visit(index, value);
            }
        }
        let by_name: Vec<(&str, Value)> =
            given.iter().map(|(name, value)| (name.as_str(), value.clone())).collect();
        if let Err(failure) = evaluator.run(&by_name) {
            options.execution.interrupt.check()?;
            return Err(failed(sample, &failure));
        }
    }
    Ok(())
}

struct Watch<'a, T> {
    model: &'a Model,
    index: HashMap<ValueId, usize, RandomState>,
    visit: &'a Visit<'a, T>,
    into: Mutex<&'a mut T>,
}

impl<T: Send> Watch<'_, T> {
    fn visit(&self, index: usize, value: &Value) {
        let tensor = value.tensor().filter(|tensor| tensor.elem() == ElemType::Float);
        let Some(tensor) = tensor else { return };
        let Ok(view) = tensor.view::<f32>(&NoData) else { return };
        if let (Ok(numbers), Ok(mut into)) = (view.to_slice(), self.into.lock()) {
            (self.visit)(index, tensor.dims(), &numbers, *into);
        }
    }

    fn of_node(&self, node: NodeId, outputs: &[Option<Value>]) {
        for (output, value) in self.model.node(node).outputs().iter().zip(outputs) {
            let index = output.and_then(|output| self.index.get(&output));
            if let (Some(&index), Some(value)) = (index, value) {
                self.visit(index, value);
            }
        }
    }
}

impl<T: Send> Observer for Watch<'_, T> {
    fn end(&self, run: &NodeRun<'_>) {
        self.of_node(run.node, run.outputs);
    }
}
