//! Runs and comparisons.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};

use onnxkit::eval::compare::{CompareOptions, Compared, Tolerances, compare as compare_models};
use onnxkit::eval::{EvalOptions, Evaluator as Run, Failure, NodeRun, Observer, Value};
use onnxkit::ir::{self, GraphOutput, ValueId};
use onnxkit::pass::{FeedOptions, Feeds, feeds};
use onnxkit::types::tensor::{DataSource, NoData};
use pyo3::IntoPyObjectExt as _;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};
use serde_json::{Value as Json, json};

use crate::fault::{Fault, Outcome, finding};
use crate::json::to_py;
use crate::model::{Model, Snapshot};
use crate::number::{Int, int};
use crate::tensor::Tensor;
use crate::work::Work;

fn failed(failure: &Failure) -> Fault {
    let mut fault = Fault::limited("RunError", failure.limit(), failure);
    fault.findings.push(finding(failure.diagnostic()));
    fault
}

/// The same for inputs that were made with these sizes, which the caller can choose.
fn failed_with(failure: &Failure, sizes: &[(String, i64)]) -> Fault {
    let mut fault = failed(failure);
    if !sizes.is_empty() && failure.limit().is_none() {
        let sizes: Vec<String> = sizes.iter().map(|(name, size)| format!("{name:?}: {size}")).collect();
        fault.message = format!(
            "{}; the sizes were made, and `sizes={{{}}}` chooses others",
            fault.message,
            sizes.join(", ")
        );
    }
    fault
}

/// An input: a tensor, an array or numbers; a list or tuple of those is a sequence if the model wants one; `None` is an optional
/// without a value.
fn value_of(value: &Bound<'_, PyAny>, model: &ir::Model, name: &str) -> PyResult<Value> {
    let id = model
        .graph(model.main_graph())
        .inputs()
        .iter()
        .copied()
        .find(|&id| model.str(model.value(id).name()) == name);
    let ty = id.and_then(|id| model.ty(id));
    // An optional takes what it may hold, without a wrapper.
    let is_optional = matches!(ty.map(|ty| &ty.kind), Some(onnxkit::types::TypeKind::Optional(_)));
    if is_optional && value.is_none() {
        return Ok(Value::Optional(None));
    }
    let ty = if is_optional { ty.and_then(onnxkit::types::Type::inner) } else { ty };
    let is_sequence = matches!(ty.map(|ty| &ty.kind), Some(onnxkit::types::TypeKind::Sequence(_)));
    if is_sequence && (value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>()) {
        let items = value.try_iter()?.map(|item| Ok(Value::from(Tensor::of_py(&item?, None)?)));
        return Ok(Value::Sequence(Arc::new(items.collect::<PyResult<_>>()?)));
    }
    let elem = ty.map(onnxkit::types::Type::elem).filter(|elem| elem.code() != 0);
    // Numbers of Python have the type that the model declares.
    let is_plain = value.is_instance_of::<PyList>()
        || value.is_instance_of::<PyTuple>()
        || value.extract::<f64>().is_ok() && value.getattr("dtype").is_err();
    let dtype = elem.filter(|_| is_plain).map(|elem| crate::dtype::DType(elem).into_bound_py_any(value.py()));
    Ok(Value::from(Tensor::of_py(value, dtype.transpose()?.as_ref())?))
}

/// The inputs of a run by their names.
pub(crate) fn values_of(inputs: &Bound<'_, PyDict>, model: &ir::Model) -> PyResult<Vec<(String, Value)>> {
    let mut values = Vec::new();
    for (name, value) in inputs {
        let name: String = name.extract()?;
        let value = value_of(&value, model, &name)?;
        values.push((name, value));
    }
    Ok(values)
}

fn to_object<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    match value {
        Value::Tensor(tensor) => Tensor::new((**tensor).clone(), Arc::new(NoData)).into_bound_py_any(py),
        Value::Sequence(items) => {
            let items = items.iter().map(|item| to_object(py, item)).collect::<PyResult<Vec<_>>>()?;
            Ok(PyList::new(py, items)?.into_any())
        }
        Value::Optional(Some(value)) => to_object(py, value),
        Value::Optional(None) => Ok(py.None().into_bound(py)),
        Value::Map(_) => {
            Err(Fault::new("RunError", "an output is a map, which has no form in Python yet").into())
        }
    }
}

/// The most threads that a run may ask for.
const MAX_THREADS: usize = 1024;

/// A number of threads that can be made.
pub(crate) fn known_threads(threads: usize) -> Outcome<usize> {
    if threads > MAX_THREADS {
        return Err(Fault::argument(format!("{threads} threads; at most {MAX_THREADS} are made")));
    }
    Ok(threads)
}

