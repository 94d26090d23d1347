//! What was concluded about dimensions on the way, and whether it is proved or assumed.

mod merge;
mod ranked;

use std::collections::{HashMap, HashSet};

use foldhash::fast::RandomState;
use onnx_ir::{GraphId, NodeId, ValueId};
use onnx_types::expr::{Bounds, ExprTable, SymbolBounds};
use onnx_types::{Dim, ExprId, Symbol};

/// A relation between dimensions.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Relation {
    /// Both have the same value.
    Equal(Dim, Dim),
    /// The first is at most the second.
    AtMost(Dim, Dim),
    /// The first divides the second without a remainder.
    Divides(Dim, Dim),
    /// They are equal, or one of them is 1: they broadcast.
    Broadcasts(Dim, Dim),
    /// The value has the type that the model declares, which inference could not derive.
    Declared(ValueId),
    /// The caller does not override this input, whose initializer was read as a constant.
    Default(ValueId),
}

impl Relation {
    /// Returns `true` if the relation does not hold for these sizes, and `false` if it holds or a size is not known.
    /// 0 divides 0.
    #[must_use]
    pub fn fails(self, size: impl Fn(Dim) -> Option<i64>) -> bool {
        let both = |a, b| size(a).zip(size(b));
        match self {
            Self::Equal(a, b) => both(a, b).is_some_and(|(a, b)| a != b),
            Self::AtMost(a, b) => both(a, b).is_some_and(|(a, b)| a > b),
            Self::Divides(a, b) => both(a, b).is_some_and(|(a, b)| {
                if a == 0 { b != 0 } else { b.checked_rem(a).is_some_and(|rest| rest != 0) }
            }),
            Self::Broadcasts(a, b) => both(a, b).is_some_and(|(a, b)| a != b && a != 1 && b != 1),
            // Sizes neither confirm nor contradict these.
            Self::Declared(_) | Self::Default(_) => false,
        }
    }
}

impl Relation {
    /// The two dimensions of a relation between dimensions.
    pub(crate) const fn dims(self) -> Option<(Dim, Dim)> {
        match self {
            Self::Equal(a, b) | Self::AtMost(a, b) | Self::Divides(a, b) | Self::Broadcasts(a, b) => {
                Some((a, b))
            }
            Self::Declared(_) | Self::Default(_) => None,
        }
    }

    /// The same relation between other dimensions; `None` if one of them has no counterpart.
    pub(crate) fn map(self, mut to: impl FnMut(Dim) -> Option<Dim>) -> Option<Self> {
        Some(match self {
            Self::Equal(a, b) => Self::Equal(to(a)?, to(b)?),
            Self::AtMost(a, b) => Self::AtMost(to(a)?, to(b)?),
            Self::Divides(a, b) => Self::Divides(to(a)?, to(b)?),
            Self::Broadcasts(a, b) => Self::Broadcasts(to(a)?, to(b)?),
            Self::Declared(_) | Self::Default(_) => self,
        })
    }
}

/// How much a fact can be relied on.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Strength {
    /// It follows from the meaning of an operator: a valid run of the model cannot have it otherwise.
    Proved,
    /// It holds if the model's own declarations do, or where numbers stay in the range of their type.
    Assumed,
}

/// The part of the model that a fact holds in.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum FactScope {
    /// Every run of the model.
    Model,
    /// Runs in which this nested graph or function body is executed, which is not known.
    Graph(GraphId),
}

/// A relation that holds whenever the inferred results do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fact {
    /// What holds.
    pub relation: Relation,
    /// Whether it is proved or assumed.
    pub strength: Strength,
    /// The node that it was concluded from; `None` for the interface of the model.
    pub node: Option<NodeId>,
    /// Where it holds.
    pub scope: FactScope,
    /// Why an assumed fact is needed, as a clause without a subject; empty for proved facts, which follow from `node`.
    pub reason: &'static str,
    /// The node of the main graph, or of the graph that inference started in, during whose visit it was concluded.
    pub(crate) root: Option<NodeId>,
    /// Whether the node relies on it without having concluded it: see [`Premise`].
    pub(crate) is_inherited: bool,
}

