//! Inference: we know at least what the reference knows, and find the contradictions that it finds.
//!
//! Types are compared as what is known about values, see [`lattice`]: for models after the inferred types were written
//! into them, at every graph input, node output and graph output, also of nested graphs. In strict mode the verdicts are
//! compared: errors of the reference are diagnostics here, and vice versa. Without strict mode the reference suppresses
//! most of its errors, and those that it still raises are only counted.
//!
//! Every failure names the operator that made the value: `coarser:Conv`. With `--op Conv` only those are listed.

pub mod lattice;
mod parts;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;
use std::sync::{Mutex, OnceLock, PoisonError};

use bytes::Bytes;
use onnx_codec::{DecodeOptions, decode};
use onnx_diag::{LocusStep, Severity};
use onnx_ir::{GraphId, Model, ValueId};
use onnx_shape_infer::{InferOptions, Inference, MergePolicy, infer, infer_function, infer_node};
use onnx_types::Type;
use serde_json::Value;

use self::lattice::{Comparison, Order};
use crate::conformance::data::{Case, Data, Feed, Group, bundled_inference};
use crate::conformance::manifest::{self, Blobs, Record};
use crate::conformance::report::{Failure, Report};
use crate::conformance::runner::{Outcome, Suite};

/// The recorded result of the reference for a case.
#[derive(Clone, Default)]
struct Recorded {
    call: String,
    options: Value,
    /// What the error said; `None` where all was well.
    error: Option<String>,
    /// A model that holds what came out.
    output: Bytes,
}

/// The suite.
#[derive(Default)]
pub struct InferSuite {
    recorded: Mutex<BTreeMap<String, Recorded>>,
    op: OnceLock<String>,
    trust_defaults: OnceLock<bool>,
}

const MODEL: &str = "shape_inference.infer_shapes";
const NODE: &str = "shape_inference.infer_node_outputs";
const FUNCTION: &str = "shape_inference.infer_function_output_types";

fn recorded(record: &Record, blobs: &Blobs) -> Result<(Bytes, Recorded), String> {
    let pieces = |list: &[manifest::Blob]| -> Result<Vec<parts::Piece>, String> {
        let piece = |blob: &manifest::Blob| Some((blob.name.clone(), blobs.get(&blob.hash)?.clone()));
        list.iter().map(piece).collect::<Option<_>>().ok_or_else(|| "a blob is missing".to_owned())
    };
    let (inputs, outputs) = (pieces(&record.inputs)?, pieces(&record.outputs)?);
    let first = |pieces: &[parts::Piece]| pieces.first().map(|(_, bytes)| bytes.clone()).unwrap_or_default();
    let (input, output) = match record.call.as_str() {
        NODE => (parts::of_node(&inputs, &record.options)?, parts::of_types(&outputs)?),
        FUNCTION => (parts::of_function(&inputs)?, parts::of_types(&outputs)?),
        _ => (first(&inputs), first(&outputs)),
    };
    let error = (!record.ok).then(|| record.message.clone().unwrap_or_default());
    Ok((input, Recorded { call: record.call.clone(), options: record.options.clone(), error, output }))
}

impl Suite for InferSuite {
    fn name(&self) -> &'static str {
        "infer"
    }

    fn cases(&self, data: &Data, feed: &mut Feed<'_>) -> Result<(), String> {
        let _ = self.trust_defaults.set(data.trust_defaults);
        if let Some(op) = &data.op {
            let _ = self.op.set(op.clone());
        }
        match &data.corpus {
            Some(corpus) => self.corpus(corpus, feed),
            None if data.is_bundled() => self.corpus(&bundled_inference(), feed),
            None => Ok(()),
        }
    }

    fn check(&self, case: &Case) -> Outcome {
        let recorded = self.recorded.lock().unwrap_or_else(PoisonError::into_inner).remove(&case.id);
        let recorded = recorded.unwrap_or_default();
        let mut options = InferOptions::default();
        options.defaults_are_constant = self.trust_defaults.get().copied().unwrap_or_default();
        let mut run = match Run::of(case, &recorded, options) {
            Ok(run) => run,
            Err(problem) => {
                let failures = vec![Failure::new("not-asked", problem)];
                return Outcome { failures, ..Outcome::default() };
            }
        };
        run.verdict(&recorded);
        if recorded.error.is_none()
            && let Err(problem) = run.compare(&recorded)
        {
            run.outcome.failures.push(Failure::new("not-compared", problem));
        }
        let mut outcome = run.outcome;
        if let Some(op) = self.op.get() {
            outcome.failures.retain(|failure| failure.kind.rsplit(':').next() == Some(op.as_str()));
        }
        outcome
    }

    fn summary(&self, report: &Report) -> String {
        let mut text = per_operator(report);
        let counts = ["equal", "finer", "other", "coarser", "conflict"];
        for count in counts {
            let _ = writeln!(text, "infer: {} cases {count}", report.count(count));
        }
        for count in ["accepted by both", "refused by both", "raised without strict mode"] {
            let _ = writeln!(text, "infer: {} {count}", report.count(count));
        }
        let failed: BTreeSet<&String> = report.failures().iter().map(|(case, _)| case).collect();
        let share = failed.len() as f64 * 100.0 / report.cases().max(1) as f64;
        let _ = write!(text, "infer: {} of {} cases deviate, {share:.2} %", failed.len(), report.cases());
        text
    }
}

