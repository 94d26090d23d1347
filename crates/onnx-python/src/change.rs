//! Changes of whole models. Those that change a model in place are made on a copy, and take effect all or not at all.

use onnxkit::codec::externalize::{InlineDataOptions as EmbedOptions, inline as embed};
use onnxkit::compose::{
    ComposeError, Connection, EditOptions, ExtractOptions, MergeOptions, ModelFacts, NewSize, Parts,
    ReduceError, ReduceOptions, RenameKinds, RenameRule, Selection, SizeChange, SizeTarget, SplitOptions,
    connections_by_name, extract as extract_values, merge as merge_models, reduce as reduce_model,
    rename_until as rename_all, resize as resize_model, split as split_model,
};
use onnxkit::functions::{
    FunctionSelector, InlineOptions, OutlineOptions, expand, inline as inline_calls, inline_all,
    outline_repeated,
};
use onnxkit::infer::{InferOptions, infer};
use onnxkit::ir::{self, GraphOutput, ValueId, ValueTypes};
use onnxkit::pass::Trial;
use onnxkit::schema::opset_versions;
use onnxkit::types::{Dim, Execution, Symbol, Type, Watch};
use onnxkit::version::{ConvertFunctions, ConvertOptions, VersionError, convert as convert_model, plan};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use serde_json::json;

use crate::fault::{Fault, Outcome};
use crate::graph::operand;
use crate::inspect::main_outputs;
use crate::json::to_py;
use crate::lists::list_of;
use crate::model::{Model, Snapshot};
use crate::number::{Int, number};
use crate::work::Work;

/// A value that a caller names or has a handle of.
pub(crate) enum Named {
    Id(ValueId),
    Text(String),
}

pub(crate) fn named(model: &Py<Model>, values: Option<&Bound<'_, PyAny>>) -> PyResult<Option<Vec<Named>>> {
    let Some(values) = values else { return Ok(None) };
    let mut found = Vec::new();
    for value in values.try_iter()? {
        let value = value?;
        found.push(match value.extract::<String>() {
            Ok(text) => Named::Text(text),
            Err(_) => Named::Id(operand(model, &value)?),
        });
    }
    Ok(Some(found))
}

fn resolved(snapshot: &Snapshot, values: &[Named], execution: &Execution) -> Outcome<Vec<ValueId>> {
    let model = &snapshot.model;
    let data = snapshot.data(execution);
    let facts = ModelFacts::new(model).with_data(&data).with_execution(execution.clone());
    let one = |value: &Named| match value {
        Named::Id(id) => model.get_value(*id).map(|_| *id).ok_or_else(|| Fault::stale("value")),
        Named::Text(text) => match model.find_value(model.main_graph(), text) {
            Some(id) => Ok(id),
            None => Selection::new(&facts)
                .value(text)
                .map_err(|error| Fault::limited("SelectorError", error.limit(), error)),
        },
    };
    values.iter().map(one).collect()
}

fn compose_fault(error: &ComposeError, model: &ir::Model) -> Fault {
    match error {
        ComposeError::Stopped(stopped) => (*stopped).into(),
        error => Fault::of_findings("EditError", "the edit is refused", &error.findings(model)),
    }
}

/// Converts to another version of an operator set.
#[pyfunction]
#[pyo3(signature = (model, version, domain, **options))]
pub(crate) fn convert<'py>(
    py: Python<'py>,
    model: &Bound<'py, Model>,
    version: Int<i64>,
    domain: String,
    options: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    let mut snapshot = model.get().snapshot(py)?;
    let done = Work::of(options)?.run(py, |execution| {
        let model = snapshot.editable();
        let symbol = model.intern(&domain);
        let options = ConvertOptions::default().with_domain(symbol).with_execution(execution.clone());
        let done = convert_model(model, version.0, &options).map_err(|error| version_fault(&error, model))?;
        let step = |step: &onnxkit::version::StepRecord| {
            json!({ "op": step.op, "since": step.since, "to": step.to, "change": step.change.name() })
        };
        Ok(json!({
            "from_version": done.from, "changed": done.changed,
            "steps": done.steps.iter().map(step).collect::<Vec<_>>(),
        }))
    })?;
    let done = to_py(py, &done)?;
    model.get().adopt(py, snapshot)?;
    Ok(done)
}

