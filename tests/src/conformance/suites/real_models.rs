//! Models of exporters for suites: their weights are filled, inputs are generated, and onnxruntime runs them.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use bytes::Bytes;
use onnx_codec::{DecodeOptions, decode};
use onnx_eval::compare::{Tolerances, compare_values};
use onnx_eval::generate::Generator;
use onnx_eval::{Limits, Value};
use onnx_ir::{Model, ValueId};
use onnx_shape_infer::{InferOptions, infer};
use onnx_types::tensor::NoData;
use onnx_types::{Dim, ElemClass, Symbol};
use serde_json::{Value as Json, json};

use super::values;
use crate::conformance::data::{Case, Data, Feed, Group};
use crate::conformance::reference::{self, Reference};

/// Models of exporters, and the interpreter with onnxruntime.
pub(super) struct RealModels {
    reference: Reference,
    folder: Mutex<PathBuf>,
}

impl Default for RealModels {
    fn default() -> Self {
        Self { reference: Reference::with_runtime("models_eval.py"), folder: Mutex::default() }
    }
}

/// The kind of a failure, and the details.
pub(super) type Wrong = (&'static str, String);

/// A model whose weights are filled.
pub(super) struct Filled {
    /// The file.
    pub(super) path: PathBuf,
    /// What is recorded of its runs, or null.
    truth: Json,
}

impl Filled {
    /// The model.
    ///
    /// # Errors
    ///
    /// If it cannot be read.
    pub(super) fn decode(&self) -> Result<Model, Wrong> {
        let unreadable = |error: String| ("unreadable", error);
        let bytes = std::fs::read(&self.path).map_err(|error| unreadable(error.to_string()))?;
        let decoded = decode(bytes.into(), &DecodeOptions::default());
        Ok(decoded.map_err(|error| unreadable(error.to_string()))?.model)
    }

    /// Generated inputs with the sizes of a recorded run, or with default sizes.
    ///
    /// # Errors
    ///
    /// If an input has a type of which no values are generated.
    pub(super) fn inputs(&self, model: &Model, run: usize) -> Result<Inputs, String> {
        inputs(model, &self.truth, run)
    }
}

impl RealModels {
    /// Whether a folder of models is given.
    pub(super) fn is_given(data: &Data) -> bool {
        data.models.as_ref().is_some_and(|folder| folder.is_dir())
    }

    /// The interpreter, if there are models.
    pub(super) fn peer(&self, data: &Data) -> Option<&Reference> {
        Self::is_given(data).then_some(&self.reference)
    }

    /// The models of the folder of `--models`, if there is an interpreter.
    pub(super) fn cases(&self, data: &Data, feed: &mut Feed<'_>) -> Result<(), String> {
        let Some(folder) = data.models.as_ref().filter(|folder| folder.is_dir()) else { return Ok(()) };
        if self.reference.absent().is_some() {
            return Ok(());
        }
        folder.clone_into(&mut *self.folder.lock().unwrap_or_else(PoisonError::into_inner));
        let entries = folder.read_dir().map_err(|error| format!("{}: {error}", folder.display()))?;
        let mut names: Vec<String> = entries
            .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
            .filter_map(|name| Some(name.strip_suffix(".onnx")?.to_owned()))
            .collect();
        names.sort();
        names.into_iter().try_for_each(|id| feed(Case { id, group: Group::Model, bytes: Bytes::new() }))
    }

    /// Calls a function with a copy of a model whose weights are filled, and deletes the copy.
    pub(super) fn with_filled<T>(
        &self,
        name: &str,
        check: impl FnOnce(&Filled) -> Result<T, Wrong>,
    ) -> Result<T, Wrong> {
        let folder = self.folder.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let path = std::env::temp_dir().join(format!("{}-{name}.onnx", std::process::id()));
        let truth = std::fs::read(folder.join(format!("{name}.truth.json"))).unwrap_or_default();
        let source = folder.join(format!("{name}.onnx"));
        let filled = Filled { path, truth: serde_json::from_slice(&truth).unwrap_or_default() };
        let question = json!({ "fill": &source, "to": &filled.path });
        let checked = self.ask(&question, &[]).map_err(|error| ("unreadable", error));
        let checked = checked.and_then(|_| check(&filled));
        // It is fine if the copy was not made.
        let _ = std::fs::remove_file(&filled.path);
        checked
    }

    /// The values that onnxruntime computes, by name.
    pub(super) fn runtime(
        &self,
        path: &Path,
        model: &Model,
        inputs: &Inputs,
        inner: bool,
    ) -> Result<HashMap<String, Value>, String> {
        let (described, blobs) = describe(model, inputs)?;
        let answer = self.ask(&json!({ "run": path, "values": described, "inner": inner }), &blobs)?;
        let end = answer.iter().position(|&byte| byte == b'\n').ok_or("an answer without a line")?;
        let line: Json = serde_json::from_slice(&answer[..end]).map_err(|error| error.to_string())?;
        let mut blobs = answer.slice(end + 1..);
        let list = |key| line.get(key).and_then(Json::as_array).into_iter().flatten();
        let mut values = HashMap::new();
        for (name, described) in list("names").zip(list("outputs")) {
            let kind = described.get(0).and_then(Json::as_str).unwrap_or_default();
            let length =
                described.get(1).and_then(Json::as_u64).and_then(|length| usize::try_from(length).ok());
            let length = length.filter(|&length| length <= blobs.len()).ok_or("a value without a length")?;
            let value = values::read_as(kind, &blobs.split_to(length))?;
            values.insert(name.as_str().unwrap_or_default().to_owned(), value);
        }
        Ok(values)
    }

    fn ask(&self, question: &Json, blobs: &[Bytes]) -> Result<Bytes, String> {
        ask(&self.reference, question, blobs)
    }
}

/// Asks a question that is a line of JSON, followed by bytes.
pub(super) fn ask(reference: &Reference, question: &Json, blobs: &[Bytes]) -> Result<Bytes, String> {
    let mut question = question.to_string().into_bytes();
    question.push(b'\n');
    blobs.iter().for_each(|blob| question.extend_from_slice(blob));
    match reference.ask(&question)? {
        reference::Answer::Message(answer) => Ok(answer.into()),
        reference::Answer::Refused(reason) => Err(reason),
    }
}

/// Inputs as a part of a question, and the messages that follow it.
pub(super) fn describe(model: &Model, inputs: &Inputs) -> Result<(Vec<Json>, Vec<Bytes>), String> {
    let (mut described, mut blobs) = (Vec::new(), Vec::new());
    for (id, value) in inputs {
        let name = model.str(model.value(*id).name());
        let (kind, message) = values::write(value, name)?;
        described.push(json!([name, kind, message.len()]));
        blobs.push(message);
    }
    Ok((described, blobs))
}

/// The inputs of a run.
pub(super) type Inputs = Vec<(ValueId, Value)>;

/// The size of a dimension that neither the model nor a recorded run determines: of an image, of the first axis, of others.
/// By run.
const DEFAULT_SIZES: [[i64; 3]; 2] = [[64, 1, 16], [96, 2, 7]];

/// Generated values for the inputs without defaults, for the sizes of a run.
fn inputs(model: &Model, truth: &Json, run: usize) -> Result<Inputs, String> {
    let first = truth.get("runs").and_then(|runs| runs.get(run));
    let inputs = model.graph(model.main_graph()).inputs();
    let recorded = |value: ValueId| -> Option<Vec<Option<i64>>> {
        let name = model.str(model.value(value).name());
        let dims = first?.get("inputs")?.get(name)?.get(1)?.as_array()?;
        Some(dims.iter().map(Json::as_i64).collect())
    };
    let declared = |value: ValueId| -> Option<Vec<Option<i64>>> {
        let dims = model.ty(value)?.shape()?.dims();
        let size = |(axis, &dim): (usize, &Dim)| {
            let default = DEFAULT_SIZES[run % 2][if dims.len() == 4 && axis >= 2 {
                0
            } else if axis == 0 {
                1
            } else {
                2
            }];
            dim.known().or(Some(default))
        };
        Some(dims.iter().enumerate().map(size).collect())
    };
    let inference = infer(model, &InferOptions::default());
    let mut known: Vec<(Symbol, i64)> = Vec::new();
    for &input in inputs {
        let sizes = recorded(input).or_else(|| declared(input)).unwrap_or_default();
        for (&dim, size) in inference.shape(input).unwrap_or_default().iter().zip(sizes) {
            if let (Dim::Var(symbol), Some(size)) = (dim, size) {
                known.push((symbol, size));
            }
        }
    }
    let mut shapes = inference.shapes(model);
    let evaluated = shapes.evaluate(&known);
    let size_of = |value: ValueId| {
        let own = || recorded(value).or_else(|| declared(value));
        if inputs.contains(&value) { own() } else { evaluated.shape(value) }
    };
    let generator = Generator::new(model, 1 + run as u64, &size_of);
    let open = inputs.iter().filter(|&&input| model.value(input).initializer().is_none());
    let value = |&input: &ValueId| {
        let value = generator.value(input, &Limits::default());
        Ok((input, value.map_err(|error| format!("{}: {error}", model.str(model.value(input).name())))?))
    };
    open.map(value).collect()
}

/// How two values differ beyond rounding errors.
pub(super) fn difference(theirs: &Value, ours: &Value) -> Option<String> {
    let found = compare_values(theirs, ours, &Tolerances::default());
    if found.agrees() {
        return None;
    }
    let at = found.first.as_ref().map_or_else(String::new, |first| {
        format!(", at {}{:?} {} instead of {}", first.path, first.index, first.b, first.a)
    });
    let detail =
        || format!("{} of {} elements, by at most {}{at}", found.exceeding, found.elements, found.max_abs);
    let (Value::Tensor(a), None) = (theirs, &found.mismatch) else {
        return Some(found.mismatch.clone().unwrap_or_else(detail));
    };
    if a.elem().class() != ElemClass::Float {
        return Some(detail());
    }
    let share = if a.elem().bits() == Some(16) { 2e-2 } else { 1e-3 };
    let numbers = a.iter_f64(&NoData).into_iter().flatten();
    let greatest =
        numbers.filter(|number| number.is_finite()).fold(0.0_f64, |most, number| most.max(number.abs()));
    (found.max_abs > share * greatest).then(|| format!("{}, of at most {greatest}", detail()))
}
