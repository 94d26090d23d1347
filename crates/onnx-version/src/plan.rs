//! The plan of a conversion, and the versions to which a model can be converted.

use onnx_ir::{Model, NodeId};
use onnx_schema::{normalize_domain, opset_versions};

use crate::convert::{ConvertOptions, VersionError, work};
use crate::reason::VersionReason;

/// The effect of a step on a node.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum StepChange {
    /// Its attributes and operands get another form.
    Form,
    /// Other nodes are added to it or replace it.
    Replaced,
    /// The body that the standard gives its operator replaces it.
    Expanded,
}

impl StepChange {
    /// The change as a past participle.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Form => "changed",
            Self::Replaced => "replaced",
            Self::Expanded => "expanded",
        }
    }
}

/// A step that changes a node of the model. Steps of nodes that the conversion makes are not recorded.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct StepRecord {
    /// The node, in the model before the conversion.
    pub node: NodeId,
    /// The operator.
    pub op: String,
    /// The version of the schema before.
    pub since: i64,
    /// The version of the schema after.
    pub to: i64,
    /// What happens.
    pub change: StepChange,
}

/// A node that has no equivalent in a version.
#[derive(Clone, Debug)]
pub struct Unconvertible {
    /// The node, in the model before the conversion.
    pub node: NodeId,
    /// The operator: that of the node, or of a node that replaced it at an earlier version.
    pub op: String,
    /// The version that introduced the operator in the form that the node has.
    pub since: i64,
    /// The version for which the node has no equivalent.
    pub to: i64,
    /// The version of the conversion: `to`, or one behind it.
    pub target: i64,
    /// Why the node cannot be converted, as a clause.
    pub reason: VersionReason,
}

impl std::fmt::Display for Unconvertible {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "`{}` cannot be converted to version {}", self.op, self.to)?;
        if self.target != self.to {
            write!(f, ", on the way to version {}", self.target)?;
        }
        write!(f, ": {}", self.reason)
    }
}

/// The plan of a conversion: the steps that [`convert`](crate::convert) would take.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Plan {
    /// The version that the model imports.
    pub from: i64,
    /// The version that it would import.
    pub to: i64,
    /// The steps that change nodes, in the order in which they are done.
    pub steps: Vec<StepRecord>,
    /// Nodes of the domain whose operator no version defines: they are unchanged.
    pub unknown: Vec<NodeId>,
    /// The nodes that prevent the conversion. If there are any, nothing is converted.
    pub refusals: Vec<Unconvertible>,
}

impl Plan {
    /// Returns `true` if the model can be converted.
    #[must_use]
    pub const fn is_possible(&self) -> bool {
        self.refusals.is_empty()
    }

    /// Number of nodes of the model that change in a certain way. A node that changes at several versions counts once.
    #[must_use]
    pub fn count(&self, change: StepChange) -> usize {
        let steps = self.steps.iter().filter(|step| step.change == change);
        let mut nodes: Vec<NodeId> = steps.map(|step| step.node).collect();
        nodes.sort_unstable();
        nodes.dedup();
        nodes.len()
    }
}

/// Returns what a conversion would do, and every node that prevents it. The model is not changed.
///
/// # Errors
///
/// Returns an error if the version does not exist, the model does not import the operator set, or the work is interrupted.
pub fn plan(model: &Model, version: i64, options: &ConvertOptions<'_>) -> Result<Plan, VersionError> {
    Ok(work(model, version, options)?.1)
}

/// How far a model can be converted.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Reach {
    /// The version nearest to the one that was requested; that of the model if it can be converted to no other one.
    pub version: i64,
    /// The nodes that prevent the next version. Empty if the requested version can be reached.
    pub refusals: Vec<Unconvertible>,
}

/// Returns the version nearest to another one to which the model can be converted: between the version that it imports and
/// the requested one.
///
/// # Errors
///
/// See [`plan`].
pub fn nearest(model: &Model, version: i64, options: &ConvertOptions<'_>) -> Result<Reach, VersionError> {
    let mut target = version;
    let mut prevents = Vec::new();
    loop {
        let done = plan(model, target, options)?;
        if done.is_possible() {
            return Ok(Reach { version: target, refusals: prevents });
        }
        if target == done.from {
            // Functions of other versions cannot be converted to that of the model.
            return Ok(Reach { version: target, refusals: done.refusals });
        }
        let is_up = done.from < target;
        // The version at which the first of them has to stop.
        let stop = |refusal: &Unconvertible| match is_up {
            true => refusal.to.saturating_sub(1),
            false => refusal.to.saturating_add(1),
        };
        let stops = done.refusals.iter().map(stop);
        let next = if is_up { stops.min() } else { stops.max() };
        let next = match (next.unwrap_or(done.from), is_up) {
            (next, true) => next.clamp(done.from.min(target - 1), target - 1),
            (next, false) => next.clamp(target.saturating_add(1), done.from.max(target.saturating_add(1))),
        };
        let is_before = |stop: i64| if is_up { stop <= next } else { stop >= next };
        prevents = done.refusals.into_iter().filter(|refusal| is_before(stop(refusal))).collect();
        if next == done.from {
            return Ok(Reach { version: next, refusals: prevents });
        }
        target = next;
    }
}

/// Returns the oldest version to which the model can be converted, and the nodes that prevent the version before it.
///
/// # Errors
///
/// See [`plan`].
pub fn lowest(model: &Model, options: &ConvertOptions<'_>) -> Result<Reach, VersionError> {
    let set = normalize_domain(options.domain);
    let versions = opset_versions(set).ok_or(VersionError::NotImported)?;
    nearest(model, *versions.start(), options)
}
