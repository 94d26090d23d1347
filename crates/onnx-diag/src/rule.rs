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
/// that a stop looks alike everywhere: such work has no other finding and no result.
pub static STOPPED: Rule = Rule {
    code: 8005,
    slug: "stopped",
    severity: Severity::Error,
    summary: "The work was stopped before it had a result.",
    spec: "",
    reference: Reference::NotEnforced,
    explain: "## What\n\nA time limit was exceeded, or the caller cancelled the work. What was found until then is \
              dropped, so that no result depends on the speed of the machine.\n\n## Why\n\nThe exit status is 3, and no \
              output is written.\n\n## Repair\n\nAllow more time.\n",
};

/// One class of defects of a model: a `static` record next to the code that detects the defect.
///
/// The set of rules is open: each crate declares its own, and nothing here lists them.
/// Rules are compared by [`code`](Rule::code).
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
/// | 9xxx | free for users of the library |
#[derive(Clone, Copy, Debug)]
pub struct Rule {
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
    /// The long explanation, as Markdown; may be empty.
    pub explain: &'static str,
}

impl Rule {
    /// The code as people and tools see it, such as `ONNX2101` or `ONNX0007`.
    pub const fn id(&self) -> RuleId {
        RuleId(self.code)
    }

    /// Whether `text` names this rule: by slug, by `ONNX2101`, or by the bare number `2101`. Case is ignored.
    pub fn is_named(&self, text: &str) -> bool {
        if text.eq_ignore_ascii_case(self.slug) {
            return true;
        }
        let digits = match text.get(..4) {
            Some(prefix) if prefix.eq_ignore_ascii_case("ONNX") => text.get(4..).unwrap_or_default(),
            _ => text,
        };
        !digits.is_empty()
            && digits.bytes().all(|byte| byte.is_ascii_digit())
            && digits.parse::<u16>() == Ok(self.code)
    }
}

impl PartialEq for Rule {
    fn eq(&self, other: &Self) -> bool {
        self.code == other.code
    }
}

impl Eq for Rule {}

/// A rule's code in its one printed form, `ONNX` and four digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RuleId(u16);

impl fmt::Display for RuleId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ONNX{:04}", self.0)
    }
}

/// Finds the rule that `text` names (see [`Rule::is_named`]) among `rules`.
///
/// # Examples
///
/// ```
/// # use onnx_diag::{Reference, Rule, Severity, find_rule};
/// static TWICE: Rule = Rule {
///     code: 2101,
///     slug: "value-defined-twice",
///     severity: Severity::Error,
///     summary: "Two places of one graph define the same value.",
///     spec: "IR: Names Within a Graph",
///     reference: Reference::Enforced,
///     explain: "",
/// };
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
        static RULE: Rule = Rule {
            code: 42,
            slug: "graph-cycle",
            severity: Severity::Error,
            summary: "",
            spec: "",
            reference: Reference::NotEnforced,
            explain: "",
        };
        assert_eq!(RULE.id().to_string(), "ONNX0042");
        for name in ["ONNX0042", "onnx0042", "ONNX42", "0042", "42", "graph-cycle", "Graph-Cycle"] {
            assert!(RULE.is_named(name), "{name}");
        }
        for name in
            ["", "ONNX", "ONNX+42", "+42", "4200", "ONN42", "graph", "ONNX65578", "ééé", "onnx\u{0664}2"]
        {
            assert!(!RULE.is_named(name), "{name}");
        }
        assert!(Severity::Error > Severity::Warning && Severity::Warning > Severity::Note);
    }
}
