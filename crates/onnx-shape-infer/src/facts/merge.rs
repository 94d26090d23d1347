//! Replaces the conclusions of some nodes, at a cost that depends only on these conclusions.

use std::collections::{HashMap, HashSet};

use foldhash::fast::RandomState;
use onnx_ir::{NodeId, ValueId};
use slotmap::SecondaryMap;
use smallvec::SmallVec;

use super::ranked::{Conclusions, Ranked, is_own, preference};
use super::{Fact, Facts, MAX_FACTS, MAX_REPEATED, Relation};

/// The position of a conclusion that is the first of its relation.
const FIRST: u32 = u32::MAX;

/// Number of conclusions that may be gone before positions are assigned anew.
const MOST_GONE: usize = 1024;

/// Where the conclusions of each visited node are. It is made by the first update after a run and kept from then on.
#[derive(Clone, Debug, Default)]
pub(super) struct Index {
    is_made: bool,
    /// The relations that were concluded during the visit of a node of the main graph, with the positions among the repeated
    /// conclusions; some may be gone.
    roots: SecondaryMap<NodeId, SmallVec<[(Relation, u32); 2]>>,
    /// The repeated conclusions by their relation.
    repeated: HashMap<Relation, Ranked, RandomState>,
    /// The positions of repeated conclusions that are gone.
    gone: HashSet<u32, RandomState>,
    /// The relations of which only inherited facts were left at some time.
    unfounded: Vec<Relation>,
}

impl Facts {
    /// The intervals of a run, for a run that continues it.
    pub(crate) fn take_intervals(&mut self) -> Self {
        let (bounds, sizes) = (std::mem::take(&mut self.bounds), std::mem::take(&mut self.sizes));
        let premises = std::mem::take(&mut self.premises);
        Self { bounds, sizes, premises, ..Self::default() }
    }

    fn make_index(&mut self) {
        if std::mem::replace(&mut self.index.is_made, true) {
            return;
        }
        let repeated = (0_u32..).zip(&self.repeated);
        for (at, fact) in self.list.iter().map(|fact| (FIRST, fact)).chain(repeated) {
            if let Some(root) = fact.root
                && let Some(entry) = self.index.roots.entry(root)
            {
                entry.or_default().push((fact.relation, at));
            }
            if at != FIRST {
                self.index.repeated.entry(fact.relation).or_default().add(at);
            }
        }
    }

    /// Assigns positions anew if most of them are those of conclusions that are gone.
    fn compact(&mut self) {
        let gone = &self.index.gone;
        if gone.len() < MOST_GONE || gone.len() < self.repeated.len() / 2 {
            return;
        }
        let mut at = 0_u32;
        self.repeated.retain(|_| {
            let is_kept = !gone.contains(&at);
            at = at.saturating_add(1);
            is_kept
        });
        let unfounded = std::mem::take(&mut self.index.unfounded);
        self.index = Index { unfounded, ..Index::default() };
        self.make_index();
    }

    /// The further conclusions, without those that are gone.
    pub(super) fn further(&self) -> impl DoubleEndedIterator<Item = &Fact> {
        let at = |index: usize| u32::try_from(index).unwrap_or(FIRST);
        let all = self.repeated.iter().enumerate();
        all.filter(move |&(index, _)| !self.index.gone.contains(&at(index))).map(|(_, fact)| fact)
    }

