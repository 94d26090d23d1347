//! What quantization does to the values of a model.

use onnx_ir::Model;
use onnx_types::ElemType;

use super::joined::join_biases;
use super::{CalibrateError, Ranges, StaticOptions, Work};
use crate::samples::Samples;

/// What rounding to the quantized numbers does to a value, without the errors of others.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct QuantizedValue {
    /// Its name.
    pub name: String,
    /// The scale.
    pub scale: f32,
    /// The zero point.
    pub zero_point: f32,
    /// The largest error of an element.
    pub max_error: f64,
    /// The ratio of signal to noise in decibels.
    pub snr: f64,
}

/// Measures what [`quantize_static`](super::quantize_static) does to each value, in runs of the model before it.
///
/// # Errors
///
/// Returns an error if the model does not run, or cannot be quantized.
pub fn losses(
    model: &Model,
    to: ElemType,
    ranges: &Ranges,
    samples: &dyn Samples,
    options: &StaticOptions<'_>,
) -> Result<Vec<QuantizedValue>, CalibrateError> {
    let failed = |reason: String| CalibrateError::Run { sample: 0, reason, kind: None, limit: None };
    let joined = join_biases(model, options).map_err(|error| failed(error.to_string()))?;
    let model = &*joined;
    let work = Work::new(model, to, ranges, options).map_err(|error| failed(error.to_string()))?;
    let (plan, parameters) = work.plan(model, &work.stay)?;
    let found = parameters.losses(model, &plan, &work.to, samples, options)?;
    let values = plan.values.iter().filter_map(|&value| {
        let sums = found.get(&value)?;
        let (scale, zero_point) = parameters.of(&plan, value)?;
        Some(QuantizedValue {
            name: model.str(model.value(value).name()).to_owned(),
            scale,
            zero_point,
            max_error: sums.max_error,
            snr: sums.ratio().unwrap_or(f64::NEG_INFINITY),
        })
    });
    Ok(values.collect())
}
