//! How far the outputs of two models are apart.

use std::fmt;

use onnx_eval::compare::Noise;
use onnx_eval::{EvalOptions, Evaluator, Value};
use onnx_ir::{GraphOutput, Model, ValueId};
use onnx_schema::Registry;
use onnx_types::tensor::{DataSource, NoData, Tensor, bf16, f16};
use onnx_types::{ElemType, Execution};

use crate::samples::{GeneratedSamples, SampleFailure, Samples, run_on, run_sample};

/// Settings of [`measure`].
#[derive(Clone)]
#[non_exhaustive]
pub struct MeasureOptions<'a> {
    /// Values of inputs by name; others are generated.
    pub given: &'a [(&'a str, Value)],
    /// Sizes of dimension variables, or of axes such as `x[0]`, of generated inputs. Default: none.
    pub sizes: &'a [(String, i64)],
    /// The operators that are known. By default those of ONNX.
    pub registry: &'a Registry,
    /// Source of the external weights of both models. By default there is none.
    pub data: &'a dyn DataSource,
    /// The seed of generated inputs, limits, and what ends the runs early.
    pub execution: Execution,
    /// The greatest number of threads that compute a node at one time. Default: 1.
    pub threads: usize,
}

impl Default for MeasureOptions<'_> {
    fn default() -> Self {
        Self {
            given: &[],
            sizes: &[],
            registry: Registry::STANDARD,
            data: &NoData,
            execution: Execution::DEFAULT,
            threads: 1,
        }
    }
}

onnx_types::option_setters! {
    MeasureOptions<'a> {
        with_given => given: &'a [(&'a str, Value)],
        with_sizes => sizes: &'a [(String, i64)],
        with_registry => registry: &'a Registry,
        with_data => data: &'a dyn DataSource,
        with_execution => execution: into Execution,
        with_threads => threads: usize,
    }
}

impl fmt::Debug for MeasureOptions<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MeasureOptions").field("given", &self.given.len()).finish_non_exhaustive()
    }
}

/// How far an output is apart.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct MeasuredOutput {
    /// The name of the output.
    pub name: String,
    /// Number of elements.
    pub elements: u64,
    /// Number of elements that differ.
    pub differing: u64,
    /// The largest difference of two elements.
    pub max_error: f64,
    /// The largest magnitude of an element before.
    pub max: f64,
    /// The ratio of signal to noise in decibels; infinity for equal outputs. `None` for integers and truth values: the distance of two
    /// indices says nothing about how good they are. Also `None` if no element is finite in both models.
    pub snr: Option<f64>,
    /// Elements that are finite in one model only, and different infinities.
    pub not_finite: u64,
    /// Elements that are the same infinity, or NaN, in both models: they say nothing about the error.
    pub equal_not_finite: u64,
    /// Whether it has elements that are not floats.
    pub is_exact: bool,
}

impl MeasuredOutput {
    /// The ratio of signal to noise of an output of floats: the least of all if an element is finite in one model only. `None` if nothing
    /// is known about the error.
    #[must_use]
    pub fn ratio(&self) -> Option<f64> {
        if !self.is_exact && self.not_finite > 0 { Some(f64::NEG_INFINITY) } else { self.snr }
    }

    /// Whether the output has floats, of which none is finite before or after.
    #[must_use]
    pub const fn is_never_finite(&self) -> bool {
        !self.is_exact && self.elements > 0 && self.equal_not_finite == self.elements
    }
}

/// Runs a model before and after a change of its number formats on the same inputs, and measures each output with numbers.
///
/// # Errors
///
/// Returns the reason if one of the models does not run, or outputs have other shapes.
pub fn measure(
    before: &Model,
    after: &Model,
    options: &MeasureOptions<'_>,
) -> Result<Vec<MeasuredOutput>, String> {
    let samples = GeneratedSamples::new(before, 1, options);
    measure_on(before, after, &samples, options)
}

/// Like [`measure`], on several inputs: the figures are those of all elements together.
///
/// # Errors
///
/// Returns the reason if one of the models does not run, or outputs have other shapes.
pub fn measure_on(
    before: &Model,
    after: &Model,
    samples: &dyn Samples,
    options: &MeasureOptions<'_>,
) -> Result<Vec<MeasuredOutput>, String> {
    Ok(measure_each(before, &[after], (samples, None), options)?.pop().unwrap_or_default())
}

