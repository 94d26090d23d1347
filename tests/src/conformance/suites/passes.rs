//! Passes preserve what models compute: each pass in isolation, and all of them in one pipeline, on generated and on real models.
//!
//! Every edit is proved at all levels. None may be refuted: the proof would have kept it from the model, but the pass is wrong
//! then. The model before and after runs on the same inputs, for several sizes of its dimension variables, and returns
//! equal outputs: bit for bit after edits that are exact, and otherwise within rounding. The checker finds no new error,
//! and inference contradicts nothing.
//!
//! `--count N` sets the number of generated models, `--seed S` the first seed, `--models DIR` a folder of real models, whose
//! large weights are random after `fill_weights.py`.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use bytes::Bytes;
use onnx_check::{CheckOptions, check};
use onnx_codec::{DecodeOptions, decode};
use onnx_diag::Severity;
use onnx_eval::contrib;
use onnx_ir::Model;
use onnx_pass::{Exactness, Level, Pass, PassOptions, Pipeline, PipelineReport, Verdict, prove_models};
use onnx_schema::Registry;
use onnx_smith::from_seed;

use super::smith;
use crate::conformance::data::{Case, Data, Feed, Group};
use crate::conformance::report::{Failure, Report};
use crate::conformance::runner::{Outcome, Suite};

/// Default number of generated models.
const COUNT: usize = 60;

/// The pass that changes the interface: a caller that overrides a default is no longer accepted.
const APART: &str = "no-initializer-inputs";

/// The suite.
#[derive(Default)]
pub struct PassesSuite {
    folder: Mutex<PathBuf>,
}

impl Suite for PassesSuite {
    fn name(&self) -> &'static str {
        "passes"
    }

    fn cases(&self, data: &Data, feed: &mut Feed<'_>) -> Result<(), String> {
        if let Some(folder) = data.models.as_ref().filter(|folder| folder.is_dir()) {
            folder.clone_into(&mut *self.folder.lock().unwrap_or_else(PoisonError::into_inner));
            let entries = folder.read_dir().map_err(|error| format!("{}: {error}", folder.display()))?;
            let mut names: Vec<String> = entries
                .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
                .filter(|name| name.ends_with(".onnx"))
                .collect();
            names.sort();
            return names
                .into_iter()
                .try_for_each(|id| feed(Case { id, group: Group::Model, bytes: Bytes::new() }));
        }
        if !data.is_bundled() {
            return Ok(());
        }
        let first = data.seed.unwrap_or(0);
        for index in 0..data.count.unwrap_or(COUNT) {
            let id = format!("passes/{:06}", first.saturating_add(index as u64));
            feed(Case { id, group: Group::Generated, bytes: Bytes::new() })?;
        }
        Ok(())
    }

    fn has_bundled_cases(&self) -> bool {
        true
    }

    fn check(&self, case: &Case) -> Outcome {
        let mut outcome = Outcome::default();
        let model = match case.id.strip_prefix("passes/").and_then(|seed| seed.parse().ok()) {
            Some(seed) => Ok(from_seed(seed, &smith::options(seed)).model),
            None => self.read(&case.id),
        };
        let model = match model {
            Ok(model) => model,
            Err(error) => {
                outcome.failures.push(Failure::new("unreadable", error));
                return outcome;
            }
        };
        outcome.counts.push("models".to_owned());
        let known = errors(&model).len();
        let passes = Pass::standard();
        let all = compatible(&passes);
        let pipelines = passes.iter().map(|pass| (pass.name(), Pipeline::new().then([pass.clone()])));
        for (name, pipeline) in pipelines.chain([("all", all)]) {
            run(name, &pipeline, &model, known, &mut outcome);
        }
        if case.group == Group::Generated {
            smith::attach(&model, &mut outcome);
        }
        outcome
    }

    fn summary(&self, report: &Report) -> String {
        let counts =
            ["models", "edits proved", "edits tested", "edits untested", "edits refused", "results compared"];
        let mut lines: Vec<String> =
            counts.iter().map(|count| format!("passes: {} {count}", report.count(count))).collect();
        let untested = report.counts().filter(|(name, _)| name.starts_with("untested: "));
        lines.extend(untested.map(|(name, count)| format!("passes: {count} {name}")));
        lines.join("\n")
    }
}

