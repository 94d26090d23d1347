//! Intervals: what values a dimension can have.

use std::cell::RefCell;
use std::collections::HashMap;

use foldhash::fast::RandomState;

use super::poly::Poly;
use super::table::{ListOp, NodeRef, PairOp};
use super::{Dim, ExprId, ExprTable};
use crate::symbol::Symbol;

/// The least and the greatest value, both included; nothing means unbounded on that side.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Bounds {
    /// The least value.
    pub lo: Option<i64>,
    /// The greatest value.
    pub hi: Option<i64>,
}

impl Bounds {
    /// The range of every dimension: at least 0.
    pub const NON_NEGATIVE: Self = Self { lo: Some(0), hi: None };

    /// The interval `lo..=hi`.
    #[must_use]
    pub const fn new(lo: Option<i64>, hi: Option<i64>) -> Self {
        Self { lo, hi }
    }
}

/// What is known about the values of symbols, for conclusions that the default (at least 0) does not allow.
///
/// Closures `Fn(Symbol) -> Bounds` implement it.
pub trait SymbolBounds {
    /// The interval of the values of `symbol`.
    fn bounds(&self, symbol: Symbol) -> Bounds;
}

impl<F: Fn(Symbol) -> Bounds> SymbolBounds for F {
    fn bounds(&self, symbol: Symbol) -> Bounds {
        self(symbol)
    }
}

/// The default: every symbol is at least 0 and nothing more is known.
#[derive(Clone, Copy, Debug, Default)]
pub struct NonNegative;

impl SymbolBounds for NonNegative {
    fn bounds(&self, _: Symbol) -> Bounds {
        Bounds::NON_NEGATIVE
    }
}

/// Anything this large counts as infinite. It exceeds every `i64` by far, and sums of a few of them fit an `i128`.
const INF: i128 = 1 << 100;

/// An interval with saturating arithmetic.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Span {
    pub(super) lo: i128,
    pub(super) hi: i128,
}

fn clamp(value: i128) -> i128 {
    value.clamp(-INF, INF)
}

fn times(a: i128, b: i128) -> i128 {
    a.checked_mul(b).map_or(if (a < 0) == (b < 0) { INF } else { -INF }, clamp)
}

/// Floor division of possibly infinite numbers by a positive one.
fn floor(a: i128, b: i128) -> i128 {
    if a.abs() >= INF {
        a
    } else if b >= INF {
        if a < 0 { -1 } else { 0 }
    } else {
        a.div_euclid(b)
    }
}

#[cfg_attr(
    not(test),
    expect(
        clippy::arithmetic_side_effects,
        reason = "both ends of an interval are at most INF, and i128 holds far more than two of that"
    )
)]
impl Span {
    pub(super) const ALL: Self = Self { lo: -INF, hi: INF };
    pub(super) const NON_NEGATIVE: Self = Self { lo: 0, hi: INF };

    pub(super) fn point(value: i64) -> Self {
        Self { lo: i128::from(value), hi: i128::from(value) }
    }

    fn from_bounds(bounds: Bounds) -> Self {
        Self { lo: bounds.lo.map_or(-INF, i128::from), hi: bounds.hi.map_or(INF, i128::from) }
    }

    fn to_bounds(self) -> Bounds {
        let min = i128::from(i64::MIN);
        let max = i128::from(i64::MAX);
        // A bound beyond the numbers of `i64` says nothing on its own side; on the other side its clamped value holds.
        let lo = (self.lo >= min).then(|| i64::try_from(self.lo.min(max)).unwrap_or(i64::MAX));
        let hi = (self.hi <= max).then(|| i64::try_from(self.hi.max(min)).unwrap_or(i64::MIN));
        Bounds { lo, hi }
    }

    fn add(self, other: Self) -> Self {
        let lo = if self.lo <= -INF || other.lo <= -INF { -INF } else { clamp(self.lo + other.lo) };
        let hi = if self.hi >= INF || other.hi >= INF { INF } else { clamp(self.hi + other.hi) };
        Self { lo, hi }
    }