/// Like [`measure_on`], for several models: that before runs once on each sample, unless its outputs are known.
pub(crate) fn measure_each(
    before: &Model,
    after: &[&Model],
    (samples, known): (&dyn Samples, Option<&[Vec<Value>]>),
    options: &MeasureOptions<'_>,
) -> Result<Vec<Vec<MeasuredOutput>>, String> {
    let run = EvalOptions::default()
        .with_registry(options.registry)
        .with_data(options.data)
        .with_execution(options.execution.clone())
        .with_threads(options.threads);
    let old = Evaluator::new(before, &run).map_err(|failure| reason(&failure))?;
    let new: Result<Vec<(&Model, Evaluator<'_>)>, String> = after
        .iter()
        .map(|&after| Ok((after, Evaluator::new(after, &run).map_err(|failure| reason(&failure))?)))
        .collect();
    let new = new?;
    let outputs = before.graph(before.main_graph()).outputs().iter().map(GraphOutput::value);
    let names: Vec<&str> = outputs.map(|value| before.str(before.value(value).name())).collect();
    let none = || names.iter().map(|_| None).collect();
    let mut measured: Vec<Vec<Option<Measured>>> = new.iter().map(|_| none()).collect();
    for index in 0..samples.count() {
        let (inputs, old) = match known.and_then(|known| known.get(index)) {
            Some(outputs) => (samples.sample(index)?, outputs.clone()),
            None => run_sample(&old, samples, index).map_err(SampleFailure::reason)?,
        };
        for (measured, (after, evaluator)) in measured.iter_mut().zip(&new) {
            let new = run_on(evaluator, &converted(after, &inputs)?).map_err(|failure| reason(&failure))?;
            for ((found, name), (old, new)) in measured.iter_mut().zip(&names).zip(old.iter().zip(&new)) {
                compare(name, old, new, found)?;
            }
        }
    }
    let finish = |measured: Vec<Option<Measured>>| {
        let named = measured.into_iter().zip(&names);
        named.filter_map(|(found, name)| Some(found?.finish((*name).to_owned()))).collect()
    };
    Ok(measured.into_iter().map(finish).collect())
}

/// Why a run has no result.
pub(crate) fn reason(failure: &onnx_eval::Failure) -> String {
    failure.diagnostic().message.clone()
}

/// The inputs with the element types that another model declares.
fn converted(model: &Model, inputs: &[(String, Value)]) -> Result<Vec<(String, Value)>, String> {
    let declared = model.graph(model.main_graph()).inputs();
    let elem_of = |name: &str| {
        let of_name = |input: &&ValueId| model.str(model.value(**input).name()) == name;
        let input = declared.iter().find(of_name)?;
        model.ty(*input).and_then(crate::types::inner_elem)
    };
    let convert = |(name, value): &(String, Value)| {
        let value = match elem_of(name) {
            Some(elem) => with_elements(value, elem)?,
            None => value.clone(),
        };
        Ok((name.clone(), value))
    };
    inputs.iter().map(convert).collect()
}

/// A value with other float elements inside.
fn with_elements(value: &Value, elem: ElemType) -> Result<Value, String> {
    // Sequences of sequences do not exist as inputs of operators, so the depth is small.
    match value {
        Value::Tensor(tensor) if tensor.elem() != elem => cast(tensor, elem).map(Value::from),
        Value::Sequence(items) => {
            let items: Result<Vec<Value>, String> = items
                .iter()
                .map(|item| match item {
                    Value::Tensor(tensor) if tensor.elem() != elem => cast(tensor, elem).map(Value::from),
                    other => Ok(other.clone()),
                })
                .collect();
            Ok(Value::Sequence(items?.into()))
        }
        other => Ok(other.clone()),
    }
}

fn cast(tensor: &Tensor, elem: ElemType) -> Result<Tensor, String> {
    let numbers = tensor.iter_f64(&NoData).map_err(|error| error.to_string())?;
    let dims = tensor.dims().to_vec();
    let made = match elem {
        ElemType::Float16 => {
            Tensor::from_slice(dims, &numbers.map(|number| f16::from_f32(number as f32)).collect::<Vec<_>>())
        }
        ElemType::Bfloat16 => {
            Tensor::from_slice(dims, &numbers.map(|number| bf16::from_f32(number as f32)).collect::<Vec<_>>())
        }
        ElemType::Float => Tensor::from_slice(dims, &numbers.map(|number| number as f32).collect::<Vec<_>>()),
        ElemType::Double => Tensor::from_slice(dims, &numbers.collect::<Vec<_>>()),
        ElemType::Int32 => Tensor::from_slice(dims, &numbers.map(|number| number as i32).collect::<Vec<_>>()),
        ElemType::Int64 => Tensor::from_slice(dims, &numbers.map(|number| number as i64).collect::<Vec<_>>()),
        other => return Err(format!("inputs are not converted to {other}")),
    };
    made.map_err(|error| error.to_string())
}

/// The least ratio of signal to noise of outputs of floats; `None` if there are none. Outputs that are finite in one model only have the
/// least of all.
pub(crate) fn least_ratio(outputs: &[MeasuredOutput]) -> Option<f64> {
    outputs.iter().filter_map(MeasuredOutput::ratio).min_by(f64::total_cmp)
}

/// The sums of an output.
#[derive(Default)]
struct Measured {
    elements: u64,
    differing: u64,
    /// Whether there are elements that are not floats.
    is_exact: bool,
    max: f64,
    not_finite: u64,
    equal_not_finite: u64,
    sums: Noise,
}

impl Measured {
    fn finish(self, name: String) -> MeasuredOutput {
        let is_never_finite = self.elements > 0 && self.not_finite + self.equal_not_finite == self.elements;
        let has_ratio = !self.is_exact && !is_never_finite;
        MeasuredOutput {
            name,
            elements: self.elements,
            differing: self.differing,
            max_error: self.sums.max_error,
            max: self.max,
            snr: has_ratio.then(|| self.sums.ratio().unwrap_or(f64::NEG_INFINITY)),
            not_finite: self.not_finite,
            equal_not_finite: self.equal_not_finite,
            is_exact: self.is_exact,
        }
    }
}

/// Measures an output in a run, if it has numbers.
fn compare(name: &str, old: &Value, new: &Value, found: &mut Option<Measured>) -> Result<(), String> {
    let (mut old_parts, mut new_parts) = (Vec::new(), Vec::new());
    parts(old, &mut old_parts);
    parts(new, &mut new_parts);
    if old_parts.is_empty() {
        return Ok(());
    }
    let is_same = old_parts.len() == new_parts.len()
        && old_parts.iter().zip(&new_parts).all(|(old, new)| old.dims() == new.dims());
    if !is_same {
        return Err(format!("the output `{name}` has another shape"));
    }
    let found = found.get_or_insert_with(Measured::default);
    for (old, new) in old_parts.iter().zip(&new_parts) {
        found.is_exact |= !old.elem().is_float();
        let of = |tensor: &Tensor| tensor.iter_f64(&NoData).map_err(|error| error.to_string());
        for (old, new) in of(old)?.zip(of(new)?) {
            found.elements += 1;
            let is_equal = old == new || (old.is_nan() && new.is_nan());
            found.differing += u64::from(!is_equal);
            if !old.is_finite() || !new.is_finite() {
                found.not_finite += u64::from(!is_equal);
                found.equal_not_finite += u64::from(is_equal);
                continue;
            }
            found.max = found.max.max(old.abs());
            found.sums.add(old, new);
        }
    }
    Ok(())
}

/// The tensors of numbers and truth values in a value.
fn parts<'a>(value: &'a Value, found: &mut Vec<&'a Tensor>) {
    let tensors: Vec<&Tensor> = match value {
        Value::Tensor(tensor) => vec![tensor.as_ref()],
        Value::Optional(Some(inner)) => inner.tensor().map(AsRef::as_ref).into_iter().collect(),
        Value::Sequence(items) => items.iter().filter_map(|item| item.tensor().map(AsRef::as_ref)).collect(),
        _ => Vec::new(),
    };
    found.extend(tensors.into_iter().filter(|tensor| tensor.iter_f64(&NoData).is_ok()));
}
