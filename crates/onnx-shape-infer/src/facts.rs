//! What was concluded about dimensions on the way, and on what ground.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use onnx_ir::NodeId;
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
}

/// How much a fact can be relied on.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Strength {
    /// It follows from the meaning of an operator: a valid run of the model cannot have it otherwise.
    Proved,
    /// It holds if the model's own declarations do, or where numbers stay in the range of their type.
    Assumed,
}

/// Something that holds whenever the results of inference do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fact {
    /// What holds.
    pub relation: Relation,
    /// On what ground.
    pub strength: Strength,
    /// The node that it was concluded from; none for what the graph declares.
    pub node: Option<NodeId>,
    /// Whether it holds only when a nested graph or a function runs: a branch that is not taken proves nothing.
    pub is_conditional: bool,
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

    /// Says whether it is new.
    fn insert(&mut self, id: ExprId) -> bool {
        let (word, bit) = Self::place(id);
        if self.0.len() <= word {
            self.0.resize(word.saturating_add(1), 0);
        }
        let Some(bits) = self.0.get_mut(word) else { return false };
        let is_new = *bits & bit == 0;
        *bits |= bit;
        is_new
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

impl Facts {
    /// The facts in the order in which they were found.
    #[must_use]
    pub fn all(&self) -> &[Fact] {
        &self.list
    }

    /// The conditions under which the results hold: the facts that do not follow from the meaning of operators.
    pub fn guards(&self) -> impl Iterator<Item = &Fact> {
        self.list.iter().filter(|fact| fact.strength == Strength::Assumed)
    }

    pub(crate) fn add(&mut self, fact: Fact) {
        if self.list.len() >= MAX_FACTS {
            return;
        }
        let position = u32::try_from(self.list.len()).unwrap_or(u32::MAX);
        let known = *self.known.entry(fact.relation).or_insert(position);
        if known == position {
            self.list.push(fact);
        } else if let Some(known) = self.list.get_mut(known as usize)
            && (fact.is_conditional, fact.strength) < (known.is_conditional, known.strength)
        {
            *known = fact;
        }
    }

    /// Forgets what was concluded from nodes that `keep` does not want.
    pub(crate) fn retain(&mut self, mut keep: impl FnMut(NodeId) -> bool) {
        let kept = std::mem::take(&mut self.list);
        self.known.clear();
        kept.into_iter().filter(|fact| fact.node.is_none_or(&mut keep)).for_each(|fact| self.add(fact));
    }

    /// Takes the facts of another list, which go where `key` puts them.
    pub(crate) fn absorb<K: Ord>(&mut self, other: &mut Self, key: impl Fn(&Fact) -> K) {
        self.bounds = std::mem::take(&mut other.bounds);
        self.sizes = std::mem::take(&mut other.sizes);
        let mut all = std::mem::take(&mut self.list);
        all.append(&mut other.list);
        all.sort_by_key(key);
        self.known.clear();
        all.into_iter().for_each(|fact| self.add(fact));
    }

    /// The same intervals without any facts.
    pub(crate) fn bounds_alone(&self) -> Self {
        Self { bounds: self.bounds.clone(), sizes: self.sizes.clone(), ..Self::default() }
    }

    /// Forgets the interval of a symbol.
    pub(crate) fn unbound(&mut self, symbol: Symbol) {
        self.bounds.remove(&symbol);
        self.revision = self.revision.wrapping_add(1);
    }

    /// Whether a relation holds in every run.
    fn has(&self, relation: Relation) -> bool {
        let fact = self.known.get(&relation).and_then(|&at| self.list.get(at as usize));
        fact.is_some_and(|fact| !fact.is_conditional)
    }

    /// Whether two dimensions are the same by algebra and intervals alone.
    pub(crate) fn eq_by_algebra(&self, exprs: &ExprTable, a: Dim, b: Dim) -> Option<bool> {
        if a.is_unknown() || b.is_unknown() {
            return None;
        }
        if a == b {
            return Some(true);
        }
        let (left, right) = (exprs.bounds_in(a, self), exprs.bounds_in(b, self));
        let apart = |low: Bounds, high: Bounds| low.hi.zip(high.lo).is_some_and(|(hi, lo)| hi < lo);
        (apart(left, right) || apart(right, left)).then_some(false)
    }

    /// Whether the first is at most the second by algebra and intervals alone.
    pub(crate) fn le_by_algebra(&self, exprs: &ExprTable, a: Dim, b: Dim) -> Option<bool> {
        if let (Dim::Known(a), Dim::Known(b)) = (a, b) {
            return Some(a <= b);
        }
        if a.is_unknown() || b.is_unknown() {
            return None;
        }
        if let (Dim::Known(..=0), Dim::Expr(size)) = (a, b)
            && self.sizes.contains(size)
        {
            return Some(true);
        }
        if exprs.proves_le_in(a, b, self) {
            return Some(true);
        }
        let (left, right) = (exprs.bounds_in(a, self), exprs.bounds_in(b, self));
        left.lo.zip(right.hi).is_some_and(|(lo, hi)| lo > hi).then_some(false)
    }

    /// Notes that an expression is the size of a tensor; says whether that is new.
    pub(crate) fn add_size(&mut self, size: ExprId) -> bool {
        self.sizes.insert(size)
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
    #[must_use]
    pub fn eq(&self, exprs: &ExprTable, a: Dim, b: Dim) -> Option<bool> {
        if self.has(Relation::Equal(a, b)) || self.has(Relation::Equal(b, a)) {
            return Some(true);
        }
        self.eq_by_algebra(exprs, a, b)
    }

    /// Whether the first is at most the second whenever the results hold: `None` when that is not known.
    #[must_use]
    pub fn le(&self, exprs: &ExprTable, a: Dim, b: Dim) -> Option<bool> {
        if self.has(Relation::AtMost(a, b)) {
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
