//! What the caller knows about nodes, and the colors that it gives to boxes.

use onnx_diag::Severity;
use onnx_ir::{Element, Model, NodeId};
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
    /// Adds a diagnostic to the node that it is about; `None` if it is about something else.
    pub fn add_finding(
        &mut self,
        model: &Model,
        element: Option<Element>,
        severity: Severity,
    ) -> Option<NodeId> {
        let node = match element? {
            Element::Node(node) => node,
            Element::Value(value) => model.value(value).producer()?,
            Element::Graph(graph) => model.owner_node(graph)?,
        };
        let entry = self.findings.entry(node)?.or_insert((severity, 0));
        entry.0 = entry.0.max(severity);
        entry.1 += 1;
        Some(node)
    }
}
