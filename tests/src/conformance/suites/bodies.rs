//! Function bodies: the kernel of an operator and the body that the standard gives it compute the same results.
//!
//! `tests/conformance/bodies.py` records the bodies in an archive, which is committed: models with a node and with a call of the
//! body that the reference makes for this node. Both run on the same inputs: small dyadic numbers, numbers of all
//! magnitudes, equal ones, special ones (NaN, infinities, extremes), and with axes of size 0 and 1. Results agree bit for
//! bit or within the tolerances of `onnx compare`.
//!
//! `onnx-functions` makes a body for the node, too. It must be valid, also for the checker of the reference if that is available,
//! and compute on the same inputs what the reference's does, or what the kernel does where that differs.
//!
//! A case is an operator in a version and in an operator set. The kind of a failure is what differs, with the inputs and
//! the element type: `differs-special-float`. `tests/conformance/deviations/bodies.txt` lists those that cannot agree, and states
//! which result is correct.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use onnx_check::{CheckOptions, check};
use onnx_codec::{DecodeOptions, EncodeOptions, decode, encode};
use onnx_diag::Severity;
use onnx_eval::compare::{Tolerances, compare_values};
use onnx_eval::{EvalOptions, Failure as RunFailure, FailureKind, Value, run_node};
use onnx_functions::body_as;
use onnx_ir::{EditError, Model, NewNode, NodeId, OpsetImport, Position, ValueId};
use onnx_schema::Registry;
use onnx_shape_infer::{InferOptions, infer};
use onnx_types::tensor::{Tensor, bf16, f16};
use onnx_types::{ElemType, Symbol, TypeKind};

use crate::conformance::archive;
use crate::conformance::data::{Case, Data, Feed, Group};
use crate::conformance::reference::{Answer, Reference};
use crate::conformance::report::{Failure, Report};
use crate::conformance::runner::{Outcome, Suite};

/// Operators of which only types and sizes are compared: a body draws its random numbers in a node of another name.
const RANDOM: &[&str] = &["Bernoulli"];

/// The suite.
pub struct BodiesSuite {
    reference: Reference,
    /// The models of each case, with their names.
    models: Mutex<BTreeMap<String, Vec<(String, Bytes)>>>,
}

impl Default for BodiesSuite {
    fn default() -> Self {
        Self { reference: Reference::new("check_function.py"), models: Mutex::default() }
    }
}

impl Suite for BodiesSuite {
    fn name(&self) -> &'static str {
        "bodies"
    }

    fn cases(&self, data: &Data, feed: &mut Feed<'_>) -> Result<(), String> {
        if !data.is_bundled() {
            return Ok(());
        }
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("conformance/bodies.tar.zst");
        let mut models: BTreeMap<String, Vec<(String, Bytes)>> = BTreeMap::new();
        archive::visit(&path, &mut |mut entry| {
            if let Some((case, name)) = entry.name.to_owned().rsplit_once('/') {
                models.entry(case.to_owned()).or_default().push((name.to_owned(), entry.read()?.into()));
            }
            Ok(ControlFlow::Continue(()))
        })?;
        let ids: Vec<String> = models.keys().cloned().collect();
        *self.models.lock().unwrap_or_else(PoisonError::into_inner) = models;
        for id in ids {
            feed(Case { id, group: Group::Model, bytes: Bytes::new() })?;
        }
        Ok(())
    }

    fn peer(&self, data: &Data) -> Option<&Reference> {
        data.is_bundled().then_some(&self.reference)
    }

    fn check(&self, case: &Case) -> Outcome {
        let models = self.models.lock().unwrap_or_else(PoisonError::into_inner).remove(&case.id);
        let mut outcome = Outcome::default();
        let mut failures: BTreeMap<String, (usize, String)> = BTreeMap::new();
        for (name, bytes) in models.iter().flatten() {
            let pair = match decode(bytes.clone(), &DecodeOptions::default()) {
                Ok(decoded) => Pair::new(decoded.model),
                Err(error) => Err(error.to_string()),
            };
            let compared = pair.map(|pair| {
                let mut found = self.check_ours(&pair, &mut outcome.counts);
                found.extend(pair.compare(&mut outcome.counts));
                found
            });
            outcome.counts.push("models".to_owned());
            for (kind, detail) in compared.unwrap_or_else(|error| vec![("unreadable".to_owned(), error)]) {
                let first = failures.entry(kind).or_insert_with(|| (0, format!("{name}: {detail}")));
                first.0 += 1;
            }
        }
        outcome.failures = failures
            .into_iter()
            .map(|(kind, (count, detail))| Failure::new(kind, format!("{count} runs, such as {detail}")))
            .collect();
        outcome
    }

    fn summary(&self, report: &Report) -> String {
        let counts = ["models", "runs", "equal", "within the tolerance", "neither runs", "different"];
        let counts = counts.map(|name| format!("{} {name}", report.count(name)));
        let ours = ["equal", "within the tolerance", "neither runs", "as the kernel", "different"];
        let ours = ours.map(|name| format!("{} {name}", report.count(&format!("ours {name}"))));
        let valid = ["valid", "valid for the reference"].map(|name| report.count(&format!("ours {name}")));
        format!(
            "bodies: {} bodies, {}; ours: {}, {} valid, {} for the reference, too",
            report.cases(),
            counts.join(", "),
            ours.join(", "),
            valid[0],
            valid[1]
        )
    }
}