/// Runs a model as it is when this is made.
#[pyclass(frozen, module = "onnxkit")]
pub(crate) struct Evaluator {
    snapshot: Snapshot,
    threads: usize,
}

/// The values of the main graph that are wanted.
struct Seen<'m> {
    model: &'m ir::Model,
    wanted: HashSet<ValueId>,
    found: Mutex<HashMap<ValueId, Value>>,
}

impl Observer for Seen<'_> {
    fn end(&self, run: &NodeRun<'_>) {
        if run.depth != 1 {
            return;
        }
        let outputs = self.model.node(run.node).outputs().iter().zip(run.outputs);
        for (&output, value) in outputs {
            if let (Some(output), Some(value)) = (output, value)
                && self.wanted.contains(&output)
            {
                let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
                found.insert(output, value.clone());
            }
        }
    }
}

#[pymethods]
impl Evaluator {
    #[new]
    #[pyo3(signature = (model, threads=1))]
    fn new(
        py: Python<'_>,
        model: &Bound<'_, Model>,
        #[pyo3(from_py_with = int)] threads: usize,
    ) -> PyResult<Self> {
        let threads = known_threads(threads)?;
        let snapshot = model.get().snapshot(py)?;
        Work::default().run(py, |execution| {
            let data = snapshot.data(execution);
            let options = EvalOptions::default().with_data(&data);
            Run::new(&snapshot.model, &options).map(drop).map_err(|error| failed(&error))
        })?;
        Ok(Self { snapshot, threads })
    }

    /// The nodes that no kernel computes, as messages: a run that reaches one of them fails.
    fn without_kernel(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        Work::default().run(py, |execution| {
            let data = self.snapshot.data(execution);
            let options = EvalOptions::default().with_data(&data);
            let run = Run::new(&self.snapshot.model, &options).map_err(|error| failed(&error))?;
            Ok(run.without_kernel().map(|(_, message)| message).collect())
        })
    }

    /// The outputs by name. `inputs` are tensors, arrays or numbers by name. `outputs` names the values that are wanted, also
    /// those that nodes of the main graph compute; with `inner`, all of these are given.
    #[pyo3(signature = (inputs, outputs=None, inner=false, **options))]
    fn run<'py>(
        &self,
        py: Python<'py>,
        inputs: &Bound<'py, PyDict>,
        outputs: Option<Vec<String>>,
        inner: bool,
        options: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let model = &*self.snapshot.model;
        let inputs = values_of(inputs, model)?;
        let main = model.main_graph();
        let name = |value: ValueId| model.str(model.value(value).name());
        let ends: Vec<ValueId> = model.graph(main).outputs().iter().map(GraphOutput::value).collect();
        let made = model.nodes(main).flat_map(|node| model.node(node).outputs().iter().flatten().copied());
        let is_wanted = |value: ValueId| {
            outputs.as_ref().is_none_or(|outputs| outputs.iter().any(|wanted| wanted == name(value)))
        };
        let inner: Vec<ValueId> = if inner || outputs.is_some() {
            made.filter(|&value| !ends.contains(&value) && (inner || is_wanted(value))).collect()
        } else {
            Vec::new()
        };
        let known: Vec<&str> = ends.iter().chain(&inner).map(|&value| name(value)).collect();
        if let Some(unknown) = outputs.iter().flatten().find(|name| !known.contains(&name.as_str())) {
            let message = format!("no output and no node of the main graph has the value `{unknown}`");
            return Err(Fault::argument(message).into());
        }
        let seen = Seen { model, wanted: inner.iter().copied().collect(), found: Mutex::default() };
        let results = Work::of(options)?.run_on(py, self.threads, |execution| {
            let data = self.snapshot.data(execution);
            let mut options = EvalOptions::default()
                .with_data(&data)
                .with_threads(self.threads)
                .with_execution(execution.clone());
            if !inner.is_empty() {
                options = options.with_observer(&seen);
            }
            let run = Run::new(model, &options).map_err(|error| failed(&error))?;
            let inputs: Vec<(&str, Value)> =
                inputs.iter().map(|(name, value)| (name.as_str(), value.clone())).collect();
            run.run(&inputs).map_err(|error| failed(&error))
        })?;
        let dict = PyDict::new(py);
        for (&value, result) in ends.iter().zip(&results).filter(|&(&value, _)| is_wanted(value)) {
            dict.set_item(name(value), to_object(py, result)?)?;
        }
        let found = seen.found.into_inner().unwrap_or_else(PoisonError::into_inner);
        for value in inner {
            if let Some(result) = found.get(&value) {
                dict.set_item(name(value), to_object(py, result)?)?;
            }
        }
        Ok(dict)
    }

    fn __repr__(&self) -> String {
        format!("<Evaluator of {} nodes>", self.snapshot.model.node_count())
    }
}

