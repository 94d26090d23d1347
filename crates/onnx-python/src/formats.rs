//! Number formats: half precision, floats of quantized numbers, and types of inputs and outputs.

use std::collections::HashSet;
use std::sync::Arc;

use onnxkit::check::{CheckOptions, invalid_nodes};
use onnxkit::compose::{ModelFacts, Selection};
use onnxkit::diag::Sink;
use onnxkit::ir::{self, NodeId};
use onnxkit::quantize::{
    DequantizeError, DequantizeOptions, Effect, Half, MeasureOptions, NarrowError, NarrowOptions,
    RetypeError, dequantize as dequantize_model, measure, narrow, retype as retype_port, weight_bytes, widen,
    with_onnxruntime,
};
use onnxkit::schema::Registry;
use onnxkit::types::{ElemType, Execution};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};
use serde_json::{Value as Json, json};

use crate::dtype::DType;
use crate::fault::{Fault, Outcome};
use crate::json::to_py;
use crate::model::{Model, Snapshot};
use crate::node::{Node, node_of};
use crate::run::values_of;
use crate::work::Work;

/// A node that a caller has a handle of, or nodes that a selector denotes.
pub(crate) enum Denoted {
    Id(NodeId),
    Text(String),
}

/// Reads a list of selectors and handles of nodes.
pub(crate) fn denoted(model: &Py<Model>, nodes: Option<&Bound<'_, PyAny>>) -> PyResult<Option<Vec<Denoted>>> {
    let Some(nodes) = nodes else { return Ok(None) };
    let mut found = Vec::new();
    for node in nodes.try_iter()? {
        let node = node?;
        found.push(if let Ok(text) = node.cast::<PyString>() {
            Denoted::Text(text.to_str()?.to_owned())
        } else if let Ok(node) = node.cast::<Node>() {
            Denoted::Id(node_of(model, node)?)
        } else {
            return Err(Fault::argument(format!("`{node}` is not a node or a selector")).into());
        });
    }
    Ok(Some(found))
}

/// The nodes, each once.
pub(crate) fn nodes_of(
    snapshot: &Snapshot,
    denoted: &[Denoted],
    execution: &Execution,
) -> Outcome<Vec<NodeId>> {
    let model = &snapshot.model;
    let data = snapshot.data(execution);
    let facts = ModelFacts::new(model).with_data(&data).with_execution(execution.clone());
    let selection = Selection::new(&facts);
    let (mut all, mut seen) = (Vec::new(), HashSet::new());
    for one in denoted {
        let found = match one {
            Denoted::Id(id) => vec![model.get_node(*id).map(|_| *id).ok_or_else(|| Fault::stale("node"))?],
            Denoted::Text(text) => selection
                .nodes(text)
                .map_err(|error| Fault::limited("SelectorError", error.limit(), error))?,
        };
        all.extend(found.into_iter().filter(|&node| seen.insert(node)));
    }
    execution.interrupt.check()?;
    Ok(all)
}

/// The operators of ONNX and of onnxruntime. A model with nodes that are not valid is refused: nothing says what they compute.
pub(crate) fn registry_for(model: &ir::Model, execution: &Execution) -> Outcome<Registry> {
    let registry = with_onnxruntime(Registry::STANDARD);
    let registry = registry.map_err(|error| Fault::new("BugError", error.to_string()))?;
    let options = CheckOptions::default().with_registry(registry.clone()).with_execution(execution.clone());
    let mut found = Sink::new();
    for invalid in invalid_nodes(model, &options)? {
        found.report(invalid.finding);
    }
    match found.is_empty() {
        true => Ok(registry),
        false => Err(Fault::of_findings("EditError", "nodes are not valid in the imported versions", &found)),
    }
}

/// An edited model: the one that was given, or a new one.
pub(crate) fn placed<'py>(
    py: Python<'py>,
    model: &Bound<'py, Model>,
    mut snapshot: Snapshot,
    inplace: bool,
) -> PyResult<Bound<'py, Model>> {
    if inplace {
        model.get().adopt(py, snapshot)?;
        return Ok(model.clone());
    }
    let edited = std::mem::take(snapshot.editable());
    Bound::new(py, snapshot.sibling(edited))
}

fn narrow_fault(error: &NarrowError) -> Fault {
    match error {
        NarrowError::Stopped(stopped) => (*stopped).into(),
        NarrowError::Weight { reason, .. } => Fault::limited("LoadError", reason.limit(), error),
        NarrowError::NotTaken(reason) => Fault::edit(match reason.versions.first() {
            Some(version) => format!("{error}; `convert(model, {version})` first"),
            None => error.to_string(),
        }),
        error => Fault::edit(error),
    }
}

fn half_type(elem: ElemType) -> Outcome<Option<Half>> {
    match elem {
        ElemType::Float16 => Ok(Some(Half::Float16)),
        ElemType::Bfloat16 => Ok(Some(Half::Bfloat16)),
        // Back from both.
        ElemType::Float => Ok(None),
        other => Err(Fault::argument(format!(
            "`{other}` is not `float16`, `bfloat16` or `float`; `quantize` has other types"
        ))),
    }
}

