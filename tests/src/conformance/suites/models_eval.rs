//! Real models run: our evaluator and onnxruntime compute the same outputs, and all values have the types and the sizes that
//! inference concluded.
//!
//! `--models DIR` names a folder of models; a file `NAME.truth.json` next to one gives the sizes of its dimension variables. The
//! large weights of published models are often removed, so weights that are zeros are filled first, into a copy that is
//! deleted afterwards. Inputs are generated. Outputs that differ are reported with the first node whose result differs.
//! onnxruntime runs without optimizations and on one thread, in the interpreter that `ONNX_PYTHON` names.
//!
//! Two tensors agree if no element differs by more than a share of the greatest magnitude: rounding errors grow with the depth
//! of a model, and a sum of large numbers can be small.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use bytes::Bytes;
use onnx_codec::{DecodeOptions, decode};
use onnx_eval::compare::{Tolerances, compare_values};
use onnx_eval::generate::Generator;
use onnx_eval::{EvalOptions, Evaluator, Limits, NodeRun, Observer, Value, contrib};
use onnx_ir::{Model, ValueId};
use onnx_schema::Registry;
use onnx_shape_infer::{InferOptions, Strength, infer};
use onnx_types::tensor::NoData;
use onnx_types::{Dim, ElemClass, ElemType, Symbol};
use serde_json::{Value as Json, json};

use super::execution::broken;
use super::observed::{Claim, Look};
use super::values;
use crate::conformance::data::{Case, Data, Feed, Group};
use crate::conformance::reference::{self, Reference};
use crate::conformance::report::{Failure, Report};
use crate::conformance::runner::{Outcome, Suite};

/// The suite.
pub(super) struct ModelsEval {
    reference: Reference,
    folder: Mutex<PathBuf>,
}

impl Default for ModelsEval {
    fn default() -> Self {
        Self { reference: Reference::new("models_eval.py"), folder: Mutex::default() }
    }
}

impl Suite for ModelsEval {
    fn name(&self) -> &'static str {
        "models-eval"
    }

    fn cases(&self, data: &Data, feed: &mut Feed<'_>) -> Result<(), String> {
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

    fn has_bundled_cases(&self) -> bool {
        false
    }

    fn check(&self, case: &Case) -> Outcome {
        let mut outcome = Outcome::default();
        let folder = self.folder.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let filled = std::env::temp_dir().join(format!("{}-{}.onnx", std::process::id(), case.id));
        let checked = self.checked(&folder, &case.id, &filled, &mut outcome);
        // It is fine if the copy was not made.
        let _ = std::fs::remove_file(&filled);
        match checked {
            Ok(()) => outcome.counts.push("models that agree".to_owned()),
            Err((kind, detail)) => outcome.failures.push(Failure::new(kind, detail)),
        }
        outcome
    }

    fn summary(&self, report: &Report) -> String {
        let counts = [
            "models",
            "models that run here",
            "models that run in onnxruntime",
            "models that agree",
            "outputs",
            "outputs with NaN or infinity",
            "values with the inferred type and sizes",
            "values with another type or size",
        ];
        counts.map(|count| format!("models-eval: {} {count}", report.count(count))).join("\n")
    }
}

