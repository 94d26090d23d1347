//! Inlining of functions: where the reference inlines calls, so does `onnx-functions`, and both results compute the same.
//!
//! The cases are the recorded calls of the reference's inliner for functions of models. Each result is run on generated
//! inputs and compared with the model before, and with the result of the reference.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

use bytes::Bytes;
use onnx_codec::{DecodeOptions, decode};
use onnx_eval::EvalOptions;
use onnx_eval::compare::{CompareOptions, compare};
use onnx_eval::generate::Generator;
use onnx_functions::{InlineOptions, Inlined, inline};
use onnx_ir::{FunctionId, Model, ValueId};
use onnx_types::Limits;
use serde_json::Value;

use crate::conformance::data::{Case, Data, Feed, Group};
use crate::conformance::manifest::{self, Record};
use crate::conformance::report::{Failure, Report};
use crate::conformance::runner::{Outcome, Suite};

/// The size of dimension variables in runs.
const SIZE: i64 = 3;

/// The suite.
#[derive(Default)]
pub struct InlineSuite {
    calls: Mutex<BTreeMap<String, Call>>,
}

/// A call of the reference's inliner.
struct Call {
    /// The functions whose calls are inlined, or stay: domain and name.
    functions: Vec<(String, String)>,
    is_exclusion: bool,
    /// The result; what the error says if there is none.
    result: Result<Bytes, String>,
}

impl Call {
    fn new(record: &Record, result: Result<Bytes, String>) -> Self {
        let text = |value: Option<&Value>| value.and_then(Value::as_str).unwrap_or_default().to_owned();
        let pairs = record.options.get("function_ids").and_then(Value::as_array);
        let functions =
            pairs.into_iter().flatten().map(|pair| (text(pair.get(0)), text(pair.get(1)))).collect();
        // All calls are inlined unless functions are named.
        let is_exclusion = record.options.get("exclude").and_then(Value::as_bool).unwrap_or(true);
        Self { functions, is_exclusion, result }
    }

    fn selects(&self, model: &Model, function: FunctionId) -> bool {
        let record = model.function(function);
        let (domain, name) = (model.str(record.written_domain()), model.str(record.name()));
        let is_named = self.functions.iter().any(|(other, op)| other == domain && op == name);
        is_named != self.is_exclusion
    }
}

impl Suite for InlineSuite {
    fn name(&self) -> &'static str {
        "inline"
    }

    fn cases(&self, data: &Data, feed: &mut Feed<'_>) -> Result<(), String> {
        let Some(corpus) = &data.corpus else { return Ok(()) };
        // The other call also expands operators.
        let calls = ["inliner.inline_local_functions", "inliner.inline_selected_functions"];
        let (records, blobs) =
            manifest::read_with_blobs(corpus, |record| calls.contains(&record.call.as_str()))?;
        for record in records {
            let Some(model) = record.inputs.first().and_then(|input| blobs.get(&input.hash)) else {
                continue;
            };
            let output = record.outputs.first().and_then(|output| blobs.get(&output.hash)).cloned();
            let result = output.ok_or_else(|| record.message.clone().unwrap_or_default());
            let id = format!("inline/{}", record.id);
            let call = Call::new(&record, result);
            self.calls.lock().unwrap_or_else(PoisonError::into_inner).insert(id.clone(), call);
            feed(Case { id, group: Group::Model, bytes: model.clone() })?;
        }
        Ok(())
    }

    fn needs(&self) -> &'static str {
        "it needs `--corpus PATH`"
    }

    fn has_bundled_cases(&self) -> bool {
        false
    }

    fn check(&self, case: &Case) -> Outcome {
        let call = self.calls.lock().unwrap_or_else(PoisonError::into_inner).remove(&case.id);
        let mut outcome = Outcome::default();
        let Some(call) = call else { return outcome };
        match check(&case.bytes, &call) {
            Ok(counts) => outcome.counts.extend(counts.into_iter().map(str::to_owned)),
            Err((kind, detail)) => outcome.failures.push(Failure::new(kind, detail)),
        }
        outcome
    }

    fn summary(&self, report: &Report) -> String {
        let counts = ["equal", "not run", "both refuse", "only the reference refuses"];
        counts.map(|count| format!("inline: {} {count}", report.count(count))).join("\n")
    }
}

type Checked = Result<Vec<&'static str>, (&'static str, String)>;

fn check(bytes: &Bytes, call: &Call) -> Checked {
    let read = |bytes: &Bytes| {
        let decoded = decode(bytes.clone(), &DecodeOptions::default());
        decoded.map(|decoded| decoded.model).map_err(|error| ("unreadable", error.to_string()))
    };
    let before = read(bytes)?;
    let mut model = before.clone();
    let done =
        inline(&mut model, &InlineOptions::default(), |model, _, function| call.selects(model, function));
    if let Err(faults) = model.verify() {
        return Err(("broken", format!("{faults:?}")));
    }
    let (done, result) = match (done, &call.result) {
        (Err(_), Err(_)) => return Ok(vec!["both refuse"]),
        (Err(error), Ok(_)) => return Err(("refused", error.to_string())),
        (Ok(done), result) => (done, result),
    };
    let mut counts = vec![if same(&before, &model)? { "equal" } else { "not run" }];
    match result {
        Err(_) => counts.push("only the reference refuses"),
        Ok(result) => {
            let reference = read(result)?;
            kept(&done)?;
            if functions(&model) != functions(&reference) {
                let detail = format!("{:?}, not {:?}", functions(&model), functions(&reference));
                return Err(("functions", detail));
            }
            same(&reference, &model)?;
        }
    }
    Ok(counts)
}

/// An error if a call that the reference inlines stays.
fn kept(done: &Inlined) -> Result<(), (&'static str, String)> {
    match done.kept().next() {
        Some((_, reason)) => Err(("kept", reason.to_string())),
        None => Ok(()),
    }
}

/// The identities of the functions that are left.
fn functions(model: &Model) -> BTreeSet<String> {
    let identity = |&function: &FunctionId| {
        let record = model.function(function);
        let [domain, name] = [record.domain(), record.name()].map(|name| model.str(name));
        format!("{domain}.{name}")
    };
    model.functions().iter().map(identity).collect()
}

/// Whether two models could be compared; an error if they differ.
pub(super) fn same(before: &Model, after: &Model) -> Result<bool, (&'static str, String)> {
    let sizes = |value: ValueId| {
        let shape = before.ty(value)?.shape()?;
        Some(shape.dims().iter().map(|dim| dim.known().or(Some(SIZE))).collect())
    };
    let generator = Generator::new(before, 0, &sizes);
    let mut inputs = Vec::new();
    for &input in before.graph(before.main_graph()).inputs() {
        let name = before.str(before.value(input).name());
        let Ok(value) = generator.value(input, &Limits::default()) else { return Ok(false) };
        inputs.push((name, value));
    }
    let options = EvalOptions::default();
    match compare((before, &options), (after, &options), &inputs, &CompareOptions::default()) {
        Err(failure) if failure.side == onnx_eval::compare::Side::A => Ok(false),
        Err(failure) => Err(("does not run", failure.failure.to_string())),
        Ok(compared) if compared.agrees() && compared.only_in_a.is_empty() => Ok(true),
        Ok(compared) => {
            let first = compared.outputs.iter().find(|output| !output.difference.agrees());
            let first = first
                .map(|output| format!("output {} ({}): {:?}", output.name, output.ty, output.difference));
            Err(("different", first.unwrap_or_else(|| format!("only in one: {:?}", compared.only_in_a))))
        }
    }
}
