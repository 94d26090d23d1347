//! Growth of a repeated block: all occurrences grow by one node at a time, along edges that all of them have.

use std::collections::BTreeSet;

use onnx_ir::Model;
use onnx_types::tensor::NoData;
use onnx_types::{Interrupt, Stopped, Watch};

use super::flow::{Edge, Flow, Source, WATCHED_NODES};

/// Number of uses of a node beyond which growth does not follow them.
const MAX_USES: usize = 256;
/// Number of times that occurrences are dropped so that the others can grow.
const MAX_DROPS: usize = 6;

/// A repeated block.
#[derive(Clone, Debug, Default)]
pub(super) struct Block {
    /// The nodes of each occurrence; nodes at the same index correspond to each other.
    pub(super) occurrences: Vec<Vec<usize>>,
}

impl Block {
    /// Number of nodes of each occurrence.
    pub(super) fn len(&self) -> usize {
        self.occurrences.first().map_or(0, Vec::len)
    }

    /// The number of nodes by which the model becomes smaller if the block is a function.
    pub(super) fn savings(&self) -> usize {
        let (count, len) = (self.occurrences.len(), self.len());
        count.saturating_mul(len).saturating_sub(count).saturating_sub(len)
    }
}

/// An edge from a node of an occurrence to a neighbor.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Step {
    /// The producer of an operand.
    Producer { slot: usize, input: usize },
    /// A node that uses an output as this operand; `number` counts such users that are not in the occurrence.
    User { slot: usize, output: usize, input: usize, number: usize },
}

/// The occurrence and the slot of a node in the block that is grown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Place {
    occurrence: usize,
    slot: usize,
}

/// The source of an operand within an occurrence: the slot and the index of an output, or `None` for an outside value.
type Link = Option<(usize, usize)>;

pub(super) struct Grower<'a> {
    model: &'a Model,
    flow: &'a Flow,
    /// The nodes that are part of other blocks.
    is_taken: &'a [bool],
    places: Vec<Option<Place>>,
    /// The number of the last step that considered a node: one node cannot be the neighbor of two occurrences.
    stamps: Vec<usize>,
    stamp: usize,
    block: Block,
    /// Steps from slots that were not tried since the last change.
    open: Vec<usize>,
    /// Steps that some of the occurrences cannot take.
    failed: BTreeSet<Step>,
    watch: Watch,
}

impl<'a> Grower<'a> {
    pub(super) fn new(model: &'a Model, flow: &'a Flow, is_taken: &'a [bool], interrupt: &Interrupt) -> Self {
        let count = flow.nodes.len();
        Self {
            model,
            flow,
            is_taken,
            places: vec![None; count],
            stamps: vec![0; count],
            stamp: 0,
            block: Block::default(),
            open: Vec::new(),
            failed: BTreeSet::new(),
            watch: Watch::silent(interrupt, WATCHED_NODES),
        }
    }

    /// Grows a block from nodes, one of each occurrence, and returns the one that saves the most nodes.
    pub(super) fn grow(&mut self, seeds: &[usize]) -> Result<Block, Stopped> {
        let first = seeds.first().copied();
        let is_equal = |&node: &usize| first.is_some_and(|first| self.is_same(first, node));
        let seeds: Vec<usize> = seeds.iter().copied().filter(is_equal).collect();
        self.block = Block { occurrences: vec![Vec::new(); seeds.len()] };
        self.failed.clear();
        let mut best = Block::default();
        if seeds.len() > 1 {
            self.add(&seeds);
            for _ in 0..=MAX_DROPS {
                self.expand()?;
                if self.block.savings() > best.savings() {
                    best = self.block.clone();
                }
                if !self.drop_some()? {
                    break;
                }
            }
        }
        for &node in self.block.occurrences.iter().flatten() {
            self.places[node] = None;
        }
        Ok(best)
    }

    /// Adds one node to each occurrence, as a new slot.
    fn add(&mut self, nodes: &[usize]) {
        let slot = self.block.len();
        for (occurrence, &node) in nodes.iter().enumerate() {
            self.places[node] = Some(Place { occurrence, slot });
            self.block.occurrences[occurrence].push(node);
        }
        self.open.push(slot);
    }

    /// Takes all steps that all occurrences can take. Steps along operands come first, because each operand has one
    /// producer.
    fn expand(&mut self) -> Result<(), Stopped> {
        let mut later: Vec<usize> = Vec::new();
        loop {
            if let Some(slot) = self.open.pop() {
                let inputs = self.flow.operands[self.block.occurrences[0][slot]].len();
                for input in 0..inputs {
                    self.take(Step::Producer { slot, input })?;
                }
                later.push(slot);
            } else if let Some(slot) = later.pop() {
                for step in self.user_steps(slot) {
                    self.take(step)?;
                }
            } else {
                return Ok(());
            }
        }
    }

    /// The steps to users of the outputs of a slot that the first occurrence has. The last of several users comes
    /// first, because adding it does not change the numbers of those before it.
    fn user_steps(&self, slot: usize) -> Vec<Step> {
        let node = self.block.occurrences[0][slot];
        let uses = &self.flow.uses[node];
        if uses.len() > MAX_USES {
            return Vec::new();
        }
        let mut ports: Vec<(usize, usize)> = uses.iter().map(|edge| (edge.output, edge.input)).collect();
        ports.sort_unstable();
        ports.dedup();
        let steps = ports.into_iter().flat_map(|(output, input)| {
            let count = self.users(0, slot, output, input).len();
            (0..count).rev().map(move |number| Step::User { slot, output, input, number })
        });
        steps.collect()
    }

