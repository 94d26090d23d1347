//! Making, moving and erasing nodes, values, graphs and functions.

mod attributes;
mod functions;
mod graphs;
mod nodes;
mod values;

use thiserror::Error;

use crate::entity::{GraphId, NodeId, ValueId};

/// Why an edit was refused. The model is unchanged.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum EditError {
    /// The node, value, graph or function is not in the model (any more).
    #[error("the key is not in this model: erased, or of another model")]
    Gone,
    /// A value is still used, so what defines it cannot go.
    #[error("{value} is still used {uses} times: replace its uses first")]
    StillUsed {
        /// The value.
        value: ValueId,
        /// Number of its uses.
        uses: usize,
    },
    /// A value already has a definition.
    #[error("{value} already has a definition: make a new value for the output")]
    AlreadyDefined {
        /// The value.
        value: ValueId,
    },
    /// A graph belongs to something already.
    #[error("{graph} already has an owner: only a detached graph can become part of a node")]
    AlreadyOwned {
        /// The graph.
        graph: GraphId,
    },
    /// A graph cannot become part of a node that it contains.
    #[error("{graph} cannot become part of a node that it contains")]
    AroundItself {
        /// The graph.
        graph: GraphId,
    },
    /// An imported part uses a value from outside, and nothing was mapped to it.
    #[error("{value} of the other model is outside the imported part: map it to a value")]
    NotMapped {
        /// The value of the other model.
        value: ValueId,
    },
    /// The model has another function of the same domain, name and overload.
    #[error("the model has another function of this domain, name and overload: rename one of them first")]
    FunctionExists,
    /// A node cannot move into a graph that is part of itself.
    #[error("{node} cannot move into {graph}, which is part of it")]
    IntoItself {
        /// The node.
        node: NodeId,
        /// The graph.
        graph: GraphId,
    },
}
