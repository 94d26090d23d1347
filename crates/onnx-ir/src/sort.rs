//! Topological order of nodes.

use std::fmt;

use foldhash::fast::RandomState;
use slotmap::SparseSecondaryMap;

use crate::changes::Aspects;
use crate::entity::{GraphId, NodeId, ValueId};
use crate::model::Model;
use crate::places::Places;
use crate::value::Def;
use crate::walk::Event;

/// Nodes of a graph that form a cycle: each needs an output of the next, the last one of the first.
///
/// Its text names the nodes as a locus does: index, operator and name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Cycle {
    /// The nodes.
    pub nodes: Vec<NodeId>,
    /// The nodes that are written out, which the text names without the model.
    shown: Vec<String>,
}

/// The most nodes of a cycle that are written out.
const MOST_SHOWN: usize = 16;

impl fmt::Display for Cycle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("nodes need each other's outputs: ")?;
        for node in &self.shown {
            write!(f, "{node} <- ")?;
        }
        if self.nodes.len() > self.shown.len() {
            write!(f, "({} more) <- ", self.nodes.len() - self.shown.len())?;
        }
        f.write_str(self.shown.first().map_or("", String::as_str))
    }
}

impl std::error::Error for Cycle {}

/// The state of a node during the traversal.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// Its producers are being placed.
    Open,
    /// It has its place.
    Placed,
}

impl Model {
    /// Calls `visit` with every value that a node uses: its inputs, the values that its attributes name, and whatever is used in its nested graphs at any
    /// depth, values that those define themselves included.
    ///
    /// # Panics
    ///
    /// Panics if the node is not of this model or was erased.
    pub fn for_each_use_within(&self, node: NodeId, mut visit: impl FnMut(ValueId)) {
        let record = &self.nodes[node];
        record.used_values().for_each(&mut visit);
        for event in record.nested_graphs().flat_map(|graph| self.walk(graph)) {
            match event {
                Event::Node(inner) => self.nodes[inner].used_values().for_each(&mut visit),
                Event::Leave(graph) => {
                    self.graphs[graph].outputs.iter().for_each(|output| visit(output.value));
                }
                Event::Enter(_) | Event::After(_) => {}
            }
        }
    }

    /// Calls `visit` with the nodes of the same graph whose outputs a node needs, those needed only inside its nested
    /// graphs included; with a node several times where several outputs are needed or one is needed repeatedly.
    ///
    /// # Panics
    ///
    /// Panics if the node is not of this model or was erased.
    pub fn for_each_predecessor(&self, node: NodeId, mut visit: impl FnMut(NodeId)) {
        let graph = self.nodes[node].graph;
        self.for_each_use_within(node, |value| {
            if let Def::Output { node: producer, .. } = self.values[value].def
                && self.nodes[producer].graph == graph
            {
                visit(producer);
            }
        });
    }

    fn cycle(&self, nodes: Vec<NodeId>) -> Cycle {
        let places = Places::new(self);
        let shown = nodes.iter().take(MOST_SHOWN).map(|&node| {
            let node = places.node_step(node).to_string();
            node.strip_prefix("node ").unwrap_or(&node).to_owned()
        });
        Cycle { shown: shown.collect(), nodes }
    }

    /// Returns `true` if every node of a graph follows all nodes whose outputs it needs, including those that only its
    /// nested graphs need. The order in the nested graphs themselves is not checked.
    ///
    /// # Panics
    ///
    /// Panics if the graph is not of this model or was removed.
    #[must_use]
    pub fn is_sorted(&self, graph: GraphId) -> bool {
        self.nodes(graph).all(|node| self.is_after_predecessors(node))
    }

    /// Returns `true` if a node follows all nodes whose outputs it needs, itself or in its nested graphs.
    pub(crate) fn is_after_predecessors(&self, node: NodeId) -> bool {
        let order = self.nodes[node].order;
        let mut is_after = true;
        self.for_each_predecessor(node, |producer| is_after &= self.nodes[producer].order < order);
        is_after
    }

