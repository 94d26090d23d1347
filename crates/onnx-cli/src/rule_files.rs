//! Files of rewrite rules: `*.onnxrules`.

use std::path::Path;

use onnx_diag::{Diagnostic, Locus, Sink};
use onnx_rewrite::{
    COSTLY_RULE, ExamineOptions, Examined, RANDOM_RESULT, REFUTED_RULE, RuleFileError, RuleSet, examine,
};
use onnx_schema::Registry;
use onnx_types::Execution;

use crate::exit::Failure;
use crate::format;
use crate::input::display_name;
use crate::reading::{read_within, utf8};
use crate::size;

/// The extension of rule files.
pub(crate) const EXTENSION: &str = "onnxrules";

/// What such a file is, in messages.
const WHAT: &str = "a file of rewrite rules";

/// Returns `true` if a file has the extension of rule files.
pub(crate) fn is_rule_file(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case(EXTENSION))
}

/// The text of a rule file.
pub(crate) fn text(path: &Path, execution: &Execution) -> Result<String, Failure> {
    let bytes = read_within(path, execution)?;
    utf8(&bytes, WHAT).map_err(|failure| failure.about(&display_name(path)))
}

/// The rules of a file, each of which must lower the cost.
pub(crate) fn load(path: &Path, registry: &Registry, execution: &Execution) -> Result<RuleSet, Failure> {
    load_by(RuleSet::parse_with, path, registry, execution)
}

/// The rules of a file, which are applied whatever they cost.
pub(crate) fn load_whatever_cost(
    path: &Path,
    registry: &Registry,
    execution: &Execution,
) -> Result<RuleSet, Failure> {
    load_by(RuleSet::parse_whatever_cost, path, registry, execution)
}

fn load_by(
    parse: fn(&str, &Registry) -> Result<RuleSet, RuleFileError>,
    path: &Path,
    registry: &Registry,
    execution: &Execution,
) -> Result<RuleSet, Failure> {
    let text = text(path, execution)?;
    parse(&text, registry).map_err(|error| {
        if let Some(failure) = format::instead(text.as_bytes(), WHAT) {
            let help = "docs/rewrite-rules.md describes the language of rules";
            return failure.about(&display_name(path)).help(help);
        }
        Failure::of_text(&display_name(path), error.into_findings(), text.clone().into_bytes().into())
    })
}

/// Adds to `sink` what is wrong with the rules of a text; with `prove`, also what their tests find.
pub(crate) fn check(text: &str, prove: Option<&Execution>, registry: &Registry, sink: &mut Sink) {
    let rules = match RuleSet::parse_whatever_cost(text, registry) {
        Ok(rules) => rules,
        Err(error) => return sink.merge(error.into_findings()),
    };
    for (rule, before, after) in rules.costly() {
        let locus = onnx_rewrite::position(text, &rules, rule.name()).unwrap_or(Locus::model());
        let message =
            format!("rule `{}` does not lower the cost: {before} before, {after} after", rule.name());
        let help = "`onnx rewrite --rules FILE` applies it to each match, and not to what it made; `onnx simplify` does not accept it";
        sink.report(Diagnostic::new(&COSTLY_RULE, locus, message).help(help));
    }
    let Some(execution) = prove else { return };
    // Three times as many as the tests of the built-in rules, which run often.
    let options = ExamineOptions::default().with_execution(execution.clone()).with_registry(registry);
    let options = options.clone().with_edits(options.edits * 3).with_attempts(options.attempts * 2);
    for result in examine(&rules, &options) {
        let name = &result.rule;
        let locus = onnx_rewrite::position(text, &rules, name).unwrap_or(Locus::model());
        if result.is_fine() {
            if result.random > 0 {
                sink.report(random_results(&result, locus));
            }
            continue;
        }
        let message = match result.failures.first() {
            Some(_) => format!("rule `{name}` is refuted by a generated model"),
            None if result.models == 0 => {
                format!("no model can be generated around the left side of rule `{name}`")
            }
            None if result.verdicts == [0; 3] => format!("rule `{name}` matches no generated model"),
            None if !result.untested.is_empty() => format!("rule `{name}` drops what was not tested"),
            None => format!("no edit of rule `{name}` could be compared"),
        };
        let mut diagnostic = Diagnostic::new(&REFUTED_RULE, locus, message);
        for line in result.failures.iter().take(1).flat_map(|failure| failure.lines()) {
            diagnostic = diagnostic.note(line);
        }
        if result.failures.is_empty() {
            for sentence in &result.untested {
                diagnostic = diagnostic.note(sentence.as_str());
            }
            // Some operators need operands that are not generated.
            let on_model =
                "test it on a model that it is made for: `onnx rewrite MODEL --rules FILE --prove`";
            diagnostic = diagnostic.help(match result.untested.is_empty() {
                true => on_model.to_owned(),
                false => format!("{on_model}; `<...>` stands for attributes that have no effect here"),
            });
        }
        for (reason, count) in result.missed.iter().take(3) {
            let note = match result.models {
                0 => format!("{reason} (in {})", size::plural(*count as u64, "attempt")),
                _ => format!("no match in {}: {reason}", size::plural(*count as u64, "generated model")),
            };
            diagnostic = diagnostic.note(note);
        }
        sink.report(diagnostic);
    }
}

/// That a rule is not applied where a result may be random.
fn random_results(result: &Examined, locus: Locus) -> Diagnostic {
    let [proved, tested, _] = result.verdicts;
    let (refused, edited) =
        (size::plural(result.random as u64, "generated model"), proved.saturating_add(tested));
    let message = format!(
        "rule `{}` is not applied to {refused}, in which a result that it replaces may be random; {} right",
        result.rule,
        match edited {
            1 => "1 other edit is".to_owned(),
            _ => format!("{edited} other edits are"),
        },
    );
    let help = "no edit replaces such a result; a left side without the operand or attribute that makes it random says so";
    Diagnostic::new(&RANDOM_RESULT, locus, message).help(help)
}