/// The premise that an expression, the size of a tensor, is not negative: the relation that a node concluded about it.
///
/// Other nodes rely on the premise without concluding it, also nodes that do not depend on the first one. For them the
/// relation is recorded again, as *inherited*, so that their results are known to depend on it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Premise {
    pub(crate) relation: Relation,
    pub(crate) reason: &'static str,
}

impl Fact {
    /// Returns `true` if another conclusion of the same relation adds nothing: it goes when this one goes, and is not a
    /// condition that this one might depend on.
    pub(crate) fn covers(&self, other: &Self) -> bool {
        other.root == self.root
            && other.scope >= self.scope
            && (other.strength == self.strength || other.strength == Strength::Proved)
    }

    /// Returns `true` if the fact holds only when a nested graph or a function is executed.
    #[must_use]
    pub const fn is_conditional(&self) -> bool {
        matches!(self.scope, FactScope::Graph(_))
    }
}

/// The facts of one run. Facts that hold for all sizes anyway are not kept, nor is the same fact twice.
///
/// Relations between sizes answer the questions of callers ([`eq`](Self::eq), [`le`](Self::le)). The run itself concludes
/// nothing from them, only from the intervals of symbols, which belong to the place where a symbol arises, and from the
/// fact that the size of a tensor is not negative: so what is inferred at a node depends on its inputs, and not on
/// equalities that some node elsewhere happens to need.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    list: Vec<Fact>,
    known: HashMap<Relation, u32, RandomState>,
    bounds: HashMap<Symbol, Bounds, RandomState>,
    /// The expressions that are the size of a tensor: in no valid run are they negative, whatever algebra knows.
    sizes: Exprs,
    /// The sizes that this run has proved not to be negative, or for which it has recorded a guard of the model.
    guarded: Exprs,
    /// The premises of sizes that algebra does not show to be at least 0.
    premises: HashMap<ExprId, Premise, RandomState>,
    /// Further conclusions of the same relations: facts of other nodes remain when a node is erased.
    repeated: Vec<Fact>,
    /// Whether any fact is inherited.
    has_inherited: bool,
    /// Whether facts were assumed; it stays when they are removed.
    has_assumed: bool,
    /// Whether conclusions are missing in `repeated`: facts of functions that were not visited for each call, or too many.
    is_incomplete: bool,
    /// The relations that inherited facts are about, and how often their strongest conclusion has changed.
    inherited: HashSet<Relation, RandomState>,
    premise_changes: u64,
    /// Number of conclusions.
    concluded: u64,
    /// For updates.
    index: merge::Index,
    /// How often an interval was narrowed or forgotten that a question may have been answered by.
    revision: u32,
}

/// The answers to the questions that were asked last: the same sizes are compared at node after node.
#[derive(Debug, Default)]
pub(crate) struct Answers {
    revision: u32,
    known: HashMap<(Question, Dim, Dim), Option<bool>, RandomState>,
}

/// What is asked about two dimensions.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Question {
    Equal,
    AtMost,
}

impl Answers {
    /// More answers than this are not kept.
    const MAX: usize = 4096;

    /// The answer of algebra and intervals.
    pub(crate) fn ask(
        &mut self,
        facts: &Facts,
        exprs: &ExprTable,
        question: Question,
        a: Dim,
        b: Dim,
    ) -> Option<bool> {
        let of = |facts: &Facts| match question {
            Question::Equal => facts.eq_by_algebra(exprs, a, b),
            Question::AtMost => facts.le_by_algebra(exprs, a, b),
        };
        let is_cheap = !matches!((a, b), (Dim::Expr(_), _) | (_, Dim::Expr(_)));
        // Which expressions are sizes changes all the time.
        if is_cheap || (question == Question::AtMost && matches!(a, Dim::Known(..=0))) {
            return of(facts);
        }
        if self.revision != facts.revision || self.known.len() >= Self::MAX {
            self.known.clear();
            self.revision = facts.revision;
        }
        *self.known.entry((question, a, b)).or_insert_with(|| of(facts))
    }
}

/// A set of expressions, as bits by their positions in the table: every size of every node is looked up here.
#[derive(Clone, Debug, Default)]
struct Exprs(Vec<u64>);

impl Exprs {
    fn place(id: ExprId) -> (usize, u64) {
        (id.index() as usize / 64, 1 << (id.index() % 64))
    }

    fn contains(&self, id: ExprId) -> bool {
        let (word, bit) = Self::place(id);
        self.0.get(word).is_some_and(|bits| bits & bit != 0)
    }

