//! Quantization of weights and activations.

use std::sync::{Arc, Mutex, PoisonError};

use onnxkit::compose::{QUANTIZATIONS, Quantization};
use onnxkit::eval::Value;
use onnxkit::ir::{self, NodeId};
use onnxkit::quantize::{
    BlockOptions, CalibrateError, CalibratedError, Calibration, DynamicOptions, Effect, GeneratedInput,
    GeneratedSamples, Granularity, MeasureOptions, Method, QuantizeError, Ranges, Samples, StaticOptions,
    WeightOptions, WeightReport, is_quantized_type, measure_on, quantize_blocks, quantize_calibrated,
    quantize_dynamic, quantize_weights, unquantized, weight_bytes,
};
use onnxkit::schema::Registry;
use onnxkit::types::tensor::DataSource;
use onnxkit::types::{ElemType, Execution};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::{Value as Json, json};

use crate::dtype::DType;
use crate::fault::{Fault, Outcome};
use crate::formats::{denoted, nodes_of, placed, registry_for};
use crate::json::to_py;
use crate::model::{Model, Snapshot};
use crate::number::{Float, Int};
use crate::run::{known_threads, values_of};
use crate::work::Work;

/// What is quantized, as the Python layer states it.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct Settings {
    /// `static`, `dynamic` or `weights`.
    kind: String,
    per_channel: bool,
    block: Option<Int<usize>>,
    symmetric: bool,
    budget: Option<Float>,
    measure: bool,
    losses: bool,
    keep_biases: bool,
    operators: bool,
    target: String,
    method: String,
    percentile: Float,
    threads: Int<usize>,
}

impl Settings {
    fn method(&self) -> Outcome<Method> {
        Ok(match self.method.as_str() {
            "minmax" => Method::MinMax,
            "percentile" => Method::Percentile(self.percentile.0),
            "entropy" => Method::Entropy,
            "mse" => Method::Mse,
            other => {
                let known = "minmax, percentile, entropy or mse";
                return Err(Fault::argument(format!("`{other}` is not a method: write {known}")));
            }
        })
    }

    fn table(&self) -> Outcome<Quantization> {
        Quantization::named(&self.target).ok_or_else(|| {
            let names: Vec<&str> = QUANTIZATIONS.iter().map(|(name, _)| *name).collect();
            Fault::argument(format!("`{}` is not a target: write {}", self.target, names.join(", ")))
        })
    }
}

/// Ranges as the text of a file, or by names.
#[derive(FromPyObject)]
pub(crate) enum GivenRanges {
    Text(String),
    Named(Vec<(String, (f64, f64))>),
}

/// Inputs that a sequence of Python gives, one mapping for each run.
struct GivenSamples {
    sequence: Py<PyAny>,
    count: usize,
    model: Arc<ir::Model>,
    /// The exception of the sequence, which ends the work.
    raised: Mutex<Option<PyErr>>,
}

impl GivenSamples {
    fn read(&self, py: Python<'_>, index: usize) -> PyResult<Vec<(String, Value)>> {
        let sample = self.sequence.bind(py).get_item(index)?;
        if !sample.hasattr("keys")? {
            let kind = sample.get_type().name()?;
            let message = format!("sample {index} is `{kind}`, not a mapping of names of inputs to arrays");
            return Err(PyTypeError::new_err(message));
        }
        let sample = py.get_type::<PyDict>().call1((sample,))?;
        let values = values_of(sample.cast::<PyDict>()?, &self.model)?;
        let inputs = self.model.graph(self.model.main_graph()).inputs().iter();
        let inputs: Vec<(&str, bool)> = inputs
            .map(|&input| {
                let value = self.model.value(input);
                (self.model.str(value.name()), value.initializer().is_some())
            })
            .collect();
        let is_given = |name: &str| values.iter().any(|(given, _)| given == name);
        if let Some((name, _)) = inputs.iter().find(|(name, has_default)| !has_default && !is_given(name)) {
            return Err(Fault::argument(format!("sample {index} has no value of the input `{name}`")).into());
        }
        if let Some((name, _)) = values.iter().find(|(name, _)| inputs.iter().all(|input| input.0 != *name)) {
            let names: Vec<&str> = inputs.iter().map(|input| input.0).collect();
            let names = names.join(", ");
            let message = format!("sample {index}: the model has no input `{name}`; it has {names}");
            return Err(Fault::argument(message).into());
        }
        Ok(values)
    }
}