/// Changes `float` to a narrow type, or narrow types to `float`.
#[pyfunction]
#[pyo3(signature = (model, to, keep_io, only, except_, run, inputs, inplace, **options))]
#[allow(clippy::too_many_arguments, reason = "keyword arguments of Python")]
pub(crate) fn half<'py>(
    py: Python<'py>,
    model: &Bound<'py, Model>,
    to: &Bound<'py, PyAny>,
    keep_io: bool,
    only: Option<&Bound<'py, PyAny>>,
    except_: Option<&Bound<'py, PyAny>>,
    run: bool,
    inputs: Option<&Bound<'py, PyDict>>,
    inplace: bool,
    options: Option<&Bound<'py, PyDict>>,
) -> PyResult<(Bound<'py, PyAny>, Bound<'py, Model>)> {
    let half = half_type(DType::of_py(to)?.0)?;
    let mut snapshot = model.get().snapshot(py)?;
    let given = inputs.map(|inputs| values_of(inputs, &snapshot.model)).transpose()?.unwrap_or_default();
    let owner = model.clone().unbind();
    let (only, except) = (denoted(&owner, only)?, denoted(&owner, except_)?.unwrap_or_default());
    let done = Work::of(options)?.run(py, |execution| {
        let only = only.map(|only| nodes_of(&snapshot, &only, execution)).transpose()?;
        let only: Option<HashSet<NodeId>> = only.map(|only| only.into_iter().collect());
        let except = nodes_of(&snapshot, &except, execution)?;
        let registry = registry_for(&snapshot.model, execution)?;
        let (before, data) = (Arc::clone(&snapshot.model), snapshot.data(execution));
        let given: Vec<_> = given.iter().map(|(name, value)| (name.as_str(), value.clone())).collect();
        let options = NarrowOptions::default()
            .with_keep_io(keep_io)
            .with_only(only.as_ref())
            .with_except(&except)
            .with_run(run)
            .with_given(&given)
            .with_registry(&registry)
            .with_data(&data)
            .with_execution(execution.clone());
        let changed = snapshot.editable();
        execution.interrupt.check()?;
        let done = match half {
            Some(half) => narrow(changed, half, &options),
            None => widen(changed, &options),
        };
        let done = done.map_err(|error| narrow_fault(&error))?;
        execution.interrupt.check()?;
        let settings = MeasureOptions::default()
            .with_given(&given)
            .with_registry(&registry)
            .with_data(&data)
            .with_execution(execution.clone());
        let measured = match run && done.unchanged.is_none() {
            true => measure(&before, &snapshot.model, &settings),
            false if run => Err("the model is unchanged".to_owned()),
            false => Err("`run=False` was given".to_owned()),
        };
        execution.interrupt.check()?;
        let bytes = (weight_bytes(&before), weight_bytes(&snapshot.model));
        let mut fields =
            done.to_json(half.map_or(ElemType::Float, Half::elem), &Effect::new(bytes, Some(measured)));
        if let Some(fields) = fields.as_object_mut() {
            fields.insert("not_run".to_owned(), json!(done.not_run));
        }
        Ok(fields)
    })?;
    Ok((to_py(py, &done)?, placed(py, model, snapshot, inplace)?))
}

fn dequantize_fault(error: &DequantizeError) -> Fault {
    match error {
        DequantizeError::Stopped(stopped) => (*stopped).into(),
        DequantizeError::Weight(_) | DequantizeError::Elements { .. } => {
            Fault::limited("LoadError", error.limit(), error)
        }
        error => Fault::edit(error),
    }
}

/// Makes floats of quantized numbers.
#[pyfunction]
#[pyo3(signature = (model, inplace, **options))]
pub(crate) fn dequantize<'py>(
    py: Python<'py>,
    model: &Bound<'py, Model>,
    inplace: bool,
    options: Option<&Bound<'py, PyDict>>,
) -> PyResult<(Bound<'py, PyAny>, Bound<'py, Model>)> {
    let mut snapshot = model.get().snapshot(py)?;
    let done = Work::of(options)?.run(py, |execution| {
        let registry = registry_for(&snapshot.model, execution)?;
        let data = snapshot.data(execution);
        let options = DequantizeOptions::default()
            .with_registry(&registry)
            .with_data(&data)
            .with_execution(execution.clone());
        let done = dequantize_model(snapshot.editable(), &options);
        execution.interrupt.check()?;
        let done = done.map_err(|error| dequantize_fault(&error))?;
        let left = done.left.iter().map(|(op, output)| json!({ "op": op, "output": output }));
        Ok(json!({
            "weights": done.weights,
            "pairs": done.pairs,
            "limits": done.limits,
            "operators": done.operators,
            "left": left.collect::<Vec<_>>(),
        }))
    })?;
    Ok((to_py(py, &done)?, placed(py, model, snapshot, inplace)?))
}

fn retype_fault(error: &RetypeError) -> Fault {
    match error {
        RetypeError::NotFound(_) => Fault::argument(error),
        RetypeError::Cast { needed: Some(needed), .. } => {
            Fault::edit(format!("{error}; `convert(model, {needed})` first"))
        }
        error => Fault::edit(error),
    }
}

/// Gives inputs and outputs other element types. The result has the number of casts for each.
#[pyfunction]
pub(crate) fn retype<'py>(
    py: Python<'py>,
    model: &Bound<'py, Model>,
    types: Vec<(String, Bound<'py, PyAny>)>,
    inplace: bool,
) -> PyResult<(Bound<'py, PyAny>, Bound<'py, Model>)> {
    let types = types.into_iter().map(|(name, ty)| Ok((name, DType::of_py(&ty)?.0)));
    let types = types.collect::<PyResult<Vec<_>>>()?;
    let mut snapshot = model.get().snapshot(py)?;
    let done = Work::default().run(py, |_| {
        let mut casts = serde_json::Map::new();
        for (name, ty) in &types {
            let count = retype_port(snapshot.editable(), name, *ty).map_err(|error| retype_fault(&error))?;
            casts.insert(name.clone(), json!(count));
        }
        Ok(json!({ "casts": Json::Object(casts) }))
    })?;
    Ok((to_py(py, &done)?, placed(py, model, snapshot, inplace)?))
}