/// Inputs for a model, made of a seed.
#[pyfunction]
#[pyo3(signature = (model, sizes, seed, **options))]
pub(crate) fn inputs<'py>(
    py: Python<'py>,
    model: &Bound<'py, Model>,
    sizes: Vec<(String, i64)>,
    seed: Int<u64>,
    options: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyDict>> {
    let snapshot = model.get().snapshot(py)?;
    let found = Work::of(options)?.run(py, |execution| {
        made(&snapshot.model, &snapshot.data(execution), &sizes, &[], &execution.clone().with_seed(seed.0))
    })?;
    let dict = PyDict::new(py);
    for (name, value) in &found.values {
        dict.set_item(name, to_object(py, value)?)?;
    }
    Ok(dict)
}

fn made(
    model: &ir::Model,
    data: &dyn DataSource,
    sizes: &[(String, i64)],
    given: &[(&str, Value)],
    execution: &onnxkit::types::Execution,
) -> Result<Feeds, Fault> {
    let options = FeedOptions::default()
        .with_data(data)
        .with_sizes(sizes)
        .with_given(given)
        .with_execution(execution.clone());
    feeds(model, &options).map_err(|error| Fault::limited("ArgumentError", error.limit(), error))
}

/// Runs two models on the same inputs.
#[pyfunction]
#[pyo3(signature = (a, b, inputs, sizes, seeds, rtol, atol, inner, **options))]
#[allow(clippy::too_many_arguments, reason = "keyword arguments of Python")]
pub(crate) fn compare<'py>(
    py: Python<'py>,
    a: &Bound<'py, Model>,
    b: &Bound<'py, Model>,
    inputs: Option<&Bound<'py, PyDict>>,
    sizes: Vec<(String, i64)>,
    seeds: Int<u64>,
    rtol: Option<f64>,
    atol: Option<f64>,
    inner: bool,
    options: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    let (a, b) = (a.get().snapshot(py)?, b.get().snapshot(py)?);
    let given = inputs.map(|inputs| values_of(inputs, &a.model)).transpose()?.unwrap_or_default();
    let is_complete = given.len() >= a.model.graph(a.model.main_graph()).inputs().len();
    let runs = Work::of(options)?.run(py, |execution| {
        let (data_of_a, data_of_b) = (a.data(execution), b.data(execution));
        let tolerances = Tolerances::default().with_rtol(rtol).with_atol(atol);
        let compared = CompareOptions::default().with_tolerances(tolerances).with_inner(inner);
        let given: Vec<(&str, Value)> =
            given.iter().map(|(name, value)| (name.as_str(), value.clone())).collect();
        let mut runs = Vec::new();
        // The sizes of the first run: those of another seed can contradict what the model does not declare, such as that a mask
        // covers the past and the new tokens.
        let mut first: Option<Vec<(String, i64)>> = None;
        for seed in 0..if is_complete { 1 } else { seeds.0 } {
            execution.interrupt.check()?;
            let execution = execution.clone().with_seed(seed);
            let options_a = EvalOptions::default().with_execution(execution.clone()).with_data(&data_of_a);
            let options_b = EvalOptions::default().with_execution(execution.clone()).with_data(&data_of_b);
            let run = |sizes: &[(String, i64)]| -> Result<_, Fault> {
                let feeds = made(&a.model, &data_of_a, sizes, &given, &execution)?;
                let found = compare_models(
                    (&a.model, &options_a),
                    (&b.model, &options_b),
                    &feeds.by_name(),
                    &compared,
                );
                Ok((found.map_err(|error| failed_with(&error.failure, &feeds.sizes)), feeds.sizes))
            };
            let (found, chosen) = run(&sizes)?;
            let found = match (found, &first) {
                (Ok(found), _) => found,
                (Err(_), Some(first)) => run(first)?.0?,
                (Err(fault), None) => return Err(fault),
            };
            first.get_or_insert(chosen);
            runs.push(json!({
                "seed": seed, "agrees": found.agrees(),
                "outputs": found.outputs.iter().map(compared_value).collect::<Vec<_>>(),
                "inner": found.inner.iter().map(compared_value).collect::<Vec<_>>(),
                "first": found.divergence().map(compared_value),
                "only_in_a": found.only_in_a, "only_in_b": found.only_in_b,
            }));
        }
        Ok(Json::Array(runs))
    })?;
    to_py(py, &runs)
}

fn compared_value(found: &Compared) -> Json {
    let difference = &found.difference;
    json!({
        "name": found.name, "type": found.ty, "is_output": found.is_output, "agrees": difference.agrees(),
        "max_abs": difference.max_abs, "max_rel": difference.max_rel, "max_ulps": difference.max_ulps,
        "elements": difference.elements, "differing": difference.differing, "exceeding": difference.exceeding,
        "mismatch": difference.mismatch,
    })
}
