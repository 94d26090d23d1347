//! What to check, and how to report it.

use onnx_diag::{Caps, Policy, Severity};
use onnx_ir::{FunctionId, NodeId};
use onnx_schema::Registry;
use onnx_types::{Execution, Limits};

use crate::custom_rules::CustomRule;
use crate::external::ExternalFiles;
use crate::rules::model::model_too_large;

/// What to check, and how to report it. The default includes everything that the reference checker checks, and more.
///
/// ```
/// use onnx_check::{CheckOptions, CustomOperators};
///
/// let options = CheckOptions::default().with_custom_operators(CustomOperators::Refuse);
/// assert!(!options.elements);
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CheckOptions {
    /// Severities that the user changed.
    pub policy: Policy,
    /// What ends the work early, and how many findings are kept: [`Limits::findings`] and [`Limits::findings_per_rule`]. What
    /// else a model may cost was decided when it was read: the checker takes time and memory in proportion to it.
    pub execution: Execution,
    /// Whether to check the elements of tensors: those in memory, and those in [`external`](Self::external) files if
    /// these are given. This takes time proportional to the number of bytes; all other properties of a tensor are
    /// checked without reading elements.
    pub elements: bool,
    /// The size of the binary file that the model was read from, if it was: readers of protobuf open files below 2 GiB only.
    pub file_bytes: Option<u64>,
    /// The files of external data. Without them, only the entries of the model that describe them are checked.
    pub external: Option<ExternalFiles>,
    /// The known operators. In addition to those of ONNX they can include custom operators; diagnostics of calls of
    /// these are always beyond the reference. A function of the model with the same name takes precedence.
    pub registry: Registry,
    /// What to make of operators of domains that neither ONNX nor the registry defines.
    pub custom_operators: CustomOperators,
    /// Whether functions must import the versions of operator sets that the model imports, as far as they call operators
    /// that differ between the two. Default: yes, as in the reference. The meaning of a function does not depend on it, but
    /// some readers inline functions without comparing versions.
    pub opset_compatibility: bool,
    /// Whose rules count.
    pub profile: Profile,
    /// Whether to report missing recommended metadata as notes: the producer, the domain of the model, and reverse-DNS
    /// names. Most models omit these, so this is off by default.
    pub recommendations: bool,
    /// Rules of other crates.
    pub rules: Vec<CustomRule>,
}

impl Default for CheckOptions {
    fn default() -> Self {
        Self {
            policy: Policy::new(),
            execution: Execution::DEFAULT,
            elements: false,
            file_bytes: None,
            external: None,
            registry: Registry::standard(),
            custom_operators: CustomOperators::default(),
            opset_compatibility: true,
            profile: Profile::default(),
            recommendations: false,
            rules: Vec::new(),
        }
    }
}

onnx_types::option_setters! {
    CheckOptions {
        with_policy => policy: Policy,
        with_execution => execution: into Execution,
        with_elements => elements: bool,
        with_file_bytes => file_bytes: into Option<u64>,
        with_external => external: into Option<ExternalFiles>,
        with_registry => registry: into Registry,
        with_custom_operators => custom_operators: CustomOperators,
        with_opset_compatibility => opset_compatibility: bool,
        with_profile => profile: Profile,
        with_recommendations => recommendations: bool,
    }
}

impl CheckOptions {
    /// The same with these rules of other crates added.
    #[must_use]
    pub fn with_rules(mut self, rules: impl IntoIterator<Item = CustomRule>) -> Self {
        self.rules.extend(rules);
        self
    }

    /// The same within these limits.
    #[must_use]
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.execution.limits = limits;
        self
    }

    /// How many findings are kept.
    pub(crate) const fn caps(&self) -> Caps {
        let limits = &self.execution.limits;
        Caps { per_rule: limits.findings_per_rule, total: limits.findings }
    }
}

/// The part of a model that is checked: all of it, or a standalone part, as in a separate file.
///
/// A part has the IR version and the operator sets that the model around it states, and nothing else of that model: names
/// that a node uses are taken to exist.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Part {
    /// The whole model.
    #[default]
    Model,
    /// The main graph.
    Graph,
    /// A function.
    Function(FunctionId),
    /// A node.
    Node(NodeId),
    /// The attributes of a node, whatever operator it calls.
    Attributes(NodeId),
    /// The tensors, sparse tensors and types in the attributes of a node.
    Contents(NodeId),
    /// The inputs of the main graph: their names and types.
    Inputs,
}

/// What to make of operators of domains that neither ONNX nor the registry defines, unless the model defines them as functions.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum CustomOperators {
    /// They are taken as they are: nothing is known about them.
    #[default]
    Accept,
    /// They are unknown operators.
    Refuse,
}

/// Whose rules count.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Profile {
    /// The specification: everything is reported.
    #[default]
    Spec,
    /// The reference checker: findings that it would not have are left out.
    Reference,
}

impl Profile {
    /// The severities under this profile: a file that the reference cannot open is an error for it, which is a warning
    /// otherwise. Severities that the user changed stay.
    #[must_use]
    pub fn severities(self, policy: Policy) -> Policy {
        let rule = &model_too_large::RULE;
        match self {
            Self::Reference if policy.severity(rule) == Some(rule.severity) => {
                policy.set(rule, Severity::Error)
            }
            _ => policy,
        }
    }
}
