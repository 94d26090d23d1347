//! Generated models: our checker, our inference and the reference agree about every one, and what was inferred holds for
//! what is observed when they run.
//!
//! Each case is a seed of `onnx-smith`. Of every fourth model the seed chooses all operators; the others have a node of one
//! schema, in turn. Our checker and inference must accept a model without diagnostics, and it must round-trip through
//! bytes and text. If the reference is available (`ONNX_PYTHON`), its checker must accept the model as well, strict
//! inference included, and its evaluator, or onnxruntime, runs it for some sizes of its dimension variables. `--count
//! N` sets the number of models. A failing model is listed as text, reduced to the failing part.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::{Mutex, PoisonError};

use bytes::Bytes;
use onnx_codec::{EncodeOptions, encode};
use onnx_ir::{Model, ValueId};
use onnx_schema::{Schema, domain};
use onnx_shape_infer::{InferOptions, infer};
use onnx_smith::{SmithOptions, Stats, from_seed};
use onnx_text::{PrintOptions, print_model};
use onnx_types::{Dim, ElemType, Type, TypeKind};
use serde_json::{Value, json};

use super::execution::broken;
use super::observed::{Claim, Look};
use crate::conformance::data::{Case, Data, Feed, Group};
use crate::conformance::reference::{Answer, Reference};
use crate::conformance::report::{Failure, Report};
use crate::conformance::runner::{Outcome, Suite};
use crate::properties::smith::fault;
use crate::reduce::reduce;

/// Maximum number of models that are tried to reduce a failing one.
const MOST_ATTEMPTS: u64 = 3000;

/// Default number of models.
const COUNT: usize = 300;

/// Sizes that dimension variables have, each for all of them: the first variable has the first, and so on around.
const SIZES: [&[i64]; 4] = [&[3, 2, 4, 5], &[1], &[0], &[2, 1, 0, 3]];

/// Operators whose result in the evaluator is not what the specification says. They count where onnxruntime does not
/// decide; nodes with bodies count that have such an operator inside.
const QUIRKS: &[(&str, Quirk)] = &[
    // The state is computed with the wider type of numpy's results.
    ("Adagrad", Quirk::Elem),
    ("Adam", Quirk::Elem),
    ("Momentum", Quirk::Elem),
    // The result has the type of the data, of numpy's sums, or of the attributes instead of the declared one.
    ("AffineGrid", Quirk::Elem),
    ("BatchNormalization", Quirk::Elem),
    ("FeatureVectorizer", Quirk::Elem),
    ("Gemm", Quirk::Elem),
    ("LayerNormalization", Quirk::Elem),
    ("LinearClassifier", Quirk::Elem),
    ("LinearRegressor", Quirk::Elem),
    ("Normalizer", Quirk::Elem),
    ("ReduceSumSquare", Quirk::Elem),
    ("SVMClassifier", Quirk::Elem),
    ("SVMRegressor", Quirk::Elem),
    ("Scaler", Quirk::Elem),
    ("TreeEnsembleClassifier", Quirk::Elem),
    ("TreeEnsembleRegressor", Quirk::Elem),
    // The mask is of truth values in every version; until version 9 it has the type of the data.
    ("Dropout", Quirk::Elem),
    // Steps that are longer than the window add to the result where the padding is automatic.
    ("ConvTranspose", Quirk::Shape),
    // Empty texts are taken away, too.
    ("StringNormalizer", Quirk::Shape),
    // A vector, where runtimes and converters give one row.
    ("DictVectorizer", Quirk::Shape),
    ("DictVectorizer", Quirk::Elem),
    // Determinants are computed with 64-bit floats.
    ("Det", Quirk::Elem),
    // The first version is run as if it were a later one, without a batch.
    ("Scan", Quirk::Batch),
    // One axis too many is taken away where several have one element.
    ("GlobalMaxPool", Quirk::Shape),
    // What the rounds give is joined, and not stacked.
    ("Loop", Quirk::Shape),
    // The padding of one axis is added to another.
    ("MaxPool", Quirk::Shape),
];

