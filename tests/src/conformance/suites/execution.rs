//! Runs: what was inferred of models with dimension variables holds for the sizes with which they ran, 0 and 1 among them.
//!
//! The runs are those of the reference evaluator, written down by `tests/conformance/execute.py`; `--runs FILE` gives them.
//! Runs for sizes that a guard of the inference excludes are counted and not compared; a run that contradicts a fact which
//! is said to be proved is a failure.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use onnx_codec::{DecodeOptions, decode};
use onnx_ir::ValueId;
use onnx_shape_infer::{Fact, InferOptions, Inference, Strength, infer};
use onnx_types::{Dim, Symbol};
use serde_json::Value;

use super::observed::{Claim, Look};
use crate::conformance::data::{Case, Data, Feed, Group};
use crate::conformance::manifest::{self, Record};
use crate::conformance::report::{Failure, Report};
use crate::conformance::runner::{Outcome, Suite};

/// The suite.
#[derive(Default)]
pub struct ExecutionSuite {
    runs: Mutex<BTreeMap<String, Vec<Value>>>,
}

impl Suite for ExecutionSuite {
    fn name(&self) -> &'static str {
        "execution"
    }

    fn cases(&self, data: &Data, feed: &mut Feed<'_>) -> Result<(), String> {
        match (&data.corpus, &data.runs) {
            (Some(corpus), Some(runs)) => self.recorded(corpus, runs, feed),
            _ => Ok(()),
        }
    }

    fn needs(&self) -> &'static str {
        "it needs `--corpus PATH` and `--runs FILE`"
    }

    fn check(&self, case: &Case) -> Outcome {
        let runs = self.runs.lock().unwrap_or_else(PoisonError::into_inner).remove(&case.id);
        let mut outcome = Outcome::default();
        let Ok(decoded) = decode(case.bytes.clone(), &DecodeOptions::default()) else {
            outcome.failures.push(Failure::new("unreadable", "it is not a model"));
            return outcome;
        };
        let model = decoded.model;
        let inference = infer(&model, &InferOptions::default());
        let mut look = Look { model: &model, inference: &inference, failures: Vec::new() };
        let values: Vec<ValueId> = look.made().collect();
        for run in runs.iter().flatten() {
            outcome.counts.push("runs".to_owned());
            let broken = |strength| broken(&inference, &look, run, strength);
            if let Some(fact) = broken(Strength::Proved) {
                outcome.failures.push(Failure::new("fact", format!("{fact:?} in {}", bindings(run))));
            }
            if broken(Strength::Assumed).is_some() {
                outcome.counts.push("runs that guards exclude".to_owned());
                continue;
            }
            for claim in look.claims(&values, &[run]).into_values() {
                let name = match claim {
                    Claim::Resolved => "sizes computed",
                    Claim::Open => "open",
                    Claim::Wrong => "wrong",
                };
                outcome.counts.push(name.to_owned());
            }
            for failure in &mut look.failures {
                failure.detail.push_str(&format!(" in {}", bindings(run)));
            }
            outcome.failures.append(&mut look.failures);
        }
        outcome
    }

    fn summary(&self, report: &Report) -> String {
        let counts = ["runs", "runs that guards exclude", "sizes computed", "open", "wrong"];
        counts.map(|count| format!("execution: {} {count}", report.count(count))).join("\n")
    }
}

impl ExecutionSuite {
    fn recorded(&self, corpus: &Path, runs: &Path, feed: &mut Feed<'_>) -> Result<(), String> {
        let fail = |error: &dyn std::fmt::Display| format!("`{}`: {error}", runs.display());
        let text = std::fs::read_to_string(runs).map_err(|error| fail(&error))?;
        let mut by_case: BTreeMap<String, Vec<Value>> = BTreeMap::new();
        for line in text.lines() {
            let line: Value = serde_json::from_str(line).map_err(|error| fail(&error))?;
            let case = line.get("case").and_then(Value::as_str).unwrap_or_default().to_owned();
            by_case.insert(case, line.get("runs").and_then(Value::as_array).cloned().unwrap_or_default());
        }
        let is_run = |record: &Record| by_case.contains_key(&record.id);
        let (records, blobs) = manifest::read_with_blobs(corpus, is_run)?;
        for record in records {
            let model = record.inputs.first().and_then(|input| blobs.get(&input.hash));
            let (Some(model), Some(runs)) = (model, by_case.remove(&record.id)) else { continue };
            let id = format!("execution/{}", record.id);
            self.runs.lock().unwrap_or_else(PoisonError::into_inner).insert(id.clone(), runs);
            feed(Case { id, group: Group::Model, bytes: model.clone() })?;
        }
        Ok(())
    }
}

fn bindings(run: &Value) -> String {
    run.get("bindings").map_or_else(String::new, Value::to_string)
}

/// The first fact of a strength that does not hold for the sizes of a run. What cannot be computed holds.
pub(super) fn broken(
    inference: &Inference,
    look: &Look<'_>,
    run: &Value,
    strength: Strength,
) -> Option<Fact> {
    let size = |symbol: Symbol| look.sizes(run, &[symbol]).first().copied().flatten();
    let eval = |dim: Dim| inference.exprs().eval(dim, &size);
    let facts = inference.facts().all().iter().filter(|fact| fact.strength == strength);
    facts.copied().find(|fact| fact.relation.fails(eval))
}
