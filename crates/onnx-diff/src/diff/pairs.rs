//! The pairs of corresponding parts of two models.

use onnx_ir::{Def, GraphId, Model, NodeId, ValueId};
use slotmap::SecondaryMap;

/// Pairs of nodes, of inputs and initializers, and of graphs.
#[derive(Default)]
pub(crate) struct Pairs {
    pub(crate) nodes: SecondaryMap<NodeId, NodeId>,
    /// The nodes of the second model that have a partner, which is the value.
    pub(crate) nodes_of_b: SecondaryMap<NodeId, NodeId>,
    pub(crate) values: SecondaryMap<ValueId, ValueId>,
    pub(crate) values_of_b: SecondaryMap<ValueId, ValueId>,
    pub(crate) graphs: SecondaryMap<GraphId, GraphId>,
}

impl Pairs {
    pub(crate) fn are_free(&self, a: NodeId, b: NodeId) -> bool {
        !self.nodes.contains_key(a) && !self.nodes_of_b.contains_key(b)
    }

    pub(crate) fn are_free_values(&self, a: ValueId, b: ValueId) -> bool {
        !self.values.contains_key(a) && !self.values_of_b.contains_key(b)
    }

    /// Returns `true` if two operands are the same: both omitted, or values that correspond.
    pub(crate) fn correspond(
        &self,
        (a, one): (&Model, Option<ValueId>),
        (b, two): (&Model, Option<ValueId>),
    ) -> bool {
        let (Some(one), Some(two)) = (one, two) else { return one.is_none() && two.is_none() };
        match (a.value(one).def(), b.value(two).def()) {
            (Def::Output { node: first, index }, Def::Output { node: second, index: other }) => {
                index == other && self.nodes.get(first) == Some(&second)
            }
            (Def::Input { .. } | Def::Initializer(_), Def::Input { .. } | Def::Initializer(_)) => {
                self.values.get(one) == Some(&two)
            }
            (Def::Unresolved(_), Def::Unresolved(_)) => {
                a.str(a.value(one).name()) == b.str(b.value(two).name())
            }
            _ => false,
        }
    }
}