/// Another quirk, of any operator: 8-bit floats become their codes on some ways through the evaluator.
const CODES: &str = "8-bit floats";

/// In what a result differs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Quirk {
    /// In the type of its elements.
    Elem,
    /// In its shape.
    Shape,
    /// In its shape, until version 8.
    Batch,
}

/// Maximum number of failures of each kind that are shrunk; each takes some seconds.
const SHRUNK: usize = 1;

/// The suite.
pub struct SmithSuite {
    reference: Reference,
    /// How many failures of each kind were shrunk.
    shrunk: Mutex<BTreeMap<String, usize>>,
    /// How often each schema was made and refused.
    stats: Mutex<Stats>,
}

impl Default for SmithSuite {
    fn default() -> Self {
        Self {
            reference: Reference::with_runtime("smith.py"),
            shrunk: Mutex::default(),
            stats: Mutex::default(),
        }
    }
}

impl Suite for SmithSuite {
    fn name(&self) -> &'static str {
        "smith"
    }

    fn cases(&self, data: &Data, feed: &mut Feed<'_>) -> Result<(), String> {
        if !data.is_bundled() {
            return Ok(());
        }
        for seed in 0..data.count.unwrap_or(COUNT) {
            feed(Case { id: format!("smith/{seed:06}"), group: Group::Generated, bytes: Bytes::new() })?;
        }
        Ok(())
    }

    fn peer(&self, data: &Data) -> Option<&Reference> {
        data.is_bundled().then_some(&self.reference)
    }

    fn check(&self, case: &Case) -> Outcome {
        let mut outcome = Outcome::default();
        let seed: u64 = case.id.strip_prefix("smith/").and_then(|text| text.parse().ok()).unwrap_or(0);
        let made = from_seed(seed, &options(seed));
        self.stats.lock().unwrap_or_else(PoisonError::into_inner).add(&made.stats);
        let failures = self.look(&made.model, &mut outcome);
        for mut failure in failures {
            let kind = failure.kind.clone();
            if !self.is_shrunk(&kind) {
                outcome.failures.push(failure);
                continue;
            }
            let small = reduce(&made.model, MOST_ATTEMPTS, |model| {
                self.look(model, &mut Outcome::default()).iter().any(|found| found.kind == kind)
            });
            let text = print_model(&small, &PrintOptions::default()).map(|printed| printed.text);
            failure.detail.push_str(&format!("\n{}", text.unwrap_or_default()));
            failure.input = encode(&small, &EncodeOptions::default()).ok().map(|pieces| pieces.into_bytes());
            outcome.failures.push(failure);
        }
        outcome
    }

    fn summary(&self, report: &Report) -> String {
        let stats = self.stats.lock().unwrap_or_else(PoisonError::into_inner);
        let counts = [
            "nodes",
            "accepted by both",
            "runs without end",
            "runs",
            "runs that guards exclude",
            "models that ran",
            "values observed",
            "values computed",
            "open",
            "wrong",
            "evaluator and runtime differ",
        ];
        let lines: Vec<String> =
            counts.iter().map(|count| format!("smith: {} {count}", report.count(count))).collect();
        let asked = self
            .reference
            .absent()
            .map_or_else(String::new, |reason| format!("\nsmith: the reference was not asked: {reason}"));
        let names: BTreeSet<&str> = QUIRKS.iter().map(|(op, _)| *op).chain([CODES]).collect();
        let of_one = |op: &&str| report.count(&format!("quirk of the evaluator: {op}"));
        let quirks: u64 = names.iter().map(of_one).sum();
        let reached = reached(&stats);
        format!("{reached}\n{}\nsmith: {quirks} quirks of the evaluator{asked}", lines.join("\n"))
    }
}

