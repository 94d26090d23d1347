//! Simplification preserves what models compute: 60 models that some simplifier gets wrong, and generated models.
//!
//! Each model is simplified twice, with exact edits and with edits that may round, and every edit is proved at all levels. None
//! may be refuted. The results on the recorded inputs are those before: bit for bit after exact edits, and otherwise within
//! rounding. The nodes that remain are those that `tests/conformance/simplifier-probes.txt` lists: a node that can be removed
//! is removed, and one that cannot stays. The checker finds no new error.
//!
//! `--count N` sets the number of generated models, `--seed S` the first seed. `--backend PATH` covers tests with recorded
//! inputs instead.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use bytes::Bytes;
use onnx_codec::{DecodeOptions, decode};
use onnx_eval::{EvalOptions, Evaluator, Value, contrib};
use onnx_ir::Model;
use onnx_pass::{Exactness, Level, PassOptions, Pipeline, PipelineReport, Verdict};
use onnx_rewrite::{RuleSet, simplification};
use onnx_schema::Registry;
use onnx_smith::from_seed;

use super::backend::{Files, difference, is_random, read};
use super::{passes, smith, values};
use crate::conformance::data::{Case, Data, Feed, Group};
use crate::conformance::report::{Failure, Report};
use crate::conformance::runner::{Outcome, Suite};

/// Default number of generated models.
const COUNT: usize = 60;

/// The number of nodes of each probe: before, after exact edits, and after all edits.
const PROBES: &str = include_str!("../../../conformance/simplifier-probes.txt");

const CLASSES: [(Exactness, &str); 2] = [(Exactness::Exact, "exact"), (Exactness::Rounding, "rounding")];

/// The suite.
#[derive(Default)]
pub struct SimplifySuite {
    /// The recorded inputs and outputs of each test.
    tests: Mutex<BTreeMap<String, Files>>,
}

impl Suite for SimplifySuite {
    fn name(&self) -> &'static str {
        "simplify"
    }

    fn cases(&self, data: &Data, feed: &mut Feed<'_>) -> Result<(), String> {
        let bundled = Path::new(env!("CARGO_MANIFEST_DIR")).join("conformance/simplifier-probes.tar.zst");
        let is_bundled = data.is_bundled() && data.backend.is_none();
        if let Some(tests) = data.backend.as_ref().or(is_bundled.then_some(&bundled)) {
            let tests = read(tests)?;
            self.tests.lock().unwrap_or_else(PoisonError::into_inner).clone_from(&tests);
            for (id, files) in tests {
                let Some(bytes) = files.get("model.onnx").cloned() else { continue };
                feed(Case { id, group: Group::Model, bytes })?;
            }
        }
        if !is_bundled {
            return Ok(());
        }
        let first = data.seed.unwrap_or(0);
        for index in 0..data.count.unwrap_or(COUNT) {
            let id = format!("simplify/{:06}", first.saturating_add(index as u64));
            feed(Case { id, group: Group::Generated, bytes: Bytes::new() })?;
        }
        Ok(())
    }

    fn check(&self, case: &Case) -> Outcome {
        let mut outcome = Outcome::default();
        let seed = case.id.strip_prefix("simplify/").and_then(|seed| seed.parse().ok());
        let model = match seed {
            Some(seed) => Ok(from_seed(seed, &smith::options(seed)).model),
            None => decode(case.bytes.clone(), &DecodeOptions::default()).map(|decoded| decoded.model),
        };
        let model = match model {
            Ok(model) => model,
            Err(error) => {
                outcome.failures.push(Failure::new("unreadable", error.to_string()));
                return outcome;
            }
        };
        let tests = self.tests.lock().unwrap_or_else(PoisonError::into_inner);
        let files = tests.get(&case.id).cloned().unwrap_or_default();
        drop(tests);
        let what = if seed.is_some() { "generated models" } else { "recorded models" };
        outcome.counts.push(what.to_owned());
        let mut nodes = vec![count_nodes(&model)];
        for (class, name) in CLASSES {
            match simplify(&model, class, name, &mut outcome) {
                Ok(after) => {
                    nodes.push(count_nodes(&after));
                    let differs = compare_runs((&model, &after), class, &files, &mut outcome);
                    if let Err((kind, detail)) = differs {
                        outcome.failures.push(Failure::new(kind, format!("{name}: {detail}")));
                    }
                }
                Err(error) => outcome.failures.push(Failure::new("pipeline", error)),
            }
        }
        removed(&case.id, &nodes, &mut outcome);
        if seed.is_some() {
            smith::attach(&model, &mut outcome);
        }
        outcome
    }

    fn summary(&self, report: &Report) -> String {
        let names = [
            "recorded models",
            "generated models",
            "probes with the listed nodes",
            "recorded runs equal",
            "nodes before",
            "nodes after exact edits",
            "nodes after all edits",
            "edits proved",
            "edits tested",
            "edits untested",
            "edits refused",
            "models tested",
            "models untested",
            "models that a second simplification edits",
        ];
        let mut lines: Vec<String> =
            names.iter().map(|name| format!("simplify: {} {name}", report.count(name))).collect();
        let others =
            report.counts().filter(|(name, _)| name.starts_with("rule ") || name.starts_with("untested: "));
        lines.extend(others.map(|(name, count)| format!("simplify: {count} {name}")));
        lines.join("\n")
    }
}

