//! Minimum, maximum, broadcast and selection.

use smallvec::SmallVec;

use super::bounds::{FUEL, Scope, SymbolBounds};
use super::poly::gcd;
use super::table::{ListOp, MAX_TERMS, NodeRef, sort_operands};
use super::{Dim, ExprTable};

/// Operand lists are compared pairwise only up to this length.
const MAX_PAIRWISE: usize = 16;
/// An operand of a broadcast is evaluated at 1 only up to this many nodes, as each broadcast costs that much.
const MAX_FOLLOWER: u32 = 32;

impl ExprTable {
    /// The smaller of two dimensions.
    ///
    /// ```
    /// use onnx_types::expr::ExprTable;
    /// use onnx_types::{Dim, Interner};
    ///
    /// let (mut table, mut names) = (ExprTable::new(), Interner::new());
    /// let s = Dim::Var(names.intern("S"));
    /// let half = table.floor_div(s, 2.into());
    /// assert_eq!(table.min(s, half), half);
    /// ```
    pub fn min(&mut self, a: Dim, b: Dim) -> Dim {
        self.list(ListOp::Min, &[a, b], None)
    }

    /// The larger of two dimensions.
    pub fn max(&mut self, a: Dim, b: Dim) -> Dim {
        self.list(ListOp::Max, &[a, b], None)
    }

    /// The smaller of two dimensions, where `env` licenses conclusions about symbols.
    pub fn min_in(&mut self, a: Dim, b: Dim, env: &dyn SymbolBounds) -> Dim {
        self.list(ListOp::Min, &[a, b], Some(env))
    }

    /// The larger of two dimensions, where `env` licenses conclusions about symbols.
    pub fn max_in(&mut self, a: Dim, b: Dim, env: &dyn SymbolBounds) -> Dim {
        self.list(ListOp::Max, &[a, b], Some(env))
    }

    /// The operands of a minimum, in canonical order: numbers are last. Nothing for anything else.
    ///
    /// ```
    /// use onnx_types::expr::ExprTable;
    /// use onnx_types::{Dim, Interner};
    ///
    /// let (mut table, mut names) = (ExprTable::new(), Interner::new());
    /// let s = Dim::Var(names.intern("S"));
    /// let cut = table.min(512.into(), s);
    /// assert_eq!(table.min_operands(cut), Some([s, Dim::Known(512)].as_slice()));
    /// assert_eq!(table.min_operands(s), None);
    /// ```
    #[must_use]
    pub fn min_operands(&self, dim: Dim) -> Option<&[Dim]> {
        match self.node(dim) {
            Some(NodeRef::List(ListOp::Min, operands)) => Some(operands),
            _ => None,
        }
    }

    /// The size that two sizes have together by the multidirectional broadcasting rule.
    ///
    /// Defined only where the two are equal or one of them is 1; the value is the other one then. So it is not the
    /// maximum: 0 and 1 give 0. A number other than 1 is the result wherever it is defined, and so is a size without which
    /// the other one is not 1: `bcast(S, min(S, 512))` is `S`.
    pub fn bcast(&mut self, a: Dim, b: Dim) -> Dim {
        self.list(ListOp::Bcast, &[a, b], None)
    }

    /// `a` where `cond` is not 0, else `b`. Defined where `cond` and the chosen one are.
    pub fn select(&mut self, cond: Dim, a: Dim, b: Dim) -> Dim {
        match cond {
            Dim::Unknown => Dim::Unknown,
            _ if a == b => a,
            Dim::Known(0) => b,
            Dim::Known(_) => a,
            _ if self.never(cond, 0) => a,
            _ => self.intern(NodeRef::Select(cond, a, b)).unwrap_or_default(),
        }
    }

    pub(super) fn list(&mut self, op: ListOp, args: &[Dim], env: Option<&dyn SymbolBounds>) -> Dim {
        if let (&[Dim::Known(a), Dim::Known(b)], ListOp::Min | ListOp::Max) = (args, op) {
            return Dim::Known(if op == ListOp::Min { a.min(b) } else { a.max(b) });
        }
        let operands = self.operands(op, args);
        let result = match op {
            ListOp::Min | ListOp::Max => operands.and_then(|args| self.extremum(op, args, env)),
            ListOp::Bcast => operands.and_then(|args| self.broadcast(args)),
        };
        result.unwrap_or_default()
    }

    /// The operands with nested operations of the same kind opened, sorted, without repetitions.
    fn operands(&self, op: ListOp, args: &[Dim]) -> Option<SmallVec<[Dim; 4]>> {
        let mut flat: SmallVec<[Dim; 4]> = SmallVec::new();
        for &arg in args {
            match self.node(arg) {
                Some(NodeRef::List(inner, args)) if inner == op => flat.extend_from_slice(args),
                None if matches!(arg, Dim::Unknown | Dim::Expr(_)) => return None,
                _ => flat.push(arg),
            }
        }
        sort_operands(&mut flat);
        (flat.len() <= MAX_TERMS).then_some(flat)
    }