impl InferSuite {
    fn corpus(&self, corpus: &Path, feed: &mut Feed<'_>) -> Result<(), String> {
        let is_call = |record: &Record| record.call.starts_with("shape_inference.");
        let (records, blobs) = manifest::read_with_blobs(corpus, is_call)?;
        for record in records {
            let call = record.call.strip_prefix("shape_inference.").unwrap_or(&record.call);
            let id = format!("{call}/{}", record.id);
            let (bytes, recorded) = recorded(&record, &blobs).map_err(|error| format!("{id}: {error}"))?;
            self.recorded.lock().unwrap_or_else(PoisonError::into_inner).insert(id.clone(), recorded);
            feed(Case { id, group: Group::Fragment, bytes })?;
        }
        Ok(())
    }
}

/// How often what is found at the nodes of each operator.
fn per_operator(report: &Report) -> String {
    let mut table: BTreeMap<&str, BTreeMap<&str, usize>> = BTreeMap::new();
    for (_, failure) in report.failures() {
        if let Some((class, op)) = failure.kind.split_once(':') {
            *table.entry(op).or_default().entry(class).or_default() += 1;
        }
    }
    let mut text = String::new();
    for (op, classes) in table {
        let classes: Vec<String> = classes.iter().map(|(class, count)| format!("{class} {count}")).collect();
        let _ = writeln!(text, "{op}: {}", classes.join(", "));
    }
    text
}

/// Our result for a case.
struct Run {
    model: Model,
    /// How many names the model had before inference.
    given: usize,
    inference: Inference,
    /// The types of the outputs of a standalone node or function, under their names in the call.
    outputs: Option<Vec<(String, Option<Type>)>>,
    outcome: Outcome,
}

impl Run {
    fn of(case: &Case, recorded: &Recorded, mut options: InferOptions<'_>) -> Result<Self, String> {
        let decoded = decode(case.bytes.clone(), &DecodeOptions::default());
        let mut model = decoded.map_err(|error| error.to_string())?.model;
        let given = model.names().len();
        let flag = |name: &str| recorded.options.get(name).and_then(Value::as_bool).unwrap_or(false);
        options.values = flag("data_prop");
        options.check_types = flag("check_type");
        let (mut inference, outputs) = match recorded.call.as_str() {
            NODE => one_node(&model, &options)?,
            FUNCTION => one_function(&model, options)?,
            MODEL => {
                let mut inference = infer(&model, &options);
                // With this policy nothing can fail.
                let _ = inference.apply(&mut model, MergePolicy::Refine);
                (inference, None)
            }
            call => return Err(format!("unknown call `{call}`")),
        };
        let mut ty = |(name, value)| (name, inference.intern_type(&mut model, value));
        let outputs = outputs.map(|outputs| outputs.into_iter().map(&mut ty).collect());
        Ok(Self { model, given, inference, outputs, outcome: Outcome::default() })
    }

    fn verdict(&mut self, recorded: &Recorded) {
        let strict = recorded.options.get("strict_mode").and_then(Value::as_bool).unwrap_or(true);
        let errors = self.inference.findings().diagnostics().iter();
        let first = errors.clone().find(|found| found.severity == Severity::Error);
        match (&recorded.error, first) {
            (Some(_), _) if !strict => self.outcome.counts.push("raised without strict mode".to_owned()),
            (Some(_), Some(_)) => self.outcome.counts.push("refused by both".to_owned()),
            (Some(message), None) => {
                let op = message.split_once("op_type:").and_then(|(_, rest)| rest.split([',', ')']).next());
                let kind = format!("verdict-accepted:{}", op.unwrap_or("model"));
                let line = message.lines().find(|line| line.contains("op_type:"));
                let message = line.or_else(|| message.lines().next()).unwrap_or_default();
                self.outcome.failures.push(Failure::new(kind, message));
            }
            (None, Some(found)) if strict => {
                let op = found.locus.steps().iter().rev().find_map(|step| match step {
                    LocusStep::Node { op, .. } => op.as_str().rsplit("::").next().map(str::to_owned),
                    _ => None,
                });
                let kind = format!("verdict-refused:{}", op.as_deref().unwrap_or("model"));
                let what = format!("{} {}: {}", found.rule.id(), found.locus, found.message);
                self.outcome.failures.push(Failure::new(kind, what));
            }
            (None, _) => self.outcome.counts.push("accepted by both".to_owned()),
        }
    }