/// How many schemas were made, and those of which the most proposals were refused.
fn reached(stats: &Stats) -> String {
    let all: Vec<_> = onnx_schema::all().iter().filter(|schema| !schema.is_deprecated()).collect();
    let made = all.iter().filter(|schema| stats.made(schema.id()) > 0).count();
    let share = |schema: &Schema| {
        let (made, refused) = (u64::from(stats.made(schema.id())), u64::from(stats.refused(schema.id())));
        1000 * made / (made + refused).max(1)
    };
    let is_tried = |schema: &&&Schema| stats.made(schema.id()) + stats.refused(schema.id()) > 0;
    let mut hardest: Vec<_> = all.iter().filter(is_tried).collect();
    hardest.sort_by_key(|schema| share(schema));
    let hardest: Vec<String> = hardest
        .iter()
        .take(12)
        .map(|schema| {
            let (made, refused) = (stats.made(schema.id()), stats.refused(schema.id()));
            format!("{schema} {made} of {}", made.saturating_add(refused))
        })
        .collect();
    format!("smith: {made} of {} schemas reached; hardest to make: {}", all.len(), hardest.join(", "))
}

/// What is made of a seed.
pub(super) fn options(seed: u64) -> SmithOptions<'static> {
    let schemas: Vec<_> = onnx_schema::all().iter().filter(|schema| !schema.is_deprecated()).collect();
    let nodes = 2 + usize::try_from(seed % 11).unwrap_or(0);
    let options = SmithOptions::default().with_nodes(nodes);
    if seed % 4 == 3 {
        return options;
    }
    let turn = seed - seed / 4;
    let index = usize::try_from(turn).unwrap_or(0) % schemas.len();
    schemas.get(index).map_or(options.clone(), |schema| options.with_schema(schema.id()))
}

/// Adds a generated model to its failures, so that it is written next to the report.
pub(super) fn attach(model: &Model, outcome: &mut Outcome) {
    if outcome.failures.is_empty() {
        return;
    }
    if let Ok(file) = encode(model, &EncodeOptions::default()) {
        let file = file.into_bytes();
        outcome.failures.iter_mut().for_each(|failure| failure.input = Some(file.clone()));
    }
}

impl SmithSuite {
    /// Returns `true` if another failure of a kind should be shrunk.
    fn is_shrunk(&self, kind: &str) -> bool {
        let mut shrunk = self.shrunk.lock().unwrap_or_else(PoisonError::into_inner);
        let count = shrunk.entry(kind.to_owned()).or_default();
        *count += 1;
        *count <= SHRUNK
    }

    /// What is wrong with a model.
    fn look(&self, model: &Model, outcome: &mut Outcome) -> Vec<Failure> {
        if let Err((kind, detail)) = fault(model) {
            return vec![Failure::new(kind, detail)];
        }
        outcome.counts.extend((0..model.node_count()).map(|_| "nodes".to_owned()));
        if self.reference.absent().is_some() {
            return Vec::new();
        }
        let bytes = match encode(model, &EncodeOptions::default()) {
            Ok(encoded) => encoded.into_bytes(),
            Err(error) => return vec![Failure::new("encode", error.to_string())],
        };
        let inference = infer(model, &InferOptions::default());
        let look = Look { model, inference: &inference, failures: Vec::new() };
        let mut runs: Vec<Value> = SIZES.iter().map(|sizes| run(model, sizes)).collect();
        // Without variables all runs are the same.
        runs.dedup_by(|a, b| a.get("inputs") == b.get("inputs"));
        let answer = self.ask(&bytes, &runs, "evaluator").or_else(|_| {
            // A runtime that does not come back takes the process with it; the checker can be asked again.
            outcome.counts.push("runs without end".to_owned());
            self.ask(&bytes, &[], "evaluator")
        });
        let answer = match answer {
            Ok(answer) => answer,
            Err(error) => return vec![Failure::new("reference-crash", error)],
        };
        if let Some(complaint) = answer.get("check").and_then(Value::as_str) {
            let op = complaint.split("(op_type:").nth(1).and_then(|rest| rest.split([',', ')']).next());
            let kind = format!("refused-by-reference:{}", op.unwrap_or("model"));
            return vec![Failure::new(kind, complaint.to_owned())];
        }
        outcome.counts.push("accepted by both".to_owned());
        let failed = answer.get("failed").and_then(Value::as_object);
        outcome.counts.extend(failed.into_iter().flatten().map(|(op, _)| format!("not run: {op}")));
        self.compare(look, &bytes, &runs, &answer, outcome)
    }