    /// The nodes that use an output of a slot as an operand and are not in the occurrence, in the order of the graph.
    fn users(&self, occurrence: usize, slot: usize, output: usize, input: usize) -> Vec<usize> {
        let node = self.block.occurrences[occurrence][slot];
        let uses = self.flow.uses[node].iter();
        let users = uses.filter(|edge| (edge.output, edge.input) == (output, input)).map(|edge| edge.user);
        let is_outside = |user: &usize| self.places[*user].is_none_or(|place| place.occurrence != occurrence);
        users.filter(is_outside).collect()
    }

    /// The node to which a step leads from an occurrence, if it can become part of it.
    fn neighbor(&self, occurrence: usize, step: Step) -> Option<usize> {
        let node = match step {
            Step::Producer { slot, input } => {
                let node = self.block.occurrences[occurrence][slot];
                match *self.flow.operands[node].get(input)? {
                    Source::Node { node, .. } => node,
                    Source::Omitted | Source::Outside(_) => return None,
                }
            }
            Step::User { slot, output, input, number } => {
                let node = self.block.occurrences[occurrence][slot];
                if self.flow.uses[node].len() > MAX_USES {
                    return None;
                }
                *self.users(occurrence, slot, output, input).get(number)?
            }
        };
        let is_free = self.places[node].is_none() && !self.is_taken[node] && self.flow.labels[node].is_some();
        is_free.then_some(node)
    }

    /// Adds the nodes to which a step leads if all occurrences have one, and these correspond to each other.
    fn take(&mut self, step: Step) -> Result<(), Stopped> {
        let Some(first) = self.neighbor(0, step) else { return Ok(()) };
        self.watch.work(self.block.occurrences.len() as u64)?;
        let links = self.links(0, first);
        self.stamp += 1;
        let mut nodes = Vec::with_capacity(self.block.occurrences.len());
        for occurrence in 0..self.block.occurrences.len() {
            match self.neighbor(occurrence, step) {
                Some(node) if self.corresponds(occurrence, node, first, &links) => nodes.push(node),
                _ => {
                    self.failed.insert(step);
                    return Ok(());
                }
            }
        }
        self.failed.remove(&step);
        self.add(&nodes);
        Ok(())
    }

    /// Returns `true` if a node can correspond to `first`: it has the same operator and attributes, and is connected to
    /// its occurrence in the same way as `first` to its own.
    fn corresponds(
        &mut self,
        occurrence: usize,
        node: usize,
        first: usize,
        links: &(Vec<Link>, Vec<Edge>),
    ) -> bool {
        if std::mem::replace(&mut self.stamps[node], self.stamp) == self.stamp {
            return false;
        }
        node == first || (self.is_same(first, node) && self.links(occurrence, node) == *links)
    }

    fn is_same(&self, a: usize, b: usize) -> bool {
        let [first, second] = [a, b].map(|node| self.flow.nodes[node]);
        self.flow.labels[a] == self.flow.labels[b] && self.model.same_operator_meaning(first, second, &NoData)
    }

    /// The links of a node to an occurrence: for each operand, and for each use of its outputs in the occurrence.
    fn links(&self, occurrence: usize, node: usize) -> (Vec<Link>, Vec<Edge>) {
        let slot_of = |node: usize| {
            self.places[node].filter(|place| place.occurrence == occurrence).map(|place| place.slot)
        };
        let operands = self.flow.operands[node].iter().map(|source| match *source {
            Source::Node { node, output, .. } => slot_of(node).map(|slot| (slot, output)),
            Source::Omitted | Source::Outside(_) => None,
        });
        let uses = self.flow.uses[node].iter().take(MAX_USES);
        let uses = uses.filter_map(|edge| Some(Edge { user: slot_of(edge.user)?, ..*edge }));
        let mut uses: Vec<Edge> = uses.collect();
        uses.sort_unstable();
        (operands.collect(), uses)
    }

    /// Drops the occurrences that cannot take the step that most of the others can take. Returns `false` if there is no
    /// such step.
    fn drop_some(&mut self) -> Result<bool, Stopped> {
        let mut best: Vec<usize> = Vec::new();
        for &step in &self.failed.clone() {
            self.watch.work(self.block.occurrences.len() as u64)?;
            let able = self.able(step);
            if able.len() > best.len() {
                best = able;
            }
        }
        // If less than half of the occurrences can take the step, they are a different block.
        if best.len() < 2 || best.len() * 2 < self.block.occurrences.len() {
            return Ok(false);
        }
        let old = std::mem::take(&mut self.block.occurrences);
        for &node in old.iter().flatten() {
            self.places[node] = None;
        }
        let kept: Vec<Vec<usize>> =
            best.iter().filter_map(|&occurrence| old.get(occurrence).cloned()).collect();
        for (occurrence, nodes) in kept.iter().enumerate() {
            for (slot, &node) in nodes.iter().enumerate() {
                self.places[node] = Some(Place { occurrence, slot });
            }
        }
        self.block.occurrences = kept;
        self.open = (0..self.block.len()).collect();
        self.failed.clear();
        Ok(true)
    }

    /// The largest set of occurrences that can take a step in the same way as a leader, which is the first occurrence
    /// or the one in the middle of the list.
    fn able(&mut self, step: Step) -> Vec<usize> {
        let count = self.block.occurrences.len();
        let mut best: Vec<usize> = Vec::new();
        // The second leader can find the majority if the first occurrence does not belong to it.
        for leader in [0, count / 2] {
            let Some(first) = self.neighbor(leader, step) else { continue };
            let links = self.links(leader, first);
            self.stamp += 1;
            let mut able = Vec::new();
            for occurrence in 0..count {
                if let Some(node) = self.neighbor(occurrence, step)
                    && self.corresponds(occurrence, node, first, &links)
                {
                    able.push(occurrence);
                }
            }
            if able.len() > best.len() {
                best = able;
            }
        }
        best
    }
}
