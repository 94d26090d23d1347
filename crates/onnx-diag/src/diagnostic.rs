//! A diagnostic about a model: [`Diagnostic`] and [`Label`].

use crate::escape::bounded;
use crate::locus::Locus;
use crate::rule::{Reference, Rule, Severity};

/// The number of bytes of a message, help or note that are kept.
const TEXT_BYTES: usize = 4096;

/// A second locus that explains a diagnostic, with its relation to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    /// The other locus.
    pub locus: Locus,
    /// The relation to the diagnostic: "first defined here".
    pub text: String,
}

/// One reported defect of the user's model: the rule, the locus, a message and a suggested fix.
///
/// The message is one terse, self-contained sentence, starts in lower case and has names between backticks (use
/// [`Quoted`](crate::Quoted)). It does not repeat the locus.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "a diagnostic is not reported until it is passed to a sink"]
pub struct Diagnostic {
    /// The rule that the model breaks.
    pub rule: &'static Rule,
    /// The severity: that of the rule, unless the policy of a [`Sink`](crate::Sink) overrides it.
    pub severity: Severity,
    /// The message that states the defect.
    pub message: String,
    /// The locus of the defect.
    pub locus: Locus,
    /// Other loci that explain it.
    pub labels: Vec<Label>,
    /// The suggested fix.
    pub help: Option<String>,
    /// Background information.
    pub notes: Vec<String>,
    /// Whether the reference checker accepts this defect; see [`Diagnostic::beyond_reference`].
    pub beyond_reference: bool,
    /// The limit that is the reason, as `onnx_types::Limits` names it: the model is as it may be, and could not be examined
    /// completely.
    pub limit: Option<&'static str>,
}

impl Diagnostic {
    /// A diagnostic at a locus. A message beyond 4 KiB is truncated.
    pub fn new(rule: &'static Rule, locus: Locus, message: impl Into<String>) -> Self {
        Self {
            rule,
            severity: rule.severity,
            message: bounded(message.into(), TEXT_BYTES),
            locus,
            labels: Vec::new(),
            help: None,
            notes: Vec::new(),
            beyond_reference: rule.reference == Reference::NotEnforced,
            limit: None,
        }
    }

    /// Adds another locus that explains the diagnostic.
    pub fn label(mut self, locus: Locus, text: impl Into<String>) -> Self {
        self.labels.push(Label { locus, text: bounded(text.into(), TEXT_BYTES) });
        self
    }

    /// Adds a suggested fix.
    pub fn help(mut self, text: impl Into<String>) -> Self {
        self.help = Some(bounded(text.into(), TEXT_BYTES));
        self
    }

    /// Adds background.
    pub fn note(mut self, text: impl Into<String>) -> Self {
        self.notes.push(bounded(text.into(), TEXT_BYTES));
        self
    }

    /// Sets the limit that is the reason.
    pub const fn because_of_limit(mut self, limit: Option<&'static str>) -> Self {
        self.limit = limit;
        self
    }

    /// Records whether the reference checker would accept exactly this defect.
    ///
    /// Only needed for rules that are [`Reference::Partly`] enforced: other rules determine the answer, and a partly
    /// enforced rule counts as enforced by default.
    pub fn beyond_reference(mut self, beyond: bool) -> Self {
        self.beyond_reference = beyond;
        self
    }
}
