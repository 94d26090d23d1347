//! What generated models compute: every node of the main graph is run by our evaluator, by the reference's evaluator and by
//! onnxruntime on the same values, and the outputs are compared.
//!
//! Each case is a seed of `onnx-smith`, as in the suite `smith`, with generated inputs for some sizes of its dimension
//! variables. A model runs as a whole; then each peer runs each node in isolation on the values of that run, so that a difference is
//! one of this node and does not spread. An output must also have the type and the sizes that inference concluded, without
//! exceptions. Differences are compared with `tests/conformance/deviations/eval.txt`, where each has a reason, which says
//! which result is correct: see `deviations.rs`.
//!
//! `--count N` sets the number of models, `--seed S` the first seed.

mod deviations;
pub(super) mod ours;
mod peers;

use bytes::Bytes;
use onnx_codec::{EncodeOptions, encode};
use onnx_eval::Value;
use onnx_eval::compare::{Difference, Tolerances, compare_values};
use onnx_ir::{Callee, Model, NodeId};
use onnx_schema::Registry;
use onnx_shape_infer::{InferOptions, infer};
use onnx_smith::from_seed;
use onnx_text::{PrintOptions, print_node};
use onnx_types::tensor::NoData;
use onnx_types::{ElemClass, ElemType};
use serde_json::json;

use super::execution::broken;
use super::observed::{Claim, Look};
use super::smith;
use crate::conformance::data::{Case, Data, Feed, Group};
use crate::conformance::reference::Reference;
use crate::conformance::report::{Failure, Report};
use crate::conformance::runner::{Outcome, Suite};
use deviations::{Deviations, Found};
use ours::{Run, Sizes};
use peers::{Answer, PEERS};

/// Default number of models.
const COUNT: usize = 300;

/// Sizes of dimension variables: a model runs with the first ones, and with one of the others in turn.
const SIZES: [&[i64]; 4] = [&[3, 2, 4, 5], &[1], &[2, 1, 0, 3], &[0]];

/// The suite.
pub struct EvalSuite {
    reference: Reference,
    deviations: Deviations,
}

impl EvalSuite {
    /// The suite with the committed list of deviations.
    ///
    /// # Errors
    ///
    /// Returns an error if a line of the list is not understood.
    pub fn new() -> Result<Self, String> {
        Ok(Self { reference: Reference::with_runtime("eval.py"), deviations: Deviations::committed()? })
    }
}

impl Suite for EvalSuite {
    fn name(&self) -> &'static str {
        "eval"
    }

    fn cases(&self, data: &Data, feed: &mut Feed<'_>) -> Result<(), String> {
        if !data.is_bundled() || self.reference.absent().is_some() {
            return Ok(());
        }
        let first = data.seed.unwrap_or(0);
        for index in 0..data.count.unwrap_or(COUNT) {
            let id = format!("eval/{:06}", first.saturating_add(index as u64));
            feed(Case { id, group: Group::Generated, bytes: Bytes::new() })?;
        }
        Ok(())
    }

    fn peer(&self, data: &Data) -> Option<&Reference> {
        data.is_bundled().then_some(&self.reference)
    }

    fn has_bundled_cases(&self) -> bool {
        false
    }

    fn check(&self, case: &Case) -> Outcome {
        let mut outcome = Outcome::default();
        let seed: u64 = case.id.strip_prefix("eval/").and_then(|text| text.parse().ok()).unwrap_or(0);
        let model = from_seed(seed, &smith::options(seed)).model;
        let other = 1 + usize::try_from(seed).unwrap_or(0) % (SIZES.len() - 1);
        let mut sizes: Vec<Sizes> =
            [0, other].iter().filter_map(|&at| SIZES.get(at)).map(|sizes| Sizes::of(&model, sizes)).collect();
        // Without variables all runs are the same.
        sizes.dedup();
        for sizes in sizes {
            match ours::run(&model, seed, &sizes) {
                Ok(run) => self.look(&model, &sizes, &run, &mut outcome),
                Err(reason) => outcome.counts.push(format!("no inputs: {reason}")),
            }
        }
        outcome
    }

    fn summary(&self, report: &Report) -> String {
        let counts = [
            "runs",
            "runs to the end",
            "values with the inferred type and sizes",
            "nodes that ran",
            "nodes that failed",
            "nodes with random numbers",
            "nodes compared with both",
            "nodes compared with reference",
            "nodes compared with onnxruntime",
            "nodes that no peer runs",
            "equal to reference",
            "equal to onnxruntime",
            "failures with a peer that computes",
            "listed",
        ];
        let mut lines: Vec<String> =
            counts.iter().map(|count| format!("eval: {} {count}", report.count(count))).collect();
        match self.reference.absent() {
            Some(reason) => lines.push(format!("eval: the reference was not asked: {reason}")),
            None => {
                let unused = self.deviations.unused(report);
                lines.extend(unused.map(|line| format!("eval: not found: {line}")));
            }
        }
        lines.join("\n")
    }
}

