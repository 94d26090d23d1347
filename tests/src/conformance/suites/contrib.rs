//! Operators that onnxruntime adds to those of ONNX: what was inferred holds for what it computed, or what it infers itself
//! when it loads the model.
//!
//! `tests/conformance/onnxruntime/record.py` records both in an archive, which is committed: models of one node with
//! dimension variables, and the types and shapes of the outputs for several sizes of the variables, 0 and 1 among them. They
//! are compared twice for each run: the expressions of the model with variables, computed for the sizes, and what is
//! inferred for the sizes directly. A finding about a run that was observed is a failure, too.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use onnx_codec::{DecodeOptions, decode};
use onnx_diag::Severity;
use onnx_ir::{Model, ValueId};
use onnx_shape_infer::{InferOptions, Inference, Strength, contrib, infer};
use onnx_types::{Symbol, SymbolNames as _};
use serde_json::Value;

use super::execution::broken;
use super::observed::Look;
use crate::conformance::archive;
use crate::conformance::data::{Case, Data, Feed, Group};
use crate::conformance::report::{Failure, Report};
use crate::conformance::runner::{Outcome, Suite};

/// The suite.
#[derive(Default)]
pub struct ContribSuite {
    truths: Mutex<BTreeMap<String, Value>>,
}

/// What is done with a committed case.
pub type Each<'e> = dyn FnMut(&str, Vec<u8>, Value) -> Result<(), String> + 'e;

/// Visits the committed cases: their names, the models, and what was recorded.
///
/// # Errors
///
/// When the archive cannot be read.
pub fn recorded(each: &mut Each<'_>) -> Result<(), String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("conformance/onnxruntime.tar.zst");
    let mut model = Vec::new();
    archive::visit(&path, &mut |mut entry| {
        let bytes = entry.read()?;
        if entry.name.ends_with(".onnx") {
            model = bytes;
        } else if let Some(name) = entry.name.strip_suffix(".truth.json") {
            let truth = serde_json::from_slice(&bytes).map_err(|error| format!("`{name}`: {error}"))?;
            each(name, std::mem::take(&mut model), truth)?;
        }
        Ok(ControlFlow::Continue(()))
    })
}

impl Suite for ContribSuite {
    fn name(&self) -> &'static str {
        "contrib"
    }

    fn cases(&self, data: &Data, feed: &mut Feed<'_>) -> Result<(), String> {
        recorded(&mut |name, bytes, truth| {
            let op = name.split('/').nth(1);
            if data.op.as_deref().is_some_and(|wanted| op != Some(wanted)) {
                return Ok(());
            }
            let id = format!("contrib/{name}");
            self.truths.lock().unwrap_or_else(PoisonError::into_inner).insert(id.clone(), truth);
            feed(Case { id, group: Group::Model, bytes: bytes.into() }).map(drop)
        })
    }

    fn check(&self, case: &Case) -> Outcome {
        let truth = self.truths.lock().unwrap_or_else(PoisonError::into_inner).remove(&case.id);
        let mut outcome = Outcome::default();
        let Some(truth) = truth else { return outcome };
        let found = compare(&case.bytes, &truth);
        for (count, name) in
            [(found.runs, "runs"), (found.exact, "exact"), (found.open, "open"), (found.wrong.len(), "wrong")]
        {
            outcome.counts.extend(std::iter::repeat_n(name.to_owned(), count));
        }
        let how = truth.get("how").and_then(Value::as_str).unwrap_or_default();
        outcome.counts.push(how.to_owned());
        outcome.failures = found.wrong.into_iter().map(|what| Failure::new("wrong", what)).collect();
        outcome
    }

    fn summary(&self, report: &Report) -> String {
        let counts = ["run", "declared", "schema", "runs", "exact", "open", "wrong"];
        let counts = counts.map(|count| format!("{} {count}", report.count(count)));
        format!("contrib: {} cases, {}", report.cases(), counts.join(", "))
    }
}

/// What came of a case.
#[derive(Default)]
pub struct Found {
    /// How many runs were compared.
    pub runs: usize,
    /// How many outputs were computed from the sizes completely.
    pub exact: usize,
    /// How many outputs are known in part.
    pub open: usize,
    /// How many runs have sizes that a guard excludes; for these only the sizes are inferred, and not the variables.
    pub excluded: usize,
    /// What differs from what was observed.
    pub wrong: Vec<String>,
}

