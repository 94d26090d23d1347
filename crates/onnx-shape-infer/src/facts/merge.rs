//! Replaces the conclusions of some nodes, at a cost that depends only on these conclusions.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use onnx_ir::{NodeId, ValueId};
use slotmap::SecondaryMap;
use smallvec::SmallVec;

use super::{Fact, FactScope, Facts, MAX_FACTS, MAX_REPEATED, Relation, Strength};

/// Where the conclusions of each visited node are. It is made by the first update after a run and kept from then on.
#[derive(Clone, Debug, Default)]
pub(super) struct Index {
    is_made: bool,
    /// The relations that were concluded during the visit of a node of the main graph; some may be gone.
    roots: SecondaryMap<NodeId, SmallVec<[Relation; 2]>>,
    /// The positions of the repeated conclusions by their relation.
    repeated: HashMap<Relation, SmallVec<[u32; 2]>, RandomState>,
    /// The relations of which only inherited facts were left at some time.
    unfounded: Vec<Relation>,
}

/// The order in which conclusions of one relation are preferred: what holds in every run, what is proved, what is not
/// inherited, what was found first.
type Preference = (bool, Strength, bool, Option<u64>);

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
        for fact in self.list.iter().chain(&self.repeated) {
            if let Some(root) = fact.root
                && let Some(entry) = self.index.roots.entry(root)
            {
                entry.or_default().push(fact.relation);
            }
        }
        for (at, fact) in self.repeated.iter().enumerate() {
            let at = u32::try_from(at).unwrap_or(u32::MAX);
            self.index.repeated.entry(fact.relation).or_default().push(at);
        }
    }

    /// Removes what was concluded during the visit of a node of the main graph, and returns the relations. `order` is the
    /// position of a node.
    pub(crate) fn remove_root(
        &mut self,
        root: NodeId,
        order: impl Fn(NodeId) -> Option<u64>,
    ) -> SmallVec<[Relation; 2]> {
        self.make_index();
        let relations = self.index.roots.remove(root).unwrap_or_default();
        for &relation in &relations {
            self.remove_conclusions(relation, Some(root), &order);
        }
        relations
    }

    /// The position of the first node that concluded a relation for every run of the model; needs the index.
    pub(crate) fn first_of(&self, relation: Relation, order: impl Fn(NodeId) -> Option<u64>) -> Option<u64> {
        let repeated = self.index.repeated.get(&relation).into_iter().flatten();
        let repeated = repeated.filter_map(|&at| self.repeated.get(at as usize));
        let all = self.primary(relation).into_iter().chain(repeated);
        all.filter(|fact| fact.scope == FactScope::Model && !fact.is_inherited)
            .filter_map(|fact| fact.root.and_then(&order))
            .min()
    }

    /// The further conclusions of a relation: found by the index once that is made.
    pub(super) fn others(&self, relation: Relation) -> impl Iterator<Item = &Fact> {
        let positions = self.index.repeated.get(&relation).into_iter().flatten();
        let indexed = positions.filter_map(|&at| self.repeated.get(at as usize));
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
            self.remove_conclusions(Relation::Default(value), None, &|_| None);
        }
    }

    fn remove_conclusions(
        &mut self,
        relation: Relation,
        root: Option<NodeId>,
        order: &impl Fn(NodeId) -> Option<u64>,
    ) {
        let positions = self.index.repeated.get(&relation).cloned().unwrap_or_default();
        let mut gone: SmallVec<[u32; 2]> = SmallVec::new();
        let mut best: Option<(Preference, u32)> = None;
        for at in positions {
            let Some(fact) = self.repeated.get(at as usize) else { continue };
            if fact.root == root {
                gone.push(at);
                continue;
            }
            let key = preference(fact, order);
            if best.is_none_or(|(other, _)| key < other) {
                best = Some((key, at));
            }
        }
        let primary = self.known.get(&relation).copied();
        if let Some(at) = primary
            && self.list.get(at as usize).is_some_and(|fact| fact.root == root)
        {
            self.note_premise(relation);
            match best.and_then(|(_, from)| self.repeated.get(from as usize).map(|fact| (from, *fact))) {
                Some((from, fact)) => {
                    if let Some(slot) = self.list.get_mut(at as usize) {
                        *slot = fact;
                    }
                    if fact.is_inherited {
                        self.index.unfounded.push(relation);
                    }
                    gone.push(from);
                }
                None => self.remove_primary(relation, at),
            }
        }
        // From the end, so that what takes a place is not itself about to go.
        gone.sort_unstable_by(|a, b| b.cmp(a));
        gone.into_iter().for_each(|at| self.remove_repeated(at));
    }

    fn remove_primary(&mut self, relation: Relation, at: u32) {
        self.known.remove(&relation);
        self.list.swap_remove(at as usize);
        if let Some(moved) = self.list.get(at as usize) {
            self.known.insert(moved.relation, at);
        }
    }

    fn remove_repeated(&mut self, at: u32) {
        if at as usize >= self.repeated.len() {
            return;
        }
        let gone = self.repeated.swap_remove(at as usize);
        let last = u32::try_from(self.repeated.len()).unwrap_or(u32::MAX);
        self.forget_position(gone.relation, at, None);
        if let Some(moved) = self.repeated.get(at as usize) {
            self.forget_position(moved.relation, last, Some(at));
        }
    }

    /// Replaces a position of a repeated conclusion by another one, or removes it.
    fn forget_position(&mut self, relation: Relation, old: u32, new: Option<u32>) {
        let Some(positions) = self.index.repeated.get_mut(&relation) else { return };
        positions.retain(|at| *at != old);
        positions.extend(new);
        if positions.is_empty() {
            self.index.repeated.remove(&relation);
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
        if let Some(root) = fact.root
            && let Some(entry) = self.index.roots.entry(root)
        {
            entry.or_default().push(fact.relation);
        }
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
        let at = u32::try_from(self.repeated.len()).unwrap_or(u32::MAX);
        self.index.repeated.entry(other.relation).or_default().push(at);
        self.repeated.push(other);
    }
}

fn preference(fact: &Fact, order: &impl Fn(NodeId) -> Option<u64>) -> Preference {
    (fact.scope != FactScope::Model, fact.strength, fact.is_inherited, fact.root.and_then(order))
}