    #[cfg_attr(
        not(test),
        expect(clippy::arithmetic_side_effects, reason = "two operands were found at the end")
    )]
    fn extremum(
        &mut self,
        op: ListOp,
        mut args: SmallVec<[Dim; 4]>,
        env: Option<&dyn SymbolBounds>,
    ) -> Option<Dim> {
        // Numbers are last; all but one go.
        while let [.., Dim::Known(a), Dim::Known(b)] = *args {
            let best = if op == ListOp::Min { a.min(b) } else { a.max(b) };
            args.truncate(args.len() - 2);
            args.push(Dim::Known(best));
        }
        self.prune(op, &mut args, env);
        if let [only] = *args {
            return Some(only);
        }
        let mut content = 0;
        for &arg in &args {
            content = gcd(content, self.poly(arg)?.full_content());
        }
        let content = i64::try_from(content).ok()?;
        if content <= 1 {
            return self.intern(NodeRef::List(op, &args));
        }
        // min(g*a, g*b) = g * min(a, b) for g > 0.
        let mut reduced: SmallVec<[Dim; 4]> = SmallVec::new();
        for &arg in &args {
            let part = self.poly(arg)?.divided(content)?;
            reduced.push(self.finish(part)?);
        }
        let part = self.list(op, &reduced, env);
        Some(self.mul(part, Dim::Known(content)))
    }

    /// Drops operands that another one decides.
    #[cfg_attr(
        not(test),
        expect(clippy::arithmetic_side_effects, reason = "a place in a list that is in memory")
    )]
    fn prune(&self, op: ListOp, args: &mut SmallVec<[Dim; 4]>, env: Option<&dyn SymbolBounds>) {
        if args.len() > MAX_PAIRWISE {
            return;
        }
        let scope = Scope::new(self, env);
        // The comparisons of all pairs share the fuel of four, so the cost does not grow with the number of pairs.
        let mut fuel = 4 * FUEL;
        let mut at = 0;
        while let Some(&candidate) = args.get(at) {
            let Some(this) = self.poly(candidate) else { return };
            let decided = args.iter().enumerate().any(|(other_at, &other)| {
                other_at != at
                    && self.poly(other).is_some_and(|other| match op {
                        ListOp::Min => scope.le(&other, &this, &mut fuel),
                        ListOp::Max | ListOp::Bcast => scope.le(&this, &other, &mut fuel),
                    })
            });
            if decided {
                args.remove(at);
            } else {
                at += 1;
            }
        }
    }

    fn broadcast(&mut self, mut args: SmallVec<[Dim; 4]>) -> Option<Dim> {
        args.retain(|arg| *arg != Dim::Known(1));
        match *args {
            [] => return Some(Dim::Known(1)),
            // Two different numbers other than 1 fit nowhere.
            [.., Dim::Known(_), Dim::Known(_)] => return None,
            [.., size @ Dim::Known(_)] => return Some(size),
            [only] => return Some(only),
            _ => {}
        }
        if let Some(&sure) = args.iter().find(|&&arg| self.never(arg, 1)) {
            return Some(sure);
        }
        self.drop_followers(&mut args);
        if let [only] = *args {
            return Some(only);
        }
        self.intern(NodeRef::List(ListOp::Bcast, &args))
    }

    /// Drops the operands of a broadcast that are 1 wherever another operand is 1: wherever the broadcast is defined, its
    /// value is that of the other operand.
    #[cfg_attr(
        not(test),
        expect(clippy::arithmetic_side_effects, reason = "a position in a list that is in memory")
    )]
    fn drop_followers(&mut self, args: &mut SmallVec<[Dim; 4]>) {
        if args.len() > MAX_PAIRWISE {
            return;
        }
        let mut at = 0;
        while let Some(&candidate) = args.get(at) {
            let mut others = args.iter().enumerate().filter(|&(other, _)| other != at);
            if others.any(|(_, &leader)| self.follows(candidate, leader)) {
                args.remove(at);
            } else {
                at += 1;
            }
        }
    }

    /// Whether `follower` is provably 1, or undefined, wherever `leader` is 1.
    fn follows(&mut self, follower: Dim, leader: Dim) -> bool {
        if let Some(NodeRef::List(op @ (ListOp::Min | ListOp::Max), args)) = self.node(follower)
            && args.contains(&leader)
        {
            // The minimum of 1 and sizes of at least 1 is 1, and so is the maximum of 1 and sizes of at most 1.
            return args.iter().filter(|&&arg| arg != leader).all(|&arg| match op {
                ListOp::Min => self.proves_le(Dim::Known(1), arg),
                ListOp::Max | ListOp::Bcast => self.proves_le(arg, Dim::Known(1)),
            });
        }
        let Dim::Var(symbol) = leader else { return false };
        self.is_smaller_than(follower, MAX_FOLLOWER)
            && self.substitute(follower, &|other| (other == symbol).then_some(Dim::Known(1))) == Dim::Known(1)
    }

    /// Whether `dim` differs from the number `value` for all values of the symbols.
    #[cfg_attr(not(test), expect(clippy::arithmetic_side_effects, reason = "the divisor is greater than 1"))]
    fn never(&self, dim: Dim, value: i64) -> bool {
        let Some(mut difference) = self.poly(dim) else { return false };
        if difference.add_term(Dim::Known(1), value.saturating_neg()).is_none() {
            return false;
        }
        let content = difference.content();
        if content > 1 && difference.constant.unsigned_abs() % content != 0 {
            return true;
        }
        let span = self.poly_span(&difference);
        span.lo > 0 || span.hi < 0
    }
}