impl Samples for GivenSamples {
    fn count(&self) -> usize {
        self.count
    }

    fn sample(&self, index: usize) -> Result<Vec<(String, Value)>, String> {
        Python::attach(|py| self.read(py, index)).map_err(|error| {
            let text = error.to_string();
            self.raised.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
            text
        })
    }
}

/// The inputs of the runs.
enum Inputs {
    None,
    Generated(usize),
    Given(GivenSamples),
}

impl Inputs {
    fn of_py(samples: Option<&Bound<'_, PyAny>>, model: &Arc<ir::Model>) -> PyResult<Self> {
        let Some(samples) = samples else { return Ok(Self::None) };
        if let Ok(count) = samples.extract::<usize>() {
            return Ok(Self::Generated(count));
        }
        Ok(Self::Given(GivenSamples {
            sequence: samples.clone().unbind(),
            count: samples.len()?,
            model: Arc::clone(model),
            raised: Mutex::default(),
        }))
    }

    fn take_exception(&self) -> Option<PyErr> {
        match self {
            Self::Given(given) => given.raised.lock().unwrap_or_else(PoisonError::into_inner).take(),
            _ => None,
        }
    }
}

/// A request, with all of Python's objects read.
struct Request {
    to: ElemType,
    weights: Option<ElemType>,
    ranges: Ranges,
    inputs: Inputs,
    settings: Settings,
}

/// What a change of a model needs.
struct Surroundings<'a> {
    before: &'a ir::Model,
    except: &'a [NodeId],
    registry: &'a Registry,
    data: &'a dyn DataSource,
    execution: &'a Execution,
}

/// Quantizes weights, or what computes with them.
#[pyfunction]
#[pyo3(signature = (model, to, weight_type, except_, samples, ranges, settings, inplace, **options))]
#[allow(clippy::too_many_arguments, reason = "keyword arguments of Python")]
pub(crate) fn quantize<'py>(
    py: Python<'py>,
    model: &Bound<'py, Model>,
    to: &Bound<'py, PyAny>,
    weight_type: Option<&Bound<'py, PyAny>>,
    except_: Option<&Bound<'py, PyAny>>,
    samples: Option<&Bound<'py, PyAny>>,
    ranges: Option<GivenRanges>,
    settings: &Bound<'py, PyDict>,
    inplace: bool,
    options: Option<&Bound<'py, PyDict>>,
) -> PyResult<(Bound<'py, PyAny>, Bound<'py, Model>)> {
    let mut snapshot = model.get().snapshot(py)?;
    let settings: Settings = settings.extract()?;
    let threads = known_threads(settings.threads.0)?;
    let request = Request {
        to: quantized_type(to)?,
        weights: weight_type.map(quantized_type).transpose()?,
        ranges: match ranges {
            None => Ranges::default(),
            Some(GivenRanges::Text(text)) => Ranges::parse(&text).map_err(Fault::argument)?,
            Some(GivenRanges::Named(named)) => Ranges::of(named).map_err(Fault::argument)?,
        },
        inputs: Inputs::of_py(samples, &snapshot.model)?,
        settings,
    };
    let except = denoted(&model.clone().unbind(), except_)?.unwrap_or_default();
    let done = Work::of(options)?.run_on(py, threads, |execution| {
        let except = nodes_of(&snapshot, &except, execution)?;
        let (before, data) = (Arc::clone(&snapshot.model), snapshot.data(execution));
        let registry = registry_for(&before, execution)?;
        let around =
            Surroundings { before: &before, except: &except, registry: &registry, data: &data, execution };
        let done = quantized(&mut snapshot, &request, &around);
        execution.interrupt.check()?;
        done
    });
    // What the caller's data raises says more than the error that follows from it.
    if let Some(exception) = request.inputs.take_exception() {
        return Err(exception);
    }
    Ok((to_py(py, &done?)?, placed(py, model, snapshot, inplace)?))
}

