//! The official backend tests: the evaluator runs each model on the recorded inputs, and the outputs are compared with the
//! recorded ones within the tolerances of the reference's own runner.
//!
//! `tests/conformance/backend.py` makes the tests; `--backend PATH` names their folder, or an archive of it. A test counts as
//! *passed*, as *failed* (which needs a reason in `tests/conformance/deviations/backend.txt`), or as *missing* if a node of it
//! has no kernel. Random numbers are compared by type, sizes and range.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use bytes::Bytes;
use onnx_codec::{DecodeOptions, decode};
use onnx_eval::{EvalOptions, Evaluator, FailureKind, Value, contrib};
use onnx_ir::Model;
use onnx_schema::Registry;
use onnx_types::tensor::{NoData, Tensor};
use onnx_types::{ElemClass, ElemType};

use super::values;
use crate::conformance::archive;
use crate::conformance::data::{Case, Data, Feed, Group};
use crate::conformance::report::{Failure, Report};
use crate::conformance::runner::{Outcome, Suite};

/// The suite.
#[derive(Default)]
pub struct BackendSuite {
    /// The files of each test, by their path below its folder.
    tests: Mutex<BTreeMap<String, Files>>,
}

impl Suite for BackendSuite {
    fn name(&self) -> &'static str {
        "backend"
    }

    fn cases(&self, data: &Data, feed: &mut Feed<'_>) -> Result<(), String> {
        let Some(backend) = &data.backend else { return Ok(()) };
        let tests = read(backend)?;
        let models: Vec<(String, Bytes)> = tests
            .iter()
            .filter_map(|(test, files)| Some((test.clone(), files.get("model.onnx")?.clone())))
            .collect();
        *self.tests.lock().unwrap_or_else(PoisonError::into_inner) = tests;
        for (id, bytes) in models {
            feed(Case { id, group: Group::Model, bytes })?;
        }
        Ok(())
    }

    fn needs(&self) -> &'static str {
        "it needs `--backend PATH`, which `cargo xtask conformance` gives"
    }

    fn has_bundled_cases(&self) -> bool {
        false
    }

    fn check(&self, case: &Case) -> Outcome {
        let files = self.tests.lock().unwrap_or_else(PoisonError::into_inner).get(&case.id).cloned();
        let mut outcome = Outcome::default();
        let model = match decode(case.bytes.clone(), &DecodeOptions::default()) {
            Ok(decoded) => decoded.model,
            Err(error) => {
                outcome.failures.push(Failure::new("unreadable", error.to_string()));
                return outcome;
            }
        };
        let op = operator(&model);
        match run(&model, &files.unwrap_or_default()) {
            Ok(()) => {
                outcome.counts.extend(["passed".to_owned(), format!("passed {op}")]);
                if is_random(&model) {
                    outcome.counts.push("random".to_owned());
                }
            }
            Err(Problem::Missing(what)) => {
                outcome.counts.extend(["missing".to_owned(), format!("missing {what}")]);
                outcome.remarks.push(format!("no kernel: {what}"));
            }
            Err(Problem::Failed(kind, detail)) => {
                outcome.counts.extend(["failed".to_owned(), format!("failed {op}")]);
                outcome.failures.push(Failure::new(kind, format!("{op}: {detail}")));
            }
        }
        outcome
    }

    fn summary(&self, report: &Report) -> String {
        let count = |name| report.count(name);
        let (passed, failed, missing) = (count("passed"), count("failed"), count("missing"));
        let random = count("random");
        format!(
            "{passed} tests pass, {random} of them with random numbers, {failed} fail, {missing} have a node without a kernel"
        )
    }
}

/// The files of a test, by their path below its folder.
pub(super) type Files = BTreeMap<String, Bytes>;

