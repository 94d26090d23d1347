//! The further conclusions of one relation, in an order that survives edits.
//!
//! An edit removes conclusions of a few nodes, adds others, and asks for the best one that is left. A model can have one relation
//! at all of its nodes, so that no step may read all conclusions. They are in sorted lists, each at least twice as long as
//! the next one; what is gone is skipped when it is met. Positions of nodes can be numbered anew, but do not overtake each other.

use std::collections::HashSet;

use foldhash::fast::RandomState;
use onnx_ir::NodeId;
use smallvec::SmallVec;

use super::{Fact, FactScope, Strength};

/// The order in which conclusions of one relation are preferred: what holds in every run, what is proved, what is not
/// inherited, what was found first.
pub(super) type Preference = (bool, Strength, bool, Option<u64>);

pub(super) fn preference(fact: &Fact, order: &impl Fn(NodeId) -> Option<u64>) -> Preference {
    let (is_local, strength, is_inherited) = class(fact);
    (is_local, strength, is_inherited, fact.root.and_then(order))
}

const fn class(fact: &Fact) -> (bool, Strength, bool) {
    (!matches!(fact.scope, FactScope::Model), fact.strength, fact.is_inherited)
}

/// The conclusions that are ranked by their positions: those that are gone keep theirs.
#[derive(Clone, Copy)]
pub(super) struct Conclusions<'a> {
    pub(super) facts: &'a [Fact],
    pub(super) gone: &'a HashSet<u32, RandomState>,
}

impl<'a> Conclusions<'a> {
    pub(super) fn get(self, at: u32) -> Option<&'a Fact> {
        self.facts.get(at as usize).filter(|_| !self.gone.contains(&at))
    }
}

/// Positions of conclusions of one relation.
#[derive(Clone, Debug, Default)]
pub(super) struct Ranked {
    /// They are not sorted yet.
    new: SmallVec<[u32; 2]>,
    /// Each list ends with its best conclusion.
    lists: Vec<Vec<u32>>,
}

impl Ranked {
    pub(super) fn add(&mut self, at: u32) {
        self.new.push(at);
    }

    pub(super) fn positions(&self) -> impl Iterator<Item = u32> {
        self.lists.iter().flatten().chain(&self.new).copied()
    }

    /// Sorts what was added.
    pub(super) fn sort(&mut self, conclusions: Conclusions<'_>, order: &impl Fn(NodeId) -> Option<u64>) {
        if self.new.is_empty() {
            return;
        }
        let mut last: Vec<u32> = self.new.drain(..).collect();
        loop {
            last.retain(|&at| conclusions.get(at).is_some());
            last.sort_by_cached_key(|&at| {
                std::cmp::Reverse(conclusions.get(at).map(|fact| preference(fact, order)))
            });
            match self.lists.pop_if(|list| list.len() <= last.len().saturating_mul(2)) {
                Some(list) => last.extend(list),
                None => break,
            }
        }
        if !last.is_empty() {
            self.lists.push(last);
        }
    }

    /// The position of the best conclusion.
    pub(super) fn best(
        &mut self,
        conclusions: Conclusions<'_>,
        order: &impl Fn(NodeId) -> Option<u64>,
    ) -> Option<u32> {
        self.sort(conclusions, order);
        for list in &mut self.lists {
            while list.pop_if(|at| conclusions.get(*at).is_none()).is_some() {}
        }
        self.lists.retain(|list| !list.is_empty());
        let ends = self.lists.iter().filter_map(|list| list.last().copied());
        ends.min_by_key(|&at| conclusions.get(at).map(|fact| preference(fact, order)))
    }

    /// The position of the first node that concluded the relation for every run of the model.
    pub(super) fn first(
        &self,
        conclusions: Conclusions<'_>,
        order: &impl Fn(NodeId) -> Option<u64>,
    ) -> Option<u64> {
        let of = |at: u32| conclusions.get(at).filter(|fact| is_own(fact)).and_then(|fact| order(fact.root?));
        let new = self.new.iter().filter_map(|&at| of(at));
        let in_list = |list: &Vec<u32>| {
            let class_at = |at: u32| conclusions.facts.get(at as usize).map(class);
            let first = |strength: Strength| {
                let wanted = Some((false, strength, false));
                let end = list.partition_point(|&at| class_at(at) >= wanted);
                let block = list.iter().take(end).rev().take_while(|at| class_at(**at) == wanted);
                block.copied().find_map(of)
            };
            [Strength::Proved, Strength::Assumed].into_iter().filter_map(first).min()
        };
        new.chain(self.lists.iter().filter_map(in_list)).min()
    }
}

/// Whether a conclusion is one of its own node, and holds in every run.
pub(super) fn is_own(fact: &Fact) -> bool {
    fact.scope == FactScope::Model && !fact.is_inherited
}