/// The kind of a failure, and the details.
type Wrong = (&'static str, String);

impl ModelsEval {
    fn checked(&self, folder: &Path, name: &str, filled: &Path, outcome: &mut Outcome) -> Result<(), Wrong> {
        outcome.counts.push("models".to_owned());
        let unreadable = |error: String| ("unreadable", error);
        self.ask(&json!({ "fill": folder.join(format!("{name}.onnx")), "to": filled }), &[])
            .map_err(unreadable)?;
        let bytes = std::fs::read(filled).map_err(|error| unreadable(error.to_string()))?;
        let decoded = decode(bytes.into(), &DecodeOptions::default());
        let model = decoded.map_err(|error| unreadable(error.to_string()))?.model;
        let truth = std::fs::read(folder.join(format!("{name}.truth.json"))).unwrap_or_default();
        let truth: Json = serde_json::from_slice(&truth).unwrap_or_default();
        let inputs = inputs(&model, &truth).map_err(|error| ("no inputs", error))?;
        let (outputs, types) = run(&model, &inputs, None).map_err(|error| ("run", error))?;
        outcome.counts.push("models that run here".to_owned());
        inferred(&model, &inputs, &types, outcome);
        let theirs = self.runtime(filled, &model, &inputs, false).map_err(|error| ("onnxruntime", error))?;
        outcome.counts.push("models that run in onnxruntime".to_owned());
        for (index, output) in model.graph(model.main_graph()).outputs().iter().enumerate() {
            let name = model.str(model.value(output.value()).name());
            let (Some(ours), Some(theirs)) = (outputs.get(index), theirs.get(name)) else {
                return Err(("output", format!("output `{name}` is missing")));
            };
            outcome.counts.push("outputs".to_owned());
            outcome.counts.extend(is_odd(ours).then(|| "outputs with NaN or infinity".to_owned()));
            if let Some(difference) = difference(theirs, ours) {
                let first = self.divergence(filled, &model, &inputs);
                let first = first.unwrap_or_else(|error| format!("unknown: {error}"));
                return Err(("different", format!("output `{name}`: {difference}; first {first}")));
            }
        }
        Ok(())
    }

    /// The first node whose result differs.
    fn divergence(&self, filled: &Path, model: &Model, inputs: &Inputs) -> Result<String, String> {
        let theirs = self.runtime(filled, model, inputs, true)?;
        let finder = Finder { model, theirs, found: Mutex::default() };
        run(model, inputs, Some(&finder))?;
        let found = finder.found.into_inner().unwrap_or_else(PoisonError::into_inner);
        Ok(found.unwrap_or_else(|| "no inner value".to_owned()))
    }

    /// The values that onnxruntime computes, by name.
    fn runtime(
        &self,
        path: &Path,
        model: &Model,
        inputs: &Inputs,
        inner: bool,
    ) -> Result<HashMap<String, Value>, String> {
        let (mut described, mut blobs) = (Vec::new(), Vec::new());
        for (id, value) in inputs {
            let name = model.str(model.value(*id).name());
            let (kind, message) = values::write(value, name)?;
            described.push(json!([name, kind, message.len()]));
            blobs.push(message);
        }
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
        let mut question = question.to_string().into_bytes();
        question.push(b'\n');
        blobs.iter().for_each(|blob| question.extend_from_slice(blob));
        match self.reference.ask(&question)? {
            reference::Answer::Message(answer) => Ok(answer.into()),
            reference::Answer::Refused(reason) => Err(reason),
        }
    }
}

type Inputs = Vec<(ValueId, Value)>;

/// The size of a dimension that neither the model nor a recorded run determines: of an image, of the first axis, of others.
const DEFAULT_SIZES: [i64; 3] = [64, 1, 16];

/// Generated values for the inputs without defaults.
fn inputs(model: &Model, truth: &Json) -> Result<Inputs, String> {
    let first = truth.get("runs").and_then(|runs| runs.get(0));
    let inputs = model.graph(model.main_graph()).inputs();
    let recorded = |value: ValueId| -> Option<Vec<Option<i64>>> {
        let name = model.str(model.value(value).name());
        let dims = first?.get("inputs")?.get(name)?.get(1)?.as_array()?;
        Some(dims.iter().map(Json::as_i64).collect())
    };
    let declared = |value: ValueId| -> Option<Vec<Option<i64>>> {
        let dims = model.ty(value)?.shape()?.dims();
        let size = |(axis, &dim): (usize, &Dim)| {
            let default = DEFAULT_SIZES[if dims.len() == 4 && axis >= 2 {
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
    let generator = Generator::new(model, 1, &size_of);
    let open = inputs.iter().filter(|&&input| model.value(input).initializer().is_none());
    let value = |&input: &ValueId| {
        let value = generator.value(input, &Limits::default());
        Ok((input, value.map_err(|error| format!("{}: {error}", model.str(model.value(input).name())))?))
    };
    open.map(value).collect()
}

/// The types and the sizes of the results of the main graph.
#[derive(Default)]
struct Types(Mutex<HashMap<ValueId, (ElemType, Vec<i64>)>>);

/// Observes the types of results, and compares them.
struct Watcher<'a> {
    model: &'a Model,
    types: Types,
    finder: Option<&'a Finder<'a>>,
}

impl Observer for Watcher<'_> {
    fn end(&self, run: &NodeRun<'_>) {
        let node = self.model.node(run.node);
        if node.graph() != self.model.main_graph() {
            return;
        }
        for (&id, value) in node.outputs().iter().zip(run.outputs) {
            let (Some(id), Some(value)) = (id, value) else { continue };
            if let Value::Tensor(tensor) = value {
                let mut types = self.types.0.lock().unwrap_or_else(PoisonError::into_inner);
                types.insert(id, (tensor.elem(), tensor.dims().to_vec()));
            }
            if let Some(finder) = self.finder {
                finder.compare(id, value);
            }
        }
    }
}

/// Finds the first result that differs.
struct Finder<'a> {
    model: &'a Model,
    theirs: HashMap<String, Value>,
    found: Mutex<Option<String>>,
}

impl Finder<'_> {
    fn compare(&self, id: ValueId, ours: &Value) {
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        let name = self.model.str(self.model.value(id).name());
        if let (None, Some(theirs)) = (found.as_ref(), self.theirs.get(name))
            && let Some(difference) = difference(theirs, ours)
        {
            let node = self.model.value(id).producer().map(|node| self.model.node(node));
            let op = node.map_or("?", |node| self.model.str(node.op()));
            *found = Some(format!("`{name}` of {op}: {difference}"));
        }
    }
}

type Ran = (Vec<Value>, HashMap<ValueId, (ElemType, Vec<i64>)>);

fn run(model: &Model, inputs: &Inputs, finder: Option<&Finder<'_>>) -> Result<Ran, String> {
    let registry = Registry::standard().with(contrib::pack()).map_err(|error| error.to_string())?;
    let watcher = Watcher { model, types: Types::default(), finder };
    let options = EvalOptions::default().with_registry(&registry).with_observer(&watcher);
    let evaluator = Evaluator::new(model, &options).map_err(|failure| failure.to_string())?;
    let of_input =
        |input: &ValueId| inputs.iter().find(|(id, _)| id == input).map(|(_, value)| value.clone());
    let outputs = evaluator.run_in_order(evaluator.inputs().iter().map(of_input).collect());
    let outputs = outputs
        .map_err(|failure| format!("{:?}: {failure} {:?}", failure.kind(), failure.diagnostic().notes))?;
    Ok((outputs, watcher.types.0.into_inner().unwrap_or_else(PoisonError::into_inner)))
}

/// Compares types and sizes with what was inferred.
fn inferred(
    model: &Model,
    inputs: &Inputs,
    types: &HashMap<ValueId, (ElemType, Vec<i64>)>,
    outcome: &mut Outcome,
) {
    let options = InferOptions::default();
    let inference = infer(model, &options);
    let mut look = Look { model, inference: &inference, failures: Vec::new() };
    let name = |value: ValueId| model.str(model.value(value).name()).to_owned();
    let given = inputs.iter().filter_map(|(id, value)| {
        let tensor = value.tensor()?;
        Some((name(*id), json!([tensor.elem().name(), tensor.dims()])))
    });
    let given: serde_json::Map<_, _> = given.collect();
    let values: Vec<ValueId> = look.made().collect();
    let observed = values.iter().filter_map(|value| {
        let (elem, dims) = types.get(value)?;
        Some((name(*value), json!([elem.name(), dims])))
    });
    let observed: serde_json::Map<_, _> = observed.collect();
    let record = json!({ "bindings": {}, "inputs": given, "values": observed });
    if let Some(fact) = [Strength::Assumed, Strength::Proved]
        .into_iter()
        .find_map(|strength| broken(&inference, &look, &record, strength))
    {
        outcome.remarks.push(format!("the inputs violate a guard: {fact:?}"));
        return;
    }
    let claims = look.claims(&values, &[&record]);
    let wrong = claims.values().filter(|&&claim| claim == Claim::Wrong).count();
    let right = claims.len() - wrong;
    outcome.counts.extend((0..right).map(|_| "values with the inferred type and sizes".to_owned()));
    outcome.counts.extend((0..wrong).map(|_| "values with another type or size".to_owned()));
    outcome.failures.append(&mut look.failures);
}

/// Whether a value has a NaN or an infinity.
fn is_odd(value: &Value) -> bool {
    value.tensor().is_some_and(|tensor| {
        tensor.elem().is_float()
            && tensor.iter_f64(&NoData).into_iter().flatten().any(|number| !number.is_finite())
    })
}

/// How two values differ beyond rounding errors.
fn difference(theirs: &Value, ours: &Value) -> Option<String> {
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
