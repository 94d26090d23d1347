//! The arena: nodes, hash-consing, and what is remembered about each node.

use std::fmt;
use std::hash::BuildHasher;

use foldhash::fast::RandomState;
use smallvec::SmallVec;

use super::bounds::Span;
use super::poly::{Factor, Poly, Term, rank};
use super::{Dim, ExprId, SEPARATE};

/// The most terms a sum and the most operands a `min`, `max` or `bcast` may have.
pub(super) const MAX_TERMS: usize = 64;
/// The highest total power of a product.
pub(super) const MAX_DEGREE: u32 = 32;
/// Maximum nesting depth of divisions, remainders, minima and other atoms.
const MAX_DEPTH: u8 = 32;
/// The most nodes an expression may have when it is written out as a tree.
const MAX_SIZE: u32 = 4096;

/// The most nodes and operands together that a table holds: some hundred megabytes. Models need a thousandth of it; a
/// hostile text must not buy memory without end.
const MAX_WEIGHT: usize = 1 << 23;

/// An operation of two operands that the arena stores without further structure.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum PairOp {
    FloorDiv,
    ExactDiv,
    Mod,
}

/// A commutative, idempotent operation of two or more operands.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum ListOp {
    Min,
    Max,
    Bcast,
}

/// A node as it lies in the arena.
#[derive(Clone, Debug)]
pub(super) enum Node {
    Sum(Box<[Term]>, i64),
    Product(Box<[Factor]>),
    Pair(PairOp, Dim, Dim),
    List(ListOp, Box<[Dim]>),
    Select(Dim, Dim, Dim),
}

/// A node by reference, so that looking up an existing node allocates nothing.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum NodeRef<'a> {
    Sum(&'a [Term], i64),
    Product(&'a [Factor]),
    Pair(PairOp, Dim, Dim),
    List(ListOp, &'a [Dim]),
    Select(Dim, Dim, Dim),
}

impl Node {
    fn as_ref(&self) -> NodeRef<'_> {
        match self {
            Self::Sum(terms, constant) => NodeRef::Sum(terms, *constant),
            Self::Product(factors) => NodeRef::Product(factors),
            Self::Pair(op, a, b) => NodeRef::Pair(*op, *a, *b),
            Self::List(op, args) => NodeRef::List(*op, args),
            Self::Select(cond, a, b) => NodeRef::Select(*cond, *a, *b),
        }
    }
}

impl NodeRef<'_> {
    fn to_node(self) -> Node {
        match self {
            Self::Sum(terms, constant) => Node::Sum(terms.into(), constant),
            Self::Product(factors) => Node::Product(factors.into()),
            Self::Pair(op, a, b) => Node::Pair(op, a, b),
            Self::List(op, args) => Node::List(op, args.into()),
            Self::Select(cond, a, b) => Node::Select(cond, a, b),
        }
    }

    /// Calls `visit` with every operand.
    pub(super) fn each_operand(self, mut visit: impl FnMut(Dim)) {
        match self {
            Self::Sum(terms, _) => terms.iter().for_each(|term| visit(term.mono)),
            Self::Product(factors) => factors.iter().for_each(|factor| visit(factor.atom)),
            Self::Pair(_, a, b) => [a, b].into_iter().for_each(visit),
            Self::List(_, args) => args.iter().copied().for_each(visit),
            Self::Select(cond, a, b) => [cond, a, b].into_iter().for_each(visit),
        }
    }
}

/// Properties that are computed once, when a node is created.
#[derive(Clone, Copy, Debug)]
struct Meta {
    hash: u32,
    size: u32,
    depth: u8,
    /// The node is an exact division or a product with one: sums that hold it may simplify.
    has_exact: bool,
    /// The node is a division or remainder by a constant: sums that hold it may simplify.
    related: bool,
    /// The interval of the values under the default assumption, symbols ≥ 0.
    span: Span,
}

