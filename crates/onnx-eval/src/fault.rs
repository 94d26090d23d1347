//! Failures of a run, and their rules: 5xxx.

use std::fmt;

use onnx_diag::{Diagnostic, Locus, Rule, STOPPED, Severity};
use onnx_ir::NodeId;
use onnx_types::Limits;

use crate::cx::Stop;

macro_rules! rules {
    ($($(#[$doc:meta])* $name:ident = $code:literal, $slug:literal, $severity:ident, $summary:literal, $help:literal;)*) => {
        $($(#[$doc])*
        pub static $name: Rule = Rule::new($code, $slug, Severity::$severity, $summary).with_explain(include_str!(concat!("rules/", $slug, ".md")));)*

        /// The rules of runs, by ascending code.
        pub static RULES: &[&Rule] = &[$(&$name),*];

        /// The suggested fix for violations of a rule.
        pub(crate) fn help(rule: &Rule) -> &'static str {
            match rule.code {
                $($code => $help,)*
                _ => "",
            }
        }
    };
}

rules! {
    /// An input of the model has no value.
    INPUT_MISSING = 5001, "run-input-missing", Error,
        "An input of the model has no value.",
        "give a value for each input without a default";
    /// A value is given for a name that is not an input of the model.
    INPUT_UNKNOWN = 5002, "run-input-unknown", Error,
        "A value is given for a name that is not an input of the model.",
        "use the names of the inputs of the main graph";
    /// A given value has another type or shape than the input declares.
    INPUT_DIFFERS = 5003, "run-input-differs", Error,
        "A given value has another type or shape than the input declares.",
        "give a tensor of the declared element type and sizes";
    /// An operator cannot compute its result from these operands.
    OPERATOR_FAILED = 5004, "operator-failed", Error,
        "An operator cannot compute its result from these operands.",
        "compare the operands with the specification of the operator";
    /// No kernel computes an operator.
    KERNEL_MISSING = 5005, "kernel-missing", Error,
        "No kernel computes the operator, or this form of it.",
        "make the operator a function of the model, or give its body in a document (`--ops`); `onnx extract` cuts the rest of the model out; a program can register a kernel in an `EvalPack`";
    /// A node or a graph output uses a value that nothing defines.
    VALUE_UNDEFINED = 5006, "value-undefined-in-run", Error,
        "A value is used that nothing has computed.",
        "check the model: the value is not defined, or not visible there";
    /// Nodes need each other's results in a cycle, or a function calls itself.
    CYCLE = 5007, "cyclic-computation", Error,
        "Nodes or functions need each other's results in a cycle.",
        "break the cycle";
    /// A weight cannot be read.
    WEIGHT_UNREADABLE = 5008, "weight-unreadable", Error,
        "The elements of a tensor cannot be read.",
        "check that external data is present and complete";
    /// The run exceeds a limit.
    LIMIT = 5010, "run-limit-reached", Error,
        "The run exceeds a limit on elements, memory, work or nesting.",
        "raise the limit that the message names, or run the model with smaller inputs";
    /// There is not enough memory for the run.
    MEMORY = 5011, "run-memory-exhausted", Error,
        "There is not enough memory for the run, whatever the limits allow.",
        "run the model with smaller inputs, or on a machine with more memory";
    /// Two models compute different values for an output.
    OUTPUT_DIFFERS = 5012, "output-differs", Error,
        "Two models compute different values for an output.",
        "`onnx compare --inner` finds the node after which they diverge";
    /// A value that a run computes has another type or shape than the model declares.
    VALUE_DIFFERS = 5013, "computed-value-differs", Warning,
        "A computed value has another type or shape than the model declares for it.",
        "correct the declared type, or remove it: other tools rely on it";
    /// A node computes NaN or infinities from operands without any.
    NOT_FINITE = 5014, "computed-value-not-finite", Warning,
        "A node computes NaN or infinities from operands that have none.",
        "compare the operands with the domain of the operator: `onnx run --at` shows them";
    /// A run computes other values than those recorded for it.
    EXPECTED_DIFFERS = 5015, "expected-value-differs", Error,
        "A run computes another value for an output than the one that is expected.",
        "compare the version, inputs and weights of the model with those of the recorded run";
}

/// Why a run ended without a result.
///
/// The kinds are distinct, because a caller that compares two models must not mistake one for another: an invalid input or a
/// failing operator is a property of the model, a limit or a missing kernel is not.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum FailureKind {
    /// The given inputs do not fit the model.
    Input,
    /// An operator is not defined for its operands.
    Operator,
    /// No kernel exists.
    Missing,
    /// The model is invalid.
    Model,
    /// Elements of a weight cannot be read.
    Data,
    /// A limit was exceeded.
    Limit,
    /// There is not enough memory, whatever the limits allow.
    Memory,
    /// The caller stopped the run.
    Stopped,
}

/// A run that ended without a result.
#[derive(Clone, Debug)]
pub struct Failure(Box<Record>);

#[derive(Clone, Debug)]
struct Record {
    kind: FailureKind,
    node: Option<NodeId>,
    limit: Option<&'static str>,
    diagnostic: Diagnostic,
}

impl Failure {
    pub(crate) fn new(
        kind: FailureKind,
        rule: &'static Rule,
        node: Option<NodeId>,
        locus: Locus,
        message: impl Into<String>,
    ) -> Self {
        let diagnostic = Diagnostic::new(rule, locus, message).help(help(rule));
        Self(Box::new(Record { kind, node, limit: None, diagnostic }))
    }

    /// Why work ended: that of a node, or that on values before and after a run.
    pub(crate) fn of_stop(stop: Stop, node: Option<NodeId>, locus: Locus) -> Self {
        use FailureKind as K;
        let limit = match &stop {
            Stop::Limit(name) => Some(*name),
            Stop::Data(error) => error.limit(),
            Stop::Memory(_) => Some(Limits::MEMORY),
            _ => None,
        };
        let (kind, rule, message) = match stop {
            Stop::Failed(reason) => (K::Operator, &OPERATOR_FAILED, reason),
            Stop::Unsupported(what) => (K::Missing, &KERNEL_MISSING, what),
            Stop::Limit(name) => {
                (K::Limit, &LIMIT, format!("the run costs too much: raise the limit `{name}` to allow it"))
            }
            Stop::Memory(reason) => (K::Memory, &MEMORY, reason),
            Stop::Interrupted(stopped) => (K::Stopped, &STOPPED, format!("the run was stopped: {stopped}")),
            Stop::Data(error) => (K::Data, &WEIGHT_UNREADABLE, error.to_string()),
            Stop::Undefined(name) => {
                let name = onnx_diag::Quoted(&name);
                (K::Model, &VALUE_UNDEFINED, format!("nothing has computed {name}"))
            }
        };
        Self::new(kind, rule, node, locus, message).with_limit(limit)
    }

    pub(crate) const fn with_limit(mut self, limit: Option<&'static str>) -> Self {
        self.0.limit = limit;
        self.0.diagnostic.limit = limit;
        self
    }

    pub(crate) fn note(mut self, text: impl Into<String>) -> Self {
        self.0.diagnostic.notes.push(text.into());
        self
    }

    /// The kind of the failure.
    #[must_use]
    pub fn kind(&self) -> FailureKind {
        self.0.kind
    }

    /// The node that failed, if a node did.
    #[must_use]
    pub fn node(&self) -> Option<NodeId> {
        self.0.node
    }

    /// The name of the limit that was exceeded, if one was, also by a weight that cannot be read; [`Limits::MEMORY`] if the
    /// system has no memory.
    #[must_use]
    pub fn limit(&self) -> Option<&'static str> {
        self.0.limit
    }

    /// The failure as a diagnostic: rule, locus, reason, and the types of the operands.
    pub fn diagnostic(&self) -> &Diagnostic {
        &self.0.diagnostic
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.0.diagnostic.locus, self.0.diagnostic.message)
    }
}

impl std::error::Error for Failure {}
