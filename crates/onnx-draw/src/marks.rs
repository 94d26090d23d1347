//! What the caller knows about nodes, and the colors that it gives to boxes.

use onnx_diag::Severity;
use onnx_ir::NodeId;
use slotmap::SecondaryMap;

/// What a color means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Coloring {
    /// The operator.
    #[default]
    Type,
    /// The part of the cost.
    Cost,
    /// The scope.
    Scope,
    /// The worst diagnostic.
    Findings,
    /// What differs from another model.
    Diff,
}

/// How a node differs from its counterpart in another model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DifferenceMark {
    /// Only this model has it, which is the newer one.
    Added,
    /// Only this model has it, which is the older one.
    Removed,
    /// Both have it, and it is not the same.
    Changed,
}

impl DifferenceMark {
    /// The word for it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Removed => "removed",
            Self::Changed => "changed",
        }
    }

    /// The color of a box.
    pub(crate) const fn color(self) -> &'static str {
        match self {
            Self::Added => "#c9ecd0",
            Self::Removed => "#f6c6c6",
            Self::Changed => "#fbe2b5",
        }
    }
}

/// Costs, diagnostics and differences of nodes.
#[derive(Clone, Debug, Default)]
pub struct Marks {
    /// Operations of a node; nodes that are not listed have none or are not known.
    pub cost: SecondaryMap<NodeId, f64>,
    /// The worst diagnostic of a node, and the number of diagnostics.
    pub findings: SecondaryMap<NodeId, (Severity, u32)>,
    /// The nodes that differ from another model.
    pub changes: SecondaryMap<NodeId, DifferenceMark>,
}

impl Marks {
    /// Adds a diagnostic to the node that it is about.
    pub fn add_finding(&mut self, node: NodeId, severity: Severity) {
        // The key of an erased node has no entry.
        if let Some(entry) = self.findings.entry(node) {
            let entry = entry.or_insert((severity, 0));
            entry.0 = entry.0.max(severity);
            entry.1 += 1;
        }
    }
}