fn version_fault(error: &VersionError, model: &ir::Model) -> Fault {
    match error {
        VersionError::Stopped(stopped) => (*stopped).into(),
        VersionError::Bodies(error) => Fault::limited("ConvertError", error.limit(), error),
        error => {
            let (what, findings) = ("the model cannot be converted", error.findings(model));
            match findings.diagnostics() {
                [] => Fault::new("ConvertError", format!("{what}: {error}")),
                _ => Fault::of_findings("ConvertError", what, &findings),
            }
        }
    }
}

/// The versions that a model can be converted to, and why not to the others.
#[pyfunction]
#[pyo3(signature = (model, **options))]
pub(crate) fn reach<'py>(
    py: Python<'py>,
    model: &Bound<'py, Model>,
    options: Option<&Bound<'py, PyDict>>,
) -> PyResult<Vec<(i64, Option<String>)>> {
    let model = model.get().snapshot(py)?.model;
    Work::of(options)?.run(py, |execution| {
        let options = ConvertOptions::default().with_execution(execution.clone());
        let mut found = Vec::new();
        for version in opset_versions(Symbol::EMPTY).into_iter().flatten() {
            execution.interrupt.check()?;
            found.push((
                version,
                match plan(&model, version, &options) {
                    Err(error) => Some(version_fault(&error, &model).message),
                    Ok(plan) => plan.refusals.first().map(ToString::to_string),
                },
            ));
        }
        Ok(found)
    })
}

/// The part of a model between inputs and outputs.
#[pyfunction]
#[pyo3(signature = (model, inputs, outputs, **options))]
pub(crate) fn extract<'py>(
    py: Python<'py>,
    model: Bound<'py, Model>,
    inputs: Option<&Bound<'py, PyAny>>,
    outputs: Option<&Bound<'py, PyAny>>,
    options: Option<&Bound<'py, PyDict>>,
) -> PyResult<Model> {
    let mut snapshot = model.get().snapshot(py)?;
    let model = model.unbind();
    let (inputs, outputs) = (named(&model, inputs)?, named(&model, outputs)?);
    Work::of(options)?.run(py, |execution| {
        let inputs = inputs.map(|inputs| resolved(&snapshot, &inputs, execution)).transpose()?;
        let outputs = match outputs {
            Some(outputs) => resolved(&snapshot, &outputs, execution)?,
            None => main_outputs(&snapshot.model),
        };
        let options = ExtractOptions::default().with_execution(execution.clone());
        let part = snapshot.editable();
        extract_values(part, inputs.as_deref(), &outputs, &options)
            .map_err(|error| compose_fault(&error, part))?;
        let part = std::mem::take(part);
        Ok(snapshot.sibling(part))
    })
}

/// Splits a model into parts that run one after the other.
#[pyfunction]
#[pyo3(signature = (model, parts, **options))]
pub(crate) fn split(
    py: Python<'_>,
    model: &Bound<'_, Model>,
    parts: Int<usize>,
    options: Option<&Bound<'_, PyDict>>,
) -> PyResult<Vec<Model>> {
    let snapshot = model.get().snapshot(py)?;
    Work::of(options)?.run(py, |execution| {
        let options = SplitOptions::default().with_execution(execution.clone());
        let parts = split_model(&snapshot.model, Parts::Count(parts.0), &options)
            .map_err(|error| compose_fault(&error, &snapshot.model))?;
        Ok(parts.into_iter().map(|part| snapshot.sibling(part.model)).collect())
    })
}

