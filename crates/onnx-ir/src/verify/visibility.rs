//! Visibility of used values.

use onnx_types::Stopped;

use super::FaultKind::Visibility;
use super::{Subject, Verifier};
use crate::entity::GraphId;
use crate::graph::Owner;
use crate::value::{Def, User};

impl Verifier<'_> {
    pub(super) fn visibility(&mut self) -> Result<(), Stopped> {
        let model = self.model;
        for (value, record) in &model.values {
            self.watch.work(1)?;
            let home = match record.def {
                Def::Unresolved(_) => continue,
                Def::Input { graph, .. } | Def::Initializer(graph) => graph,
                Def::Output { node, .. } => model.nodes[node].graph,
            };
            for at in &record.uses {
                self.watch.work(1)?;
                let graph = match at.user {
                    User::Node(node) | User::Attribute(node) => model.nodes[node].graph,
                    User::Graph(graph) => graph,
                };
                if graph != home && !self.encloses(home, graph) && !self.is_loose(graph) {
                    self.fault(Visibility, Subject::Value(value), || {
                        format!("it is defined in {home} and used in {graph}, where it cannot be seen: {at}")
                    });
                }
            }
        }
        Ok(())
    }

    fn encloses(&self, outer: GraphId, inner: GraphId) -> bool {
        match (self.span.get(outer), self.span.get(inner)) {
            (Some(&(enter, leave)), Some(&(at, _))) => enter <= at && at <= leave,
            _ => false,
        }
    }

    /// Whether a graph is detached, or nested in one that is.
    fn is_loose(&self, graph: GraphId) -> bool {
        self.model.graphs[self.model.root(graph)].owner == Owner::Detached
    }
}