impl PassesSuite {
    fn read(&self, name: &str) -> Result<Model, String> {
        let path = self.folder.lock().unwrap_or_else(PoisonError::into_inner).join(name);
        let bytes = std::fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(decode(bytes.into(), &DecodeOptions::default()).map_err(|error| error.to_string())?.model)
    }
}

/// All passes, repeated; of opposite ones, the first.
fn compatible(passes: &[Pass]) -> Pipeline {
    let mut all: Vec<Pass> = Vec::new();
    for pass in passes.iter().filter(|pass| pass.name() != APART) {
        if !all.iter().any(|other| other.opposes(pass)) {
            all.push(pass.clone());
        }
    }
    Pipeline::new().then_repeat(all).unwrap_or_else(|error| unreachable!("{error}"))
}

/// The errors that the checker finds.
fn errors(model: &Model) -> Vec<String> {
    let found = check(model, &CheckOptions::default());
    let errors = found.diagnostics().iter().filter(|found| found.severity == Severity::Error);
    errors.map(|found| format!("{}: {}", found.rule.code, found.message)).collect()
}

/// The errors that the checker finds in a model after edits, if there are more than before.
pub(super) fn new_errors(before: &Model, after: &Model) -> Option<String> {
    more_than(errors(before).len(), &errors(after))
}

fn more_than(known: usize, found: &[String]) -> Option<String> {
    (found.len() > known).then(|| found.join("; "))
}

/// Runs passes on a copy of a model and compares the result.
fn run(name: &str, pipeline: &Pipeline, before: &Model, known: usize, outcome: &mut Outcome) {
    let mut after = before.clone();
    let registry = Registry::standard().with(contrib::pack()).unwrap_or_default();
    let options =
        PassOptions::default().with_untested(true).with_level(Level::Values).with_registry(&registry);
    let done = pipeline.run(&mut after, &options);
    let mut fail = |kind: &'static str, detail: String| {
        outcome.failures.push(Failure::new(kind, format!("{name}: {detail}")));
    };
    if let Err(faults) = after.verify() {
        fail("not in order", format!("{faults:?}"));
    }
    if let Some(ended) = done.ended {
        let most = done.passes.iter().max_by_key(|pass| pass.report.edits);
        fail("ended early", format!("{ended}; most edits are of {:?}", most.map(|pass| &pass.name)));
    }
    for refusal in done.passes.iter().flat_map(|pass| &pass.report.refusals) {
        if refusal.verdict.as_ref().is_some_and(Verdict::is_refuted) || refusal.level > Level::Structure {
            fail("refuted", refusal.to_string());
        }
    }
    if let Some(found) = more_than(known, &errors(&after)) {
        fail("new errors", found);
    }
    count(&done, outcome);
    if done.edits() == 0 {
        return;
    }
    let class = done.journal.iter().map(|entry| entry.class).max().unwrap_or(Exactness::Exact);
    match prove_models(before, &after, class, &options) {
        Verdict::Tested { runs, .. } => {
            outcome.counts.extend((0..runs).map(|_| "results compared".to_owned()));
        }
        Verdict::Refuted(counterexample) => {
            outcome.failures.push(Failure::new("different", format!("{name}: {counterexample}")));
        }
        verdict => outcome.remarks.push(format!("{name}: {verdict}")),
    }
}

fn count(done: &PipelineReport, outcome: &mut Outcome) {
    for entry in &done.journal {
        let kind = match &entry.verdict {
            Verdict::Proved(_) => "edits proved",
            Verdict::Tested { .. } => "edits tested",
            _ => "edits untested",
        };
        outcome.counts.extend((0..entry.edits).map(|_| kind.to_owned()));
        if let Verdict::Untested(reason) = &entry.verdict {
            outcome.counts.push(format!("untested: {}: {reason}", entry.pass));
        }
    }
    for pass in &done.passes {
        outcome.counts.extend(pass.report.refusals.iter().map(|_| "edits refused".to_owned()));
    }
}
