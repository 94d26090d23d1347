//! Static quantization with a calibration, as one step.

use onnx_ir::Model;
use onnx_types::{ElemType, Stopped};

use super::calibrate::{Runs, calibrate_with};
use super::{
    Budget, CalibrateError, Method, QuantizedValue, Ranges, StaticOptions, StaticReport, losses,
    quantize_with_runs,
};
use crate::forms::{OperatorForm, use_operators};
use crate::measure::{MeasureOptions, measure_each};
use crate::report::{Effect, weight_bytes};
use crate::samples::Samples;
use crate::weights::QuantizeError;

/// What [`quantize_calibrated`] is asked for.
#[derive(Clone, Default)]
#[non_exhaustive]
pub struct Calibration<'a> {
    /// Ranges that are known. The calibration adds those of others.
    pub ranges: Ranges,
    /// The inputs of the runs. Without them, all ranges have to be known.
    pub samples: Option<&'a dyn Samples>,
    /// How ranges follow from the numbers of the runs.
    pub method: Method,
    /// The least ratio of signal to noise of each output on the inputs, in decibels.
    pub budget: Option<f64>,
    /// Whether biases stay as they are. Otherwise, they are [corrected](StaticOptions::correction) on the inputs.
    pub keep_biases: bool,
    /// Whether operators that take quantized numbers are used.
    pub operators: bool,
    /// Whether the outputs are compared on the inputs.
    pub measure: bool,
    /// Whether it is measured what rounding does to each value.
    pub losses: bool,
}

onnx_types::option_setters! {
    Calibration<'a> {
        with_ranges => ranges: Ranges,
        with_samples => samples: Option<&'a dyn Samples>,
        with_method => method: Method,
        with_budget => budget: Option<f64>,
        with_keep_biases => keep_biases: bool,
        with_operators => operators: bool,
        with_measure => measure: bool,
        with_losses => losses: bool,
    }
}

impl std::fmt::Debug for Calibration<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Calibration").field("method", &self.method).finish_non_exhaustive()
    }
}

/// What [`quantize_calibrated`] did.
#[derive(Debug)]
#[non_exhaustive]
pub struct Calibrated {
    /// What was quantized.
    pub report: StaticReport,
    /// The nodes that take quantized numbers, if they are asked for.
    pub form: Option<OperatorForm>,
    /// All ranges: those that were known and those of the calibration.
    pub ranges: Ranges,
    /// What rounding does to each value, if it is asked for.
    pub losses: Vec<QuantizedValue>,
    /// The sizes of the weights, and the error of the outputs if it is asked for.
    pub effect: Effect,
}

/// Why [`quantize_calibrated`] failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CalibratedError {
    /// In the runs of the model before.
    #[error(transparent)]
    Calibrate(#[from] CalibrateError),
    /// In the quantization.
    #[error(transparent)]
    Quantize(Box<QuantizeError>),
    /// The work was ended early.
    #[error(transparent)]
    Stopped(#[from] Stopped),
}

impl From<QuantizeError> for CalibratedError {
    fn from(error: QuantizeError) -> Self {
        Self::Quantize(Box::new(error))
    }
}

/// Finds ranges in runs of a model, quantizes it as [`quantize_static`](super::quantize_static) does, and measures the result. The model is unchanged after an
/// error.
///
/// # Errors
///
/// Returns an error if a run fails, or the model cannot be quantized.
pub fn quantize_calibrated(
    model: &mut Model,
    to: ElemType,
    calibration: &Calibration<'_>,
    options: &StaticOptions<'_>,
) -> Result<Calibrated, CalibratedError> {
    let samples = calibration.samples.unwrap_or(&NoSamples);
    let (mut ranges, mut known) = (calibration.ranges.clone(), Runs::default());
    let source = options.fold_weights(model)?;
    if calibration.samples.is_some() {
        let found;
        (found, known) = calibrate_with(&source, to, calibration.method, samples, options)?;
        ranges.complete(&found);
    }
    let mut result = source.clone().into_owned();
    let budget = calibration.budget.map(|snr| Budget { snr, samples });
    let options = &options
        .clone()
        .with_correction(calibration.samples.filter(|_| !calibration.keep_biases))
        .with_quantized_results(calibration.operators);
    let (report, outputs) = quantize_with_runs(&mut result, (to, &ranges), budget, options, &known)?;
    let form = match calibration.operators {
        true => Some(use_operators(&mut result, options.table, options.registry, options.data)?),
        false => None,
    };
    let settings = MeasureOptions::default()
        .with_registry(options.registry)
        .with_data(options.data)
        .with_execution(options.execution.clone())
        .with_threads(options.threads);
    // Operators that take quantized numbers round in other places than what was measured for the budget and for the correction.
    let outputs = outputs.filter(|_| form.is_none());
    let measured = match (budget, &form) {
        (Some(_), None) => Some(Ok(report.outputs.clone())),
        (None, _) if !calibration.measure => None,
        _ => Some(match outputs {
            Some(outputs) => Ok(outputs),
            None => {
                let found = measure_each(model, &[&result], (samples, known.outputs.as_deref()), &settings);
                found.map(|mut found| found.pop().unwrap_or_default())
            }
        }),
    };
    let losses = match calibration.losses {
        true => losses(&source, to, &ranges, samples, options)?,
        false => Vec::new(),
    };
    drop(source);
    options.execution.interrupt.check()?;
    let effect = Effect::new((weight_bytes(model), weight_bytes(&result)), measured);
    *model = result;
    Ok(Calibrated { report, form, ranges, losses, effect })
}

/// No inputs.
struct NoSamples;

impl Samples for NoSamples {
    fn count(&self) -> usize {
        0
    }

    fn sample(&self, _: usize) -> Result<Vec<(String, onnx_eval::Value)>, String> {
        Err(CalibrateError::NoSamples.to_string())
    }
}