    const fn conclusions_by_position(&self) -> Conclusions<'_> {
        Conclusions { facts: self.repeated.as_slice(), gone: &self.index.gone }
    }

    /// Removes what was concluded during the visit of a node of the main graph, and returns the relations. `order` is the
    /// position of a node.
    pub(crate) fn remove_root(
        &mut self,
        root: NodeId,
        order: impl Fn(NodeId) -> Option<u64>,
    ) -> SmallVec<[Relation; 2]> {
        self.make_index();
        self.compact();
        let entries = self.index.roots.remove(root).unwrap_or_default();
        for &(relation, at) in &entries {
            let fact = self.repeated.get(at as usize);
            if fact.is_some_and(|fact| (fact.relation, fact.root) == (relation, Some(root))) {
                self.index.gone.insert(at);
            }
        }
        let relations = entries.into_iter().map(|(relation, _)| relation).collect();
        for &relation in &relations {
            self.replace_first(relation, Some(root), &order);
        }
        relations
    }

    /// The position of the first node that concluded a relation for every run of the model; needs the index.
    pub(crate) fn first_of(&self, relation: Relation, order: impl Fn(NodeId) -> Option<u64>) -> Option<u64> {
        let all = self.conclusions_by_position();
        let repeated = self.index.repeated.get(&relation).and_then(|ranked| ranked.first(all, &order));
        let primary = self.primary(relation).filter(|fact| is_own(fact));
        primary.and_then(|fact| fact.root.and_then(&order)).into_iter().chain(repeated).min()
    }

    /// The further conclusions of a relation: found by the index once that is made.
    pub(super) fn others(&self, relation: Relation) -> impl Iterator<Item = &Fact> {
        let all = self.conclusions_by_position();
        let positions = self.index.repeated.get(&relation).into_iter().flat_map(Ranked::positions);
        let indexed = positions.filter_map(move |at| all.get(at));
        let all: &[Fact] = if self.index.is_made { &[] } else { &self.repeated };
        indexed.chain(all.iter().filter(move |fact| fact.relation == relation))
    }

    /// Forgets that an expression is a size.
    pub(crate) fn remove_premise(&mut self, size: onnx_types::ExprId) {
        self.sizes.remove(size);
        self.premises.remove(&size);
    }

    /// Removes the fact that an input is not overridden.
    pub(crate) fn remove_default(&mut self, value: ValueId) {
        if self.known.contains_key(&Relation::Default(value)) {
            self.make_index();
            let relation = Relation::Default(value);
            let all = Conclusions { facts: &self.repeated, gone: &self.index.gone };
            let positions = self.index.repeated.get(&relation).into_iter().flat_map(Ranked::positions);
            let gone: Vec<u32> =
                positions.filter(|&at| all.get(at).is_some_and(|fact| fact.root.is_none())).collect();
            self.index.gone.extend(gone);
            self.replace_first(relation, None, &|_| None);
        }
    }

    /// Another conclusion takes the place of the first one, if that is of a root that is removed.
    fn replace_first(
        &mut self,
        relation: Relation,
        root: Option<NodeId>,
        order: &impl Fn(NodeId) -> Option<u64>,
    ) {
        let Some(at) = self.known.get(&relation).copied() else { return };
        if self.list.get(at as usize).is_none_or(|fact| fact.root != root) {
            return;
        }
        self.note_premise(relation);
        let all = Conclusions { facts: &self.repeated, gone: &self.index.gone };
        let best = self.index.repeated.get_mut(&relation).and_then(|ranked| ranked.best(all, order));
        match best.and_then(|from| all.get(from).map(|fact| (from, *fact))) {
            Some((from, fact)) => {
                if let Some(slot) = self.list.get_mut(at as usize) {
                    *slot = fact;
                }
                if fact.is_inherited {
                    self.index.unfounded.push(relation);
                }
                self.index.gone.insert(from);
            }
            None => {
                self.index.repeated.remove(&relation);
                self.remove_primary(relation, at);
            }
        }
    }

    fn remove_primary(&mut self, relation: Relation, at: u32) {
        self.known.remove(&relation);
        self.list.swap_remove(at as usize);
        if let Some(moved) = self.list.get(at as usize) {
            self.known.insert(moved.relation, at);
        }
    }

    /// Adds the conclusions of a run that visited some nodes again, whose earlier conclusions were removed. Returns `false`
    /// if a node that was not visited again relies on a relation that no node concludes any more.
    pub(crate) fn merge(&mut self, run: Self, order: impl Fn(NodeId) -> Option<u64>) -> bool {
        self.make_index();
        self.bounds = run.bounds;
        self.sizes = run.sizes;
        self.premises = run.premises;
        self.is_incomplete |= run.is_incomplete;
        for fact in run.list.into_iter().chain(run.repeated) {
            self.insert(fact, &order);
        }
        let unfounded = std::mem::take(&mut self.index.unfounded);
        !unfounded.into_iter().any(|relation| self.primary(relation).is_some_and(|fact| fact.is_inherited))
    }

    fn insert(&mut self, fact: Fact, order: &impl Fn(NodeId) -> Option<u64>) {
        if self.list.len() >= MAX_FACTS || self.repeated.len() >= MAX_REPEATED {
            self.is_incomplete = true;
            return;
        }
        self.note_root(&fact, FIRST);
        self.note(&fact);
        let position = u32::try_from(self.list.len()).unwrap_or(u32::MAX);
        let at = *self.known.entry(fact.relation).or_insert(position);
        if at == position {
            self.note_premise(fact.relation);
            if fact.is_inherited {
                self.index.unfounded.push(fact.relation);
            }
            self.list.push(fact);
            return;
        }
        let Some(known) = self.list.get_mut(at as usize) else { return };
        let is_preferred = preference(&fact, order) < preference(known, order);
        let other = if is_preferred { std::mem::replace(known, fact) } else { fact };
        if is_preferred {
            self.note_premise(fact.relation);
        }
        let Some(known) = self.list.get(at as usize) else { return };
        if known.covers(&other) {
            return;
        }
        let at = u32::try_from(self.repeated.len()).unwrap_or(FIRST);
        self.note_root(&other, at);
        self.repeated.push(other);
        let ranked = self.index.repeated.entry(other.relation).or_default();
        ranked.add(at);
        ranked.sort(Conclusions { facts: &self.repeated, gone: &self.index.gone }, order);
    }

    fn note_root(&mut self, fact: &Fact, at: u32) {
        if let Some(root) = fact.root
            && let Some(entry) = self.index.roots.entry(root)
        {
            entry.or_default().push((fact.relation, at));
        }
    }
}