/// Number of nodes other than `Constant`, in all graphs.
pub(super) fn count_nodes(model: &Model) -> usize {
    let nodes = model.all_graphs().flat_map(|graph| model.nodes(graph));
    nodes.filter(|&node| model.str(model.node(node).op()) != "Constant").count()
}

/// Compares the numbers of nodes with the listed ones.
fn removed(id: &str, nodes: &[usize], outcome: &mut Outcome) {
    for (count, name) in
        nodes.iter().zip(["nodes before", "nodes after exact edits", "nodes after all edits"])
    {
        outcome.counts.extend((0..*count).map(|_| name.to_owned()));
    }
    // Generated models and backend tests have a folder in their names.
    if id.contains('/') {
        return;
    }
    match listed(id) {
        Some(listed) if listed == nodes => outcome.counts.push("probes with the listed nodes".to_owned()),
        Some(listed) => {
            outcome.failures.push(Failure::new("nodes", format!("{nodes:?} instead of {listed:?}")))
        }
        None => outcome.failures.push(Failure::new("nodes", "the probe is not listed")),
    }
}

/// The listed numbers of nodes of a probe.
fn listed(id: &str) -> Option<Vec<usize>> {
    let lines = PROBES.lines().map(|line| line.split('#').next().unwrap_or_default());
    let mut rows = lines.map(str::split_whitespace);
    let mut row = rows.find(|row| row.clone().next() == Some(id))?;
    row.next();
    Some(row.filter_map(|word| word.parse().ok()).collect())
}

/// The simplified model; counts the edits, and reports those that are refuted.
fn simplify(before: &Model, class: Exactness, name: &str, outcome: &mut Outcome) -> Result<Model, String> {
    let registry = Registry::standard().with(contrib::pack()).map_err(|error| error.to_string())?;
    let rules = RuleSet::standard().map_err(|error| error.to_string())?;
    let pipeline = simplification(rules, &registry).map_err(|error| error.to_string())?;
    let options = PassOptions::default()
        .with_untested(true)
        .with_class(class)
        .with_level(Level::Model)
        .with_registry(&registry);
    let mut after = before.clone();
    let done = pipeline.run(&mut after, &options);
    let mut fail = |kind: &'static str, detail: String| {
        outcome.failures.push(Failure::new(kind, format!("{name}: {detail}")));
    };
    if let Err(faults) = after.verify_sorted() {
        fail("not in order", format!("{faults:?}"));
    }
    if let Some(ended) = done.ended {
        let last = done.journal.iter().rev().take(8);
        let last: Vec<String> = last.map(|entry| format!("{} {:?}", entry.pass, entry.sources)).collect();
        fail("ended early", format!("{ended}; the last edits, in reverse: {}", last.join(", ")));
    }
    if let Some(found) = passes::new_errors(before, &after) {
        fail("new errors", found);
    }
    for refusal in done.passes.iter().flat_map(|pass| &pass.report.refusals) {
        if refusal.verdict.as_ref().is_some_and(Verdict::is_refuted) || refusal.level > Level::Structure {
            fail("refuted", refusal.to_string());
        }
    }
    match &done.model {
        Some(Verdict::Refuted(counterexample)) => fail("refuted model", counterexample.to_string()),
        Some(Verdict::Tested { .. }) => outcome.counts.push("models tested".to_owned()),
        Some(verdict) => {
            outcome.counts.push("models untested".to_owned());
            // Which node does not run, and why, differs from model to model.
            let reason = verdict.to_string();
            let reason = reason.split(" run: ").next().unwrap_or_default();
            outcome.counts.push(format!("untested: {reason}"));
        }
        None => {}
    }
    count_edits(&done, outcome);
    again(&pipeline, &after, &options, name, outcome);
    Ok(after)
}