    fn insert(&mut self, id: ExprId) {
        let (word, bit) = Self::place(id);
        if self.0.len() <= word {
            self.0.resize(word.saturating_add(1), 0);
        }
        if let Some(bits) = self.0.get_mut(word) {
            *bits |= bit;
        }
    }

    fn remove(&mut self, id: ExprId) {
        let (word, bit) = Self::place(id);
        if let Some(bits) = self.0.get_mut(word) {
            *bits &= !bit;
        }
    }
}

/// More facts than this are not kept: a bound on memory, far above what models have.
const MAX_FACTS: usize = 1 << 20;

/// Maximum number of repeated conclusions. If there are more, the model is inferred from scratch after an edit.
const MAX_REPEATED: usize = 1 << 18;

/// Number of facts of one node that are compared with each of its sizes.
const MAX_RECENT: usize = 16;

impl Facts {
    /// The facts in the order in which they were found; after an update, in an order that depends on the edits.
    #[must_use]
    pub fn all(&self) -> &[Fact] {
        &self.list
    }

    /// All conclusions, further ones with the same relation included.
    pub(crate) fn every(&self) -> impl Iterator<Item = &Fact> {
        self.list.iter().chain(self.further())
    }

    /// The facts that do not follow from the meaning of operators, each relation once. The conditions under which the results
    /// for a model hold are [`Inference::guards`](crate::Inference::guards): one node can prove what another one assumes.
    pub fn guards(&self) -> impl Iterator<Item = &Fact> {
        self.conditions().filter(|fact| fact.strength == Strength::Assumed)
    }

    /// The facts, each relation once for every graph that it is a condition of: in two graphs that need not be executed, one
    /// relation is two conditions.
    pub(crate) fn conditions(&self) -> impl Iterator<Item = &Fact> {
        let mut scopes: HashMap<(Relation, FactScope), (), RandomState> = HashMap::default();
        let further = self.further().filter(move |fact| {
            let primary = self.primary(fact.relation);
            fact.is_conditional()
                && !fact.is_inherited
                && primary.is_some_and(|primary| primary.is_conditional() && primary.scope != fact.scope)
                && scopes.insert((fact.relation, fact.scope), ()).is_none()
        });
        self.list.iter().chain(further)
    }

    pub(crate) fn add(&mut self, fact: Fact) {
        if self.list.len() >= MAX_FACTS {
            self.is_incomplete = true;
            return;
        }
        self.concluded = self.concluded.wrapping_add(1);
        self.note(&fact);
        let position = u32::try_from(self.list.len()).unwrap_or(u32::MAX);
        let known = *self.known.entry(fact.relation).or_insert(position);
        if known == position {
            self.list.push(fact);
            return;
        }
        let Some(known) = self.list.get_mut(known as usize) else { return };
        let is_stronger = (fact.scope != FactScope::Model, fact.strength)
            < (known.scope != FactScope::Model, known.strength);
        let other = if is_stronger { std::mem::replace(known, fact) } else { fact };
        if known.covers(&other) {
            return;
        }
        if self.repeated.len() < MAX_REPEATED {
            self.repeated.push(other);
        } else {
            self.is_incomplete = true;
        }
    }

    /// Returns `true` if further facts are not kept.
    pub(crate) const fn is_full(&self) -> bool {
        self.list.len() >= MAX_FACTS
    }

    /// Number of conclusions so far, known relations included.
    pub(crate) const fn concluded(&self) -> u64 {
        self.concluded
    }

    /// Notes that facts hold because of a node other than the one that they are recorded for.
    pub(crate) const fn set_incomplete(&mut self) {
        self.is_incomplete = true;
    }

    /// Returns `true` if the facts that remain without a node are not known.
    pub(crate) const fn is_incomplete(&self) -> bool {
        self.is_incomplete
    }

    /// Forgets the interval of a symbol.
    pub(crate) fn unbound(&mut self, symbol: Symbol) {
        self.bounds.remove(&symbol);
        self.revision = self.revision.wrapping_add(1);
    }

    /// The strongest conclusion of a relation.
    pub(crate) fn primary(&self, relation: Relation) -> Option<&Fact> {
        self.known.get(&relation).and_then(|&at| self.list.get(at as usize))
    }

