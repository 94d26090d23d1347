//! Models of exporters: what was inferred holds for every run that was observed, and says at least as much as the
//! recorded engines.
//!
//! Every model is inferred from a copy without declared types of intermediate values. The inferred shapes of the
//! intermediate values of the main graph are then computed for the sizes of each recorded run, and compared with the
//! shapes that were observed:
//!
//! * *resolved*: every size can be computed, and is what was observed in all runs;
//! * *wrong*: the element type, the rank or a size is not what was observed. There must be none;
//! * *symbolic*: every size is a number or an expression of the sizes of inputs, whatever they are;
//! * *data*: a size depends on the elements of an input, so no such expression exists.
//!
//! What is neither symbolic nor data is lost. `tests/conformance/symbolic.json` lists how many values each model loses at which
//! operator, with a reason for each operator: a value more is a failure.
//!
//! Our counts are reported next to those that are recorded for the file itself, the reference, and onnxruntime's
//! symbolic inference. What stays unresolved is counted by the operator that lost it; `--op NAME` lists the values.

use std::collections::{BTreeMap, HashSet};
use std::fmt::Write as _;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::{Mutex, OnceLock, PoisonError};

use bytes::Bytes;
use onnx_codec::{DecodeOptions, decode};
use onnx_ir::{Def, Model, User, ValueId};
use onnx_shape_infer::{Gap, InferOptions, contrib, infer};
use serde_json::Value;

use super::observed::{Claim, Look};
use crate::conformance::archive;
use crate::conformance::data::{self, Case, Data, Feed};
use crate::conformance::report::{Failure, Report};
use crate::conformance::runner::{Outcome, Suite};

/// The suite.
#[derive(Default)]
pub struct ModelsSuite {
    /// What is recorded about each model: the runs, and the scores of others.
    truths: Mutex<BTreeMap<String, Bytes>>,
    others: Mutex<BTreeMap<String, Others>>,
    scores: Mutex<BTreeMap<String, Score>>,
    op: OnceLock<String>,
}

/// How many values each model may lose, by operator.
const LOST: &str = include_str!("../../../conformance/symbolic.json");

/// The operators that give tensors of a size that depends on elements.
const BY_DATA: &[&str] = &["NonZero", "NonMaxSuppression", "Compress", "Unique", "StringSplit"];

/// How many values others resolve: the file, the reference, symbolic inference of onnxruntime.
#[derive(Clone, Copy, Default)]
struct Others {
    file: Option<u64>,
    reference: Option<u64>,
    symbolic: Option<u64>,
}

/// How well a model is inferred.
#[derive(Clone, Default)]
struct Score {
    values: u64,
    observed: u64,
    resolved: u64,
    symbolic: u64,
    data: u64,
    wrong: u64,
    others: Others,
    /// What is neither symbolic nor depends on data, by the operator that lost it.
    unlinked: BTreeMap<String, u64>,
    /// What stays unresolved, by the operator that lost it.
    lost: BTreeMap<String, u64>,
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Suite for ModelsSuite {
    fn name(&self) -> &'static str {
        "models"
    }

    fn cases(&self, data: &Data, feed: &mut Feed<'_>) -> Result<(), String> {
        if let Some(op) = &data.op {
            let _ = self.op.set(op.clone());
        }
        let Some(models) = &data.models else { return Ok(()) };
        self.recorded(models)?;
        data::files(models, "models", feed)
    }

