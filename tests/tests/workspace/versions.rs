//! Conversion to newer and older versions: generated models compute the same, and nothing is refused without a reason.

use std::collections::BTreeMap;

use onnx_check::{CheckOptions, check};
use onnx_ir::Model;
use onnx_pass::{Exactness, PassOptions, Verdict, prove_models};
use onnx_schema::{Schema, domain};
use onnx_smith::{SmithOptions, from_seed};
use onnx_types::Symbol;
use onnx_version::{ConvertOptions, VersionError, convert};

/// Models for each schema of an operator that a later version changes.
const MODELS: u64 = 2;

/// Differences that are no defects of a conversion: the operator, and a part of what was found.
const EXCEPTIONS: &[(&str, &str)] = &[
    // The bodies compute in `float`, and integers are truncated: one rounding more or less makes another integer.
    ("BlackmanWindow", " before and "),
    ("HammingWindow", " before and "),
    ("HannWindow", " before and "),
    // Version 13 has no way to give a result without elements the shape of another value; version 14 has.
    ("Hardmax", "is beyond the rank of the input"),
    ("Hardmax", "0 elements do not fit sizes"),
    ("LogSoftmax", "is beyond the rank of the input"),
    ("LogSoftmax", "0 elements do not fit sizes"),
    ("Softmax", "is beyond the rank of the input"),
    ("Softmax", "0 elements do not fit sizes"),
];

#[derive(Default)]
struct Counts {
    proved: usize,
    untested: usize,
    unchanged: usize,
    round_trips: usize,
    excepted: usize,
    refused: BTreeMap<String, usize>,
    failures: Vec<String>,
}

impl Counts {
    fn differs(&mut self, before: &Model, found: &str, detail: &str) {
        let has = |op: &str| {
            let mut nodes = before.all_graphs().flat_map(|graph| before.nodes(graph));
            nodes.any(|node| before.str(before.node(node).op()) == op)
        };
        match EXCEPTIONS.iter().any(|&(op, part)| found.contains(part) && has(op)) {
            true => self.excepted += 1,
            false => self.failures.push(format!("{found}\n{detail}")),
        }
    }
}

fn text(model: &Model) -> String {
    let printed = onnx_text::print_model(model, &onnx_text::PrintOptions::default());
    printed.map(|printed| printed.text).unwrap_or_default()
}

/// Converts a model, and compares it with the result.
fn convert_one(before: &Model, version: i64, set: Symbol, counts: &mut Counts) {
    let mut after = before.clone();
    let done = match convert(&mut after, version, &ConvertOptions::default().with_domain(set)) {
        Ok(done) => done,
        Err(VersionError::Refused(refusals)) => {
            for refusal in refusals {
                let reason = refusal.reason.to_string();
                let reason = reason.split('`').step_by(2).collect::<Vec<_>>().join("…");
                let line = format!("{}-{} to {}: {reason}", refusal.op, refusal.since, refusal.to);
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
    let from = before.opset_version(set).unwrap_or(version);
    let class = if version > from { Exactness::Exact } else { Exactness::Rounding };
    match prove_models(before, &after, class, &PassOptions::default()) {
        Verdict::Refuted(found) => {
            let texts = format!("{}\n{}", text(before), text(&after));
            counts.differs(before, &format!("to {version}: {found}"), &texts);
        }
        Verdict::Untested(_) => counts.untested += 1,
        _ => counts.proved += 1,
    }
}

/// The versions of a domain to which a model of a schema is converted: the next one up, the newest, and the one before.
fn targets(schema: &Schema, from: i64) -> Vec<i64> {
    let set = schema.domain();
    let next = schema.versions().iter().map(Schema::since_version).filter(|&since| since > from).min();
    let newest = onnx_schema::latest_opset(set).unwrap_or(from);
    let mut targets: Vec<i64> = next.into_iter().chain([newest]).filter(|&version| version > from).collect();
    targets.dedup();
    if from > 1 && schema.since_version() == from {
        targets.push(from - 1);
    }
    targets
}

/// Converts a model downwards and back, and compares it with the first one.
fn round_trip(before: &Model, version: i64, set: Symbol, counts: &mut Counts) {
    let options = ConvertOptions::default().with_domain(set);
    let Some(from) = before.opset_version(set) else { return };
    let mut model = before.clone();
    if convert(&mut model, version, &options).is_err() {
        return;
    }
    let down = model.clone();
    match convert(&mut model, from, &options) {
        // What is refused upwards is counted where it is converted directly.
        Err(_) => {}
        Ok(_) => match prove_models(before, &model, Exactness::Rounding, &PassOptions::default()) {
            Verdict::Refuted(found) => {
                let texts = format!("{}\n{}\n{}", text(before), text(&down), text(&model));
                counts.differs(before, &format!("to {version} and back: {found}"), &texts);
            }
            Verdict::Untested(_) => {}
            _ => counts.round_trips += 1,
        },
    }
}

#[test]
fn generated_models_compute_the_same_in_newer_and_older_versions() {
    let mut counts = Counts::default();
    let models = std::env::var("VERSION_MODELS").ok().and_then(|text| text.parse().ok()).unwrap_or(MODELS);
    let first = std::env::var("VERSION_FIRST").ok().and_then(|text| text.parse().ok()).unwrap_or(0);
    let only = std::env::var("VERSION_OP").ok();
    for schema in onnx_schema::operators().flat_map(|schemas| schemas.iter()) {
        let set = schema.domain();
        if ![domain::ONNX, domain::ML].contains(&set) || only.as_ref().is_some_and(|op| op != schema.name()) {
            continue;
        }
        for seed in first..first + models {
            let options =
                SmithOptions::default().with_schema(schema.id()).with_nodes(2).with_functions(seed % 4 == 2);
            let options = match set == domain::ONNX {
                true => options.with_opset(schema.since_version()),
                false => options,
            };
            let model = from_seed(seed, &options).model;
            let Some(from) = model.opset_version(set) else { continue };
            if model.graph(model.main_graph()).outputs().is_empty() {
                continue;
            }
            for version in targets(schema, from) {
                convert_one(&model, version, set, &mut counts);
                if version < from {
                    round_trip(&model, version, set, &mut counts);
                }
            }
        }
    }
    println!(
        "{} equal, {} round trips equal, {} not comparable, {} without a changed node, {} exceptions",
        counts.proved, counts.round_trips, counts.untested, counts.unchanged, counts.excepted
    );
    for (reason, count) in &counts.refused {
        println!("refused {count} times: {reason}");
    }
    for failure in counts.failures.iter().take(40) {
        println!("--- {failure}");
    }
    assert_eq!(counts.failures.len(), 0, "conversions change results");
    assert!(only.is_some() || counts.proved > 1000, "{} are compared", counts.proved);
}