impl EvalSuite {
    /// Whether nothing can be compared, because there is no reference.
    pub(super) fn is_absent(&self) -> bool {
        self.reference.absent().is_some()
    }

    /// Compares a run with inference and with the peers.
    pub(super) fn look(&self, model: &Model, sizes: &Sizes, run: &Run, outcome: &mut Outcome) {
        outcome.counts.push("runs".to_owned());
        outcome.counts.extend(run.is_complete.then(|| "runs to the end".to_owned()));
        inferred(model, sizes, run, outcome);
        let bytes = match encode(model, &EncodeOptions::default()) {
            Ok(encoded) => encoded.into_bytes(),
            Err(error) => {
                outcome.failures.push(Failure::new("encode", error.to_string()));
                return;
            }
        };
        let answers = peers::ask(&self.reference, model, &bytes, run, &PEERS).or_else(|_| {
            // A runtime that does not end, or crashes, takes the process with it.
            outcome.counts.push("questions without onnxruntime".to_owned());
            peers::ask(&self.reference, model, &bytes, run, &["reference"])
        });
        let answers = match answers {
            Ok(answers) => answers,
            Err(reason) => {
                let reason: String = reason.chars().take(60).collect();
                outcome.counts.push(format!("no answer: {reason}"));
                return;
            }
        };
        for (node, answers) in answers {
            self.node(model, run, node, &answers, outcome);
        }
    }

