//! Conversion between versions of operator sets: where the reference converts a model, so does `onnx-version`, and the result
//! is valid and computes the same.
//!
//! The cases are the recorded calls of the reference's converter, also those that it refuses. A part of them is committed.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use onnx_check::{CheckOptions, check};
use onnx_codec::{DecodeOptions, decode};
use onnx_schema::Registry;
use onnx_version::{ConvertOptions, VersionError, convert};
use serde_json::Value;

use super::inline::same;
use crate::conformance::data::{Case, Data, Feed, Group};
use crate::conformance::manifest;
use crate::conformance::report::{Failure, Report};
use crate::conformance::runner::{Outcome, Suite};

/// The committed cases.
const BUNDLED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/conformance/convert.tar.zst");

/// The suite.
#[derive(Default)]
pub struct ConvertSuite {
    calls: Mutex<BTreeMap<String, Call>>,
}

/// A call of the reference's converter.
#[derive(Clone, Debug)]
struct Call {
    target: i64,
    /// What the error says, if the reference does not convert.
    error: Option<String>,
}

impl Suite for ConvertSuite {
    fn name(&self) -> &'static str {
        "convert"
    }

    fn cases(&self, data: &Data, feed: &mut Feed<'_>) -> Result<(), String> {
        let corpus = match &data.corpus {
            Some(corpus) => corpus.as_path(),
            None if data.is_bundled() => Path::new(BUNDLED),
            None => return Ok(()),
        };
        let (records, blobs) =
            manifest::read_with_blobs(corpus, |record| record.call == "version_converter.convert_version")?;
        for record in records {
            let Some(model) = record.inputs.first().and_then(|input| blobs.get(&input.hash)) else {
                continue;
            };
            let target = record.options.get("target_version").and_then(Value::as_i64).unwrap_or_default();
            let error = (!record.ok).then(|| record.message.clone().unwrap_or_default());
            let id = format!("convert/{}", record.id);
            let call = Call { target, error };
            self.calls.lock().unwrap_or_else(PoisonError::into_inner).insert(id.clone(), call);
            feed(Case { id, group: Group::Model, bytes: model.clone() })?;
        }
        Ok(())
    }

    fn check(&self, case: &Case) -> Outcome {
        let call = self.calls.lock().unwrap_or_else(PoisonError::into_inner).remove(&case.id);
        let mut outcome = Outcome::default();
        let Some(call) = call else { return outcome };
        match examine(case, &call) {
            Ok(counts) => outcome.counts.extend(counts.into_iter().map(str::to_owned)),
            Err((kind, detail)) => {
                let target = call.target;
                outcome.failures.push(Failure::new(kind, format!("to {target}: {detail}")));
            }
        }
        outcome
    }

    fn summary(&self, report: &Report) -> String {
        let counts = [
            "both convert",
            "only ours converts",
            "both refuse",
            "only the reference converts",
            "equal",
            "not run",
            "random or unknown",
        ];
        counts.map(|count| format!("convert: {} {count}", report.count(count))).join("\n")
    }
}

type Examined = Result<Vec<&'static str>, (&'static str, String)>;

fn examine(case: &Case, call: &Call) -> Examined {
    let decoded = decode(case.bytes.clone(), &DecodeOptions::default());
    let before = decoded.map_err(|error| ("unreadable", error.to_string()))?.model;
    let mut after = before.clone();
    let is_converted = call.error.is_none();
    match convert(&mut after, call.target, &ConvertOptions::default()) {
        Ok(_) => {}
        Err(VersionError::Refused(refusals)) if refusals.iter().any(|refusal| refusal.op.is_empty()) => {
            return Err(("nameless", format!("{refusals:?}")));
        }
        Err(error) if is_converted => return Err(("refused", error.to_string())),
        Err(_) => return Ok(vec!["both refuse"]),
    }
    if let Err(faults) = after.verify() {
        return Err(("broken", format!("{faults:?}")));
    }
    let errors = |model| check(model, &CheckOptions::default());
    let found = errors(&after);
    if found.has_errors() && !errors(&before).has_errors() {
        let first = found.diagnostics().first().map(|found| found.message.clone());
        return Err(("invalid", first.unwrap_or_default()));
    }
    let mut counts = vec![if is_converted { "both convert" } else { "only ours converts" }];
    let is_random = before
        .all_graphs()
        .flat_map(|graph| before.nodes(graph))
        .any(|node| !before.has_deterministic_operator(node, Registry::STANDARD));
    counts.push(match is_random {
        true => "random or unknown",
        false if same(&before, &after)? => "equal",
        false => "not run",
    });
    Ok(counts)
}