    /// Sorts the nodes of a graph topologically.
    ///
    /// A node stays where it is unless a node before it needs its outputs: then it moves to just before the first such
    /// node, after the nodes that it needs itself. A sorted graph is unchanged. Uses in nested graphs count as inputs
    /// of their node; the nested graphs themselves are not sorted: see [`Model::sort_all`].
    ///
    /// It takes time linear in the nodes and uses, apart from sorting the producers of each node that moves others.
    ///
    /// # Errors
    ///
    /// Returns an error if the dependencies of nodes form a cycle. The order is unchanged then.
    ///
    /// # Panics
    ///
    /// Panics if the graph is not of this model or was removed.
    pub fn sort(&mut self, graph: GraphId) -> Result<(), Cycle> {
        if self.is_sorted(graph) {
            return Ok(());
        }
        let order = self.sorted_nodes(graph)?;
        self.names_touched = true;
        if self.changes.is_on() {
            self.record_moves(&order);
        }
        self.relink(graph, &order);
        Ok(())
    }

    /// Sorts the nodes of every graph of the model, detached ones included.
    ///
    /// # Errors
    ///
    /// Returns an error if the dependencies of nodes form a cycle. Some graphs may be sorted already then.
    pub fn sort_all(&mut self) -> Result<(), Cycle> {
        let graphs: Vec<GraphId> = self.graphs.keys().collect();
        graphs.into_iter().try_for_each(|graph| self.sort(graph))
    }

    /// The nodes of a graph in the order that [`Model::sort`] would give them; the graph is left as it is.
    ///
    /// # Errors
    ///
    /// Returns an error if the dependencies of nodes form a cycle.
    ///
    /// # Panics
    ///
    /// Panics if the graph is not of this model or was removed.
    pub fn sorted_nodes(&self, graph: GraphId) -> Result<Vec<NodeId>, Cycle> {
        let mut order = Vec::with_capacity(self.graphs[graph].node_count);
        // Its cost is that of this graph, of which a model may have many.
        let mut states: SparseSecondaryMap<NodeId, State, RandomState> = SparseSecondaryMap::default();
        states.reserve(self.graphs[graph].node_count);
        // The nodes that are open, each with the place where its producers begin in `waiting`.
        let mut open: Vec<(NodeId, usize)> = Vec::new();
        let mut waiting: Vec<NodeId> = Vec::new();
        for start in self.nodes(graph) {
            waiting.push(start);
            while let Some(&node) = waiting.last() {
                match (states.get(node), open.last()) {
                    (Some(State::Placed), _) => {
                        waiting.pop();
                    }
                    // All its producers have been placed, as it is on top of the stack again.
                    (Some(State::Open), Some(&(top, begin))) if top == node && waiting.len() == begin => {
                        waiting.pop();
                        open.pop();
                        states.insert(node, State::Placed);
                        order.push(node);
                    }
                    (Some(State::Open), _) => {
                        let nodes = open.iter().map(|&(open, _)| open);
                        return Err(self.cycle(nodes.skip_while(|&open| open != node).collect()));
                    }
                    (None, _) => {
                        states.insert(node, State::Open);
                        let begin = waiting.len();
                        open.push((node, begin));
                        self.for_each_predecessor(node, |producer| {
                            if states.get(producer) != Some(&State::Placed) {
                                waiting.push(producer);
                            }
                        });
                        // The stack is emptied from its end: the first of them goes last.
                        if let Some(producers) = waiting.get_mut(begin..) {
                            producers.sort_unstable_by_key(|&node| std::cmp::Reverse(self.nodes[node].order));
                        }
                    }
                }
            }
        }
        Ok(order)
    }

    /// Records which nodes a new order moves: those that follow a node that now comes later. Sorting moves nodes to the
    /// front only, so the others keep their relative order.
    fn record_moves(&mut self, order: &[NodeId]) {
        let mut first = u64::MAX;
        for &node in order.iter().rev() {
            let key = self.nodes[node].order;
            self.record(node, Aspects::POSITION.when(key > first));
            first = first.min(key);
        }
    }

    /// Chains all nodes of a graph in another order.
    fn relink(&mut self, graph: GraphId, order: &[NodeId]) {
        let record = &mut self.graphs[graph];
        record.first = None;
        record.last = None;
        record.node_count = 0;
        let mut prev = None;
        for &node in order {
            self.link(node, graph, prev, None);
            prev = Some(node);
        }
    }
}