    fn needs(&self) -> &'static str {
        "it needs `--models PATH`"
    }

    fn check(&self, case: &Case) -> Outcome {
        let name = case.id.strip_prefix("models/").unwrap_or(&case.id);
        let name = name.strip_suffix(".onnx").unwrap_or(name);
        let truth = lock(&self.truths).get(name).cloned();
        let others = lock(&self.others).get(name).copied();
        let is_recorded = others.is_some();
        // What others resolve counts where there are observations to compare it with.
        let others = others.filter(|_| truth.is_some()).unwrap_or_default();
        let mut outcome = Outcome::default();
        let Ok(decoded) = decode(case.bytes.clone(), &DecodeOptions::default()) else {
            outcome.failures.push(Failure::new("unreadable", "it is not a model"));
            return outcome;
        };
        let mut model = decoded.model;
        forget_types(&mut model);
        let registry = contrib::registry();
        let inference = infer(&model, &InferOptions::default().with_registry(&registry));
        let runs = match truth.as_deref().map(serde_json::from_slice::<Value>) {
            None => {
                outcome.counts.push("without observations".to_owned());
                Vec::new()
            }
            Some(Ok(truth)) => truth.get("runs").and_then(Value::as_array).cloned().unwrap_or_default(),
            Some(Err(error)) => {
                outcome.failures.push(Failure::new("unreadable", format!("what was observed: {error}")));
                return outcome;
            }
        };
        let look = Look { model: &model, inference: &inference, failures: Vec::new() };
        let mut scored = Scored { look, op: self.op.get(), remarks: Vec::new() };
        let score = scored.score(&runs, others);
        outcome.failures = scored.look.failures;
        outcome.remarks = scored.remarks;
        let best = [others.reference, others.symbolic].into_iter().flatten().max().unwrap_or(0);
        if truth.is_some() && score.resolved < best {
            let what = format!("{} of {} resolved, others {best}", score.resolved, score.observed);
            outcome.failures.push(Failure::new("weaker", what));
        }
        if is_recorded {
            outcome.failures.extend(unexpected(name, &score));
        }
        lock(&self.scores).insert(name.to_owned(), score);
        outcome
    }

    fn summary(&self, report: &Report) -> String {
        let scores = lock(&self.scores);
        let mut text = String::from(
            "model: observed, resolved (file, reference, symbolic), symbolic + by data, wrong\n",
        );
        let mut total = Score::default();
        for (name, score) in scores.iter() {
            let _ = writeln!(text, "{name}: {}", row(score));
            total.add(score);
        }
        let mut lost: Vec<(&String, &u64)> = total.lost.iter().collect();
        lost.sort_by_key(|&(op, count)| (std::cmp::Reverse(*count), op));
        text.push_str("lost at:");
        for (op, count) in lost {
            let _ = write!(text, " {op} {count}");
        }
        text.push_str("\nnot symbolic:");
        for (op, count) in &total.unlinked {
            let _ = write!(text, " {op} {count}");
        }
        let share = |part: u64| part as f64 * 100.0 / total.observed.max(1) as f64;
        let _ = write!(
            text,
            "\nmodels: {} models, {} of {} values observed, {} resolved, {:.2} % (reference {:.1} %, symbolic {:.1} %), {} symbolic, {} by data, {:.2} % of the rest symbolic, {} wrong",
            report.cases(),
            total.observed,
            total.values,
            total.resolved,
            share(total.resolved),
            share(total.others.reference.unwrap_or(0)),
            share(total.others.symbolic.unwrap_or(0)),
            total.symbolic,
            total.data,
            total.symbolic_share() * 100.0,
            total.wrong
        );
        text
    }
}

/// What is lost beyond what the committed list allows for a model.
fn unexpected(name: &str, score: &Score) -> Vec<Failure> {
    let allowed: Value = serde_json::from_str(LOST).unwrap_or_default();
    let allowed = |op: &str| allowed.get("models")?.get(name)?.get(op)?.as_u64();
    let more = score.unlinked.iter().filter(|(op, count)| **count > allowed(op).unwrap_or(0));
    let what = |(op, count): (&String, &u64)| {
        let what = format!("{count} values lost at {op}, {} are listed", allowed(op).unwrap_or(0));
        Failure::new("not symbolic", what)
    };
    more.map(what).collect()
}

fn row(score: &Score) -> String {
    let show = |count: Option<u64>| count.map_or("–".to_owned(), |count| count.to_string());
    let Others { file, reference, symbolic } = score.others;
    format!(
        "{}, {} ({}, {}, {}), {} + {}, {}",
        score.observed,
        score.resolved,
        show(file),
        show(reference),
        show(symbolic),
        score.symbolic,
        score.data,
        score.wrong
    )
}

impl Score {
    fn add(&mut self, other: &Self) {
        self.values += other.values;
        self.observed += other.observed;
        self.resolved += other.resolved;
        self.symbolic += other.symbolic;
        self.data += other.data;
        self.wrong += other.wrong;
        let add = |sum: &mut Option<u64>, more: Option<u64>| {
            if let Some(more) = more {
                *sum = Some(sum.unwrap_or(0) + more);
            }
        };
        add(&mut self.others.file, other.others.file);
        add(&mut self.others.reference, other.others.reference);
        add(&mut self.others.symbolic, other.others.symbolic);
        for (op, count) in &other.lost {
            *self.lost.entry(op.clone()).or_default() += count;
        }
        for (op, count) in &other.unlinked {
            *self.unlinked.entry(op.clone()).or_default() += count;
        }
    }

    /// The share of symbolic values among those whose sizes no data decides.
    fn symbolic_share(&self) -> f64 {
        let lost: u64 = self.unlinked.values().sum();
        self.symbolic as f64 / (self.symbolic + lost).max(1) as f64
    }
}

impl ModelsSuite {
    /// Reads the results that are recorded in the directory of the models.
    fn recorded(&self, models: &Path) -> Result<(), String> {
        archive::visit(models, &mut |mut entry| {
            if entry.name == "manifest.json" {
                let manifest: Value =
                    serde_json::from_slice(&entry.read()?).map_err(|error| error.to_string())?;
                for model in manifest.get("models").and_then(Value::as_array).into_iter().flatten() {
                    let name = model.get("name").and_then(Value::as_str).unwrap_or_default();
                    let resolved = |key: &str| model.get(key)?.get("resolved")?.as_u64();
                    let others = Others {
                        file: resolved("a_file"),
                        reference: resolved("b_onnx"),
                        symbolic: resolved("c_ortsym"),
                    };
                    lock(&self.others).insert(name.to_owned(), others);
                }
            } else if let Some(name) = entry.name.strip_suffix(".truth.json") {
                let name = name.to_owned();
                lock(&self.truths).insert(name, entry.read()?.into());
            }
            Ok(ControlFlow::Continue(()))
        })
    }
}