fn quantized_type(given: &Bound<'_, PyAny>) -> PyResult<ElemType> {
    let elem = DType::of_py(given)?.0;
    if is_quantized_type(elem) {
        return Ok(elem);
    }
    let known = ElemType::all().filter(|&elem| is_quantized_type(elem)).map(|elem| elem.to_string());
    let help = match elem {
        ElemType::Float16 | ElemType::Bfloat16 => "`half` changes the whole model".to_owned(),
        _ => format!("types: {}", known.collect::<Vec<_>>().join(", ")),
    };
    Err(Fault::argument(format!("numbers are not quantized to `{elem}`; {help}")).into())
}

fn quantized(snapshot: &mut Snapshot, request: &Request, around: &Surroundings<'_>) -> Outcome<Json> {
    let measure = MeasureOptions::default()
        .with_registry(around.registry)
        .with_data(around.data)
        .with_execution(around.execution.clone())
        .with_threads(request.settings.threads.0);
    let count = match &request.inputs {
        Inputs::Generated(count) => *count,
        _ => 1,
    };
    let generated = GeneratedSamples::new(around.before, count, &measure);
    let samples: &dyn Samples = match &request.inputs {
        Inputs::Given(given) => given,
        _ => &generated,
    };
    let mut fields = match request.settings.kind.as_str() {
        "static" => quantize_statically(snapshot, request, around, samples)?,
        kind => quantize_only_weights(snapshot, request, around, (samples, &measure), kind == "dynamic")?,
    };
    let is_nothing = |field: &str| fields.get(field).and_then(Json::as_array).is_none_or(Vec::is_empty);
    let reason = match is_nothing("weights") && is_nothing("quantized") {
        true => unquantized(around.before, around.registry, around.data, around.execution),
        false => None,
    };
    if let Some(fields) = fields.as_object_mut() {
        fields.insert("unchanged".to_owned(), json!(reason.map(|reason| reason.to_string())));
        fields
            .insert("generated".to_owned(), generated.inputs().iter().map(GeneratedInput::to_json).collect());
    }
    Ok(fields)
}

fn quantize_statically(
    snapshot: &mut Snapshot,
    request: &Request,
    around: &Surroundings<'_>,
    samples: &dyn Samples,
) -> Outcome<Json> {
    let settings = &request.settings;
    let table = settings.table()?;
    let options = StaticOptions::new(&table)
        .with_weights(request.weights)
        .with_per_channel(settings.per_channel)
        .with_symmetric(settings.symmetric)
        .with_except(around.except)
        .with_registry(around.registry)
        .with_data(around.data)
        .with_execution(around.execution.clone())
        .with_threads(settings.threads.0);
    let has_inputs = !matches!(request.inputs, Inputs::None);
    let calibration = Calibration::default()
        .with_ranges(request.ranges.clone())
        .with_samples(has_inputs.then_some(samples))
        .with_method(settings.method()?)
        .with_budget(settings.budget.map(|budget| budget.0))
        .with_keep_biases(settings.keep_biases)
        .with_operators(settings.operators)
        .with_measure(settings.measure)
        .with_losses(settings.losses);
    let done = quantize_calibrated(snapshot.editable(), request.to, &calibration, &options);
    around.execution.interrupt.check()?;
    let done = done.map_err(|error| match error {
        CalibratedError::Calibrate(error) => calibrate_fault(&error),
        CalibratedError::Quantize(error) => quantize_fault(&error),
        error => Fault::edit(error),
    })?;
    let count = if has_inputs { samples.count() } else { 0 };
    let counts = (done.ranges.iter().len(), count);
    let mut fields = done.report.to_json(request.to, &done.losses, counts, &done.effect);
    let ranges = done.ranges.iter().map(|(name, (low, high))| (name.to_owned(), json!([low, high])));
    let form = done.form.map(|form| form.nodes).unwrap_or_default();
    if let Some(fields) = fields.as_object_mut() {
        fields.insert("ranges".to_owned(), Json::Object(ranges.collect()));
        fields.insert("operators".to_owned(), by_operator(&form));
    }
    Ok(fields)
}

