//! One graph as `petgraph` sees graphs.

use petgraph::Direction;
use petgraph::visit::{
    Data, GraphBase, GraphProp, IntoNeighbors, IntoNeighborsDirected, IntoNodeIdentifiers, NodeCount,
    NodeIndexable, VisitMap, Visitable,
};
use slotmap::SecondaryMap;
use smallvec::SmallVec;

use crate::entity::{GraphId, NodeId};
use crate::model::Model;

/// The nodes of one graph, with an edge from each node to every node of the same graph that needs one of its outputs,
/// itself or in its nested graphs.
///
/// The view implements the traits that `petgraph`'s algorithms require: topological sort, strongly connected
/// components, dominators, searches. Edges are read from the model on demand; only the indices of nodes are stored
/// separately. A node occurs among the neighbors once for each output that is needed and each need, as in any
/// multigraph.
///
/// ```
/// use onnx_ir::{Model, Position};
/// use onnx_schema::op;
///
/// let mut model = Model::new();
/// let graph = model.main_graph();
/// let x = model.add_graph_input(graph, "x", None);
/// let mut build = model.build_at(Position::End(graph));
/// let a = build.op(op::RELU, [x]).output()?;
/// let b = build.op(op::ADD, [a, a]).output()?;
/// let view = model.petgraph(graph);
/// let order = petgraph::algo::toposort(&view, None).unwrap();
/// let nodes = [model.value(a).producer().unwrap(), model.value(b).producer().unwrap()];
/// assert_eq!(order, nodes);
/// # Ok::<(), onnx_ir::EditError>(())
/// ```
pub struct GraphView<'a> {
    model: &'a Model,
    nodes: Vec<NodeId>,
    positions: SecondaryMap<NodeId, usize>,
}

impl Model {
    /// A graph as `petgraph` sees graphs: nodes and what they need of each other.
    ///
    /// # Panics
    ///
    /// Panics if the graph is not of this model or was removed.
    #[must_use]
    pub fn petgraph(&self, graph: GraphId) -> GraphView<'_> {
        let nodes: Vec<NodeId> = self.nodes(graph).collect();
        let positions = nodes.iter().enumerate().map(|(position, &node)| (node, position)).collect();
        GraphView { model: self, nodes, positions }
    }
}

/// Which nodes an algorithm has visited.
#[derive(Clone, Debug, Default)]
pub struct Visited(SecondaryMap<NodeId, ()>);

impl VisitMap<NodeId> for Visited {
    fn visit(&mut self, node: NodeId) -> bool {
        self.0.insert(node, ()).is_none()
    }

    fn is_visited(&self, node: &NodeId) -> bool {
        self.0.contains_key(*node)
    }

    fn unvisit(&mut self, node: NodeId) -> bool {
        self.0.remove(node).is_some()
    }
}

/// The neighbors of a node.
pub type Neighbors = smallvec::IntoIter<[NodeId; 8]>;

impl GraphBase for GraphView<'_> {
    type NodeId = NodeId;
    type EdgeId = (NodeId, NodeId);
}

impl Data for GraphView<'_> {
    type NodeWeight = NodeId;
    type EdgeWeight = ();
}

impl GraphProp for GraphView<'_> {
    type EdgeType = petgraph::Directed;
}

impl Visitable for GraphView<'_> {
    type Map = Visited;

    fn visit_map(&self) -> Visited {
        Visited(SecondaryMap::with_capacity(self.model.nodes.capacity()))
    }

    fn reset_map(&self, map: &mut Visited) {
        map.0.clear();
    }
}

impl NodeCount for GraphView<'_> {
    fn node_count(&self) -> usize {
        self.nodes.len()
    }
}

impl NodeIndexable for GraphView<'_> {
    fn node_bound(&self) -> usize {
        self.nodes.len()
    }

    fn to_index(&self, node: NodeId) -> usize {
        self.positions[node]
    }

    fn from_index(&self, index: usize) -> NodeId {
        self.nodes[index]
    }
}

impl petgraph::visit::NodeCompactIndexable for GraphView<'_> {}

impl<'a> IntoNodeIdentifiers for &'a GraphView<'_> {
    type NodeIdentifiers = std::iter::Copied<std::slice::Iter<'a, NodeId>>;

    fn node_identifiers(self) -> Self::NodeIdentifiers {
        self.nodes.iter().copied()
    }
}

impl IntoNeighbors for &GraphView<'_> {
    type Neighbors = Neighbors;

    fn neighbors(self, node: NodeId) -> Neighbors {
        self.neighbors_directed(node, Direction::Outgoing)
    }
}

impl IntoNeighborsDirected for &GraphView<'_> {
    type NeighborsDirected = Neighbors;

    fn neighbors_directed(self, node: NodeId, direction: Direction) -> Neighbors {
        let mut neighbors = SmallVec::new();
        match direction {
            Direction::Outgoing => self.model.for_each_successor(node, |next| neighbors.push(next)),
            Direction::Incoming => self.model.for_each_predecessor(node, |prev| neighbors.push(prev)),
        }
        neighbors.into_iter()
    }
}

impl std::fmt::Debug for GraphView<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "GraphView({} nodes)", self.nodes.len())
    }
}