/// The hash-consed table of the dimension expressions of one model.
///
/// The table goes with the [`Interner`](crate::Interner) whose symbols its expressions hold; an [`ExprId`] means
/// something only together with its table. See the [module documentation](crate::expr) for the canonical form and for what is
/// never assumed.
#[derive(Clone, Default)]
pub struct ExprTable {
    /// The bits in which the ids of the table differ from positions: none or [`SEPARATE`].
    base: u32,
    nodes: Vec<Node>,
    metas: Vec<Meta>,
    /// Open addressing with linear probing; 0 is an empty slot, `n` is node `n - 1`.
    slots: Vec<u32>,
    /// The number of nodes and their operands.
    weight: usize,
    hasher: RandomState,
    /// Number of remaining steps; `None` if steps are not limited.
    steps: Option<usize>,
    /// Whether one more was needed.
    ran_out: bool,
}

impl fmt::Debug for ExprTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ExprTable({} nodes)", self.nodes.len())
    }
}

impl ExprTable {
    /// An empty table, which has not allocated anything.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// An empty table for expressions that are not part of a model, such as inferred ones. The table
    /// of the model does not have its ids, and it does not have those of the model, so an expression that is looked up in
    /// the wrong one of them is unknown.
    ///
    /// ```
    /// use onnx_types::expr::ExprTable;
    /// use onnx_types::{Dim, Interner};
    ///
    /// let (mut table, mut names) = (ExprTable::new(), Interner::new());
    /// let dim = table.parse(&mut names, "2*N");
    /// let mut separate = ExprTable::separate();
    /// let copy = separate.import(&table, dim, &mut |symbol| symbol);
    /// assert!(table.has(dim) && separate.has(copy));
    /// assert!(!table.has(copy) && !separate.has(dim));
    /// assert_eq!(table.add(copy, Dim::Known(1)), Dim::Unknown);
    /// ```
    #[must_use]
    pub fn separate() -> Self {
        Self { base: SEPARATE, ..Self::default() }
    }

    /// Returns `false` if a dimension is an expression that this table does not have.
    #[must_use]
    pub fn has(&self, dim: Dim) -> bool {
        match dim {
            Dim::Expr(id) => self.position(id) < self.nodes.len(),
            Dim::Known(_) | Dim::Var(_) | Dim::Unknown => true,
        }
    }

    /// The position of an expression; more than the number of nodes if another table has it.
    const fn position(&self, id: ExprId) -> usize {
        (id.0 ^ self.base) as usize
    }

    /// Number of nodes in the table, including intermediate results.
    #[must_use]
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether the table holds no node.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Limits the further work to `steps`: each expression that is created, or found in the table, is one step. Beyond
    /// the limit, results are [`Dim::Unknown`]. `None` removes the limit.
    ///
    /// ```
    /// use onnx_types::expr::ExprTable;
    /// use onnx_types::{Dim, Interner};
    ///
    /// let (mut table, mut names) = (ExprTable::new(), Interner::new());
    /// let n = Dim::Var(names.intern("N"));
    /// table.allow_steps(Some(1));
    /// assert!(!table.add(n, Dim::Known(1)).is_unknown());
    /// assert!(!table.ran_out_of_steps());
    /// assert!(table.add(n, Dim::Known(1)).is_unknown());
    /// assert!(table.ran_out_of_steps());
    /// table.allow_steps(None);
    /// assert!(!table.add(n, Dim::Known(1)).is_unknown());
    /// ```
    pub const fn allow_steps(&mut self, steps: Option<usize>) {
        self.steps = steps;
        self.ran_out = false;
    }

    /// Number of remaining steps; `None` if steps are not limited.
    #[must_use]
    pub const fn steps_left(&self) -> Option<usize> {
        self.steps
    }

    /// Whether more steps were needed than allowed.
    #[must_use]
    pub const fn ran_out_of_steps(&self) -> bool {
        self.ran_out
    }

