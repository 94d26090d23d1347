//! Expansion: every operator with a body is replaced by its body, and the model computes what it did before.
//!
//! With `--backend PATH`, the cases are the official tests: the expanded model must give the recorded outputs within the
//! tolerances of the suite `backend`. Otherwise they are models of `onnx-smith`, which run on the same inputs before and after;
//! `--count N` sets their number and `--seed S` the first one. Types come from inference. The checker must not find errors in
//! the expanded model that it does not find before.
//!
//! The kind of a failure names what it is about, the detail the operators that were expanded. Models that do not run as they
//! are, or that draw random numbers, are expanded and checked, but not run.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::{Mutex, PoisonError};

use bytes::Bytes;
use onnx_codec::{DecodeOptions, decode};
use onnx_functions::{InlineOptions, expand};
use onnx_ir::{Model, NodeId};
use onnx_schema::op;
use onnx_shape_infer::{InferOptions, infer};
use onnx_smith::from_seed;
use onnx_types::{ElemType, Symbol};

use super::bodies::errors;
use super::{backend, inline, smith};
use crate::conformance::data::{Case, Data, Feed, Group};
use crate::conformance::report::{Failure, Report};
use crate::conformance::runner::{Outcome, Suite};

/// Operators whose bodies compute in `float`, or with constants of `float`, whatever the element type: nodes of other types
/// are left as they are. The suite `bodies` compares them.
const IN_FLOAT: &[Symbol] =
    &[op::GROUP_NORMALIZATION, op::HARD_SWISH, op::LAYER_NORMALIZATION, op::REDUCE_L2, op::RMS_NORMALIZATION];

/// Operators whose bodies are less precise than `float`, by a difference of squares or by the angles of a window: all nodes are
/// left as they are.
const ROUGH: &[Symbol] =
    &[op::BLACKMAN_WINDOW, op::HAMMING_WINDOW, op::HANN_WINDOW, op::MEAN_VARIANCE_NORMALIZATION];

/// Default number of generated models.
const COUNT: usize = 300;

/// The suite.
#[derive(Default)]
pub struct ExpandSuite {
    /// The files of each official test.
    tests: Mutex<BTreeMap<String, backend::Files>>,
}

impl Suite for ExpandSuite {
    fn name(&self) -> &'static str {
        "expand"
    }

    fn cases(&self, data: &Data, feed: &mut Feed<'_>) -> Result<(), String> {
        if let Some(path) = &data.backend {
            let tests = backend::read(path)?;
            let models: Vec<(String, Bytes)> = tests
                .iter()
                .filter_map(|(test, files)| Some((test.clone(), files.get("model.onnx")?.clone())))
                .collect();
            *self.tests.lock().unwrap_or_else(PoisonError::into_inner) = tests;
            for (id, bytes) in models {
                feed(Case { id, group: Group::Model, bytes })?;
            }
            return Ok(());
        }
        if !data.is_bundled() {
            return Ok(());
        }
        let first = data.seed.unwrap_or(0);
        for index in 0..data.count.unwrap_or(COUNT) {
            let id = format!("expand/{:06}", first.saturating_add(index as u64));
            feed(Case { id, group: Group::Generated, bytes: Bytes::new() })?;
        }
        Ok(())
    }

    fn has_bundled_cases(&self) -> bool {
        false
    }

    fn check(&self, case: &Case) -> Outcome {
        let mut outcome = Outcome::default();
        let files = self.tests.lock().unwrap_or_else(PoisonError::into_inner).remove(&case.id);
        let before = match &files {
            Some(_) => match decode(case.bytes.clone(), &DecodeOptions::default()) {
                Ok(decoded) => decoded.model,
                Err(_) => return outcome,
            },
            None => {
                let seed = case.id.strip_prefix("expand/").and_then(|text| text.parse().ok()).unwrap_or(0);
                from_seed(seed, &smith::options(seed)).model
            }
        };
        if let Err((kind, detail)) = compare(&before, files.as_ref(), &mut outcome) {
            outcome.failures.push(Failure::new(kind, detail));
        }
        if files.is_none() {
            smith::attach(&before, &mut outcome);
        }
        outcome
    }

    fn summary(&self, report: &Report) -> String {
        let counts =
            ["models with bodies", "expanded nodes", "kept nodes", "not run", "random", "equal", "different"];
        counts.map(|count| format!("expand: {} {count}", report.count(count))).join("\n")
    }
}

/// Expands a model and compares the results.
fn compare(
    before: &Model,
    files: Option<&backend::Files>,
    outcome: &mut Outcome,
) -> Result<(), (String, String)> {
    let mut model = before.clone();
    let types =
        |model: &Model| -> Box<dyn onnx_ir::ValueTypes> { Box::new(infer(model, &InferOptions::default())) };
    // Official tests are expanded completely.
    let rough = if files.is_some() { HashSet::new() } else { rough_nodes(before) };
    let done = expand(&mut model, &InlineOptions::default(), types, |_, node, _| !rough.contains(&node));
    let done = done.map_err(|error| ("refused".to_owned(), error.to_string()))?;
    outcome.counts.extend(done.kept().map(|_| "kept nodes".to_owned()));
    for (call, reason) in done.kept() {
        let (_, op, _) = call.function;
        outcome.remarks.push(format!("{}: {reason}", before.str(op)));
    }
    let expanded = done.calls.iter().filter(|call| call.result.is_ok());
    let ops: BTreeSet<&str> = expanded.map(|call| model.str(call.function.1)).collect();
    let ops = ops.into_iter().collect::<Vec<_>>().join(", ");
    if done.inlined() == 0 {
        return Ok(());
    }
    outcome.counts.push("models with bodies".to_owned());
    outcome.counts.extend(vec!["expanded nodes".to_owned(); done.inlined()]);
    model.verify_sorted().map_err(|faults| ("broken".to_owned(), format!("{ops}: {faults:?}")))?;
    let (old, new) = (errors(before), errors(&model));
    if let Some(error) = new.difference(&old).next() {
        return Err(("invalid".to_owned(), format!("{ops}: {error}")));
    }
    if ops.contains("Bernoulli") {
        outcome.counts.push("random".to_owned());
        return Ok(());
    }
    let result = match files {
        Some(files) => match (backend::run(before, files), backend::run(&model, files)) {
            (Err(_), _) => Ok(false),
            (Ok(()), Ok(())) => Ok(true),
            (Ok(()), Err(backend::Problem::Missing(what))) => Err(("missing", what)),
            (Ok(()), Err(backend::Problem::Failed(kind, detail))) => Err((kind, detail)),
        },
        None => inline::same(before, &model),
    };
    match result {
        Ok(is_run) => outcome.counts.push(if is_run { "equal" } else { "not run" }.to_owned()),
        Err((kind, detail)) => {
            outcome.counts.push("different".to_owned());
            return Err((kind.to_owned(), format!("{ops}: {detail}")));
        }
    }
    Ok(())
}

/// The nodes of operators whose body is less precise for the type of the node.
fn rough_nodes(model: &Model) -> HashSet<NodeId> {
    let types = infer(model, &InferOptions::default());
    let is_rough = |&node: &NodeId| {
        let output = model.node(node).output(0).and_then(|output| types.elem(output));
        let op = model.node(node).op();
        ROUGH.contains(&op) || IN_FLOAT.contains(&op) && output != Some(ElemType::Float)
    };
    model.all_graphs().flat_map(|graph| model.nodes(graph)).filter(is_rough).collect()
}
