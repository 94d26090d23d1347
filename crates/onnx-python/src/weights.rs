//! The elements of weights: removed, generated, and taken from files and other models.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use onnxkit::codec::file::read_until;
use onnxkit::codec::{Content, sniff};
use onnxkit::compose::safetensors::{Safetensors, SafetensorsError, parse, parse_index};
use onnxkit::compose::weights::{
    Replacement, StripOptions, WeightError, replace, replacements_for, restore, strip, stripped_names,
    stripped_seed,
};
use onnxkit::load_any;
use onnxkit::types::Execution;
use onnxkit::types::tensor::DataSource;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::json;

use crate::data::EndedData;
use crate::fault::{Fault, Outcome};
use crate::json::to_py;
use crate::load::{load_fault, read_mode};
use crate::model::{Model, Snapshot};
use crate::number::Int;
use crate::work::Work;

/// Removes the elements of weights.
#[pyfunction]
pub(crate) fn strip_weights<'py>(
    py: Python<'py>,
    model: &Bound<'py, Model>,
    seed: Int<u64>,
    min_elements: Int<u64>,
    everything: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let mut snapshot = model.get().snapshot(py)?;
    let done = Work::default().run(py, |execution| {
        let options = StripOptions::default()
            .with_seed(seed.0)
            .with_min_elements(min_elements.0)
            .with_everything(everything);
        let done = strip(snapshot.editable(), &options, &|_| execution.interrupt.check().is_ok());
        execution.interrupt.check()?;
        Ok(json!({
            "stripped": done.stripped, "stripped_bytes": done.stripped_bytes,
            "kept": done.kept, "kept_bytes": done.kept_bytes,
        }))
    })?;
    let done = to_py(py, &done)?;
    model.get().adopt(py, snapshot)?;
    Ok(done)
}

/// What weights are taken from.
enum From {
    File(PathBuf),
    Model(Snapshot),
}

/// Takes weights from another model, a file with one, a file of safetensors or its index; without a source, generates those that were
/// stripped. Returns the number of weights, and the names of those that are without elements.
#[pyfunction]
#[pyo3(signature = (model, source, mapped=true, **options))]
pub(crate) fn import_weights(
    py: Python<'_>,
    model: &Bound<'_, Model>,
    source: Option<&Bound<'_, PyAny>>,
    mapped: bool,
    options: Option<&Bound<'_, PyDict>>,
) -> PyResult<(usize, Vec<String>)> {
    let from = match source {
        None => None,
        Some(source) => Some(match source.cast::<Model>() {
            Ok(other) => From::Model(other.get().snapshot(py)?),
            Err(_) => From::File(source.extract()?),
        }),
    };
    let mut snapshot = model.get().snapshot(py)?;
    let done = Work::of(options)?.run(py, |execution| {
        let model = snapshot.editable();
        let found = match &from {
            None => {
                let seed = stripped_seed(model).unwrap_or_default();
                let count = restore(model, seed, execution).map_err(|error| fault(&error, None))?;
                return Ok((count, stripped_names(model)));
            }
            Some(From::Model(other)) => {
                of_model(model, &other.model, &other.data(execution), None, execution)?
            }
            Some(From::File(path)) => of_file(model, path, mapped, execution)?,
        };
        let count = replace(model, found).map_err(|error| fault(&error, None))?;
        Ok((count, stripped_names(model)))
    })?;
    model.get().adopt(py, snapshot)?;
    Ok(done)
}

/// The error for weights, or for those of a file.
fn fault(error: &WeightError, file: Option<&Path>) -> Fault {
    let message = match file {
        Some(path) => format!("{}: {error}", path.display()),
        None => error.to_string(),
    };
    Fault::limited("LoadError", error.limit(), message)
}

/// The weights that a model has for another one.
fn of_model(
    target: &onnxkit::ir::Model,
    model: &onnxkit::ir::Model,
    data: &dyn DataSource,
    file: Option<&Path>,
    execution: &Execution,
) -> Outcome<Vec<Replacement>> {
    replacements_for(target, model, data, &execution.interrupt).map_err(|error| fault(&error, file))
}

fn of_file(
    target: &onnxkit::ir::Model,
    path: &Path,
    mapped: bool,
    execution: &Execution,
) -> Outcome<Vec<Replacement>> {
    let fault =
        |error: &dyn std::fmt::Display| Fault::new("LoadError", format!("{}: {error}", path.display()));
    // The error of reading begins with the path.
    let read = |path: &Path| {
        read_until(path, read_mode(mapped), &execution.interrupt)
            .map_err(|error| Fault::new("LoadError", error.to_string()))
    };
    let bytes = read(path)?;
    let is_json = path.extension().is_some_and(|extension| extension == "json");
    let index = is_json.then(|| parse_index(&bytes));
    if let Some(Ok(index)) = index {
        let (folder, mut found) = (path.parent().unwrap_or(Path::new("")), Vec::new());
        for name in index.file_names() {
            execution.interrupt.check()?;
            let shard = folder.join(name);
            let file = safetensors(&read(&shard)?, &shard, execution)?;
            index.check(name, &file).map_err(|error| fault(&error))?;
            found.extend(tensors(&file, &shard)?);
        }
        return Ok(found);
    }
    let is_model = |content| {
        matches!(content, Content::Protobuf | Content::OnnxText | Content::Textproto | Content::Json)
    };
    if is_model(sniff(&bytes)) {
        drop(bytes);
        let loaded = load_any(path, read_mode(mapped), execution).map_err(|error| match index {
            Some(Err(reason)) => fault(&reason),
            _ => load_fault(&error, &path.display().to_string()),
        })?;
        let data = EndedData::new(Arc::new(loaded.data), execution);
        return of_model(target, &loaded.model, &data, Some(path), execution);
    }
    tensors(&safetensors(&bytes, path, execution)?, path)
}

/// The error for a file of tensors.
fn of_tensors(error: &SafetensorsError, path: &Path) -> Fault {
    Fault::limited("LoadError", error.limit(), format!("{}: {error}", path.display()))
}

fn safetensors(bytes: &Bytes, path: &Path, execution: &Execution) -> Outcome<Safetensors> {
    parse(bytes, execution.limits.tensors).map_err(|error| of_tensors(&error, path))
}

fn tensors(file: &Safetensors, path: &Path) -> Outcome<Vec<Replacement>> {
    let tensors = file.tensors().map_err(|error| of_tensors(&error, path))?;
    Ok(tensors.into_iter().map(|(name, tensor)| Replacement::new(name, tensor)).collect())
}