    fn mul(self, other: Self) -> Self {
        let corners = [
            times(self.lo, other.lo),
            times(self.lo, other.hi),
            times(self.hi, other.lo),
            times(self.hi, other.hi),
        ];
        Self {
            lo: corners.iter().copied().min().unwrap_or(-INF),
            hi: corners.iter().copied().max().unwrap_or(INF),
        }
    }

    fn neg(self) -> Self {
        Self { lo: -self.hi, hi: -self.lo }
    }

    fn hull(self, other: Self) -> Self {
        Self { lo: self.lo.min(other.lo), hi: self.hi.max(other.hi) }
    }

    fn floor_div(self, by: Self) -> Self {
        if by.hi < 0 {
            return self.neg().floor_div(by.neg());
        }
        if by.lo < 0 {
            // The divisor is at least 1 in absolute value, so the quotient does not exceed the dividend.
            let most = self.lo.abs().max(self.hi.abs());
            return Self { lo: -most, hi: most };
        }
        let (least, most) = (by.lo.max(1), by.hi.max(1));
        Self {
            lo: floor(self.lo, least).min(floor(self.lo, most)),
            hi: floor(self.hi, least).max(floor(self.hi, most)),
        }
    }

    fn modulo(self, by: Self) -> Self {
        if by.lo < 0 {
            return Self { lo: (by.lo + 1).min(0), hi: (by.hi - 1).max(0) };
        }
        if self.lo >= 0 {
            if self.hi < by.lo {
                return self;
            }
            return Self { lo: 0, hi: self.hi.min((by.hi - 1).max(0)) };
        }
        Self { lo: 0, hi: (by.hi - 1).max(0) }
    }

    /// The interval of a node, given those of its operands.
    pub(super) fn of(node: NodeRef<'_>, get: &mut dyn FnMut(Dim) -> Self) -> Self {
        match node {
            NodeRef::Sum(terms, constant) => terms
                .iter()
                .fold(Self::point(constant), |sum, term| sum.add(get(term.mono).mul(Self::point(term.coef)))),
            NodeRef::Product(factors) => {
                let mut product = Self::point(1);
                for factor in factors {
                    let span = get(factor.atom);
                    for _ in 0..factor.power {
                        product = product.mul(span);
                    }
                }
                product
            }
            NodeRef::Pair(PairOp::Mod, a, b) => get(a).modulo(get(b)),
            NodeRef::Pair(PairOp::FloorDiv | PairOp::ExactDiv, a, b) => get(a).floor_div(get(b)),
            NodeRef::List(op, args) => {
                let mut spans = args.iter().map(|&arg| get(arg));
                let Some(first) = spans.next() else { return Self::ALL };
                spans.fold(first, |all, span| match op {
                    ListOp::Min => Self { lo: all.lo.min(span.lo), hi: all.hi.min(span.hi) },
                    ListOp::Max => Self { lo: all.lo.max(span.lo), hi: all.hi.max(span.hi) },
                    ListOp::Bcast => all.hull(span),
                })
            }
            NodeRef::Select(_, a, b) => get(a).hull(get(b)),
        }
    }

    /// The one quotient by `by > 0` that every value of the interval has, if so.
    pub(super) fn quotient(self, by: i64) -> Option<i64> {
        let by = i128::from(by);
        if self.lo <= -INF || self.hi >= INF || self.lo.div_euclid(by) != self.hi.div_euclid(by) {
            return None;
        }
        i64::try_from(self.lo.div_euclid(by)).ok()
    }
}

/// How many relaxations one question may try. A question takes a few microseconds at most.
pub(super) const FUEL: u32 = 24;

/// A table together with what is known about its symbols.
pub(super) struct Scope<'a> {
    table: &'a ExprTable,
    /// Nothing: symbols are ≥ 0, and the intervals stored in the table hold.
    env: Option<&'a dyn SymbolBounds>,
    /// The intervals of expressions under `env` that were found so far. The relaxations that one question tries have most
    /// operands in common, and these may be deep.
    found: RefCell<HashMap<ExprId, Span, RandomState>>,
}

impl<'a> Scope<'a> {
    pub(super) fn new(table: &'a ExprTable, env: Option<&'a dyn SymbolBounds>) -> Self {
        Self { table, env, found: RefCell::default() }
    }