    /// The position of a relation among [all](Self::all) facts.
    pub(crate) fn position(&self, relation: Relation) -> Option<u32> {
        self.known.get(&relation).copied()
    }

    /// All conclusions of a relation, the strongest one first: several nodes can prove the same.
    pub fn conclusions(&self, relation: Relation) -> impl Iterator<Item = &Fact> {
        let first = self.primary(relation);
        first.into_iter().chain(first.map(|_| self.others(relation)).into_iter().flatten())
    }

    /// Whether there can be guards; constant time.
    pub(crate) const fn can_have_guards(&self) -> bool {
        self.has_assumed
    }

    fn note(&mut self, fact: &Fact) {
        self.has_inherited |= fact.is_inherited;
        if fact.is_inherited {
            self.inherited.insert(fact.relation);
        }
        self.has_assumed |= fact.strength == Strength::Assumed && !fact.is_inherited;
    }

    /// How often the strongest conclusion of a relation that nodes rely on has changed.
    pub(crate) const fn premise_changes(&self) -> u64 {
        self.premise_changes
    }

    fn note_premise(&mut self, relation: Relation) {
        if self.has_inherited && self.inherited.contains(&relation) {
            self.premise_changes = self.premise_changes.wrapping_add(1);
        }
    }

    /// Returns `true` if any fact is inherited.
    pub(crate) const fn has_inherited(&self) -> bool {
        self.has_inherited
    }

    /// Whether a relation holds in every run.
    fn has(&self, relation: Relation) -> bool {
        self.primary(relation).is_some_and(|fact| !fact.is_conditional())
    }

    /// Whether two dimensions are equal, decided by algebra and intervals only.
    pub(crate) fn eq_by_algebra(&self, exprs: &ExprTable, a: Dim, b: Dim) -> Option<bool> {
        if a.is_unknown() || b.is_unknown() {
            return None;
        }
        if a == b {
            return Some(true);
        }
        let (left, right) = (exprs.bounds_in(a, self), exprs.bounds_in(b, self));
        let apart = |low: Bounds, high: Bounds| low.hi.zip(high.lo).is_some_and(|(hi, lo)| hi < lo);
        let has_expression = matches!((a, b), (Dim::Expr(_), _) | (_, Dim::Expr(_)));
        let is_never =
            apart(left, right) || apart(right, left) || (has_expression && exprs.never_equal(a, b));
        is_never.then_some(false)
    }

    /// Whether an expression is the size of a tensor, which is not negative.
    pub(crate) fn is_size(&self, size: ExprId) -> bool {
        self.sizes.contains(size)
    }

    /// The premise that a size is not negative, if that does not follow from algebra and intervals.
    pub(crate) fn premise(&self, size: ExprId) -> Option<Premise> {
        self.premises.get(&size).copied()
    }

    pub(crate) fn set_premise(&mut self, size: ExprId, premise: Premise) {
        self.premises.insert(size, premise);
    }

    /// Whether the first is at most the second, decided by algebra and intervals only.
    pub(crate) fn le_by_algebra(&self, exprs: &ExprTable, a: Dim, b: Dim) -> Option<bool> {
        if let (Dim::Known(a), Dim::Known(b)) = (a, b) {
            return Some(a <= b);
        }
        if a.is_unknown() || b.is_unknown() {
            return None;
        }
        if exprs.proves_le_in(a, b, self) {
            return Some(true);
        }
        let (left, right) = (exprs.bounds_in(a, self), exprs.bounds_in(b, self));
        left.lo.zip(right.hi).is_some_and(|(lo, hi)| lo > hi).then_some(false)
    }

    /// Notes that an expression is the size of a tensor; returns `true` if that is new.
    pub(crate) fn add_size(&mut self, size: ExprId) -> bool {
        let is_new = !self.sizes.contains(size);
        self.sizes.insert(size);
        is_new
    }

    /// Returns `true` if this run has proved that a size is not negative, or has recorded it as a guard of the model.
    pub(crate) fn is_guarded(&self, size: ExprId) -> bool {
        self.guarded.contains(size)
    }

    pub(crate) fn set_guarded(&mut self, size: ExprId) {
        self.guarded.insert(size);
    }

