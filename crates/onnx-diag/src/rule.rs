//! Static descriptions of defects: [`Rule`], [`Severity`] and [`Reference`].

use std::fmt;

/// The severity of a diagnostic. The order is ascending: `severity >= Severity::Warning` includes errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Advice: a SHOULD of the specification, or useful information.
    Note,
    /// A MUST of the specification that existing files and the reference do not follow.
    Warning,
    /// The model is invalid for the reference, or has no defined meaning.
    Error,
}

impl Severity {
    /// The lower-case word that every output format uses: `error`, `warning` or `note`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Note => "note",
        }
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The behavior of the reference implementation's checker for a defect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reference {
    /// It rejects every model that has the defect.
    Enforced,
    /// It rejects some models that have the defect, and accepts others.
    Partly,
    /// It accepts the model.
    NotEnforced,
}

/// Work on a model that its caller stopped, by an interrupt or a time limit. It is the one rule that all crates share, so
/// that a stop looks alike everywhere: such work has no other diagnostic and no result.
pub static STOPPED: Rule = Rule::new(8005, "stopped", Severity::Error, "The work was stopped before it had a result.").with_explain("## What\n\nA time limit was exceeded, or the caller cancelled the work. What was found until then is \
              dropped, so that no result depends on the speed of the machine.\n\n## Why\n\nThe exit status is 3, and no \
              output is written.\n\n## Repair\n\nAllow more time.\n");

/// One class of defects of a model: a `static` record next to the code that detects the defect.
///
/// The set of rules is open: each crate declares its own, and nothing here lists them.
/// Rules are compared by [`id`](Rule::id).
///
/// Codes never change meaning and are never reused. The thousands digit identifies the component:
///
/// | codes | component |
/// |---|---|
/// | 0xxx | the text format |
/// | 1xxx | decoding bytes |
/// | 2xxx | the checker |
/// | 3xxx | type and shape inference |
/// | 4xxx | conversion and rewriting |
/// | 5xxx | running models |
/// | 8xxx | files, arguments, limits |
///
/// Rules of other authors have another prefix: [`with_prefix`](Rule::with_prefix).
///
/// ```
/// use onnx_diag::{Rule, Severity};
///
/// static UNNAMED: Rule = Rule::new(12, "node-unnamed", Severity::Note, "A node has no name.").with_prefix("ACME");
/// assert_eq!(UNNAMED.id().to_string(), "ACME0012");
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Rule {
    /// The prefix of the code: `ONNX` for the rules of these crates, another one for rules of other authors.
    pub prefix: &'static str,
    /// The number, printed as `ONNX2101`; see [`Rule::id`].
    pub code: u16,
    /// The name, which names the defect, not the cure: `value-defined-twice`.
    pub slug: &'static str,
    /// The severity unless a [`Policy`](crate::Policy) says otherwise.
    pub severity: Severity,
    /// One sentence that states the defect, independent of the model.
    pub summary: &'static str,
    /// The section of the ONNX specification that the rule follows; empty when there is none.
    pub spec: &'static str,
    /// The behavior of the reference checker for this defect.
    pub reference: Reference,
    /// The long explanation, as Markdown; may be empty, and is for WebAssembly, where all of them would be loaded for nothing.
    pub explain: &'static str,
}

impl Rule {
    /// A rule with the prefix `ONNX`, no section of the specification and no explanation, which the reference does not
    /// enforce.
    #[must_use]
    pub const fn new(code: u16, slug: &'static str, severity: Severity, summary: &'static str) -> Self {
        let reference = Reference::NotEnforced;
        Self { prefix: PREFIX, code, slug, severity, summary, spec: "", reference, explain: "" }
    }

    /// The same with this prefix of the code, such as `ACME`.
    #[must_use]
    pub const fn with_prefix(self, prefix: &'static str) -> Self {
        Self { prefix, ..self }
    }

    /// The same with this section of the specification.
    #[must_use]
    pub const fn with_spec(self, spec: &'static str) -> Self {
        Self { spec, ..self }
    }

    /// The same with this behavior of the reference checker.
    #[must_use]
    pub const fn with_reference(self, reference: Reference) -> Self {
        Self { reference, ..self }
    }

    /// The same with this explanation, as Markdown.
    #[must_use]
    pub const fn with_explain(self, explain: &'static str) -> Self {
        Self { explain: if cfg!(target_family = "wasm") { "" } else { explain }, ..self }
    }

    /// The code as it is printed, such as `ONNX2101` or `ONNX0007`.
    pub const fn id(&self) -> RuleId {
        RuleId { prefix: self.prefix, code: self.code }
    }

    /// Whether `text` names this rule: by slug, by `ONNX2101`, or, if the prefix is `ONNX`, by the bare number `2101`. Case
    /// is ignored.
    pub fn is_named(&self, text: &str) -> bool {
        if text.eq_ignore_ascii_case(self.slug) {
            return true;
        }
        let length = self.prefix.len();
        let digits = match text.get(..length) {
            Some(prefix) if prefix.eq_ignore_ascii_case(self.prefix) => {
                text.get(length..).unwrap_or_default()
            }
            _ if self.prefix == PREFIX => text,
            _ => return false,
        };
        !digits.is_empty()
            && digits.bytes().all(|byte| byte.is_ascii_digit())
            && digits.parse::<u16>() == Ok(self.code)
    }
}

impl PartialEq for Rule {
    fn eq(&self, other: &Self) -> bool {
        self.id() == other.id()
    }
}

impl Eq for Rule {}

/// The prefix of the rules of this workspace.
const PREFIX: &str = "ONNX";

/// A rule's code in its one printed form: the prefix and four digits, such as `ONNX2101`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RuleId {
    prefix: &'static str,
    code: u16,
}

impl fmt::Display for RuleId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{:04}", self.prefix, self.code)
    }
}

/// Finds the rule that `text` names (see [`Rule::is_named`]) among `rules`.
///
/// # Examples
///
/// ```
/// # use onnx_diag::{Reference, Rule, Severity, find_rule};
/// static TWICE: Rule = Rule::new(2101, "value-defined-twice", Severity::Error, "Two places of one graph define the same value.")
///     .with_spec("IR: Names Within a Graph")
///     .with_reference(Reference::Enforced);
/// assert_eq!(find_rule([&TWICE], "onnx2101"), Some(&TWICE));
/// assert_eq!(find_rule([&TWICE], "value-defined-twice"), Some(&TWICE));
/// assert_eq!(find_rule([&TWICE], "value"), None);
/// ```
pub fn find_rule(rules: impl IntoIterator<Item = &'static Rule>, text: &str) -> Option<&'static Rule> {
    rules.into_iter().find(|rule| rule.is_named(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_found_by_any_of_their_names() {
        static RULE: Rule = Rule::new(42, "graph-cycle", Severity::Error, "");
        assert_eq!(RULE.id().to_string(), "ONNX0042");
        for name in ["ONNX0042", "onnx0042", "ONNX42", "0042", "42", "graph-cycle", "Graph-Cycle"] {
            assert!(RULE.is_named(name), "{name}");
        }
        for name in
            ["", "ONNX", "ONNX+42", "+42", "4200", "ONN42", "graph", "ONNX65578", "ééé", "onnx\u{0664}2"]
        {
            assert!(!RULE.is_named(name), "{name}");
        }
        let other = RULE.with_prefix("ACME");
        assert!(other != RULE && other.is_named("acme0042") && other.is_named("graph-cycle"));
        assert!(!other.is_named("42") && !other.is_named("ONNX0042"));
        assert!(Severity::Error > Severity::Warning && Severity::Warning > Severity::Note);
    }
}