impl BodiesSuite {
    /// What is wrong with our body, by our checker and that of the reference.
    fn check_ours(&self, pair: &Pair, counts: &mut Vec<String>) -> Vec<(String, String)> {
        if pair.ours.is_err() {
            return Vec::new();
        }
        let mut found = Vec::new();
        match pair.errors.is_empty() {
            true => counts.push("ours valid".to_owned()),
            false => found.push(("ours-invalid".to_owned(), pair.errors.join("; "))),
        }
        if self.reference.absent().is_some() {
            return found;
        }
        let answer = encode(&pair.model, &EncodeOptions::default())
            .map_err(|error| error.to_string())
            .and_then(|encoded| self.reference.ask(&encoded.into_bytes()));
        match answer {
            Ok(Answer::Message(_)) => counts.push("ours valid for the reference".to_owned()),
            Ok(Answer::Refused(text)) | Err(text) => found.push(("ours-refused".to_owned(), text)),
        }
        found
    }
}

/// A node, and the call of its body.
struct Pair {
    model: Model,
    node: NodeId,
    call: NodeId,
    /// The call of our body, or the reason why there is none.
    ours: Result<NodeId, String>,
    /// What our checker finds in our body.
    errors: Vec<String>,
    /// The element type of the first input of the model.
    elem: ElemType,
}

/// The outputs of a run.
type Run = Result<Vec<Option<Value>>, RunFailure>;

/// The elements and sizes of generated inputs.
#[derive(Clone, Copy)]
struct Plan {
    name: &'static str,
    numbers: Numbers,
    /// The axis that has another size, counted from the end if negative, and the size.
    resized: Option<(i64, i64)>,
}

#[derive(Clone, Copy, PartialEq)]
enum Numbers {
    /// Multiples of 1/8 from -2 to 2, and integers from 0 to 4.
    Small,
    /// All magnitudes from 10^-3 to 10^3, and integers from -100 to 100.
    Wide,
    /// One number.
    Equal,
    /// NaN, infinities, zeros, extremes, and small numbers.
    Special,
}

const PLANS: &[Plan] = &[
    Plan { name: "usual", numbers: Numbers::Small, resized: None },
    Plan { name: "wide", numbers: Numbers::Wide, resized: None },
    Plan { name: "usual", numbers: Numbers::Equal, resized: None },
    Plan { name: "special", numbers: Numbers::Special, resized: None },
    Plan { name: "usual", numbers: Numbers::Small, resized: Some((0, 0)) },
    Plan { name: "usual", numbers: Numbers::Small, resized: Some((0, 1)) },
    Plan { name: "usual", numbers: Numbers::Small, resized: Some((1, 0)) },
    Plan { name: "usual", numbers: Numbers::Small, resized: Some((-1, 0)) },
    Plan { name: "usual", numbers: Numbers::Small, resized: Some((-1, 1)) },
];

/// Number of runs of a plan that has random numbers.
const ROUNDS: u64 = 3;