    /// Compares what was inferred with what was observed.
    fn compare(
        &self,
        mut look: Look<'_>,
        bytes: &Bytes,
        runs: &[Value],
        answer: &Value,
        outcome: &mut Outcome,
    ) -> Vec<Failure> {
        let values: Vec<ValueId> = look.made().collect();
        let (mut is_run, mut failures) = (false, Vec::new());
        for (index, run) in runs.iter().enumerate() {
            let observed = |answer: &Value| {
                let values = answer.get("runs")?.get(index)?.clone();
                let mut run = run.clone();
                *run.get_mut("values")? = values;
                Some(run)
            };
            let Some(run) = observed(answer) else { continue };
            let count = run.get("values").and_then(Value::as_object).map_or(0, serde_json::Map::len);
            if count == 0 {
                continue;
            }
            is_run = true;
            outcome.counts.push("runs".to_owned());
            let (model, inference) = (look.model, look.inference);
            let breaks = |strength| broken(inference, &look, &run, strength).is_some();
            if breaks(onnx_shape_infer::Strength::Assumed) || breaks(onnx_shape_infer::Strength::Proved) {
                outcome.counts.push("runs that guards exclude".to_owned());
                continue;
            }
            let claims = look.claims(&values, &[&run]);
            let found = std::mem::take(&mut look.failures);
            outcome.counts.extend(claims.values().map(|_| "values observed".to_owned()));
            let of = |wanted| claims.values().filter(|&&claim| claim == wanted).count();
            outcome.counts.extend((0..of(Claim::Resolved)).map(|_| "values computed".to_owned()));
            outcome.counts.extend((0..of(Claim::Open)).map(|_| "open".to_owned()));
            let wrong = first_wrong(model, &values, &claims);
            if wrong.is_empty() {
                continue;
            }
            // The evaluator computes in its own way here and there. The runtime decides, where it can.
            let second = self.ask(bytes, runs, "runtime").ok().and_then(|answer| observed(&answer));
            let again = second.map(|run| look.claims(&wrong, &[&run])).unwrap_or_default();
            look.failures.clear();
            for value in wrong {
                let op = look.maker(value);
                if again.get(&value) == Some(&Claim::Resolved) {
                    outcome.counts.push("evaluator and runtime differ".to_owned());
                } else if let Some(op) = quirk(&look, value, &run) {
                    outcome.counts.push(format!("quirk of the evaluator: {op}"));
                } else {
                    outcome.counts.push("wrong".to_owned());
                    let name = format!("`{}`", model.str(model.value(value).name()));
                    let detail = found.iter().find(|failure| failure.detail.starts_with(&name));
                    let detail = detail.map_or(name, |failure| failure.detail.clone());
                    failures.push(Failure::new(format!("wrong:{op}"), detail));
                }
            }
        }
        outcome.counts.extend(is_run.then(|| "models that ran".to_owned()));
        failures
    }

    fn ask(&self, model: &[u8], runs: &[Value], by: &str) -> Result<Value, String> {
        let mut question = json!({ "runs": runs, "by": by }).to_string().into_bytes();
        question.push(b'\n');
        question.extend_from_slice(model);
        match self.reference.ask(&question)? {
            Answer::Message(text) => serde_json::from_slice(&text).map_err(|error| error.to_string()),
            Answer::Refused(text) => Err(text),
        }
    }
}