/// Makes one model of several: each is connected to the next one.
#[pyfunction]
#[pyo3(signature = (models, connect, prefixes, **options))]
pub(crate) fn merge(
    py: Python<'_>,
    models: Vec<Bound<'_, Model>>,
    connect: Option<Vec<(String, String)>>,
    prefixes: Option<Vec<String>>,
    options: Option<&Bound<'_, PyDict>>,
) -> PyResult<Model> {
    let mut snapshots = Vec::new();
    for model in &models {
        snapshots.push(model.get().snapshot(py)?);
    }
    Work::of(options)?.run(py, |execution| {
        // The weights of all come into one model, whose files have no common folder.
        for snapshot in snapshots.iter_mut().skip(1) {
            let data = snapshot.data(execution);
            embed(snapshot.editable(), &EmbedOptions::default(), &data)
                .map_err(|error| Fault::limited("LoadError", error.limit(), error))?;
        }
        let all: Vec<&ir::Model> = snapshots.iter().map(|snapshot| &*snapshot.model).collect();
        let connections = match connect {
            None => connections_by_name(&all),
            Some(pairs) => {
                let connections = pairs.iter().map(|pair| connection(&all, pair));
                connections.collect::<Outcome<Vec<_>>>()?.into_iter().flatten().collect()
            }
        };
        let options = MergeOptions::default()
            .with_execution(execution.clone())
            .with_prefixes(prefixes.unwrap_or_default());
        let merged = merge_models(&all, &connections, &options).map_err(|error| match error.limit() {
            Some(limit) => Fault::limited("EditError", Some(limit), &error),
            None => Fault::of_findings("EditError", "the models cannot be merged", &error.findings(&all).1),
        })?;
        let first = snapshots.first().ok_or_else(|| Fault::argument("`models` is empty"))?;
        Ok(first.sibling(merged.model))
    })
}

/// The connections of an output to an input of the next model.
fn connection(models: &[&ir::Model], (output, input): &(String, String)) -> Outcome<Vec<Connection>> {
    let mut found = Vec::new();
    for (index, pair) in models.windows(2).enumerate() {
        let &[from, to] = pair else { continue };
        let is_named =
            |model: &ir::Model, value: ValueId, name: &str| model.str(model.value(value).name()) == name;
        let mut outputs = from.graph(from.main_graph()).outputs().iter().map(GraphOutput::value);
        let source = outputs.find(|&value| is_named(from, value, output));
        let source = source.or_else(|| from.find_value(from.main_graph(), output));
        let mut inputs = to.graph(to.main_graph()).inputs().iter().copied();
        let target = inputs.find(|&value| is_named(to, value, input));
        if let (Some(source), Some(target)) = (source, target) {
            found.push(Connection::new((index, source), (index + 1, target)));
        }
    }
    if found.is_empty() {
        let message = format!("no model has the value `{output}` while the next one has the input `{input}`");
        return Err(Fault::argument(message));
    }
    Ok(found)
}

/// Replaces calls by the bodies of their functions. Returns how many, and the calls that stay with the reasons.
#[pyfunction]
#[pyo3(signature = (model, names, bodies, **options))]
pub(crate) fn inline(
    py: Python<'_>,
    model: &Bound<'_, Model>,
    names: Option<Vec<String>>,
    bodies: bool,
    options: Option<&Bound<'_, PyDict>>,
) -> PyResult<(usize, Vec<(String, String)>)> {
    let mut snapshot = model.get().snapshot(py)?;
    let done = Work::of(options)?.run(py, |execution| {
        let convert = ConvertFunctions::new(ConvertOptions::default().with_execution(execution.clone()));
        let options = InlineOptions::default()
            .with_execution(execution.clone())
            .with_convert(&convert as &dyn onnxkit::functions::Convert);
        let selectors: Option<Vec<FunctionSelector>> =
            names.as_ref().map(|names| names.iter().map(|name| FunctionSelector::new(name)).collect());
        let is_chosen = |model: &ir::Model, function| {
            selectors.as_ref().is_none_or(|all| all.iter().any(|one| one.matches(model, function)))
        };
        let model = snapshot.editable();
        let known: &ir::Model = model;
        for (name, selector) in names.iter().flatten().zip(selectors.iter().flatten()) {
            if !known.functions().iter().any(|&function| selector.matches(known, function)) {
                let message = format!("no function of the model matches `{name}`; write `domain.name`");
                return Err(Fault::argument(message));
            }
        }
        let fault =
            |error: onnxkit::functions::InlineError| Fault::limited("EditError", error.limit(), error);
        let done = match &names {
            None => inline_all(model, &options),
            Some(_) => inline_calls(model, &options, |model, _, function| is_chosen(model, function)),
        };
        let done = done.map_err(fault)?;
        let mut count = done.inlined();
        let kept = done.kept().map(|(call, reason)| (done.path(call, model), reason.to_string())).collect();
        if bodies {
            let types = |model: &ir::Model| -> Box<dyn ValueTypes> {
                let options = InferOptions::default().with_execution(execution.clone());
                Box::new(infer(model, &options))
            };
            count += expand(model, &options, types, |_, _, _| true).map_err(fault)?.inlined();
        }
        Ok((count, kept))
    })?;
    model.get().adopt(py, snapshot)?;
    Ok(done)
}