impl Pair {
    fn new(model: Model) -> Result<Self, String> {
        let main = model.main_graph();
        let nodes: Vec<NodeId> = model.nodes(main).collect();
        let [.., node, call] = nodes[..] else { return Err("it has no pair of nodes".to_owned()) };
        let first = model.graph(main).inputs().first().and_then(|&input| model.ty(input));
        let elem = first.map_or(ElemType::Undefined, onnx_types::Type::elem);
        let name = model.str(model.node(node).op()).to_owned();
        let [a, b] = [node, call].map(|node| model.node(node).outputs().len());
        if a != b {
            return Err(format!("the body of {name} has {b} outputs instead of {a}"));
        }
        let mut pair = Self { model, node, call, ours: Err(String::new()), errors: Vec::new(), elem };
        let before = errors(&pair.model);
        pair.ours = pair.add_ours();
        pair.model.verify().map_err(|faults| format!("{faults:?}"))?;
        let after = errors(&pair.model);
        pair.errors = after.difference(&before).cloned().collect();
        Ok(pair)
    }

    /// Adds our body, and a call of it with the operands of the node.
    fn add_ours(&mut self) -> Result<NodeId, String> {
        let model = &mut self.model;
        let types = infer(model, &InferOptions::default());
        let domain = model.intern("ours");
        let identity = (domain, model.node(self.node).op(), Symbol::EMPTY);
        let function = body_as(model, self.node, &types, Registry::STANDARD, identity);
        let function = function.map_err(|reason| reason.to_string())?;
        model.info_mut().opset_imports.push(OpsetImport::new(domain, 1));
        let record = model.node(self.node);
        let mut new = NewNode::new(record.op()).domain(domain);
        new.inputs = record.inputs().collect();
        let declared = model.function(function);
        let has = |name: Symbol| {
            declared.attributes.contains(&name)
                || declared.defaults.iter().any(|default| default.name() == name)
        };
        let given = record.attributes().iter().filter(|attribute| has(attribute.name()));
        // Graphs are in the body.
        let given = given.filter(|attribute| attribute.value().graphs().is_empty());
        new.attributes = given.cloned().collect();
        let present: Vec<bool> = record.outputs().iter().map(Option::is_some).collect();
        new.outputs =
            present.iter().map(|&present| present.then(|| model.new_value(Symbol::EMPTY))).collect();
        let main = model.main_graph();
        model.add_node(Position::End(main), new).map_err(|error: EditError| error.to_string())
    }

    /// The kinds of differences, with details.
    fn compare(&self, counts: &mut Vec<String>) -> Vec<(String, String)> {
        let mut found = Vec::new();
        if let Err(reason) = &self.ours {
            found.push(("ours-missing".to_owned(), reason.clone()));
        }
        for plan in PLANS {
            let is_random = plan.resized.is_none() && plan.numbers != Numbers::Equal;
            for round in 0..if is_random { ROUNDS } else { 1 } {
                let Some(inputs) = self.inputs(*plan, round) else { continue };
                counts.push("runs".to_owned());
                let options = EvalOptions::default();
                let run = |node| run_node(&self.model, node, &inputs, &options);
                let [kernel, body] = [self.node, self.call].map(run);
                let (count, failure) = self.judge(&kernel, &body);
                counts.push(count.to_owned());
                let failures = failure.into_iter().chain(match &self.ours {
                    Ok(ours) => {
                        let (count, failure) = self.judge_ours(&kernel, &body, &run(*ours));
                        counts.push(format!("ours {count}"));
                        failure
                    }
                    Err(_) => None,
                });
                for (kind, detail) in failures {
                    let shown: Vec<String> = inputs.iter().flatten().map(shown).collect();
                    let kind = match (kind.ends_with("differs"), plan.name) {
                        (true, "wide" | "special") => format!("{kind}-{}-{}", plan.name, self.elem),
                        _ => format!("{kind}-{}", self.elem),
                    };
                    found.push((kind, format!("{detail} for {}", shown.join(", "))));
                }
            }
        }
        found
    }