    /// The node of a dimension that is an expression of this table.
    pub(super) fn node(&self, dim: Dim) -> Option<NodeRef<'_>> {
        match dim {
            Dim::Expr(id) => self.nodes.get(self.position(id)).map(Node::as_ref),
            _ => None,
        }
    }

    /// A copy of the node, for code that adds nodes while it walks this one.
    pub(super) fn node_owned(&self, dim: Dim) -> Option<Node> {
        match dim {
            Dim::Expr(id) => self.nodes.get(self.position(id)).cloned(),
            _ => None,
        }
    }

    fn meta(&self, dim: Dim) -> Option<&Meta> {
        match dim {
            Dim::Expr(id) => self.metas.get(self.position(id)),
            _ => None,
        }
    }

    /// Whether a sum that holds this operand may simplify through an exact division.
    pub(super) fn has_exact(&self, dim: Dim) -> bool {
        self.meta(dim).is_some_and(|meta| meta.has_exact)
    }

    /// Whether a sum that holds this operand may simplify through a division or remainder by a constant.
    pub(super) fn is_related(&self, dim: Dim) -> bool {
        self.meta(dim).is_some_and(|meta| meta.related)
    }

    /// Whether `dim`, written out as a tree, has fewer than `count` nodes.
    ///
    /// ```
    /// use onnx_types::expr::ExprTable;
    /// use onnx_types::{Dim, Interner};
    ///
    /// let (mut table, mut names) = (ExprTable::new(), Interner::new());
    /// let half = table.parse(&mut names, "N//2");
    /// assert!(table.is_smaller_than(half, 4));
    /// assert!(!table.is_smaller_than(half, 3));
    /// ```
    #[must_use]
    pub fn is_smaller_than(&self, dim: Dim, count: u32) -> bool {
        self.meta(dim).is_none_or(|meta| meta.size < count)
    }

    /// The interval of the values of `dim` when symbols are ≥ 0.
    pub(super) fn span(&self, dim: Dim) -> Span {
        match dim {
            Dim::Known(value) => Span::point(value),
            Dim::Var(_) => Span::NON_NEGATIVE,
            Dim::Expr(_) => self.meta(dim).map_or(Span::ALL, |meta| meta.span),
            Dim::Unknown => Span::ALL,
        }
    }

    /// The polynomial that `dim` is; nothing for an unknown dimension, one of another table, or an expression after the steps
    /// have run out: what is computed with it could not be kept.
    pub(super) fn poly(&self, dim: Dim) -> Option<Poly> {
        match dim {
            Dim::Known(value) => Some(Poly::constant(value)),
            Dim::Var(_) => Some(Poly::mono(dim)),
            Dim::Unknown => None,
            Dim::Expr(_) if self.ran_out => None,
            Dim::Expr(_) => match self.node(dim)? {
                NodeRef::Sum(terms, constant) => Some(Poly { terms: terms.into(), constant }),
                _ => Some(Poly::mono(dim)),
            },
        }
    }

    /// The factors of a monomial.
    pub(super) fn factors(&self, mono: Dim) -> SmallVec<[Factor; 4]> {
        match self.node(mono) {
            Some(NodeRef::Product(factors)) => factors.into(),
            _ => SmallVec::from_iter([Factor { atom: mono, power: 1 }]),
        }
    }

    /// The dimension that stands for a product of factors in canonical order.
    pub(super) fn seal_product(&mut self, factors: &[Factor]) -> Option<Dim> {
        match factors {
            [] => Some(Dim::Known(1)),
            [Factor { atom, power: 1 }] => Some(*atom),
            _ => self.intern(NodeRef::Product(factors)),
        }
    }

    /// The unique node equal to `node`, which is added if it is new; `None` if that would exceed a limit.
    #[cfg_attr(
        not(test),
        expect(
            clippy::arithmetic_side_effects,
            reason = "places in a table and positions of nodes, of which there are at most MAX_WEIGHT"
        )
    )]
    pub(super) fn intern(&mut self, node: NodeRef<'_>) -> Option<Dim> {
        if let Some(steps) = &mut self.steps {
            let Some(left) = steps.checked_sub(1) else {
                self.ran_out = true;
                return None;
            };
            *steps = left;
        }
        let hash = self.hasher.hash_one(node) as u32;
        if self.nodes.len().saturating_mul(4) >= self.slots.len().saturating_mul(3) {
            self.grow();
        }
        let mask = self.slots.len().wrapping_sub(1);
        let mut at = hash as usize & mask;
        loop {
            let slot = *self.slots.get(at)?;
            let Some(index) = slot.checked_sub(1) else { break };
            if self.metas.get(index as usize).is_some_and(|meta| meta.hash == hash)
                && self.nodes.get(index as usize).is_some_and(|known| known.as_ref() == node)
            {
                return Some(Dim::Expr(ExprId(index ^ self.base)));
            }
            at = (at + 1) & mask;
        }
        let meta = self.measure(node, hash)?;
        let mut weight = self.weight.saturating_add(1);
        node.each_operand(|_| weight = weight.saturating_add(1));
        if weight > MAX_WEIGHT {
            return None;
        }
        self.weight = weight;
        let index = u32::try_from(self.nodes.len()).ok()?;
        self.nodes.push(node.to_node());
        self.metas.push(meta);
        *self.slots.get_mut(at)? = index + 1;
        Some(Dim::Expr(ExprId(index ^ self.base)))
    }

    #[cfg_attr(
        not(test),
        expect(
            clippy::arithmetic_side_effects,
            reason = "a table has at least 64 places, and not many more than MAX_WEIGHT"
        )
    )]
    fn grow(&mut self) {
        let size = self.slots.len().saturating_mul(2).max(64);
        let mask = size - 1;
        self.slots.clear();
        self.slots.resize(size, 0);
        for (meta, number) in self.metas.iter().zip(1..) {
            let mut at = meta.hash as usize & mask;
            while self.slots.get(at).is_some_and(|&slot| slot != 0) {
                at = (at + 1) & mask;
            }
            if let Some(slot) = self.slots.get_mut(at) {
                *slot = number;
            }
        }
    }

    /// Measures a new node; `None` if it exceeds a limit.
    fn measure(&self, node: NodeRef<'_>, hash: u32) -> Option<Meta> {
        let (mut size, mut depth, mut has_exact) = (1_u32, 0_u8, false);
        let mut unknown = false;
        node.each_operand(|dim| match dim {
            Dim::Unknown => unknown = true,
            Dim::Known(_) | Dim::Var(_) => size = size.saturating_add(1),
            Dim::Expr(_) => match self.meta(dim) {
                Some(meta) => {
                    size = size.saturating_add(meta.size);
                    depth = depth.max(meta.depth);
                    has_exact |= meta.has_exact;
                }
                None => unknown = true,
            },
        });
        let related = match node {
            NodeRef::Sum(terms, _) => {
                unknown |= terms.len() > MAX_TERMS;
                has_exact = false;
                false
            }
            NodeRef::Product(factors) => {
                let degree: u64 = factors.iter().map(|factor| u64::from(factor.power)).sum();
                unknown |= degree > u64::from(MAX_DEGREE);
                false
            }
            NodeRef::Pair(op, _, divisor) => {
                depth = depth.saturating_add(1);
                has_exact = op == PairOp::ExactDiv;
                op != PairOp::ExactDiv && matches!(divisor, Dim::Known(_))
            }
            NodeRef::List(_, args) => {
                unknown |= args.len() > MAX_TERMS;
                depth = depth.saturating_add(1);
                has_exact = false;
                false
            }
            NodeRef::Select(..) => {
                depth = depth.saturating_add(1);
                has_exact = false;
                false
            }
        };
        if unknown || depth > MAX_DEPTH || size > MAX_SIZE {
            return None;
        }
        let span = Span::of(node, &mut |dim| self.span(dim));
        Some(Meta { hash, size, depth, has_exact, related, span })
    }
}

/// Sorts operands into canonical order and removes repetitions.
pub(super) fn sort_operands(args: &mut SmallVec<[Dim; 4]>) {
    args.sort_unstable_by_key(|&dim| rank(dim));
    args.dedup();
}