/// The tests in a folder or an archive.
pub(super) fn read(backend: &Path) -> Result<BTreeMap<String, Files>, String> {
    let mut tests: BTreeMap<String, Files> = BTreeMap::new();
    archive::visit(backend, &mut |mut entry| {
        let name = entry.name.strip_prefix("backend/").unwrap_or(entry.name).to_owned();
        let in_test = |part: &str| part == "model.onnx" || part.starts_with("test_data_set_");
        let parts: Vec<&str> = name.split('/').collect();
        if let Some(count) = parts.iter().position(|part| in_test(part)).filter(|&count| count > 0) {
            let (test, file) = (parts[..count].join("/"), parts[count..].join("/"));
            tests.entry(test).or_default().insert(file, entry.read()?.into());
        }
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(tests)
}

/// What is wrong with a test.
pub(super) enum Problem {
    /// A node without a kernel: its operator and the reason.
    Missing(String),
    /// The kind and the details.
    Failed(&'static str, String),
}

/// The operator that a test is about: the one of its first node that is not a constant.
fn operator(model: &Model) -> String {
    let ops = model.nodes(model.main_graph()).map(|node| model.str(model.node(node).op()));
    ops.into_iter().find(|&op| op != "Constant").unwrap_or("Constant").to_owned()
}

/// Runs a model on the data of a test.
pub(super) fn run(model: &Model, files: &Files) -> Result<(), Problem> {
    let graph = model.graph(model.main_graph());
    let problem = |kind| move |error: String| Problem::Failed(kind, error);
    let registry = Registry::standard().with(contrib::pack());
    let registry = registry.map_err(|error| Problem::Failed("planning", error.to_string()))?;
    let evaluator = Evaluator::new(model, &EvalOptions::default().with_registry(&registry))
        .map_err(|failure| Problem::Failed("planning", failure.to_string()))?;
    for set in 0.. {
        let file = |what: &str, index: usize| files.get(&format!("test_data_set_{set}/{what}_{index}.pb"));
        if !files.keys().any(|name| name.starts_with(&format!("test_data_set_{set}/"))) {
            return if set > 0 {
                Ok(())
            } else {
                Err(Problem::Failed("empty", "there is no data".to_owned()))
            };
        }
        let mut inputs = Vec::new();
        for (index, &id) in graph.inputs().iter().enumerate() {
            let value = file("input", index).map(|bytes| values::read(bytes, model.ty(id))).transpose();
            inputs.push(value.map_err(problem("unreadable"))?);
        }
        let outputs = evaluator.run_in_order(inputs).map_err(|failure| match failure.kind() {
            FailureKind::Missing => {
                let op = failure.node().map_or("", |node| model.str(model.node(node).op()));
                Problem::Missing(format!("{op}: {}", failure.diagnostic().message))
            }
            _ => Problem::Failed("run", format!("{failure} {:?}", failure.diagnostic().notes)),
        })?;
        for (index, (output, found)) in graph.outputs().iter().zip(&outputs).enumerate() {
            let Some(bytes) = file("output", index) else { continue };
            let expected = values::read(bytes, model.ty(output.value())).map_err(problem("unreadable"))?;
            let difference =
                if is_random(model) { other_range(&expected, found) } else { difference(&expected, found) };
            if let Some(difference) = difference {
                return Err(Problem::Failed("different", format!("output {index}: {difference}")));
            }
        }
    }
    Ok(())
}

/// Whether a node of the main graph computes random numbers, which the specification does not determine, whatever the seed.
pub(super) fn is_random(model: &Model) -> bool {
    let ops = model.nodes(model.main_graph()).map(|node| model.str(model.node(node).op()));
    ops.into_iter().any(|op| op == "Bernoulli" || op == "Multinomial" || op.starts_with("Random"))
}

/// How a value differs from the expected one in type, sizes or range: random numbers that are 0 or 1 must be 0 or 1.
fn other_range(expected: &Value, found: &Value) -> Option<String> {
    let (Value::Tensor(expected), Value::Tensor(found)) = (expected, found) else {
        return Some(format!("{} instead of {}", found.describe(), expected.describe()));
    };
    if expected.elem() != found.elem() || expected.dims() != found.dims() {
        return tensors_differ(expected, found);
    }
    let is_bit = |value: f64| value == 0.0 || value == 1.0;
    let (mut a, mut b) = (expected.iter_f64(&NoData).ok()?, found.iter_f64(&NoData).ok()?);
    (a.all(is_bit) && !b.all(is_bit)).then(|| "a number that is neither 0 nor 1".to_owned())
}

/// How a value differs from the expected one beyond the tolerance.
pub(super) fn difference(expected: &Value, found: &Value) -> Option<String> {
    match (expected, found) {
        (Value::Tensor(expected), Value::Tensor(found)) => tensors_differ(expected, found),
        (Value::Sequence(expected), Value::Sequence(found)) => {
            if expected.len() != found.len() {
                return Some(format!("{} elements instead of {}", found.len(), expected.len()));
            }
            expected.iter().zip(found.iter()).find_map(|(expected, found)| difference(expected, found))
        }
        (Value::Optional(None), Value::Optional(None)) => None,
        (Value::Optional(Some(expected)), Value::Optional(Some(found))) => difference(expected, found),
        (Value::Map(expected), Value::Map(found)) => {
            if !expected.keys().eq(found.keys()) {
                return Some("other keys".to_owned());
            }
            expected.values().zip(found.values()).find_map(|(expected, found)| difference(expected, found))
        }
        _ => Some(format!("{} instead of {}", found.describe(), expected.describe())),
    }
}

fn tensors_differ(expected: &Tensor, found: &Tensor) -> Option<String> {
    if expected.elem() != found.elem() || expected.dims() != found.dims() {
        let [expected, found] =
            [expected, found].map(|tensor| format!("{}{:?}", tensor.elem(), tensor.dims()));
        return Some(format!("{found} instead of {expected}"));
    }
    let unequal = |index: usize, found: &dyn std::fmt::Debug, expected: &dyn std::fmt::Debug| {
        Some(format!("element {index} is {found:?} instead of {expected:?}"))
    };
    match expected.elem().class() {
        ElemClass::String => {
            let (a, b) = (expected.string_bytes().ok()?, found.string_bytes().ok()?);
            let at = a.iter().zip(b).position(|(a, b)| a != b)?;
            unequal(at, b.get(at)?, a.get(at)?)
        }
        ElemClass::Float => {
            let relative = if expected.elem() == ElemType::Bfloat16 { 1.0 / 64.0 } else { 1e-3 };
            let (a, b) = (expected.iter_f64(&NoData).ok()?, found.iter_f64(&NoData).ok()?);
            let far = |(a, b): (f64, f64)| {
                !(a == b || (a.is_nan() && b.is_nan()) || (a - b).abs() <= 1e-7 + relative * a.abs())
            };
            let (at, (a, b)) = a.zip(b).enumerate().find(|&(_, pair)| far(pair))?;
            unequal(at, &b, &a)
        }
        _ => {
            // All other types are compared by their bytes.
            let (a, b) = (expected.bytes(&NoData).ok()?, found.bytes(&NoData).ok()?);
            let at = a.iter().zip(&b).position(|(a, b)| a != b)?;
            unequal(at, b.get(at)?, a.get(at)?)
        }
    }
}