    pub(super) fn span(&self, dim: Dim) -> Span {
        let Some(env) = self.env else { return self.table.span(dim) };
        match dim {
            Dim::Known(value) => Span::point(value),
            Dim::Var(symbol) => Span::from_bounds(env.bounds(symbol)),
            Dim::Unknown => Span::ALL,
            Dim::Expr(id) => {
                if let Some(&span) = self.found.borrow().get(&id) {
                    return span;
                }
                // The size limit of expressions bounds this recursion.
                let span = match self.table.node(dim) {
                    Some(node) => Span::of(node, &mut |operand| self.span(operand)),
                    None => Span::ALL,
                };
                self.found.borrow_mut().insert(id, span);
                span
            }
        }
    }

    pub(super) fn poly_span(&self, poly: &Poly) -> Span {
        Span::of(NodeRef::Sum(&poly.terms, poly.constant), &mut |dim| self.span(dim))
    }

    /// Whether `a <= b` wherever both are defined.
    pub(super) fn le(&self, a: &Poly, b: &Poly, fuel: &mut u32) -> bool {
        let mut difference = b.clone();
        difference.add_scaled(a, -1).is_some() && self.lower(&difference, 0, fuel) >= 0
    }

    /// A lower bound of `poly`; the search stops when it reaches `enough`.
    ///
    /// Interval arithmetic forgets that `N` and `N//2` move together. So one atom after the other is replaced by
    /// something simpler that makes the sum no larger: `k * (e//k) <= e`, `min(a, b) <= a`, and so on.
    #[cfg_attr(
        not(test),
        expect(clippy::arithmetic_side_effects, reason = "a bound is at most INF in absolute value")
    )]
    fn lower(&self, poly: &Poly, enough: i128, fuel: &mut u32) -> i128 {
        let mut best = self.poly_span(poly).lo;
        for (at, term) in poly.terms.iter().enumerate() {
            if best >= enough || *fuel == 0 {
                return best;
            }
            let Some(node) = self.table.node(term.mono) else { continue };
            let mut rest = poly.clone();
            rest.terms.remove(at);
            match node {
                NodeRef::Pair(op, e, by) => {
                    if let Some((relaxed, scale)) = self.relax_pair(&rest, term.coef, op, e, by)
                        && let Some(left) = fuel.checked_sub(1)
                    {
                        *fuel = left;
                        let enough = times(enough, i128::from(scale));
                        let low = self.lower(&relaxed, enough, fuel);
                        // `scale * poly >= low`, so `poly >= ceil(low / scale)`.
                        best = best.max(if low <= -INF { low } else { -floor(-low, i128::from(scale)) });
                    }
                }
                NodeRef::List(ListOp::Min, args) if term.coef < 0 => {
                    best = best.max(self.lower_by_arg(&rest, term.coef, args, enough, fuel));
                }
                NodeRef::List(ListOp::Max, args) if term.coef > 0 => {
                    best = best.max(self.lower_by_arg(&rest, term.coef, args, enough, fuel));
                }
                NodeRef::List(ListOp::Min | ListOp::Max, args) => {
                    best = best.max(self.lower_by_all(&rest, term.coef, args, enough, fuel));
                }
                _ => {}
            }
        }
        best
    }

    /// The best lower bound of `rest + coef * arg` over all operands.
    fn lower_by_arg(&self, rest: &Poly, coef: i64, args: &[Dim], enough: i128, fuel: &mut u32) -> i128 {
        let mut best = -INF;
        for &arg in args {
            let Some(left) = fuel.checked_sub(1) else { break };
            *fuel = left;
            let mut sum = rest.clone();
            if self.table.poly(arg).and_then(|arg| sum.add_scaled(&arg, coef)).is_some() {
                best = best.max(self.lower(&sum, enough, fuel));
            }
            if best >= enough {
                break;
            }
        }
        best
    }

    /// The least lower bound of `rest + coef * arg` over all operands, for an extremum that has the value of one of them.
    fn lower_by_all(&self, rest: &Poly, coef: i64, args: &[Dim], enough: i128, fuel: &mut u32) -> i128 {
        let mut least = INF;
        for &arg in args {
            let Some(left) = fuel.checked_sub(1) else { return -INF };
            *fuel = left;
            let mut sum = rest.clone();
            if self.table.poly(arg).and_then(|arg| sum.add_scaled(&arg, coef)).is_none() {
                return -INF;
            }
            least = least.min(self.lower(&sum, enough, fuel));
            if least <= -INF {
                break;
            }
        }
        least
    }

    /// A sum without the given atom and a scale, such that `scale * (rest + coef * atom)` is no less than the sum.
    #[cfg_attr(not(test), expect(clippy::arithmetic_side_effects, reason = "the divisor is greater than 0"))]
    fn relax_pair(&self, rest: &Poly, coef: i64, op: PairOp, e: Dim, by: Dim) -> Option<(Poly, i64)> {
        let numerator = self.table.poly(e)?;
        match (op, by) {
            (PairOp::FloorDiv | PairOp::ExactDiv, Dim::Known(k)) if k > 0 => {
                let mut sum = rest.clone().scaled(k)?;
                sum.add_scaled(&numerator, coef)?;
                if coef > 0 && op == PairOp::FloorDiv {
                    // `k * (e // k) >= e - (k - 1)`.
                    sum.constant = sum.constant.checked_sub(coef.checked_mul(k - 1)?)?;
                }
                Some((sum, k))
            }
            _ if coef < 0 && self.span(e).lo >= 0 && self.span(by).lo >= 0 => {
                // Neither the quotient nor the remainder of a non-negative number exceeds it.
                let mut sum = rest.clone();
                sum.add_scaled(&numerator, coef)?;
                Some((sum, 1))
            }
            _ => None,
        }
    }
}