/// Removes the types of all values that nodes define, except those of the main graph's outputs.
fn forget_types(model: &mut Model) {
    let main = model.main_graph();
    let values: Vec<ValueId> = model
        .graphs_in(main)
        .flat_map(|graph| model.nodes(graph))
        .flat_map(|node| model.node(node).outputs().iter().flatten().copied())
        .collect();
    for value in values {
        if !is_output(model, value) {
            model.set_type(value, None::<onnx_types::Type>);
        }
    }
}

fn is_output(model: &Model, value: ValueId) -> bool {
    let main = model.main_graph();
    model.value(value).uses().iter().any(|used| used.user == User::Graph(main))
}

/// What the sizes of a value depend on.
enum Link {
    /// On sizes of inputs, by known expressions.
    Symbolic,
    /// On elements of inputs.
    Data,
    /// On sizes of inputs, in a way that this operator lost.
    Lost(String),
}

/// The scores of a model.
struct Scored<'a> {
    look: Look<'a>,
    op: Option<&'a String>,
    remarks: Vec<String>,
}

impl Scored<'_> {
    fn score(&mut self, runs: &[Value], others: Others) -> Score {
        let mut score = Score { others, ..Score::default() };
        let model = self.look.model;
        let values: Vec<ValueId> = self.look.made().filter(|&value| !is_output(model, value)).collect();
        let runs: Vec<&Value> = runs.iter().filter(|run| run.get("error").is_none()).collect();
        let claims = self.look.claims(&values, &runs);
        score.values = values.len() as u64;
        for value in values {
            match self.link(value) {
                Link::Symbolic => score.symbolic += 1,
                Link::Data => score.data += 1,
                Link::Lost(op) => *score.unlinked.entry(op).or_default() += 1,
            }
            match claims.get(&value) {
                None => continue,
                Some(Claim::Resolved) => score.resolved += 1,
                Some(Claim::Wrong) => score.wrong += 1,
                Some(Claim::Open) => self.open(value, &mut score),
            }
            score.observed += 1;
        }
        score
    }

    /// What the sizes of a value depend on.
    fn link(&self, value: ValueId) -> Link {
        let (model, inference) = (self.look.model, self.look.inference);
        let mut link = Link::Symbolic;
        for gap in inference.gaps(value) {
            let root = self.root(value, gap);
            let is_input = matches!(model.value(root).def(), Def::Input { .. });
            if is_input && matches!(gap, Gap::Size(_)) {
                // The size of an input that has no name.
                continue;
            }
            if self.depends_on_data(root) {
                return Link::Data;
            }
            link = Link::Lost(self.look.maker(root).to_owned());
        }
        link
    }

    /// The value where what is missing was lost.
    fn root(&self, value: ValueId, gap: Gap) -> ValueId {
        let why = self.look.inference.why(self.look.model, value, gap);
        why.and_then(|why| why.chain.last().copied()).unwrap_or(value)
    }

    /// Whether the elements of an input of the model decide a size of a value: it is made by an operator of which that is
    /// the purpose, or by one with graphs whose condition depends on elements.
    fn depends_on_data(&self, value: ValueId) -> bool {
        let model = self.look.model;
        let op = self.look.maker(value);
        if BY_DATA.contains(&op) {
            return true;
        }
        let Def::Output { node, .. } = model.value(value).def() else { return false };
        if !matches!(op, "If" | "Loop") {
            return false;
        }
        let mut seen: HashSet<ValueId> = HashSet::new();
        let mut open: Vec<ValueId> = model.node(node).inputs().flatten().take(2).collect();
        while let Some(value) = open.pop() {
            if !seen.insert(value) {
                continue;
            }
            let Def::Output { node, .. } = model.value(value).def() else {
                if matches!(model.value(value).def(), Def::Input { .. }) {
                    return true;
                }
                continue;
            };
            let inputs = model.node(node).inputs().flatten();
            if !matches!(self.look.maker(value), "Shape" | "Size") {
                open.extend(inputs);
                continue;
            }
            // Of what a shape is taken from, only the sizes count.
            for input in inputs {
                let gaps = self.look.inference.gaps(input);
                let roots = gaps.into_iter().map(|gap| self.root(input, gap));
                for root in roots.filter(|&root| root != input || BY_DATA.contains(&self.look.maker(root))) {
                    if BY_DATA.contains(&self.look.maker(root)) {
                        return true;
                    }
                    open.push(root);
                }
            }
        }
        false
    }

    /// Counts a value that is not resolved at the operator that lost it.
    fn open(&mut self, value: ValueId, score: &mut Score) {
        let gap = self.look.inference.gaps(value).into_iter().next();
        let why = gap.and_then(|gap| self.look.inference.why(self.look.model, value, gap));
        let lost = why.as_ref().and_then(|why| why.chain.last().copied()).unwrap_or(value);
        let op = self.look.maker(lost).to_owned();
        if self.op == Some(&op) && value == lost {
            let name = self.look.model.str(self.look.model.value(value).name());
            self.remarks.push(format!("lost at {op}: `{name}` {gap:?}"));
        }
        *score.lost.entry(op).or_default() += 1;
    }
}
