//! Calibration: the ranges of values in runs.

use std::collections::HashMap;
use std::sync::Mutex;

use foldhash::fast::RandomState;
use onnx_diag::Quoted;
use onnx_eval::{EvalOptions, Evaluator, FailureKind, NodeRun, Observer, Value};
use onnx_ir::{Model, ValueId};
use onnx_types::tensor::NoData;
use onnx_types::{ElemType, Stopped};

use super::correct::{MeanOf, Means};
use super::histogram::Histogram;
use super::plan::Candidates;
use super::{Method, Ranges, StaticOptions};
use crate::measure::reason;
use crate::samples::{SampleFailure, Samples, run_sample};
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
        /// The kind of the failure; `None` if the inputs could not be read or generated.
        kind: Option<FailureKind>,
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
    Ok(calibrate_with(model, to, method, samples, options)?.0)
}

/// Like [`calibrate`], with what else the runs found.
pub(crate) fn calibrate_with(
    model: &Model,
    to: ElemType,
    method: Method,
    samples: &dyn Samples,
    options: &StaticOptions<'_>,
) -> Result<(Ranges, Runs), CalibrateError> {
    let format = Format::of(to).ok_or(CalibrateError::Type(to))?;
    if let Method::Percentile(part) = method
        && !(part > 0.0 && part <= 100.0)
    {
        return Err(CalibrateError::Percentile(part));
    }
    if samples.count() == 0 {
        return Err(CalibrateError::NoSamples);
    }
    let candidates = Candidates::find(model, options.table, options)?;
    let values = candidates.watched(model);
    if values.is_empty() {
        // Runs can take long.
        return Ok((Ranges::default(), Runs::default()));
    }
    let mut found = Found::new(model, &values, &candidates);
    let is_counted = method != Method::MinMax;
    let visit = |index: usize, dims: &[i64], numbers: &[f32], found: &mut Found| {
        if let Some(histogram) = found.histograms.get_mut(index) {
            histogram.add(numbers, is_counted);
        }
        for (key, means) in found.means.get_mut(index).into_iter().flatten() {
            means.add(dims, key.axis(dims), numbers);
        }
    };
    let mut outputs = Outputs::default();
    observe(model, &values, samples, options, &visit, (&mut found, &mut |values| outputs.add(values)))?;
    let symmetric = options.is_symmetric();
    let mut ranges = Ranges::default();
    for (&value, histogram) in values.iter().zip(&found.histograms) {
        options.execution.interrupt.check()?;
        let range = histogram.range(method, &format, symmetric).filter(|_| !histogram.has_other);
        if let Some(range) = range {
            ranges.join(model.str(model.value(value).name()), range);
        }
    }
    let other = values.iter().zip(&found.histograms).find(|(_, histogram)| histogram.has_other);
    if let Some((&value, _)) = other.filter(|_| ranges.iter().len() == 0) {
        return Err(CalibrateError::NotFinite(model.str(model.value(value).name()).to_owned()));
    }
    let means = found.means.into_iter().flatten().collect();
    Ok((ranges, Runs { means: Some(means), outputs: outputs.values }))
}

/// What runs of a calibration found beyond the ranges, so that nothing has to run again for it.
#[derive(Default)]
pub(crate) struct Runs {
    /// The means of the operands of all operators that could have a corrected bias.
    pub(crate) means: Option<HashMap<MeanOf, Means, RandomState>>,
    /// The outputs of the model on each sample, unless they are large.
    pub(crate) outputs: Option<Vec<Vec<Value>>>,
}

/// What is collected in runs, by the indices of values.
struct Found {
    histograms: Vec<Histogram>,
    means: Vec<Vec<(MeanOf, Means)>>,
}

impl Found {
    fn new(model: &Model, values: &[ValueId], candidates: &Candidates) -> Self {
        let index: HashMap<ValueId, usize, RandomState> =
            values.iter().enumerate().map(|(index, &value)| (value, index)).collect();
        let mut means = vec![Vec::new(); values.len()];
        for of in candidates.all.iter().filter_map(|candidate| MeanOf::find(model, candidate)) {
            let own = index.get(&of.operand).and_then(|&index| means.get_mut(index));
            if let Some(own) = own.filter(|own| own.iter().all(|(known, _)| *known != of)) {
                own.push((of, Means::default()));
            }
        }
        Self { histograms: vec![Histogram::default(); values.len()], means }
    }
}

/// The outputs of runs.
struct Outputs {
    values: Option<Vec<Vec<Value>>>,
    bytes: u64,
}

impl Default for Outputs {
    fn default() -> Self {
        Self { values: Some(Vec::new()), bytes: 0 }
    }
}

impl Outputs {
    /// Larger outputs are computed again when they are needed.
    const MOST: u64 = 4 << 20;

    fn add(&mut self, outputs: Vec<Value>) {
        self.bytes += outputs.iter().map(Value::resident_bytes).sum::<u64>();
        match &mut self.values {
            Some(values) if self.bytes <= Self::MOST => values.push(outputs),
            values => *values = None,
        }
    }
}

/// A function that gets the index of a value, its dimensions and its numbers.
type Visit<'a, T> = dyn Fn(usize, &[i64], &[f32], &mut T) + Sync + 'a;

/// Calls a function with the dimensions and the numbers of values in runs on all samples, and another one with the outputs of each run.
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
    (into, results): (&mut T, &mut dyn FnMut(Vec<Value>)),
) -> Result<(), CalibrateError> {
    let index: HashMap<ValueId, usize, RandomState> =
        values.iter().enumerate().map(|(index, &value)| (value, index)).collect();
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
        kind: Some(failure.kind()),
        limit: failure.limit(),
    };
    let evaluator = Evaluator::new(model, &run).map_err(|failure| failed(0, &failure))?;
    for sample in 0..samples.count() {
        options.execution.interrupt.check()?;
        match run_sample(&evaluator, samples, sample) {
            Ok((_, outputs)) => results(outputs),
            Err(SampleFailure::Input(reason)) => {
                return Err(CalibrateError::Run { sample, reason, kind: None, limit: None });
            }
            Err(SampleFailure::Run(failure)) => {
                options.execution.interrupt.check()?;
                return Err(failed(sample, &failure));
            }
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

    fn visit_all(&self, values: impl Iterator<Item = Option<ValueId>>, found: &[Option<Value>]) {
        for (value, found) in values.zip(found) {
            let index = value.and_then(|value| self.index.get(&value));
            if let (Some(&index), Some(found)) = (index, found) {
                self.visit(index, found);
            }
        }
    }
}

impl<T: Send> Observer for Watch<'_, T> {
    fn enter(&self, inputs: &[ValueId], values: &[Option<Value>]) {
        self.visit_all(inputs.iter().copied().map(Some), values);
    }

    fn end(&self, run: &NodeRun<'_>) {
        self.visit_all(self.model.node(run.node).outputs().iter().copied(), run.outputs);
    }
}