/// The operator whose quirk explains what is wrong with a value.
fn quirk(look: &Look<'_>, value: ValueId, run: &Value) -> Option<&'static str> {
    let model = look.model;
    let node = model.value(value).producer()?;
    let observed = run.get("values")?.get(model.str(model.value(value).name()))?;
    let elem = observed.get(0)?.as_str()?;
    let differs = if look.inference.elem(value).is_some_and(|known| known.name() == elem) {
        Quirk::Shape
    } else {
        Quirk::Elem
    };
    let is_narrow = |known: ElemType| known.is_float() && known.bits() == Some(8);
    if elem == "uint8" && look.inference.elem(value).is_some_and(is_narrow) {
        return Some(CODES);
    }
    let is_early = model.opset_version(domain::ONNX).is_some_and(|version| version < 9);
    let mut ops: Vec<&str> = Vec::new();
    let mut open = vec![node];
    let mut functions = Vec::new();
    while let Some(node) = open.pop() {
        ops.push(model.str(model.node(node).op()));
        open.extend(model.node(node).nested_graphs().flat_map(|graph| model.nodes_in(graph)));
        let callee = model.function_called(model.node(node)).filter(|callee| !functions.contains(callee));
        open.extend(callee.into_iter().flat_map(|callee| model.nodes_in(model.function(callee).body())));
        functions.extend(callee);
    }
    let fits =
        |quirk: Quirk| quirk == differs || (quirk == Quirk::Batch && is_early && differs == Quirk::Shape);
    QUIRKS.iter().find(|(op, quirk)| fits(*quirk) && ops.contains(op)).map(|(op, _)| *op)
}

/// The values with wrong claims that are made of others without: where something goes wrong first. What is made of those is
/// not compared.
fn first_wrong(model: &Model, values: &[ValueId], claims: &HashMap<ValueId, Claim>) -> Vec<ValueId> {
    let mut spoilt: HashSet<ValueId> = HashSet::new();
    let mut first = Vec::new();
    for &value in values {
        let Some(node) = model.value(value).producer() else { continue };
        let nested = model.node(node).nested_graphs().flat_map(|graph| model.captures(graph));
        let is_spoilt =
            model.node(node).inputs().flatten().chain(nested).any(|input| spoilt.contains(&input));
        let is_wrong = claims.get(&value) == Some(&Claim::Wrong);
        if is_wrong && !is_spoilt {
            first.push(value);
        }
        if is_wrong || is_spoilt {
            spoilt.insert(value);
        }
    }
    first
}

/// A run with these sizes: what the inputs are.
fn run(model: &Model, sizes: &[i64]) -> Value {
    let mut variables = Vec::new();
    let mut inputs = serde_json::Map::new();
    for &input in model.graph(model.main_graph()).inputs() {
        let value = model.value(input);
        let Some(ty) = value.ty().filter(|_| value.initializer().is_none()) else { continue };
        let mut size = |dim: Dim| match dim {
            Dim::Var(symbol) => {
                let at = variables.iter().position(|&known| known == symbol).unwrap_or_else(|| {
                    variables.push(symbol);
                    variables.len() - 1
                });
                sizes.get(at % sizes.len().max(1)).copied().unwrap_or(1)
            }
            dim => dim.known().unwrap_or(1),
        };
        inputs.insert(model.str(value.name()).to_owned(), described(ty, &mut size));
    }
    json!({ "bindings": {}, "inputs": inputs, "values": {} })
}

/// A type as the script knows it.
fn described(ty: &Type, size: &mut dyn FnMut(Dim) -> i64) -> Value {
    match &ty.kind {
        TypeKind::Sequence(Some(inner)) => json!({ "sequence": described(inner, size) }),
        TypeKind::Optional(Some(inner)) => json!({ "optional": described(inner, size) }),
        TypeKind::Map { key, value: Some(value) } => json!({ "map": [key.name(), described(value, size)] }),
        _ => {
            let dims: Vec<i64> =
                ty.shape().into_iter().flat_map(|shape| shape.dims()).map(|&dim| size(dim)).collect();
            json!([ty.elem().name(), dims])
        }
    }
}