/// Makes functions of repeated groups of nodes.
#[pyfunction]
#[pyo3(signature = (model, domain, min_nodes, **options))]
pub(crate) fn outline(
    py: Python<'_>,
    model: &Bound<'_, Model>,
    domain: String,
    min_nodes: Int<usize>,
    options: Option<&Bound<'_, PyDict>>,
) -> PyResult<usize> {
    let mut snapshot = model.get().snapshot(py)?;
    let count = Work::of(options)?.run(py, |execution| {
        let options = OutlineOptions::default()
            .with_domain(&domain)
            .with_min_nodes(min_nodes.0)
            .with_execution(execution.clone());
        let model = snapshot.editable();
        let graph = model.main_graph();
        outline_repeated(model, graph, &options).map(|blocks| blocks.len()).map_err(Fault::edit)
    })?;
    model.get().adopt(py, snapshot)?;
    Ok(count)
}

/// Renames values, nodes and functions.
#[pyfunction]
#[pyo3(signature = (model, names, **options))]
pub(crate) fn rename<'py>(
    py: Python<'py>,
    model: &Bound<'py, Model>,
    names: &Bound<'py, PyAny>,
    options: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyList>> {
    let mut snapshot = model.get().snapshot(py)?;
    let work = Work::of(options)?;
    let names = pairs_of(names)?;
    let done: Vec<(String, String)> = work.run(py, |execution| {
        let interrupt = &execution.interrupt;
        let mut watch = Watch::silent(interrupt, WATCHED_NAMES);
        let rule = |(old, new): &(String, String)| watch.work(1).map(|()| RenameRule::exact(old, new));
        let rules = names.iter().map(rule).collect::<Result<Vec<_>, _>>()?;
        let model = snapshot.editable();
        interrupt.check()?;
        let done = rename_all(model, &rules, RenameKinds::default(), interrupt)
            .map_err(|error| compose_fault(&error, model))?;
        if let Some((old, _)) = done.unmatched.first().and_then(|&rule| names.get(rule)) {
            return Err(Fault::argument(format!("nothing in the model has the name `{old}`")));
        }
        Ok(done.values.into_iter().chain(done.nodes).collect())
    })?;
    let done = list_of(py, done)?;
    model.get().adopt(py, snapshot)?;
    Ok(done)
}

/// Names between two checks of the interrupt.
const WATCHED_NAMES: u64 = 1 << 10;

/// Old and new names, of which there can be many.
fn pairs_of(names: &Bound<'_, PyAny>) -> PyResult<Vec<(String, String)>> {
    let mut pairs = Vec::new();
    for (index, pair) in names.try_iter()?.enumerate() {
        if index % (1 << 14) == 0 {
            names.py().check_signals()?;
        }
        pairs.push(pair?.extract()?);
    }
    Ok(pairs)
}

/// The names of all values and nodes.
#[pyfunction]
pub(crate) fn names<'py>(py: Python<'py>, model: &Bound<'py, Model>) -> PyResult<Bound<'py, PyList>> {
    let snapshot = model.get().snapshot(py)?;
    let names = Work::default().run(py, |execution| {
        let model = &snapshot.model;
        let of_graph = |graph| {
            let values = model.definitions(graph).map(|value| model.value(value).name());
            values.chain(model.nodes(graph).map(|node| model.node(node).name()))
        };
        let mut watch = Watch::silent(&execution.interrupt, WATCHED_NAMES);
        let mut names = std::collections::BTreeSet::new();
        for name in model.all_graphs().flat_map(of_graph) {
            watch.work(1)?;
            names.insert(model.str(name).to_owned());
        }
        names.remove("");
        Ok(names)
    })?;
    list_of(py, names)
}

