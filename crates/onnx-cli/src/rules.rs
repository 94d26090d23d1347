//! All rules that this program can report, those that are its own among them.

use onnx_check::RULES;
use onnx_diag::{Diagnostic, Locus, Policy, Rule, Severity, Sink, find_rule};
use onnx_ir::{Model, Subject};

use crate::exit::Failure;

/// The loaded graph contradicts itself, which is a defect of this program and not of the file.
pub(crate) static BROKEN_INVARIANT: Rule = Rule::new(
    1999,
    "broken-invariant",
    Severity::Error,
    "The graph that was made from the file contradicts itself.",
)
.with_explain(
    "\
## What

The model was read, but links, use lists, owners or scopes of the graph in memory do not fit together.

## Why

This is a defect of this program and not of the file. What it says about the model otherwise may be wrong.

## Right

Please report it, with the file if you can.
",
);

/// All rules, by ascending code.
pub(crate) fn all() -> Vec<&'static Rule> {
    let text = onnx_text::rules::ALL.iter().copied();
    let mut rules: Vec<_> = text
        .chain(onnx_codec::rules::ALL.iter().copied())
        .chain(RULES)
        .chain(onnx_shape_infer::fault::RULES.iter().copied())
        .chain(onnx_functions::rules::ALL.iter().copied())
        .chain(onnx_version::rules::ALL.iter().copied())
        .chain(onnx_compose::rules::ALL.iter().copied())
        .chain(onnx_eval::fault::RULES.iter().copied())
        .chain(onnx_rewrite::RULES.iter().copied())
        .chain(onnx_pass::RULES.iter().copied())
        .chain([&BROKEN_INVARIANT, &onnx_diag::STOPPED])
        .chain(crate::failures::ALL.iter().copied())
        .collect();
    rules.sort_by_key(|rule| rule.id());
    rules
}

/// The rule that the user names.
pub(crate) fn find(name: &str) -> Result<&'static Rule, Failure> {
    let rules = all();
    if let Some(rule) = find_rule(rules.iter().copied(), name) {
        return Ok(rule);
    }
    let failure = Failure::new(format_args!("there is no rule `{}`", name.escape_debug()));
    let wanted = name.to_ascii_lowercase();
    let similar: Vec<&str> =
        rules.iter().map(|rule| rule.slug).filter(|slug| is_similar(slug, &wanted)).take(3).collect();
    Err(match similar.as_slice() {
        [] => failure.help("`onnx explain --list rules` lists all rules"),
        similar => failure.help(format!("did you mean `{}`?", similar.join("` or `"))),
    })
}

/// Whether one name contains the other, or they share most of their words.
fn is_similar(slug: &str, wanted: &str) -> bool {
    let words: Vec<&str> = wanted.split(['-', '_', ' ']).filter(|word| word.len() > 2).collect();
    let shared = words.iter().filter(|word| slug.contains(**word)).count();
    shared > 0 && shared * 2 >= words.len()
}

/// Whether `--deny` names a severity, not a rule.
pub(crate) fn is_class(what: &str) -> bool {
    matches!(what, "warning" | "warnings" | "note" | "notes")
}

/// A policy with what `--deny` and `--allow` say.
pub(crate) fn policy(mut policy: Policy, deny: &[String], allow: &[String]) -> Result<Policy, Failure> {
    for what in deny {
        policy = match what.as_str() {
            "warning" | "warnings" => policy.deny_from(Severity::Warning),
            "note" | "notes" => policy.deny_from(Severity::Note),
            name => policy.deny(find(name)?),
        };
    }
    for name in allow {
        policy = policy.allow(find(name)?);
    }
    Ok(policy)
}

/// Verifies the structural invariants and reports violations. Returns `true` if there are none.
pub(crate) fn verify(model: &Model, sink: &mut Sink) -> bool {
    let faults = model.verify().err().unwrap_or_default();
    for fault in &faults {
        sink.report_with(&BROKEN_INVARIANT, || {
            let locus = match fault.subject {
                Subject::Graph(graph) => match model.get_graph(graph) {
                    Some(graph) => Locus::model().graph(model.str(graph.name())),
                    None => Locus::model(),
                },
                Subject::Value(value) => match model.get_value(value) {
                    Some(value) => Locus::model().value(model.str(value.name())),
                    None => Locus::model(),
                },
                Subject::Node(_) | Subject::Function(_) => Locus::model(),
            };
            Diagnostic::new(&BROKEN_INVARIANT, locus, fault.to_string())
                .help("this is a defect of this program: please report it, with the file if you can")
        });
    }
    faults.is_empty()
}
