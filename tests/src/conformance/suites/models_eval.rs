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
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use onnx_eval::{EvalOptions, Evaluator, NodeRun, Observer, Value, contrib};
use onnx_ir::{Model, ValueId};
use onnx_schema::Registry;
use onnx_shape_infer::{InferOptions, Strength, infer};
use onnx_types::ElemType;
use onnx_types::tensor::NoData;
use serde_json::json;

use super::execution::broken;
use super::observed::{Claim, Look};
use super::real_models::{Filled, Inputs, RealModels, Wrong, difference};
use crate::conformance::data::{Case, Data, Feed};
use crate::conformance::reference::Reference;
use crate::conformance::report::{Failure, Report};
use crate::conformance::runner::{Outcome, Suite};

/// The suite.
#[derive(Default)]
pub(super) struct ModelsEval(RealModels);

impl Suite for ModelsEval {
    fn name(&self) -> &'static str {
        "models-eval"
    }

    fn cases(&self, data: &Data, feed: &mut Feed<'_>) -> Result<(), String> {
        self.0.cases(data, feed)
    }

    fn peer(&self, data: &Data) -> Option<&Reference> {
        self.0.peer(data)
    }

    fn needs(&self) -> &'static str {
        "it needs `--models DIR`"
    }

    fn has_bundled_cases(&self) -> bool {
        false
    }

    fn check(&self, case: &Case) -> Outcome {
        let mut outcome = Outcome::default();
        let checked = self.0.with_filled(&case.id, |filled| self.checked(filled, &mut outcome));
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

impl ModelsEval {
    fn checked(&self, filled: &Filled, outcome: &mut Outcome) -> Result<(), Wrong> {
        outcome.counts.push("models".to_owned());
        let model = filled.decode()?;
        let inputs = filled.inputs(&model, 0).map_err(|error| ("no inputs", error))?;
        let (outputs, types) = run(&model, &inputs, None).map_err(|error| ("run", error))?;
        outcome.counts.push("models that run here".to_owned());
        inferred(&model, &inputs, &types, outcome);
        let theirs =
            self.0.runtime(&filled.path, &model, &inputs, false).map_err(|error| ("onnxruntime", error))?;
        outcome.counts.push("models that run in onnxruntime".to_owned());
        for (index, output) in model.graph(model.main_graph()).outputs().iter().enumerate() {
            let name = model.str(model.value(output.value()).name());
            let (Some(ours), Some(theirs)) = (outputs.get(index), theirs.get(name)) else {
                return Err(("output", format!("output `{name}` is missing")));
            };
            outcome.counts.push("outputs".to_owned());
            outcome.counts.extend(is_odd(ours).then(|| "outputs with NaN or infinity".to_owned()));
            if let Some(difference) = difference(theirs, ours) {
                let first = self.divergence(&filled.path, &model, &inputs);
                let first = first.unwrap_or_else(|error| format!("unknown: {error}"));
                return Err(("different", format!("output `{name}`: {difference}; first {first}")));
            }
        }
        Ok(())
    }

    /// The first node whose result differs.
    fn divergence(&self, filled: &Path, model: &Model, inputs: &Inputs) -> Result<String, String> {
        let theirs = self.0.runtime(filled, model, inputs, true)?;
        let finder = Finder { model, theirs, found: Mutex::default() };
        run(model, inputs, Some(&finder))?;
        let found = finder.found.into_inner().unwrap_or_else(PoisonError::into_inner);
        Ok(found.unwrap_or_else(|| "no inner value".to_owned()))
    }
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