    /// Returns `true` if a size is not negative for all values of its symbols.
    pub(crate) fn is_never_negative(&self, exprs: &ExprTable, size: ExprId) -> bool {
        let size = Dim::Expr(size);
        exprs.bounds_in(size, self).lo.is_some_and(|lo| lo >= 0)
            || exprs.proves_le_in(Dim::Known(0), size, self)
    }

    /// The fact that was just concluded from a node and states that a dimension is not negative.
    pub(crate) fn excludes_negative(
        &self,
        exprs: &mut ExprTable,
        node: NodeId,
        size: ExprId,
    ) -> Option<Relation> {
        let is_own = |fact: &&Fact| fact.node == Some(node);
        let recent = self.list.iter().rev().take_while(is_own).take(MAX_RECENT);
        let repeated = self.further().rev().take_while(is_own).take(MAX_RECENT);
        recent.chain(repeated).map(|fact| fact.relation).find(|relation| match *relation {
            Relation::AtMost(low, high) => exprs.sub(high, low) == Dim::Expr(size),
            _ => false,
        })
    }

    /// Forgets that an expression is the size of a tensor.
    pub(crate) fn remove_size(&mut self, size: ExprId) {
        self.sizes.remove(size);
    }

    /// Narrows the interval of a symbol.
    pub(crate) fn bound(&mut self, symbol: Symbol, lo: Option<i64>, hi: Option<i64>) {
        let bounds = self.bounds.entry(symbol).or_insert(Bounds::NON_NEGATIVE);
        let before = *bounds;
        bounds.lo = bounds.lo.max(lo);
        bounds.hi = match (bounds.hi, hi) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        if *bounds != before {
            self.revision = self.revision.wrapping_add(1);
        }
    }

    /// Whether two dimensions are the same whenever the results hold: `None` when that is not known.
    /// [`Inference::eq`](crate::Inference::eq) also says what the answer depends on.
    #[must_use]
    pub fn eq(&self, exprs: &ExprTable, a: Dim, b: Dim) -> Option<bool> {
        if self.has(Relation::Equal(a, b)) || self.has(Relation::Equal(b, a)) {
            return Some(true);
        }
        self.eq_by_algebra(exprs, a, b)
    }

    /// Whether the first is at most the second whenever the results hold: `None` when that is not known.
    /// [`Inference::le`](crate::Inference::le) also says what the answer depends on.
    #[must_use]
    pub fn le(&self, exprs: &ExprTable, a: Dim, b: Dim) -> Option<bool> {
        if self.has(Relation::AtMost(a, b)) {
            return Some(true);
        }
        // A size is not negative as long as the relation holds that this was concluded from.
        if let (Dim::Known(..=0), Dim::Expr(size)) = (a, b)
            && self.premise(size).is_some_and(|premise| self.has(premise.relation))
        {
            return Some(true);
        }
        self.le_by_algebra(exprs, a, b)
    }

    /// Whether a number divides a dimension whenever the results hold; `false` when that is not known.
    #[must_use]
    pub fn divides(&self, exprs: &ExprTable, k: i64, dim: Dim) -> bool {
        exprs.divides(k, dim) || self.has(Relation::Divides(Dim::Known(k), dim))
    }

    /// The interval of a dimension.
    #[must_use]
    pub fn bounds(&self, exprs: &ExprTable, dim: Dim) -> Bounds {
        exprs.bounds_in(dim, self)
    }
}

impl SymbolBounds for Facts {
    fn bounds(&self, symbol: Symbol) -> Bounds {
        self.bounds.get(&symbol).copied().unwrap_or(Bounds::NON_NEGATIVE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zero_divides_zero_alone() {
        let fails = |divisor, dividend| {
            Relation::Divides(Dim::Known(divisor), Dim::Known(dividend)).fails(|dim| match dim {
                Dim::Known(size) => Some(size),
                _ => None,
            })
        };
        assert!(!fails(0, 0) && fails(0, 3) && fails(0, -1));
        assert!(!fails(3, 0) && !fails(3, 6) && fails(3, 7) && !fails(-2, 4));
        // The quotient leaves 64 bits, and nothing is left over.
        assert!(!fails(-1, i64::MIN));
        let unknown = Relation::Divides(Dim::Known(0), Dim::Unknown);
        assert!(!unknown.fails(|dim| (dim == Dim::Known(0)).then_some(0)));
    }
}
