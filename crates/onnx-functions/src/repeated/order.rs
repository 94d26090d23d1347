//! The order of the nodes of a graph in which the nodes of each block occurrence are consecutive.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use onnx_types::{Interrupt, Stopped};

use super::flow::Flow;
use super::grow::Block;

/// A graph in which each occurrence of a block is one unit, as it will be when it is a call.
pub(super) struct Quotient<'a> {
    flow: &'a Flow,
    /// The unit of each node.
    units: Vec<usize>,
    /// The nodes of each unit, in the order of the graph.
    members: Vec<Vec<usize>>,
}

impl<'a> Quotient<'a> {
    /// Numbers the occurrences first, in their order, then the other nodes.
    pub(super) fn new<'b>(flow: &'a Flow, blocks: impl IntoIterator<Item = &'b Block>) -> Self {
        let mut units = vec![usize::MAX; flow.nodes.len()];
        let mut members: Vec<Vec<usize>> = Vec::new();
        for occurrence in blocks.into_iter().flat_map(|block| &block.occurrences) {
            let mut nodes = occurrence.clone();
            nodes.sort_unstable();
            nodes.iter().for_each(|&node| units[node] = members.len());
            members.push(nodes);
        }
        for (node, unit) in units.iter_mut().enumerate() {
            if *unit == usize::MAX {
                *unit = members.len();
                members.push(vec![node]);
            }
        }
        Self { flow, units, members }
    }

    fn successors(&self, unit: usize) -> impl Iterator<Item = usize> + '_ {
        let nodes = self.members[unit].iter();
        let successors = nodes.flat_map(|&node| self.flow.successors[node].iter());
        successors.map(|&node| self.units[node]).filter(move |&other| other != unit)
    }

    /// The nodes in an order in which producers precede their users, close to the order of the graph; or the units that take part
    /// in cycles or depend on them.
    pub(super) fn order(&self) -> Result<Vec<usize>, Vec<usize>> {
        let count = self.members.len();
        let mut missing = vec![0_usize; count];
        for unit in 0..count {
            self.successors(unit).for_each(|successor| missing[successor] += 1);
        }
        let first = |unit: usize| self.members[unit].first().copied().unwrap_or_default();
        let ready = (0..count).filter(|&unit| missing[unit] == 0);
        let mut ready: BinaryHeap<_> = ready.map(|unit| Reverse((first(unit), unit))).collect();
        let mut order = Vec::with_capacity(self.flow.nodes.len());
        while let Some(Reverse((_, unit))) = ready.pop() {
            order.extend(&self.members[unit]);
            for successor in self.successors(unit) {
                missing[successor] -= 1;
                if missing[successor] == 0 {
                    ready.push(Reverse((first(successor), successor)));
                }
            }
        }
        if order.len() == self.flow.nodes.len() {
            return Ok(order);
        }
        Err((0..count).filter(|&unit| missing[unit] > 0).collect())
    }

    /// The nodes of a unit that depend on another node of the unit through other units, which are all in the set
    /// `within`. If there are any, the unit is not convex.
    pub(super) fn entered_again(&self, unit: usize, within: &[usize]) -> Vec<usize> {
        let mut is_within = vec![false; self.members.len()];
        within.iter().for_each(|&unit| is_within[unit] = true);
        let mut seen = vec![false; self.members.len()];
        let mut open: Vec<usize> = self.successors(unit).filter(|&other| is_within[other]).collect();
        let mut entered: Vec<usize> = Vec::new();
        while let Some(other) = open.pop() {
            if std::mem::replace(&mut seen[other], true) {
                continue;
            }
            for &node in &self.members[other] {
                for &successor in &self.flow.successors[node] {
                    let next = self.units[successor];
                    if next == unit {
                        entered.push(successor);
                    } else if is_within[next] && !seen[next] {
                        open.push(next);
                    }
                }
            }
        }
        entered.sort_unstable();
        entered.dedup();
        entered
    }
}

/// Number of occurrences that are examined in one attempt: each takes time linear in the graph.
const MAX_SUSPECTS: usize = 64;
/// Number of attempts to make a block convex.
const MAX_ATTEMPTS: usize = 16;

/// Removes nodes from all occurrences of a block, or occurrences, until the occurrences of all blocks can be calls: until no
/// node outside of an occurrence depends on one of its nodes while another one depends on it. Returns the best block found, which
/// may be empty.
pub(super) fn made_convex(
    flow: &Flow,
    accepted: &[Block],
    mut block: Block,
    interrupt: &Interrupt,
) -> Result<Block, Stopped> {
    for _ in 0..MAX_ATTEMPTS {
        interrupt.check()?;
        if block.occurrences.len() < 2 || block.len() == 0 {
            break;
        }
        // The occurrences of the new block have the first numbers.
        let quotient = Quotient::new(flow, std::iter::once(&block).chain(accepted));
        match quotient.order() {
            Ok(_) => return Ok(block),
            Err(cyclic) => block = without_cycles(flow, &quotient, &cyclic, &block, interrupt)?,
        }
    }
    Ok(Block::default())
}

/// The block with fewer nodes or occurrences, whichever saves more.
fn without_cycles(
    flow: &Flow,
    quotient: &Quotient<'_>,
    cyclic: &[usize],
    block: &Block,
    interrupt: &Interrupt,
) -> Result<Block, Stopped> {
    let mut late = vec![false; block.len()];
    let mut is_bad = vec![false; block.occurrences.len()];
    // Units are in ascending order, and those of the block come first.
    let suspects = cyclic.iter().copied().take_while(|&unit| unit < is_bad.len()).take(MAX_SUSPECTS);
    for number in suspects.collect::<Vec<_>>() {
        interrupt.check()?;
        let entered = quotient.entered_again(number, cyclic);
        if !entered.is_empty() {
            is_bad[number] = true;
            mark_dependents(flow, &block.occurrences[number], &entered, &mut late);
        }
    }
    let of_slots = |wanted: bool| Block {
        occurrences: block
            .occurrences
            .iter()
            .map(|nodes| {
                nodes.iter().zip(&late).filter(|&(_, &late)| late == wanted).map(|(&n, _)| n).collect()
            })
            .collect(),
    };
    let others = block.occurrences.iter().zip(&is_bad).filter(|&(_, &is_bad)| !is_bad);
    let without_bad = Block { occurrences: others.map(|(nodes, _)| nodes.clone()).collect() };
    let mut candidates = vec![of_slots(false), of_slots(true), without_bad];
    candidates.retain(|candidate| {
        candidate.len() < block.len() || candidate.occurrences.len() < block.occurrences.len()
    });
    Ok(candidates.into_iter().max_by_key(Block::savings).unwrap_or_default())
}

/// Marks the slots of an occurrence whose nodes are in `from`, or depend on one of these within the occurrence.
fn mark_dependents(flow: &Flow, occurrence: &[usize], from: &[usize], late: &mut [bool]) {
    let slots: std::collections::BTreeMap<usize, usize> =
        occurrence.iter().enumerate().map(|(slot, &node)| (node, slot)).collect();
    let mut open = from.to_vec();
    let mut seen = std::collections::BTreeSet::new();
    while let Some(node) = open.pop() {
        let Some(&slot) = slots.get(&node) else { continue };
        if seen.insert(node) {
            late[slot] = true;
            open.extend(&flow.successors[node]);
        }
    }
}