/// Changes sizes of the inputs: `{"ids[0]": "batch", "seq": 128}`.
#[pyfunction]
#[pyo3(signature = (model, sizes, **options))]
pub(crate) fn resize<'py>(
    py: Python<'py>,
    model: &Bound<'py, Model>,
    sizes: Vec<(String, Bound<'py, PyAny>)>,
    options: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    let mut snapshot = model.get().snapshot(py)?;
    let mut changes = Vec::new();
    for (target, size) in &sizes {
        let size = match number(size)?.extract::<i64>() {
            Ok(number) if number < 0 => {
                return Err(Fault::argument(format!("`{target}`: a size cannot be negative")).into());
            }
            Ok(number) => NewSize::Number(number),
            Err(_) => NewSize::Name(size.extract()?),
        };
        changes.push(SizeChange { target: size_target(&snapshot.model, target)?, size });
    }
    let done = Work::of(options)?.run(py, |execution| {
        let done = resized(&mut snapshot, &changes, execution)?;
        Ok(json!({
            "bound": done.bound, "freed": done.freed, "renamed": done.renamed, "types": done.types,
            "conditions": done.conditions, "removed": done.removed,
        }))
    })?;
    let done = to_py(py, &done)?;
    model.get().adopt(py, snapshot)?;
    Ok(done)
}

pub(crate) fn resized(
    snapshot: &mut Snapshot,
    changes: &[SizeChange],
    execution: &Execution,
) -> Outcome<onnxkit::compose::Resized> {
    let data = snapshot.data(execution);
    let options = EditOptions::default().with_data(&data).with_execution(execution.clone());
    let model = snapshot.editable();
    resize_model(model, changes, &options).map_err(|error| compose_fault(&error, model))
}

/// A variable of the inputs, or an axis such as `ids[0]`.
pub(crate) fn size_target(model: &ir::Model, text: &str) -> Outcome<SizeTarget> {
    let inputs = model.graph(model.main_graph()).inputs();
    let dims = |input: ValueId| {
        model.ty(input).and_then(Type::shape).map(onnxkit::types::Shape::dims).unwrap_or_default()
    };
    let is_variable = |dim: &Dim| matches!(dim, Dim::Var(symbol) if model.str(*symbol) == text);
    if inputs.iter().any(|&input| dims(input).iter().any(is_variable)) {
        return Ok(SizeTarget::Variable(text.to_owned()));
    }
    let axis = text.strip_suffix(']').and_then(|text| text.rsplit_once('['));
    let axis = axis.and_then(|(name, axis)| Some((name, axis.parse::<usize>().ok()?)));
    if let Some((name, axis)) = axis
        && let Some(&input) = inputs.iter().find(|&&input| model.str(model.value(input).name()) == name)
        && axis < dims(input).len()
    {
        return Ok(SizeTarget::Axis(input, axis));
    }
    Err(Fault::argument(format!("no input has a size or an axis `{text}`; write `batch` or `ids[0]`")))
}

/// The smallest model that a test still accepts.
#[pyfunction]
#[pyo3(signature = (model, test, only_valid, **options))]
pub(crate) fn reduce(
    py: Python<'_>,
    model: &Bound<'_, Model>,
    test: Py<PyAny>,
    only_valid: bool,
    options: Option<&Bound<'_, PyDict>>,
) -> PyResult<Model> {
    let snapshot = model.get().snapshot(py)?;
    let reduced = Work::of(options)?.run(py, |execution| {
        let options = ReduceOptions::default().with_execution(execution.clone()).with_only_valid(only_valid);
        let trial = |tried: &ir::Model| {
            let tried = snapshot.sibling(tried.clone());
            let is_bad = Python::attach(|py| test.call1(py, (tried,))?.is_truthy(py))?;
            Ok::<_, PyErr>(if is_bad { Trial::Bad } else { Trial::Good })
        };
        Ok(reduce_model(&snapshot.model, &options, trial))
    })?;
    match reduced {
        Ok(done) => Ok(snapshot.sibling(done.model)),
        Err(ReduceError::Trial(error)) => Err(error),
        Err(ReduceError::Stopped(stopped)) => Err(Fault::from(stopped).into()),
        Err(ReduceError::NotBad) => {
            Err(Fault::argument("the test does not accept the model as it is").into())
        }
        Err(_) => Err(Fault::edit("the model cannot be reduced").into()),
    }
}