impl ExprTable {
    /// The interval of the values of `dim`, when every symbol is at least 0.
    ///
    /// It holds wherever the expression is defined, and need not be the tightest one.
    ///
    /// ```
    /// use onnx_types::expr::{Bounds, ExprTable};
    /// use onnx_types::{Dim, Interner};
    ///
    /// let (mut table, mut names) = (ExprTable::new(), Interner::new());
    /// let rest = table.parse(&mut names, "N - N//2 + 1");
    /// assert_eq!(table.bounds(rest), Bounds::new(Some(1), None));
    /// ```
    #[must_use]
    pub fn bounds(&self, dim: Dim) -> Bounds {
        Scope::new(self, None).bounds(dim)
    }

    /// The interval of the values of `dim`, given what is known about the symbols.
    #[must_use]
    pub fn bounds_in(&self, dim: Dim, env: &dyn SymbolBounds) -> Bounds {
        Scope::new(self, Some(env)).bounds(dim)
    }

    /// Whether `a <= b` is proved for all values ≥ 0 of the symbols for which both are defined.
    #[must_use]
    pub fn proves_le(&self, a: Dim, b: Dim) -> bool {
        Scope::new(self, None).proves_le(a, b)
    }

    /// Whether `a <= b` is proved, given what is known about the symbols.
    #[must_use]
    pub fn proves_le_in(&self, a: Dim, b: Dim, env: &dyn SymbolBounds) -> bool {
        Scope::new(self, Some(env)).proves_le(a, b)
    }
}

impl Scope<'_> {
    fn proves_le(&self, a: Dim, b: Dim) -> bool {
        match (self.table.poly(a), self.table.poly(b)) {
            (Some(a), Some(b)) => self.le(&a, &b, &mut { FUEL }),
            _ => false,
        }
    }

    #[cfg_attr(
        not(test),
        expect(clippy::arithmetic_side_effects, reason = "a bound is at most INF in absolute value")
    )]
    fn bounds(&self, dim: Dim) -> Bounds {
        let mut span = self.span(dim);
        if let Some(poly) = self.table.poly(dim)
            && poly.terms.len() > 1
        {
            span.lo = self.lower(&poly, INF, &mut { FUEL });
            if let Some(negated) = poly.scaled(-1) {
                span.hi = -self.lower(&negated, INF, &mut { FUEL });
            }
        }
        span.to_bounds()
    }
}