fn by_operator(counts: &[(String, usize)]) -> Json {
    counts.iter().map(|(op, count)| json!({ "op": op, "nodes": count })).collect()
}

/// Quantizes weights: with `DequantizeLinear`, in blocks of `MatMulNBits`, or of operators that find the ranges of activations.
fn quantize_only_weights(
    snapshot: &mut Snapshot,
    request: &Request,
    around: &Surroundings<'_>,
    (samples, measure): (&dyn Samples, &MeasureOptions<'_>),
    is_dynamic: bool,
) -> Outcome<Json> {
    let settings = &request.settings;
    let (model, to) = (snapshot.editable(), request.to);
    let (mut operators, mut report) = (Vec::new(), WeightReport::of(Vec::new(), Vec::new()));
    if is_dynamic {
        let options = DynamicOptions::default()
            .with_per_channel(settings.per_channel)
            .with_except(around.except)
            .with_registry(around.registry)
            .with_data(around.data)
            .with_execution(around.execution.clone());
        let done = quantize_dynamic(model, to, &options).map_err(|error| quantize_fault(&error))?;
        operators = done.quantized;
        (report.weights, report.stay) = (done.weights, done.stay);
    } else if settings.operators {
        let options = BlockOptions::default()
            .with_block(settings.block.map_or(32, |block| block.0))
            .with_symmetric(settings.symmetric)
            .with_except(around.except)
            .with_registry(around.registry)
            .with_data(around.data)
            .with_execution(around.execution.clone());
        report = quantize_blocks(model, to, &options).map_err(|error| quantize_fault(&error))?;
    } else {
        let granularity = match (settings.per_channel, settings.block) {
            (true, _) => Granularity::Channel,
            (false, Some(size)) => Granularity::Block(size.0),
            (false, None) => Granularity::Tensor,
        };
        let options = WeightOptions::default()
            .with_granularity(granularity)
            .with_symmetric(settings.symmetric)
            .with_except(around.except)
            .with_budget(settings.budget.map(|budget| budget.0))
            .with_samples(Some(samples))
            .with_registry(around.registry)
            .with_data(around.data)
            .with_execution(around.execution.clone());
        report = quantize_weights(model, to, &options).map_err(|error| quantize_fault(&error))?;
    }
    let measured = match settings.budget {
        Some(_) => Some(Ok(report.outputs.clone())),
        None => settings.measure.then(|| measure_on(around.before, model, samples, measure)),
    };
    let effect = Effect::new((weight_bytes(around.before), weight_bytes(model)), measured);
    let mut fields = report.to_json(to, &effect);
    if let Some(fields) = fields.as_object_mut() {
        fields.insert("quantized".to_owned(), by_operator(&operators));
    }
    Ok(fields)
}

fn quantize_fault(error: &QuantizeError) -> Fault {
    match error {
        QuantizeError::Stopped(stopped) => (*stopped).into(),
        QuantizeError::Weight { reason, .. } => Fault::limited("LoadError", reason.limit(), error),
        QuantizeError::NotMeasured(_) => Fault::new("RunError", error.to_string()),
        QuantizeError::Version { needed, .. } => {
            Fault::edit(format!("{error}: `convert(model, {needed})` first"))
        }
        QuantizeError::Edit(_) => Fault::edit(error),
        error => Fault::argument(error),
    }
}

fn calibrate_fault(error: &CalibrateError) -> Fault {
    match error {
        CalibrateError::Stopped(stopped) => (*stopped).into(),
        CalibrateError::Run { limit, .. } => Fault::limited("RunError", *limit, error),
        error => Fault::argument(error),
    }
}
