//! Walking over nodes while they are edited.

use std::collections::VecDeque;

use crate::entity::{GraphId, NodeId};
use crate::model::Model;

/// A walk over the nodes of a graph during which the graph may be edited at will.
///
/// The cursor visits the nodes that the graph contained when it was created, in their order at that time. Any of them
/// may be erased or moved meanwhile, including the current one and later ones: erased nodes are skipped, all others are
/// visited once. Nodes that are inserted meanwhile are not visited, so that a pass terminates although it inserts
/// nodes; [`Cursor::visit`] schedules one explicitly.
///
/// ```
/// use onnx_ir::{Cursor, Model, NewNode, Position};
/// use onnx_schema::op;
///
/// let mut model = Model::new();
/// let graph = model.main_graph();
/// for op in [op::RELU, op::IDENTITY, op::IDENTITY, op::ABS] {
///     model.add_node(Position::End(graph), NewNode::new(op))?;
/// }
/// let mut cursor = Cursor::new(&model, graph);
/// while let Some(node) = cursor.next(&model) {
///     if model.node(node).is(op::IDENTITY) {
///         model.erase_node(node)?;
///     }
/// }
/// assert_eq!(model.graph(graph).node_count(), 2);
/// # Ok::<(), onnx_ir::EditError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Cursor {
    waiting: VecDeque<NodeId>,
}

impl Cursor {
    /// A walk over the nodes of one graph, nested graphs not included.
    ///
    /// # Panics
    ///
    /// Panics if the graph is not of this model or was removed.
    #[must_use]
    pub fn new(model: &Model, graph: GraphId) -> Self {
        Self { waiting: model.nodes(graph).collect() }
    }

    /// A walk over the nodes of one graph from the last to the first.
    ///
    /// # Panics
    ///
    /// Panics if the graph is not of this model or was removed.
    #[must_use]
    pub fn reversed(model: &Model, graph: GraphId) -> Self {
        Self { waiting: model.nodes(graph).rev().collect() }
    }

    /// A walk over the nodes of a graph, each followed by the nodes of its nested graphs.
    ///
    /// # Panics
    ///
    /// Panics if the graph is not of this model or was removed.
    #[must_use]
    pub fn nested(model: &Model, graph: GraphId) -> Self {
        Self { waiting: model.nodes_in(graph).collect() }
    }

    /// A walk over all nodes of the model: main graph, training graphs and functions, with everything nested in them. It goes
    /// graph by graph: the nodes of a nested graph come after all nodes of the graph around it, unlike with
    /// [`nested`](Self::nested).
    #[must_use]
    pub fn all(model: &Model) -> Self {
        Self { waiting: model.all_graphs().flat_map(|graph| model.nodes(graph)).collect() }
    }

    /// The next node that is still there.
    pub fn next(&mut self, model: &Model) -> Option<NodeId> {
        loop {
            let node = self.waiting.pop_front()?;
            if model.get_node(node).is_some() {
                return Some(node);
            }
        }
    }

    /// Lets a node be visited next, whether or not it was visited before.
    pub fn visit(&mut self, node: NodeId) {
        self.waiting.push_front(node);
    }
}
