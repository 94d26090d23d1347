//! Iterators over graphs, nodes and uses.

use std::collections::HashSet;

use foldhash::fast::RandomState;

use crate::entity::{GraphId, NodeId, ValueId};
use crate::graph::{Graph, Owner};
use crate::model::Model;
use crate::node::Node;
use crate::value::User;

/// Walks graphs and everything nested in them; see [`Model::graphs_in`].
struct Graphs<'a> {
    model: &'a Model,
    stack: Vec<GraphId>,
    /// Upper bound on the number of nested graphs that are not yet visited. At 0, nodes need not be searched for them:
    /// most models have one graph with many nodes.
    left: usize,
}

impl Iterator for Graphs<'_> {
    type Item = GraphId;

    fn next(&mut self) -> Option<GraphId> {
        let graph = self.stack.pop()?;
        if self.left == 0 {
            return Some(graph);
        }
        let begin = self.stack.len();
        for node in self.model.nodes(graph) {
            self.stack.extend(self.model.nodes[node].nested_graphs());
        }
        if graph == self.model.main {
            self.stack.extend(self.model.algorithms());
        }
        if let Some(children) = self.stack.get_mut(begin..) {
            children.reverse();
            self.left = self.left.saturating_sub(children.len());
        }
        Some(graph)
    }
}

/// The nodes of a graph with those of nested graphs; see [`Model::nodes_in`]. It does less for each node than a
/// [`Walk`](crate::Walk), which reports their ends, too.
struct NodesIn<'a> {
    model: &'a Model,
    next: Option<NodeId>,
    /// Where to continue at the end of a list: the first nodes of nested graphs that follow, and the successors of the nodes
    /// that hold them; last first.
    rest: Vec<NodeId>,
}

impl NodesIn<'_> {
    /// Visits the graphs nested in a node before the node that follows it.
    fn descend(&mut self, node: &Node) {
        let begin = self.rest.len();
        let graphs = node.nested_graphs().filter_map(|graph| self.model.graphs.get(graph));
        self.rest.extend(graphs.filter_map(|graph| graph.first));
        if self.rest.len() > begin {
            self.rest.extend(self.next.take());
        }
        if let Some(added) = self.rest.get_mut(begin..) {
            added.reverse();
        }
    }
}

impl Iterator for NodesIn<'_> {
    type Item = NodeId;

    #[inline]
    fn next(&mut self) -> Option<NodeId> {
        let node = self.next.or_else(|| self.rest.pop())?;
        let record = &self.model.nodes[node];
        self.next = record.next;
        if !record.attributes.is_empty() {
            self.descend(record);
        }
        Some(node)
    }
}