    /// Compares the kernel with the body of the reference.
    fn judge(&self, kernel: &Run, body: &Run) -> (&'static str, Option<(&'static str, String)>) {
        let (kernel, body) = match (kernel, body) {
            (Ok(kernel), Ok(body)) => (kernel, body),
            (Err(kernel), Err(body)) => {
                let is_defect = |failure: &&RunFailure| failure.kind() != FailureKind::Operator;
                let defect = [kernel, body].into_iter().find(is_defect);
                return ("neither runs", defect.map(|failure| ("both-fail", failure.to_string())));
            }
            (Err(kernel), Ok(_)) => return ("different", Some(("kernel-fails", kernel.to_string()))),
            (Ok(_), Err(body)) => return ("different", Some(("body-fails", body.to_string()))),
        };
        match self.difference(kernel, body, ["the kernel", "the body"]) {
            Ok(true) => ("equal", None),
            Ok(false) => ("within the tolerance", None),
            Err(detail) => ("different", Some(("differs", detail))),
        }
    }

    /// Compares our body with that of the reference, and where these differ with the kernel.
    fn judge_ours(
        &self,
        kernel: &Run,
        body: &Run,
        ours: &Run,
    ) -> (&'static str, Option<(&'static str, String)>) {
        let detail = match (body, ours) {
            (Ok(body), Ok(ours)) => match self.difference(ours, body, ["our body", "the reference"]) {
                Ok(true) => return ("equal", None),
                Ok(false) => return ("within the tolerance", None),
                Err(detail) => detail,
            },
            (Err(_), Err(_)) if kernel.is_err() => return ("neither runs", None),
            (Ok(_), Err(ours)) if kernel.is_err() => {
                return ("as the kernel", Some(("ours-as-kernel", ours.to_string())));
            }
            (_, Err(ours)) => return ("different", Some(("ours-fails", ours.to_string()))),
            (Err(body), Ok(_)) => format!("only ours runs: {body}"),
        };
        if let (Ok(kernel), Ok(ours)) = (kernel, ours)
            && self.difference(kernel, ours, ["the kernel", "our body"]).is_ok()
        {
            return ("as the kernel", Some(("ours-as-kernel", detail)));
        }
        ("different", Some(("ours-differs", detail)))
    }

    /// Whether results are equal, or only within the tolerance.
    fn difference(
        &self,
        a: &[Option<Value>],
        b: &[Option<Value>],
        [a_name, b_name]: [&str; 2],
    ) -> Result<bool, String> {
        let is_random = RANDOM.contains(&self.model.str(self.model.node(self.node).op()));
        let mut is_equal = true;
        for (index, pair) in a.iter().zip(b).enumerate() {
            let (Some(a), Some(b)) = pair else { continue };
            if is_random {
                if a.describe() != b.describe() {
                    return Err(format!("{} and {}", a.describe(), b.describe()));
                }
                continue;
            }
            let difference = compare_values(a, b, &Tolerances::default());
            is_equal &= difference.differing == 0;
            if !difference.agrees() {
                let first = difference.first.map(|first| {
                    format!("{a_name} computes {} at {:?}, {b_name} {}", first.a, first.index, first.b)
                });
                let detail = difference.mismatch.or(first).unwrap_or_default();
                return Err(format!("output {index}: {detail}"));
            }
        }
        Ok(is_equal)
    }

    /// The inputs of the node; `None` if the plan changes nothing.
    fn inputs(&self, plan: Plan, round: u64) -> Option<Vec<Option<Value>>> {
        let main = self.model.main_graph();
        let mut made: BTreeMap<ValueId, Value> = BTreeMap::new();
        let inputs = self.model.graph(main).inputs();
        let is_generated = |value: &ValueId| self.model.value(*value).initializer().is_none();
        // An axis has the same size in all inputs, except that 1 broadcasts.
        let replaced = match plan.resized {
            Some((axis, size)) => {
                let dims = self.dims(*inputs.iter().find(|value| is_generated(value))?)?;
                let axis = if axis < 0 { dims.len().checked_sub(1)? } else { usize::try_from(axis).ok()? };
                Some((*dims.get(axis)?, size))
            }
            None if round > 0 && !inputs.iter().any(is_generated) => return None,
            None => None,
        };
        if replaced.is_some_and(|(old, new)| old == new || old == 1) {
            return None;
        }
        for &input in inputs {
            let mut dims = self.dims(input)?;
            let mut is_resized = false;
            for dim in &mut dims {
                if let Some((old, new)) = replaced
                    && *dim == old
                {
                    *dim = new;
                    is_resized = true;
                }
            }
            let elem = self.model.ty(input)?.elem();
            let value = match self.model.value(input).initializer() {
                Some(_) if is_resized => {
                    dims.contains(&0).then(|| Tensor::from_raw(elem, dims, Bytes::new()).ok())?
                }
                Some(constant) => constant.dense().cloned(),
                None => {
                    let name = self.model.str(self.model.value(input).name());
                    generate(elem, dims, plan.numbers, name, round)
                }
            };
            made.insert(input, value?.into());
        }
        let value = |input: ValueId| match self.model.value(input).producer() {
            Some(construct) => {
                let items = self.model.node(construct).inputs().flatten();
                let items: Option<Vec<Value>> = items.map(|item| made.get(&item).cloned()).collect();
                items.map(|items| Value::Sequence(Arc::new(items)))
            }
            None => made.get(&input).cloned(),
        };
        let operands = self.model.node(self.node).inputs();
        operands.map(|input| input.map_or(Some(None), |input| value(input).map(Some))).collect()
    }

    fn dims(&self, input: ValueId) -> Option<Vec<i64>> {
        let TypeKind::Tensor(tensor) = &self.model.ty(input)?.kind else { return None };
        tensor.shape.as_ref()?.dims().iter().map(|dim| dim.known()).collect()
    }
}

