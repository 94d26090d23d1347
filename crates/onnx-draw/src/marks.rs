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
}

/// Costs and diagnostics of nodes.
#[derive(Clone, Debug, Default)]
pub struct Marks {
    /// Operations of a node; nodes that are not listed have none or are not known.
    pub cost: SecondaryMap<NodeId, f64>,
    /// The worst diagnostic of a node, and the number of diagnostics.
    pub findings: SecondaryMap<NodeId, (Severity, u32)>,
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
