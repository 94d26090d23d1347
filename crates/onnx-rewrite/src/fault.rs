//! The defects of rule files.

use std::fmt;

use onnx_diag::{Diagnostic, Locus, Rule, Severity, Sink};

/// The text of a rule file is not in the syntax of rules.
pub static MALFORMED_RULE: Rule =
    Rule::new(6001, "malformed-rule", Severity::Error, "The text is not in the syntax of rewrite rules.")
        .with_explain(include_str!("rules/malformed-rule.md"));

/// A rule can never be applied, or not without changing a result.
pub static IMPOSSIBLE_RULE: Rule = Rule::new(
    6002,
    "impossible-rule",
    Severity::Error,
    "A rewrite rule contradicts the operators that it names, or itself.",
)
.with_explain(include_str!("rules/impossible-rule.md"));

/// The generated models refute a rule, or none of them matches it.
pub static REFUTED_RULE: Rule = Rule::new(
    6003,
    "refuted-rule",
    Severity::Error,
    "A rewrite rule fails on the models that are generated around its left side.",
)
.with_explain(include_str!("rules/refuted-rule.md"));

/// The right side of a rule does not cost less than the left side.
pub static COSTLY_RULE: Rule = Rule::new(
    6005,
    "costly-rule",
    Severity::Note,
    "The right side of a rewrite rule does not cost less than the left side.",
)
.with_explain(include_str!("rules/costly-rule.md"));

/// A result that a rule replaces may be random.
pub static RANDOM_RESULT: Rule = Rule::new(
    6006,
    "random-result",
    Severity::Note,
    "Edits of a rewrite rule are refused, because a result that they replace may be random.",
)
.with_explain(include_str!("rules/random-result.md"));

/// The rules about rule files, by ascending code.
pub static RULES: &[&Rule] =
    &[&MALFORMED_RULE, &IMPOSSIBLE_RULE, &REFUTED_RULE, &COSTLY_RULE, &RANDOM_RESULT];

/// A mistake at a byte of the text.
#[derive(Clone, Debug)]
pub(crate) struct Mistake {
    pub(crate) at: usize,
    pub(crate) message: String,
    pub(crate) rule: &'static Rule,
    pub(crate) help: &'static str,
}

impl Mistake {
    pub(crate) fn syntax(at: usize, message: impl Into<String>) -> Self {
        let help = "a rule is `rule NAME: exact` or `rule NAME: rounding`, then `from`, `let`, `where` and `to`: `onnx explain ONNX6001` \
                    shows one";
        Self { at, message: message.into(), rule: &MALFORMED_RULE, help }
    }

    pub(crate) fn meaning(at: usize, message: impl Into<String>) -> Self {
        let help = "correct the rule: `onnx ops show OPERATOR` shows the attributes, operands and types of an operator";
        Self { at, message: message.into(), rule: &IMPOSSIBLE_RULE, help }
    }

    /// That a rule does not lower the cost, where each edit must.
    pub(crate) fn cost(at: usize, (before, after): (u64, u64)) -> Self {
        let help = "`onnx rewrite --rules FILE` applies a rule whatever it costs, `onnx simplify` only those that lower the cost";
        let message = format!("the cost does not decrease: {before} before, {after} after");
        Self { at, message, rule: &IMPOSSIBLE_RULE, help }
    }
}

/// Why a text is not a rule file: every mistake, each with its line and column.
#[derive(Clone, Debug)]
pub struct RuleFileError {
    findings: Box<Sink>,
}

impl RuleFileError {
    pub(crate) fn new(text: &str, mut mistakes: Vec<Mistake>) -> Self {
        mistakes.sort_by_key(|mistake| mistake.at);
        let mut findings = Sink::new();
        for mistake in mistakes {
            findings.report(
                Diagnostic::new(mistake.rule, locus(text, mistake.at), mistake.message).help(mistake.help),
            );
        }
        Self { findings: Box::new(findings) }
    }

    /// The mistakes, in the order of the text.
    #[must_use]
    pub fn findings(&self) -> &Sink {
        &self.findings
    }

    /// The mistakes, to be merged with other diagnostics.
    #[must_use]
    pub fn into_findings(self) -> Sink {
        *self.findings
    }
}

impl fmt::Display for RuleFileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.findings.summary().fmt(f)
    }
}

impl std::error::Error for RuleFileError {}

/// The position of a byte of a text.
pub(crate) fn locus(text: &str, at: usize) -> Locus {
    let before = text.get(..at).unwrap_or(text);
    let line = before.bytes().filter(|&byte| byte == b'\n').count();
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count();
    let from_one = |count: usize| u32::try_from(count).unwrap_or(u32::MAX).saturating_add(1);
    Locus::model().at_text(from_one(line), from_one(column), 1)
}

/// The position of a rule in the text of its set.
#[must_use]
pub fn position(text: &str, rules: &crate::RuleSet, name: &str) -> Option<Locus> {
    rules.rules().find(|rule| rule.name == name).map(|rule| locus(text, rule.at))
}
