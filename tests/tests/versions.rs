//! Conversion to newer versions: generated models compute the same, and nothing is refused without a reason.

use std::collections::BTreeMap;

use onnx_check::{CheckOptions, check};
use onnx_ir::Model;
use onnx_pass::{Exactness, PassOptions, Verdict, prove_models};
use onnx_schema::{Schema, domain};
use onnx_smith::{SmithOptions, from_seed};
use onnx_version::{ConvertOptions, VersionError, convert};

/// Models for each schema of an operator that a later version changes.
const MODELS: u64 = 3;

#[derive(Default)]
struct Counts {
    proved: usize,
    untested: usize,
    unchanged: usize,
    refused: BTreeMap<String, usize>,
    failures: Vec<String>,
}

fn text(model: &Model) -> String {
    let printed = onnx_text::print_model(model, &onnx_text::PrintOptions::default());
    printed.map(|printed| printed.text).unwrap_or_default()
}

/// Converts a model, and compares it with the result.
fn convert_one(before: &Model, version: i64, set: onnx_types::Symbol, counts: &mut Counts) {
    let mut after = before.clone();
    let done = match convert(&mut after, version, &ConvertOptions::default().with_domain(set)) {
        Ok(done) => done,
        Err(VersionError::Refused(refusals)) => {
            for refusal in refusals {
                let reason = refusal.reason.to_string();
                let reason = reason.split('`').step_by(2).collect::<Vec<_>>().join("…");
                let line = format!("{}-{}: {reason}", refusal.op, refusal.version);
                *counts.refused.entry(line).or_default() += 1;
            }
            return;
        }
        Err(error) => {
            counts.failures.push(format!("{error}\n{}", text(before)));
            return;
        }
    };
    if done.changed == 0 {
        counts.unchanged += 1;
    }
    let valid = |model: &Model| check(model, &CheckOptions::default()).counts().errors == 0;
    if valid(before) && !valid(&after) {
        let report = check(&after, &CheckOptions::default());
        let first = report.diagnostics().first().map(|found| found.message.clone()).unwrap_or_default();
        counts.failures.push(format!("to {version}: invalid: {first}\n{}\n{}", text(before), text(&after)));
        return;
    }
    match prove_models(before, &after, Exactness::Exact, &PassOptions::default()) {
        Verdict::Refuted(found) => {
            counts.failures.push(format!("to {version}: {found}\n{}\n{}", text(before), text(&after)));
        }
        Verdict::Untested(_) => counts.untested += 1,
        _ => counts.proved += 1,
    }
}

#[test]
fn generated_models_compute_the_same_in_every_newer_version() {
    let mut counts = Counts::default();
    let newest = |set| onnx_schema::latest_opset(set).unwrap_or(1);
    for schemas in onnx_schema::operators() {
        for schema in schemas.iter().filter(|schema| schema.until_version().is_some()) {
            let set = schema.domain();
            if ![domain::ONNX, domain::ML].contains(&set) {
                continue;
            }
            let next = schemas
                .iter()
                .map(Schema::since_version)
                .filter(|&since| since > schema.since_version())
                .min();
            for seed in 0..MODELS {
                let options =
                    SmithOptions::default().with_schema(schema.id()).with_nodes(3).with_functions(seed == 2);
                let options = match set == domain::ONNX {
                    true => options.with_opset(schema.since_version()),
                    false => options,
                };
                let model = from_seed(seed, &options).model;
                let Some(from) = model.opset_version(set) else { continue };
                for version in [next.unwrap_or(from), newest(set)] {
                    if version > from {
                        convert_one(&model, version, set, &mut counts);
                    }
                }
            }
        }
    }
    println!(
        "{} equal, {} not comparable, {} without a changed node",
        counts.proved, counts.untested, counts.unchanged
    );
    for (reason, count) in &counts.refused {
        println!("refused {count} times: {reason}");
    }
    for failure in counts.failures.iter().take(40) {
        println!("--- {failure}");
    }
    assert_eq!(counts.failures.len(), 0, "conversions change results");
    assert!(counts.proved > 1000, "{} are compared", counts.proved);
}