impl Model {
    /// A graph and all graphs nested in it, each before those nested in it. The training algorithms count as nested in the
    /// main graph, as they see its names.
    ///
    /// # Panics
    ///
    /// Panics if the graph is not of this model or was removed.
    pub fn graphs_in(&self, graph: GraphId) -> impl Iterator<Item = GraphId> + '_ {
        Graphs { model: self, stack: vec![graph], left: self.graphs.len().saturating_sub(1) }
    }

    /// All graphs that belong to the model: the main graph with everything nested in it, training graphs, functions.
    /// Detached graphs are not among them.
    pub fn all_graphs(&self) -> impl Iterator<Item = GraphId> + '_ {
        let mut roots: Vec<GraphId> = self.roots().collect();
        roots.reverse();
        let is_nested = |record: &&Graph| matches!(record.owner, Owner::Node(_) | Owner::Algorithm);
        Graphs { model: self, stack: roots, left: self.graphs.values().filter(is_nested).count() }
    }

    /// The nodes of a graph in order, each followed by the nodes of its nested graphs. Unlike
    /// [`graphs_in`](Self::graphs_in) it does not include training algorithms. See [`walk`](Self::walk) for more.
    pub fn nodes_in(&self, graph: GraphId) -> impl Iterator<Item = NodeId> + '_ {
        NodesIn { model: self, next: self.graphs.get(graph).and_then(|graph| graph.first), rest: Vec::new() }
    }

    /// The outer values that a graph uses, itself or in graphs nested in it: its captures. Each occurs once, in the
    /// order of first use, graph by graph in the order of [`Model::graphs_in`].
    ///
    /// # Panics
    ///
    /// Panics if the graph is not of this model or was removed.
    #[must_use]
    pub fn captures(&self, graph: GraphId) -> Vec<ValueId> {
        let graphs: Vec<GraphId> = self.graphs_in(graph).collect();
        // Sets, not tables by key: their cost is that of this graph, whatever the size of the model.
        let inside: HashSet<GraphId, RandomState> = graphs.iter().copied().collect();
        let mut seen: HashSet<ValueId, RandomState> = HashSet::default();
        let mut captures = Vec::new();
        let mut visit = |value| {
            if !inside.contains(&self.graph_of(value)) && seen.insert(value) {
                captures.push(value);
            }
        };
        for &graph in &graphs {
            for node in self.nodes(graph) {
                self.nodes[node].used_values().for_each(&mut visit);
            }
            self.graphs[graph].outputs.iter().for_each(|output| visit(output.value));
        }
        captures
    }

    /// The nodes that use a value, as an input or in an attribute that names it, nodes of nested graphs included; a node occurs once
    /// for each of its uses.
    ///
    /// # Panics
    ///
    /// Panics if the value is not of this model or was erased.
    pub fn consumers(&self, value: ValueId) -> impl Iterator<Item = NodeId> + '_ {
        self.values[value].uses.iter().filter_map(|at| at.user.node())
    }

    /// The inputs of nodes that are a value, nodes of nested graphs included: which node, and which of its inputs. The list
    /// is a copy, so the uses can be edited while it is walked.
    ///
    /// # Panics
    ///
    /// Panics if the value is not of this model or was erased.
    #[must_use]
    pub fn node_uses(&self, value: ValueId) -> Vec<(NodeId, usize)> {
        let uses = self.values[value].uses.iter();
        uses.filter_map(|at| match at.user {
            User::Node(node) => Some((node, at.index as usize)),
            User::Attribute(_) | User::Graph(_) => None,
        })
        .collect()
    }

    /// The only user of a value: the node, and which of its inputs it is. `None` when there are several uses or none, or
    /// when the use is an output of a graph.
    ///
    /// # Panics
    ///
    /// Panics if the value is not of this model or was erased.
    #[must_use]
    pub fn sole_consumer(&self, value: ValueId) -> Option<(NodeId, usize)> {
        match *self.values[value].uses.as_slice() {
            [crate::Use { user: User::Node(node), index }] => Some((node, index as usize)),
            _ => None,
        }
    }

    /// The node that makes an input of a node, in the same graph or an outer one.
    ///
    /// # Panics
    ///
    /// Panics if the node is not of this model or was erased.
    #[must_use]
    pub fn input_producer(&self, node: NodeId, index: usize) -> Option<NodeId> {
        self.values[self.nodes[node].input(index)?].producer()
    }

    /// Whether a value is an output of any graph.
    ///
    /// # Panics
    ///
    /// Panics if the value is not of this model or was erased.
    #[must_use]
    pub fn is_graph_output(&self, value: ValueId) -> bool {
        self.values[value].graph_uses > 0
    }

    /// Calls `visit` with the nodes of the same graph that need an output of a node, themselves or in their nested graphs;
    /// with a node several times where it needs several or one repeatedly.
    ///
    /// # Panics
    ///
    /// Panics if the node is not of this model or was erased.
    pub fn for_each_successor(&self, node: NodeId, mut visit: impl FnMut(NodeId)) {
        let record = &self.nodes[node];
        for &value in record.outputs.iter().flatten() {
            for at in &self.values[value].uses {
                let user = match at.user {
                    User::Node(user) | User::Attribute(user) => self.ancestor_in(user, record.graph),
                    User::Graph(graph) => {
                        self.owner_node(graph).and_then(|user| self.ancestor_in(user, record.graph))
                    }
                };
                user.into_iter().for_each(&mut visit);
            }
        }
    }

    /// The node whose attribute holds a graph.
    ///
    /// # Panics
    ///
    /// Panics if the graph is not of this model or was removed.
    #[must_use]
    pub fn owner_node(&self, graph: GraphId) -> Option<NodeId> {
        match self.graphs[graph].owner {
            Owner::Node(node) => Some(node),
            _ => None,
        }
    }
}
