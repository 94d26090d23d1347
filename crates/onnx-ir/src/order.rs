//! The order of nodes: links to both neighbors, and order keys that make "is A before B" one comparison.
//!
//! Keys ascend along the list with gaps between them, like line numbers in BASIC. An insertion takes the middle of the
//! gap; if the gap is empty, the smallest sufficiently sparse range of keys around the insertion point is spread
//! evenly, which costs O(log n) amortized per insertion, for any sequence of insertions (Bender, Cole, Demaine,
//! Farach-Colton, Zito: *Two simplified algorithms for maintaining order in a list*, 2002).

use crate::entity::{GraphId, NodeId};
use crate::model::Model;

/// The gap between nodes that are appended.
const STRIDE: u64 = 1 << 24;

/// The key of the first node of a graph, in the middle of all keys.
const FIRST: u64 = 1 << 63;

/// How much sparser each doubling of a range must be than the one before to count as having room.
const THRESHOLD: f64 = 1.4;

/// A place in a graph's list of nodes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Position {
    /// Before all nodes of the graph.
    Start(GraphId),
    /// After all nodes of the graph.
    End(GraphId),
    /// Just before a node.
    Before(NodeId),
    /// Just after a node.
    After(NodeId),
}

impl Model {
    /// The neighbors of a node inserted at `at`, and the graph.
    pub(crate) fn neighbours(&self, at: Position) -> (GraphId, Option<NodeId>, Option<NodeId>) {
        match at {
            Position::Start(graph) => (graph, None, self.graphs[graph].first),
            Position::End(graph) => (graph, self.graphs[graph].last, None),
            Position::Before(node) => {
                let record = &self.nodes[node];
                (record.graph, record.prev, Some(node))
            }
            Position::After(node) => {
                let record = &self.nodes[node];
                (record.graph, Some(node), record.next)
            }
        }
    }

    /// Inserts a node, which is not in a list, between two neighbors of a graph.
    pub(crate) fn link(&mut self, node: NodeId, graph: GraphId, prev: Option<NodeId>, next: Option<NodeId>) {
        let order = self.order_between(prev, next);
        self.link_with(node, graph, (prev, next), order);
    }

    /// Inserts a node like [`link`](Self::link), with a key between those of its neighbors.
    pub(crate) fn link_with(
        &mut self,
        node: NodeId,
        graph: GraphId,
        (prev, next): (Option<NodeId>, Option<NodeId>),
        order: u64,
    ) {
        let record = &mut self.nodes[node];
        record.graph = graph;
        record.prev = prev;
        record.next = next;
        record.order = order;
        match prev {
            Some(prev) => self.nodes[prev].next = Some(node),
            None => self.graphs[graph].first = Some(node),
        }
        match next {
            Some(next) => self.nodes[next].prev = Some(node),
            None => self.graphs[graph].last = Some(node),
        }
        self.graphs[graph].node_count += 1;
    }

    /// Removes a node from its list.
    pub(crate) fn unlink(&mut self, node: NodeId) {
        let record = &mut self.nodes[node];
        let (graph, prev, next) = (record.graph, record.prev.take(), record.next.take());
        match prev {
            Some(prev) => self.nodes[prev].next = next,
            None => self.graphs[graph].first = next,
        }
        match next {
            Some(next) => self.nodes[next].prev = prev,
            None => self.graphs[graph].last = prev,
        }
        self.graphs[graph].node_count -= 1;
    }

    /// The key of a node that comes after `last`, the last one of its graph.
    #[inline]
    pub(crate) fn order_at_end(&mut self, last: Option<NodeId>) -> u64 {
        match last.and_then(|last| self.nodes[last].order.checked_add(STRIDE)) {
            Some(order) if order < u64::MAX => order,
            _ => self.order_between(last, None),
        }
    }

    /// Keys for nodes that are inserted between two neighbors, evenly spread; none if the gap is too small or at an end of the
    /// list.
    pub(crate) fn orders_between(
        &self,
        prev: Option<NodeId>,
        next: Option<NodeId>,
        count: usize,
    ) -> impl Iterator<Item = u64> + use<> {
        let ends = prev.zip(next).map(|(prev, next)| (self.nodes[prev].order, self.nodes[next].order));
        let step = |(low, high): (u64, u64)| high.saturating_sub(low) / (count as u64).saturating_add(1);
        let (first, step) = ends.map_or((0, 0), |ends| (ends.0, step(ends)));
        let count = if step == 0 { 0 } else { count as u64 };
        (1..=count).map(move |index| first.saturating_add(index.saturating_mul(step)))
    }

    fn order_between(&mut self, prev: Option<NodeId>, next: Option<NodeId>) -> u64 {
        loop {
            let low = prev.map_or(0, |prev| self.nodes[prev].order);
            let high = next.map_or(u64::MAX, |next| self.nodes[next].order);
            // Lists grow at either end by one stride per node; everything else halves the gap.
            let stride = match (prev, next) {
                (None, None) => Some(FIRST),
                (Some(_), None) => low.checked_add(STRIDE),
                (None, Some(_)) => high.checked_sub(STRIDE),
                (Some(_), Some(_)) => None,
            };
            let order = stride.unwrap_or(low + (high - low) / 2);
            if low < order && order < high {
                return order;
            }
            // One of the two exists, as an empty list never runs out of keys.
            if let Some(crowded) = prev.or(next) {
                self.spread(crowded);
            }
        }
    }

    /// Spreads the keys around a node evenly over the smallest range that is sparse enough.
    fn spread(&mut self, node: NodeId) {
        let base = self.nodes[node].order;
        let (mut first, mut last, mut count) = (node, node, 1_u64);
        let mut capacity = 1.0_f64;
        for bits in 1..=63_u32 {
            capacity *= 2.0 / THRESHOLD;
            let low = base & !((1_u64 << bits) - 1);
            let high = low + ((1_u64 << bits) - 1);
            while let Some(prev) = self.nodes[first].prev.filter(|&prev| self.nodes[prev].order >= low) {
                first = prev;
                count += 1;
            }
            while let Some(next) = self.nodes[last].next.filter(|&next| self.nodes[next].order <= high) {
                last = next;
                count += 1;
            }
            // A step of at least four leaves room on both sides of every node.
            let step = (high - low) / (count + 1);
            if (count as f64) < capacity && step >= 4 {
                let mut order = low;
                let mut at = Some(first);
                for _ in 0..count {
                    let Some(current) = at else { break };
                    order += step;
                    self.nodes[current].order = order;
                    #[cfg(test)]
                    {
                        self.relabelled += 1;
                    }
                    at = self.nodes[current].next;
                }
                return;
            }
        }
    }

    /// Returns `true` if node `a` precedes node `b`; both must be in the same graph.
    ///
    /// # Panics
    ///
    /// Panics if a key is not of this model.
    #[must_use]
    pub fn is_before(&self, a: NodeId, b: NodeId) -> bool {
        debug_assert_eq!(self.nodes[a].graph, self.nodes[b].graph, "nodes of two graphs have no order");
        self.nodes[a].order < self.nodes[b].order
    }

    /// A number that grows along the nodes of a graph: sorting nodes of one graph by it puts them in order. It changes when
    /// nodes are inserted or moved.
    ///
    /// # Panics
    ///
    /// Panics if the node is not of this model or was erased.
    #[must_use]
    pub fn order_key(&self, node: NodeId) -> u64 {
        self.nodes[node].order
    }
}