/// Remarks that a second simplification finds more.
fn again(pipeline: &Pipeline, model: &Model, options: &PassOptions<'_>, name: &str, outcome: &mut Outcome) {
    let done = pipeline.run(&mut model.clone(), &options.clone().with_level(Level::Types));
    if let Some(entry) = done.journal.first() {
        outcome.counts.push("models that a second simplification edits".to_owned());
        outcome.remarks.push(format!("{name}: a second simplification edits: {}", entry.pass));
    }
}

fn count_edits(done: &PipelineReport, outcome: &mut Outcome) {
    for entry in &done.journal {
        let kind = match &entry.verdict {
            Verdict::Proved(_) => "edits proved",
            Verdict::Tested { .. } => "edits tested",
            _ => "edits untested",
        };
        outcome.counts.extend((0..entry.edits).map(|_| kind.to_owned()));
        if done.passes.iter().all(|pass| pass.name != entry.pass) {
            outcome.counts.push(format!("rule {}", entry.pass));
        }
    }
    for pass in &done.passes {
        outcome.counts.extend(pass.report.refusals.iter().map(|_| "edits refused".to_owned()));
    }
}

/// Runs both models on the recorded inputs; the results agree with each other and with the recorded ones.
fn compare_runs(
    (before, after): (&Model, &Model),
    class: Exactness,
    files: &Files,
    outcome: &mut Outcome,
) -> Result<(), (&'static str, String)> {
    for set in 0.. {
        let prefix = format!("test_data_set_{set}/");
        if !files.keys().any(|name| name.starts_with(&prefix)) {
            return Ok(());
        }
        // Without a result before, there is nothing to preserve.
        let Ok(old) = run(before, files, &prefix) else { continue };
        let new = run(after, files, &prefix).map_err(|error| ("run", error))?;
        let graph = before.graph(before.main_graph());
        for (index, (old, new)) in old.iter().zip(&new).enumerate() {
            let wrong =
                |what: &str, detail: String| ("different", format!("output {index} {what}: {detail}"));
            if is_random(before) {
                if old.describe() != new.describe() {
                    return Err(wrong(
                        "of random numbers",
                        format!("{} instead of {}", new.describe(), old.describe()),
                    ));
                }
                continue;
            }
            if class == Exactness::Exact && !same_bits(old, new) {
                return Err(wrong("has other bits", format!("{new:?} instead of {old:?}")));
            }
            if let Some(difference) = difference(old, new) {
                return Err(wrong("after simplification", difference));
            }
            // The evaluator may differ from the recorded output by itself.
            let Some(recorded) = files.get(&format!("{prefix}output_{index}.pb")) else { continue };
            let ty = graph.outputs().get(index).and_then(|output| before.ty(output.value()));
            let recorded = values::read(recorded, ty).map_err(|error| ("unreadable", error))?;
            if difference(&recorded, old).is_none()
                && let Some(difference) = difference(&recorded, new)
            {
                return Err(wrong("differs from the recorded one", difference));
            }
        }
        outcome.counts.push("recorded runs equal".to_owned());
    }
    Ok(())
}

fn run(model: &Model, files: &Files, prefix: &str) -> Result<Vec<Value>, String> {
    let registry = Registry::standard().with(contrib::pack()).map_err(|error| error.to_string())?;
    let evaluator = Evaluator::new(model, &EvalOptions::default().with_registry(&registry))
        .map_err(|failure| failure.to_string())?;
    let mut inputs = Vec::new();
    for (index, &id) in model.graph(model.main_graph()).inputs().iter().enumerate() {
        let bytes = files.get(&format!("{prefix}input_{index}.pb"));
        inputs.push(bytes.map(|bytes| values::read(bytes, model.ty(id))).transpose()?);
    }
    evaluator.run_in_order(inputs).map_err(|failure| failure.to_string())
}

/// Returns `true` if two values have the same bits; all NaNs are equal.
pub(super) fn same_bits(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Tensor(a), Value::Tensor(b)) => {
            let is_same = |(a, b): (f64, f64)| a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan());
            let source = &onnx_types::tensor::NoData;
            a.elem() == b.elem()
                && a.dims() == b.dims()
                && match (a.iter_f64(source), b.iter_f64(source)) {
                    (Ok(a), Ok(b)) => a.zip(b).all(is_same),
                    _ => difference(&Value::Tensor(a.clone()), &Value::Tensor(b.clone())).is_none(),
                }
        }
        (Value::Sequence(a), Value::Sequence(b)) => {
            a.len() == b.len() && a.iter().zip(b.iter()).all(|(a, b)| same_bits(a, b))
        }
        (Value::Optional(Some(a)), Value::Optional(Some(b))) => same_bits(a, b),
        _ => difference(a, b).is_none(),
    }
}