/// The errors of our checker.
pub(super) fn errors(model: &Model) -> BTreeSet<String> {
    let findings = check(model, &CheckOptions::default());
    let errors = findings.diagnostics().iter().filter(|found| found.severity == Severity::Error);
    errors.map(|error| error.message.to_string()).collect()
}

/// A value of few elements.
fn shown(value: &Value) -> String {
    let Some(tensor) = value.tensor() else { return value.describe() };
    let elements = tensor.iter_f64(&onnx_types::tensor::NoData).map(|elements| elements.take(12).collect());
    let elements: Vec<f64> = elements.unwrap_or_default();
    format!("{} {elements:?}", value.describe())
}

const FLOATS: &[f64] = &[
    f64::NAN,
    f64::INFINITY,
    f64::NEG_INFINITY,
    0.0,
    -0.0,
    1e30,
    -1e30,
    1e-30,
    -20.0,
    20.0,
    100.0,
    -100.0,
    1.0,
    -1.0,
    0.5,
    -0.5,
];

const INTEGERS: &[i64] = &[0, 1, -1, 2, 127, -128, 255, 32_767, i64::MAX, i64::MIN, 1 << 31, -(1 << 31)];

/// A tensor of generated elements; `None` for a type that is not generated.
fn generate(elem: ElemType, dims: Vec<i64>, numbers: Numbers, name: &str, round: u64) -> Option<Tensor> {
    let seed = name.bytes().fold(round, |seed, byte| seed.wrapping_mul(31).wrapping_add(u64::from(byte)));
    let count = usize::try_from(dims.iter().product::<i64>()).ok()?;
    let draws = onnx_smith::noise(seed, count.saturating_mul(2));
    let draw = |index: usize| {
        let byte = |at| u64::from(draws.get(2 * index + at).copied().unwrap_or(0));
        byte(0) << 8 | byte(1)
    };
    let float = |index: usize| match numbers {
        Numbers::Small => (draw(index) % 33) as f64 / 8.0 - 2.0,
        Numbers::Wide => {
            let sign = if draw(index) % 2 == 0 { 1.0 } else { -1.0 };
            sign * 10_f64.powf((draw(index) / 2) as f64 / 32_768.0 * 6.0 - 3.0)
        }
        Numbers::Equal => 0.75,
        Numbers::Special => FLOATS.get(draw(index) as usize % FLOATS.len()).copied().unwrap_or(0.0),
    };
    let integer = |index: usize| match numbers {
        Numbers::Small => (draw(index) % 5) as i64,
        Numbers::Wide => (draw(index) % 201) as i64 - 100,
        Numbers::Equal => 3,
        Numbers::Special => INTEGERS.get(draw(index) as usize % INTEGERS.len()).copied().unwrap_or(0),
    };
    macro_rules! tensor {
        ($draw:ident, $of:expr) => {
            Tensor::from_slice(dims, &(0..count).map(|index| $of($draw(index))).collect::<Vec<_>>()).ok()
        };
    }
    match elem {
        ElemType::Float => tensor!(float, |number| number as f32),
        ElemType::Double => tensor!(float, |number: f64| number),
        ElemType::Float16 => tensor!(float, f16::from_f64),
        ElemType::Bfloat16 => tensor!(float, bf16::from_f64),
        ElemType::Int8 => tensor!(integer, |number| number as i8),
        ElemType::Uint8 => tensor!(integer, |number| number as u8),
        ElemType::Int16 => tensor!(integer, |number| number as i16),
        ElemType::Uint16 => tensor!(integer, |number| number as u16),
        ElemType::Int32 => tensor!(integer, |number| number as i32),
        ElemType::Uint32 => tensor!(integer, |number| number as u32),
        ElemType::Int64 => tensor!(integer, |number: i64| number),
        ElemType::Uint64 => tensor!(integer, |number: i64| number as u64),
        _ => None,
    }
}