    /// Compares what a node computes.
    fn node(
        &self,
        model: &Model,
        run: &Run,
        node: NodeId,
        answers: &[(&'static str, Answer)],
        outcome: &mut Outcome,
    ) {
        if ours::is_random(model, node) {
            outcome.counts.push("nodes with random numbers".to_owned());
            return;
        }
        let op = model.str(model.node(node).op());
        for (peer, answer) in answers {
            if let Answer::Failed(reason) = answer {
                outcome.counts.push(format!("not run by {peer}: {op}: {}", peers::category(reason)));
            }
        }
        let computed: Vec<(&str, &[Option<Value>])> =
            answers.iter().filter_map(|(peer, answer)| Some((*peer, answer.outputs()?))).collect();
        let mut found: Vec<(&str, String, String)> = Vec::new();
        if let Some(reason) = run.failed.get(&node) {
            outcome.counts.push("nodes that failed".to_owned());
            outcome
                .counts
                .extend((!computed.is_empty()).then(|| "failures with a peer that computes".to_owned()));
            found.extend(computed.iter().map(|(peer, outputs)| {
                let theirs: Vec<String> = outputs.iter().flatten().map(shown).collect();
                (*peer, "fails".to_owned(), format!("{reason}, there {}", theirs.join("; ")))
            }));
        } else {
            outcome.counts.push("nodes that ran".to_owned());
            outcome.counts.push(match computed.as_slice() {
                [] => "nodes that no peer runs".to_owned(),
                [(peer, _)] => format!("nodes compared with {peer}"),
                _ => "nodes compared with both".to_owned(),
            });
            for (peer, outputs) in &computed {
                match differs(model, run, node, outputs) {
                    None => outcome.counts.push(format!("equal to {peer}")),
                    Some((kind, detail)) => found.push((peer, kind.to_owned(), detail)),
                }
            }
        }
        // Both differ in the same way, or each in its own.
        let is_both = match (found.as_slice(), computed.as_slice()) {
            ([_, _], [(_, a), (_, b)]) => a.iter().zip(*b).all(|(a, b)| match (a, b) {
                (Some(a), Some(b)) => compare_values(plain(a), plain(b), &Tolerances::default()).agrees(),
                _ => true,
            }),
            _ => false,
        };
        for (peer, _, detail) in &mut found {
            for (other, answer) in answers.iter().filter(|(other, _)| other != peer) {
                let verdict = if answer.outputs().is_some() { "computes" } else { "does not run" };
                detail.push_str(&format!(" ({other} {verdict})"));
            }
        }
        self.judge(model, run, node, is_both, &found, outcome);
    }

    /// Holds the differences of a node against the list.
    fn judge(
        &self,
        model: &Model,
        run: &Run,
        node: NodeId,
        is_both: bool,
        found: &[(&str, String, String)],
        outcome: &mut Outcome,
    ) {
        let (ops, elems, operands) =
            (ours::operators(model, node), run.elems(model, node), run.conditions(model, node));
        for (peer, kind, detail) in found.iter().take(if is_both { 1 } else { 2 }) {
            let peer = if is_both { "both" } else { peer };
            let found = Found { ops: &ops, elems: &elems, operands: &operands, kind, peer };
            if let Some(line) = self.deviations.of(&found) {
                outcome.counts.extend(["listed".to_owned(), Deviations::count(line)]);
                continue;
            }
            let op = found.ops.first().map_or_else(String::new, ToString::to_string);
            let text = print_node(model, node, &PrintOptions::default()).map(|printed| printed.text);
            let mut text = format!("{}\n    {}", detail, text.unwrap_or_default().trim_end());
            if found.ops.len() > 1 {
                let all: Vec<String> = found.ops.iter().map(ToString::to_string).collect();
                text.push_str(&format!("\n    runs {}", all.join(", ")));
            }
            for value in ours::operands(model, node) {
                let known = run.values.get(&value).map_or_else(|| "?".to_owned(), shown);
                text.push_str(&format!("\n    {} = {known}", model.str(model.value(value).name())));
            }
            outcome.failures.push(Failure::new(format!("{op} {kind} {peer}"), text));
        }
    }
}

/// Compares the types and the sizes of a run with what was inferred.
fn inferred(model: &Model, sizes: &Sizes, run: &Run, outcome: &mut Outcome) {
    let inference = infer(model, &InferOptions::default());
    let mut look = Look { model, inference: &inference, failures: Vec::new() };
    let described = |value: &Value| {
        let tensor = value.tensor()?;
        Some(json!([tensor.elem().name(), tensor.dims()]))
    };
    let names = |value| model.str(model.value(value).name()).to_owned();
    let values: Vec<_> = look.made().collect();
    let observed: serde_json::Map<_, _> = values
        .iter()
        .filter_map(|&value| Some((names(value), described(run.values.get(&value)?)?)))
        .collect();
    let record = json!({ "bindings": {}, "inputs": sizes.inputs(model), "values": observed });
    let breaks = |strength| broken(&inference, &look, &record, strength).is_some();
    if breaks(onnx_shape_infer::Strength::Assumed) || breaks(onnx_shape_infer::Strength::Proved) {
        outcome.counts.push("runs that guards exclude".to_owned());
        return;
    }
    let claims = look.claims(&values, &[&record]);
    let right = claims.values().filter(|&&claim| claim != Claim::Wrong).count();
    outcome.counts.extend((0..right).map(|_| "values with the inferred type and sizes".to_owned()));
    outcome.failures.append(&mut look.failures);
}

/// How the outputs of a node differ from those of a peer.
fn differs(
    model: &Model,
    run: &Run,
    node: NodeId,
    outputs: &[Option<Value>],
) -> Option<(&'static str, String)> {
    for (index, (id, theirs)) in model.node(node).outputs().iter().zip(outputs).enumerate() {
        let (Some(id), Some(theirs)) = (id, theirs) else { continue };
        let Some(ours) = run.values.get(id) else { continue };
        let (ours, theirs) = (plain(ours), plain(theirs));
        let difference = compare_values(theirs, ours, &tolerances(model, node, theirs));
        if difference.agrees() {
            continue;
        }
        let detail = || format!("output {index} is {}, there {}", shown(ours), shown(theirs));
        return Some(match &difference.mismatch {
            None => ("elements", format!("{}: {}", first(&difference), detail())),
            Some(what) => {
                let elems = [ours, theirs].map(ours::elem);
                let kind = if matches!(elems, [Some(a), Some(b)] if a == b) { "shape" } else { "type" };
                (kind, format!("{what}: {}", detail()))
            }
        });
    }
    None
}

/// The tolerances for a result of a node. Sums of products cancel: another order of the additions changes an element by parts of the
/// products, which are as large as the largest elements are, however small the element is.
fn tolerances(model: &Model, node: NodeId, result: &Value) -> Tolerances {
    /// Eight units in the last place of the largest element.
    const ORDER: f64 = 8.0 * f32::EPSILON as f64;
    let mut tolerances = Tolerances::default();
    let Callee::Standard(schema) = model.callee(node, Registry::STANDARD) else { return tolerances };
    let Value::Tensor(tensor) = result else { return tolerances };
    if schema.traits().contracts() && tensor.elem() == ElemType::Float {
        let largest = tensor
            .iter_f64(&NoData)
            .into_iter()
            .flatten()
            .map(f64::abs)
            .filter(|number| number.is_finite())
            .fold(0.0, f64::max);
        let default = tolerances.of(ElemType::Float).atol;
        tolerances.atol = Some(default.max(largest * ORDER));
    }
    tolerances
}

fn first(difference: &Difference) -> String {
    let at = difference.first.as_ref().map(|first| format!("{}{:?}", first.path, first.index));
    format!(
        "{} of {} elements, first at {}",
        difference.exceeding,
        difference.elements,
        at.unwrap_or_default()
    )
}

/// The value itself, if it is an optional: peers do not distinguish the two.
fn plain(value: &Value) -> &Value {
    match value {
        Value::Optional(Some(inner)) => plain(inner),
        value => value,
    }
}

/// The first elements of a value.
fn shown(value: &Value) -> String {
    const MOST: usize = 40;
    match value {
        Value::Tensor(tensor) => {
            let elements: Vec<String> = match tensor.elem().class() {
                ElemClass::String => {
                    let texts = tensor.string_bytes().unwrap_or_default().iter().take(MOST);
                    texts.map(|text| format!("{:?}", String::from_utf8_lossy(text))).collect()
                }
                ElemClass::Float | ElemClass::Int | ElemClass::Uint | ElemClass::Bool => {
                    let numbers = tensor.iter_f64(&NoData).into_iter().flatten().take(MOST);
                    numbers.map(|number| format!("{number:.7}")).collect()
                }
                _ => vec![format!("{:02x?}", tensor.bytes(&NoData).unwrap_or_default().get(..MOST))],
            };
            format!("{} {{{}}}", value.describe(), elements.join(", "))
        }
        Value::Sequence(items) => {
            let items: Vec<String> = items.iter().take(4).map(shown).collect();
            format!("{} ({})", value.describe(), items.join("; "))
        }
        Value::Map(entries) => {
            let entries: Vec<String> =
                entries.iter().take(8).map(|(key, value)| format!("{key:?}: {}", shown(value))).collect();
            format!("{} ({})", value.describe(), entries.join("; "))
        }
        Value::Optional(Some(inner)) => format!("optional {}", shown(inner)),
        Value::Optional(None) => value.describe(),
    }
}