    fn compare(&mut self, recorded: &Recorded) -> Result<(), String> {
        let decoded = decode(recorded.output.clone(), &DecodeOptions::default());
        let theirs = decoded.map_err(|error| error.to_string())?.model;
        let (names, given) = (self.model.names(), self.given);
        let is_given = |name: &str| names.get(name).is_some_and(|symbol| (symbol.index() as usize) < given);
        let mut found = Found::new(Comparison::new(&self.model, &theirs, &is_given));
        match &self.outputs {
            Some(outputs) => {
                let mut types = BTreeMap::new();
                for &value in theirs.graph(theirs.main_graph()).inputs() {
                    types.insert(theirs.str(theirs.value(value).name()), theirs.ty(value));
                }
                let op = self.model.nodes(self.model.main_graph()).next();
                let op = op.map_or("", |node| self.model.str(self.model.node(node).op()));
                for (name, ours) in outputs {
                    found.value(name, op, ours.as_ref(), types.get(name.as_str()).copied().flatten());
                }
            }
            None => found.models(&self.model, &theirs),
        }
        let (order, failures) = (found.order, found.failures);
        self.outcome.counts.push(order.name().to_owned());
        for (kind, details) in failures {
            self.outcome.failures.push(Failure::new(kind, details.join("; ")));
        }
        Ok(())
    }
}

type Outputs = Option<Vec<(String, ValueId)>>;

fn one_node(model: &Model, options: &InferOptions<'_>) -> Result<(Inference, Outputs), String> {
    let node = model.nodes(model.main_graph()).next().ok_or("there is no node")?;
    let outputs = model.node(node).outputs().iter().flatten();
    let outputs = outputs.map(|&value| (model.str(model.value(value).name()).to_owned(), value)).collect();
    Ok((infer_node(model, node, options), Some(outputs)))
}

fn one_function(model: &Model, mut options: InferOptions<'_>) -> Result<(Inference, Outputs), String> {
    // The reference checks types there, and follows no elements.
    (options.check_types, options.values) = (true, false);
    let function = *model.functions().first().ok_or("there is no function")?;
    let main = model.main_graph();
    let call = model.nodes(main).next().ok_or("there is no call")?;
    let attributes = model.node(call).attributes().to_vec();
    let inputs: Vec<Option<Type>> =
        model.graph(main).inputs().iter().map(|&value| model.ty(value).cloned()).collect();
    let body = model.function(function).body();
    let outputs = model.graph(body).outputs().iter().enumerate();
    let outputs = outputs.map(|(index, output)| (index.to_string(), output.value())).collect();
    Ok((infer_function(model, function, &inputs, &attributes, &options), Some(outputs)))
}

/// What the comparison of a case has found so far.
struct Found<'a> {
    comparison: Comparison<'a>,
    order: Order,
    failures: BTreeMap<String, Vec<String>>,
}

/// More values of one kind are not described.
const MOST_DETAILS: usize = 3;

impl<'a> Found<'a> {
    fn new(comparison: Comparison<'a>) -> Self {
        Self { comparison, order: Order::Equal, failures: BTreeMap::new() }
    }

    fn value(&mut self, name: &str, op: &str, ours: Option<&Type>, theirs: Option<&Type>) {
        let order = self.comparison.types(ours, theirs);
        self.order = self.order.max(order);
        if order.is_failure() {
            let details = self.failures.entry(format!("{}:{op}", order.name())).or_default();
            if details.len() < MOST_DETAILS {
                let ours = self.comparison.show_ours(ours);
                let theirs = self.comparison.show_theirs(theirs);
                details.push(format!("`{name}` is {ours}, reference {theirs}"));
            }
        }
    }

    /// Compares the values of two models that differ only in types.
    fn models(&mut self, ours: &Model, theirs: &Model) {
        let mut graphs: Vec<(GraphId, GraphId)> = vec![(ours.main_graph(), theirs.main_graph())];
        while let Some((graph, other)) = graphs.pop() {
            let pairs = ours.graph(graph).inputs().iter().zip(theirs.graph(other).inputs());
            for (&value, &other) in pairs {
                self.pair(ours, theirs, "input", value, other);
            }
            for (node, other) in ours.nodes(graph).zip(theirs.nodes(other)) {
                let (node, other) = (ours.node(node), theirs.node(other));
                for (value, other) in node.outputs().iter().zip(other.outputs()) {
                    if let (&Some(value), &Some(other)) = (value, other) {
                        self.pair(ours, theirs, ours.str(node.op()), value, other);
                    }
                }
                graphs.extend(node.nested_graphs().zip(other.nested_graphs()));
            }
        }
    }

    fn pair(&mut self, ours: &Model, theirs: &Model, op: &str, value: ValueId, other: ValueId) {
        let name = ours.str(ours.value(value).name());
        self.value(name, op, ours.ty(value), theirs.ty(other));
    }
}
