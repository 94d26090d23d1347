//! A minimum cut of a network, by Dinic's algorithm.

use std::collections::VecDeque;

use onnx_types::{Interrupt, Stopped, Watch};

/// A capacity that no cut contains.
pub(crate) const UNLIMITED: u64 = 1 << 40;

/// Paths between two checks of the interrupt.
const WATCHED_PATHS: u64 = 16;
/// Nodes of the network between two checks.
const WATCHED_NODES: u64 = 1 << 12;

/// A network of numbered nodes with directed edges.
pub(crate) struct Network {
    /// The edges of each node, as positions.
    edges_of: Vec<Vec<usize>>,
    /// Target and remaining capacity; an edge and its reverse are neighbors.
    edges: Vec<(usize, u64)>,
}

impl Network {
    /// A network with this number of nodes and no edges.
    pub(crate) fn new(nodes: usize) -> Self {
        Self { edges_of: vec![Vec::new(); nodes], edges: Vec::new() }
    }

    /// Adds a node.
    pub(crate) fn node(&mut self) -> usize {
        self.edges_of.push(Vec::new());
        self.edges_of.len() - 1
    }

    /// Adds an edge.
    pub(crate) fn edge(&mut self, from: usize, to: usize, capacity: u64) {
        self.edges_of[from].push(self.edges.len());
        self.edges.push((to, capacity));
        self.edges_of[to].push(self.edges.len());
        self.edges.push((from, 0));
    }

    /// The nodes on the side of the source in the minimum cut that has the most nodes there.
    pub(crate) fn source_side(
        mut self,
        source: usize,
        sink: usize,
        interrupt: &Interrupt,
    ) -> Result<Vec<bool>, Stopped> {
        let mut watch = Watch::silent(interrupt, WATCHED_PATHS);
        let mut nodes = Watch::silent(interrupt, WATCHED_NODES);
        while let Some(levels) = self.levels(source, sink, &mut nodes)? {
            watch.check()?;
            let mut next = vec![0; self.edges_of.len()];
            while self.augment(source, sink, &levels, &mut next) {
                watch.work(1)?;
            }
        }
        // What can still reach the sink is on its side.
        let mut reaches = vec![false; self.edges_of.len()];
        reaches[sink] = true;
        let mut open = VecDeque::from([sink]);
        while let Some(node) = open.pop_front() {
            nodes.work(1)?;
            for &edge in &self.edges_of[node] {
                let (other, _) = self.edges[edge];
                // The reverse of an edge of this node leads to it.
                if self.edges[edge ^ 1].1 > 0 && !reaches[other] {
                    reaches[other] = true;
                    open.push_back(other);
                }
            }
        }
        Ok(reaches.into_iter().map(|reaches| !reaches).collect())
    }

    /// The distance of each node from the source; `None` if the sink cannot be reached.
    fn levels(&self, source: usize, sink: usize, watch: &mut Watch) -> Result<Option<Vec<usize>>, Stopped> {
        let mut levels = vec![usize::MAX; self.edges_of.len()];
        levels[source] = 0;
        let mut open = VecDeque::from([source]);
        while let Some(node) = open.pop_front() {
            watch.work(1)?;
            for &edge in &self.edges_of[node] {
                let (target, capacity) = self.edges[edge];
                if capacity > 0 && levels[target] == usize::MAX {
                    levels[target] = levels[node] + 1;
                    open.push_back(target);
                }
            }
        }
        Ok((levels[sink] != usize::MAX).then_some(levels))
    }

    /// Sends flow along one shortest path, if there is one.
    fn augment(&mut self, source: usize, sink: usize, levels: &[usize], next: &mut [usize]) -> bool {
        let mut path: Vec<usize> = Vec::new();
        let mut at = source;
        while at != sink {
            let found = loop {
                let Some(&edge) = self.edges_of[at].get(next[at]) else { break None };
                let (target, capacity) = self.edges[edge];
                if capacity > 0 && levels[target] == levels[at] + 1 {
                    break Some((edge, target));
                }
                next[at] += 1;
            };
            match found {
                Some((edge, target)) => {
                    path.push(edge);
                    at = target;
                }
                None => {
                    // A dead end: its edge is not tried again.
                    let Some(edge) = path.pop() else { return false };
                    at = self.edges[edge ^ 1].0;
                    next[at] += 1;
                }
            }
        }
        let flow = path.iter().map(|&edge| self.edges[edge].1).min().unwrap_or(0);
        for &edge in &path {
            self.edges[edge].1 -= flow;
            self.edges[edge ^ 1].1 += flow;
        }
        flow > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_cut_is_found() {
        // 0 is the source, 5 the sink; the narrowest place is between 2 and 3.
        let mut network = Network::new(6);
        for (from, to, capacity) in [(0, 1, 9), (1, 2, 3), (2, 3, 2), (3, 4, 3), (4, 5, 9), (0, 2, 1)] {
            network.edge(from, to, capacity);
        }
        assert_eq!(
            network.source_side(0, 5, &Interrupt::NEVER).unwrap(),
            [true, true, true, false, false, false]
        );
    }

    #[test]
    fn of_equal_cuts_the_side_of_the_source_is_largest() {
        let mut network = Network::new(4);
        for (from, to) in [(0, 1), (1, 2), (2, 3)] {
            network.edge(from, to, 1);
        }
        assert_eq!(network.source_side(0, 3, &Interrupt::NEVER).unwrap(), [true, true, true, false]);
    }

    #[test]
    fn flow_takes_paths_back() {
        let mut network = Network::new(4);
        for (from, to) in [(0, 1), (0, 2), (1, 2), (1, 3), (2, 3)] {
            network.edge(from, to, 1);
        }
        // Two paths are full: everything but the sink is on the side of the source.
        assert_eq!(network.source_side(0, 3, &Interrupt::NEVER).unwrap(), [true, true, true, false]);
    }
}