/// Compares what is inferred of a model with what was recorded.
#[must_use]
pub fn compare(bytes: &[u8], truth: &Value) -> Found {
    let mut found = Found::default();
    let registry = contrib::registry();
    let mut options = InferOptions::default().with_registry(&registry);
    options.check_types = true;
    let Some(model) = read(bytes) else {
        found.wrong.push("it is not a model".to_owned());
        return found;
    };
    let symbolic = infer(&model, &options);
    let is_run = truth.get("how").and_then(Value::as_str) == Some("run");
    let runs = truth.get("runs").and_then(Value::as_array).into_iter().flatten();
    for run in runs {
        found.runs += 1;
        let bound = bindings(run);
        if let Some(error) = first_error(&symbolic) {
            found.wrong.push(format!("a finding about a run that was observed: {error}"));
        }
        let look = Look { model: &model, inference: &symbolic, failures: Vec::new() };
        if is_run && let Some(fact) = broken(&symbolic, &look, run, Strength::Proved) {
            found.wrong.push(format!("{fact:?} does not hold for {bound:?}"));
        }
        if broken(&symbolic, &look, run, Strength::Assumed).is_some() {
            found.excluded += 1;
        } else {
            check(&mut found, &model, &symbolic, run, &bound, false);
        }
        let sizes: Vec<(Symbol, i64)> =
            bound.iter().filter_map(|(name, size)| Some((model.names().get(name)?, *size))).collect();
        let concrete = infer(&model, &options.clone().with_sizes(&sizes));
        if let Some(error) = first_error(&concrete) {
            found.wrong.push(format!("a finding about a run with {bound:?}: {error}"));
        }
        check(&mut found, &model, &concrete, run, &bound, true);
    }
    found
}

fn read(bytes: &[u8]) -> Option<Model> {
    decode(bytes.to_vec().into(), &DecodeOptions::default()).ok().map(|decoded| decoded.model)
}

fn bindings(run: &Value) -> Vec<(String, i64)> {
    let bound = run.get("bindings").and_then(Value::as_object);
    bound.into_iter().flatten().filter_map(|(name, size)| Some((name.clone(), size.as_i64()?))).collect()
}

fn first_error(inference: &Inference) -> Option<String> {
    let all = inference.findings().diagnostics();
    all.iter().find(|found| found.severity == Severity::Error).map(|found| found.message.clone())
}

fn check(
    found: &mut Found,
    model: &Model,
    inference: &Inference,
    run: &Value,
    bound: &[(String, i64)],
    counts: bool,
) {
    let graph = model.graph(model.main_graph());
    for output in graph.outputs() {
        let value: ValueId = output.value();
        let name = model.str(model.value(value).name());
        let Some(observed) = run.get("values").and_then(|values| values.get(name)) else { continue };
        let (elem, dims) =
            (observed.get(0).and_then(Value::as_str), observed.get(1).and_then(Value::as_array));
        let (Some(elem), Some(dims)) = (elem, dims) else { continue };
        let known = inference.elem(value);
        let mut is_exact = known.is_some();
        let mut is_wrong = known.is_some_and(|known| known.name() != elem);
        let shape = inference.shape(value);
        let size = |symbol: Symbol| {
            let name = inference.names(model).name(symbol).into_owned();
            bound.iter().find(|(bound, _)| *bound == name).map(|&(_, size)| size)
        };
        let computed: Option<Vec<Option<i64>>> =
            shape.map(|shape| shape.iter().map(|&dim| inference.exprs().eval(dim, &size)).collect());
        match &computed {
            Some(computed) if computed.len() == dims.len() => {
                for (size, observed) in computed.iter().zip(dims) {
                    match (size, observed.as_i64()) {
                        (Some(size), Some(observed)) => is_wrong |= *size != observed,
                        (None, Some(_)) => is_exact = false,
                        (_, None) => {}
                    }
                }
            }
            Some(_) => is_wrong = true,
            None => is_exact = false,
        }
        if is_wrong {
            let known = known.map_or("?", onnx_types::ElemType::name);
            found.wrong.push(format!("`{name}` is {known} {computed:?}, observed {observed} for {bound:?}"));
        } else if counts {
            if is_exact { found.exact += 1 } else { found.open += 1 }
        }
    }
}
