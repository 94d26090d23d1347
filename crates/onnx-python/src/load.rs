//! Reading models from files, bytes and text.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use onnxkit::codec::{DecodeError, DecodeOptions, FileSource, ReadMode, decode};
use onnxkit::diag::Diagnostic;
use onnxkit::ir;
use onnxkit::text::rules::TEXT_LIMIT;
use onnxkit::text::{ParseError, ParseOptions, parse_model};
use onnxkit::types::Execution;
use onnxkit::{LoadAnyError, decode_any, load_any};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::Value as Json;

use crate::fault::{Fault, Outcome, findings};
use crate::json::to_py;
use crate::model::Model;
use crate::reserve;
use crate::work::Work;

/// How files are read: mapped ones end the process if another program shortens them, copies cost memory.
pub(crate) const fn read_mode(mapped: bool) -> ReadMode {
    if mapped { ReadMode::Map } else { ReadMode::Memory }
}

/// Reads a model from a file.
#[pyfunction]
#[pyo3(signature = (path, data_dir=None, mapped=true, **options))]
pub(crate) fn load(
    py: Python<'_>,
    path: PathBuf,
    data_dir: Option<PathBuf>,
    mapped: bool,
    options: Option<&Bound<'_, PyDict>>,
) -> PyResult<Model> {
    let work = Work::of(options)?;
    reserve::begin(0);
    let loaded = work.run(py, |execution| {
        let loaded = load_any(&path, read_mode(mapped), execution)
            .map_err(|error| load_fault(&error, &path.display().to_string()))?;
        let data = match &data_dir {
            Some(folder) => source_in(folder, mapped, execution)?,
            None => loaded.data,
        };
        Ok((loaded.model, data, findings(&loaded.findings)))
    })?;
    Ok(Model::new(loaded.0, Arc::new(loaded.1)).with_findings(loaded.2))
}

fn source_in(folder: &std::path::Path, mapped: bool, execution: &Execution) -> Outcome<FileSource> {
    let source =
        FileSource::in_directory(folder).map_err(|error| Fault::new("LoadError", error.to_string()))?;
    Ok(source.with_mode(read_mode(mapped)).with_limits(&execution.limits))
}

/// The error for what is not a model; `what` begins the message about a text.
pub(crate) fn load_fault(error: &LoadAnyError, what: &str) -> Fault {
    let limit = match error {
        LoadAnyError::Text(error) => return text_fault(what, error),
        LoadAnyError::Load(onnxkit::codec::LoadError::Decode(decode)) if decode.is_out_of_memory() => {
            return Fault::memory(error);
        }
        LoadAnyError::Load(onnxkit::codec::LoadError::File(file))
            if file.source.kind() == std::io::ErrorKind::OutOfMemory =>
        {
            return Fault::memory(error);
        }
        LoadAnyError::Load(onnxkit::codec::LoadError::Decode(error)) => error.limit(),
        LoadAnyError::Format(error) => error.limit(),
        LoadAnyError::Load(_) | _ => None,
    };
    Fault::limited("LoadError", limit, error)
}

/// The error for bytes that are not a model.
fn decode_fault(error: &DecodeError) -> Fault {
    if error.is_out_of_memory() {
        Fault::memory(error)
    } else {
        Fault::limited("LoadError", error.limit(), error)
    }
}

/// Reads a model from the bytes of a file.
#[pyfunction]
#[pyo3(signature = (contents, data_dir=None, mapped=true, **options))]
pub(crate) fn loads(
    py: Python<'_>,
    contents: &Bound<'_, PyAny>,
    data_dir: Option<PathBuf>,
    mapped: bool,
    options: Option<&Bound<'_, PyDict>>,
) -> PyResult<Model> {
    let bytes = crate::buffer::bytes_of(contents)?;
    let work = Work::of(options)?;
    reserve::begin(0);
    let (model, data, repaired) = work.run(py, |execution| {
        let data = match &data_dir {
            Some(folder) => source_in(folder, mapped, execution)?,
            None => FileSource::nowhere(),
        };
        let (model, found) =
            decode_any(bytes, execution).map_err(|error| load_fault(&error, "the text is not a model"))?;
        Ok((model, data, findings(&found)))
    })?;
    Ok(Model::new(model, Arc::new(data)).with_findings(repaired))
}

/// The model that another process sent: see `Model._sent`. Weights in other files are those that the model has there, or are refused when
/// they are read.
#[pyfunction]
pub(crate) fn received(
    py: Python<'_>,
    contents: &Bound<'_, PyAny>,
    folders: Vec<PathBuf>,
    stamps: BTreeMap<String, String>,
    mapped: bool,
) -> PyResult<Model> {
    let bytes = crate::buffer::bytes_of(contents)?;
    reserve::begin(0);
    let data = FileSource::of_other_process(&folders, stamps).with_mode(read_mode(mapped));
    let (model, repaired) = Work::default().run(py, |execution| {
        let (model, found) =
            decode_any(bytes, execution).map_err(|error| load_fault(&error, "the text is not a model"))?;
        Ok((model, findings(&found)))
    })?;
    Ok(Model::new(model, Arc::new(data)).with_findings(repaired))
}

/// The defects that the decoder repairs, such as fields that exclude each other: the model does not have them any more.
#[pyfunction]
#[pyo3(signature = (contents, **options))]
pub(crate) fn decode_findings<'py>(
    py: Python<'py>,
    contents: &Bound<'py, PyAny>,
    options: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    let bytes = crate::buffer::bytes_of(contents)?;
    reserve::begin(0);
    let found = Work::of(options)?.run(py, |execution| {
        let options = DecodeOptions::default().with_execution(execution.clone());
        let decoded = decode(bytes, &options).map_err(|error| decode_fault(&error))?;
        Ok(Json::Array(findings(&decoded.findings)))
    })?;
    to_py(py, &found)
}

fn parsed(text: &[u8], element_counts: bool, execution: &Execution) -> Outcome<ir::Model> {
    let options =
        ParseOptions::default().with_execution(execution.clone()).with_element_counts(element_counts);
    parse_model(text, &options).map_err(|error| text_fault("the text is not a model", &error))
}

/// The error for a text: a limit may have ended it.
fn text_fault(what: &str, error: &ParseError) -> Fault {
    let is_limit = |found: &Diagnostic| *found.rule == TEXT_LIMIT;
    let class = if error.findings().diagnostics().iter().any(is_limit) { "LimitError" } else { "LoadError" };
    Fault::of_findings(class, what, error.findings())
}

/// Reads a model from ONNX text. Without `element_counts`, tensors may have another number of elements than their dimensions
/// specify, as for the reference.
#[pyfunction]
#[pyo3(signature = (text, element_counts=true, **options))]
pub(crate) fn parse(
    py: Python<'_>,
    text: String,
    element_counts: bool,
    options: Option<&Bound<'_, PyDict>>,
) -> PyResult<Model> {
    reserve::begin(0);
    let model = Work::of(options)?.run(py, |execution| parsed(text.as_bytes(), element_counts, execution))?;
    Ok(Model::new(model, Arc::new(FileSource::nowhere())))
}
