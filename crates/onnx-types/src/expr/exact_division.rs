//! Division without remainder, and divisibility.

use super::poly::{Poly, flooring, gcd};
use super::table::{ListOp, NodeRef, PairOp};
use super::{Dim, ExprTable};

/// Maximum number of rewrites of one division; far more than any identity needs.
const MAX_ROUNDS: usize = 16;

impl ExprTable {
    /// `a / b`, which is defined only where `b` divides `a`.
    ///
    /// Unlike [`floor_div`](Self::floor_div) it remembers that nothing was lost, so `2 * (N /: 2)` is `N`. A reshape
    /// with -1 makes such quotients.
    pub fn exact_div(&mut self, a: Dim, b: Dim) -> Dim {
        self.try_exact_div(a, b).unwrap_or_default()
    }

    fn try_exact_div(&mut self, a: Dim, b: Dim) -> Option<Dim> {
        if let (Dim::Known(a), Dim::Known(b)) = (a, b) {
            return (a.checked_rem(b)? == 0).then_some(Dim::Known(a.checked_div(b)?));
        }
        let (num, den) = (self.poly(a)?, self.poly(b)?);
        let quotient = self.exact_symbolic(num, den)?;
        self.finish(quotient)
    }

    fn exact_symbolic(&mut self, mut num: Poly, mut den: Poly) -> Option<Poly> {
        let mut out = Poly::default();
        for _ in 0..MAX_ROUNDS {
            if den.terms.is_empty() {
                let quotient = self.exact_known(num, den.constant)?;
                out.add_scaled(&quotient, 1)?;
                return Some(out);
            }
            if num.is_zero() {
                return Some(out);
            }
            // m*y divides m*x exactly where y divides x, for every m but 0, for which nothing is defined.
            (num, den, _) = self.cancel(num, den)?;
            if den.terms.is_empty() {
                continue;
            }
            let (quotient, rest) = self.divide_poly(&num, &den)?;
            out.add_scaled(&quotient, 1)?;
            let (numerator, settled_num) = self.settled(&rest)?;
            let (divisor, settled_den) = self.settled(&den)?;
            if settled_num != num || settled_den != den {
                (num, den) = (settled_num, settled_den);
                continue;
            }
            if let Some(NodeRef::Pair(PairOp::ExactDiv, x, by)) = self.node(numerator) {
                let product = self.mul(by, divisor);
                if let (Some(x), Some(product)) = (self.poly(x), self.poly(product)) {
                    (num, den) = (x, product);
                    continue;
                }
            }
            let atom = self.intern(NodeRef::Pair(PairOp::ExactDiv, numerator, divisor))?;
            out.add_term(atom, 1)?;
            return Some(out);
        }
        let atom = self.raw_pair(PairOp::ExactDiv, num, den)?;
        out.add_term(atom, 1)?;
        Some(out)
    }

    #[cfg_attr(
        not(test),
        expect(
            clippy::arithmetic_side_effects,
            reason = "a common divisor of numbers that are not all 0 is at least 1"
        )
    )]
    fn exact_known(&mut self, mut num: Poly, mut k: i64) -> Option<Poly> {
        if k < 0 {
            (num, k) = (num.scaled(-1)?, k.checked_neg()?);
        }
        if k == 0 {
            return None;
        }
        let mut out = Poly::default();
        for _ in 0..MAX_ROUNDS {
            let (quotient, rest) = num.split(k, flooring)?;
            out.add_scaled(&quotient, 1)?;
            num = rest;
            if num.terms.is_empty() {
                // A remaining constant is never divisible: the quotient is defined nowhere.
                return (num.constant == 0).then_some(out);
            }
            if self.normalise(&mut num)? {
                continue;
            }
            if let Some(flat) = self.flatten_exact(&num, k) {
                (num, k) = flat;
                continue;
            }
            let common = gcd(num.content(), k.unsigned_abs());
            if num.constant.unsigned_abs().checked_rem(common)? != 0 {
                return None;
            }
            let common = i64::try_from(common).ok()?;
            (num, k) = (num.divided(common)?, k / common);
            if k == 1 {
                continue;
            }
            // k divides g*x exactly where it divides x, as k and g have no common factor.
            let content = i64::try_from(num.full_content()).ok()?;
            let numerator = self.finish(num.divided(content)?)?;
            let atom = self.intern(NodeRef::Pair(PairOp::ExactDiv, numerator, Dim::Known(k)))?;
            out.add_term(atom, content)?;
            return Some(out);
        }
        None
    }

    /// `(x/:d + p) /: k` as `(x + d*p) /: (d*k)`, where the numerator holds exactly one such quotient.
    fn flatten_exact(&self, num: &Poly, k: i64) -> Option<(Poly, i64)> {
        let mut found = None;
        for (at, term) in num.terms.iter().enumerate() {
            if let Some(NodeRef::Pair(PairOp::ExactDiv, x, Dim::Known(d))) = self.node(term.mono) {
                if found.is_some() {
                    return None;
                }
                found = Some((at, term.coef, x, d));
            }
        }
        let (at, coef, x, d) = found?;
        let mut rest = num.clone();
        rest.terms.remove(at);
        let mut flat = rest.scaled(d)?;
        flat.add_scaled(&self.poly(x)?, coef)?;
        Some((flat, k.checked_mul(d)?))
    }

    /// `a / b`, if the canonical forms of both show that `b` divides `a` for all values of the symbols except those for
    /// which `b` is 0.
    ///
    /// ```
    /// use onnx_types::expr::ExprTable;
    /// use onnx_types::Interner;
    ///
    /// let (mut table, mut names) = (ExprTable::new(), Interner::new());
    /// let all = table.parse(&mut names, "64*N*S");
    /// let part = table.parse(&mut names, "16*S");
    /// let quotient = table.quotient(all, part);
    /// assert_eq!(quotient, Some(table.parse(&mut names, "4*N")));
    /// assert_eq!(table.quotient(part, all), None);
    /// ```
    pub fn quotient(&mut self, a: Dim, b: Dim) -> Option<Dim> {
        let (num, den) = (self.poly(a)?, self.poly(b)?);
        if den.is_zero() {
            return None;
        }
        if num.is_zero() {
            return Some(Dim::Known(0));
        }
        let (num, den, _) = self.cancel(num, den)?;
        let quotient = if den.terms.is_empty() {
            (num.full_content().checked_rem(den.constant.unsigned_abs())? == 0)
                .then(|| num.scaled(den.constant.signum())?.divided(den.constant.checked_abs()?))??
        } else {
            let (quotient, rest) = self.divide_poly(&num, &den)?;
            rest.is_zero().then_some(quotient)?
        };
        self.finish(quotient)
    }

    /// Returns `true` if the canonical form of `dim` shows that `k` divides it for all values of the symbols.
    ///
    /// Only 0 is divisible by 0.
    #[must_use]
    pub fn divides(&self, k: i64, dim: Dim) -> bool {
        self.divides_unsigned(k.unsigned_abs(), dim)
    }

    /// Returns `true` if no integers as symbols make both dimensions the same, as the coefficients of their difference show:
    /// `4*N` is never `1`, and `N + 1` never `N`. `false` means that this is not known.
    #[must_use]
    pub fn never_equal(&self, a: Dim, b: Dim) -> bool {
        let difference = || {
            let mut difference = self.poly(a)?;
            difference.add_scaled(&self.poly(b)?, -1)?;
            Some(difference)
        };
        let Some(difference) = difference() else { return false };
        // The sum of the other terms is a multiple of their content: it is the opposite of the constant or not.
        match difference.constant.unsigned_abs().checked_rem(difference.content()) {
            Some(rest) => rest != 0,
            None => difference.constant != 0,
        }
    }

    #[cfg_attr(
        not(test),
        expect(
            clippy::arithmetic_side_effects,
            reason = "neither k, which is not 0 there, nor its divisors are 0"
        )
    )]
    fn divides_unsigned(&self, k: u64, dim: Dim) -> bool {
        if k == 1 {
            return !dim.is_unknown();
        }
        let Some(poly) = self.poly(dim) else { return false };
        if k == 0 {
            return poly.is_zero();
        }
        poly.constant.unsigned_abs() % k == 0
            && poly.terms.iter().all(|term| {
                // What the coefficient does not contribute, one factor of the monomial must.
                let wanted = k / gcd(k, term.coef.unsigned_abs());
                wanted == 1 || self.factors(term.mono).iter().any(|f| self.atom_divisible(wanted, f.atom))
            })
    }

    /// Whether `k > 1` divides every value of an atom. The depth limit of expressions bounds the recursion.
    fn atom_divisible(&self, k: u64, atom: Dim) -> bool {
        match self.node(atom) {
            Some(NodeRef::List(ListOp::Min | ListOp::Max | ListOp::Bcast, args)) => {
                args.iter().all(|&arg| self.divides_unsigned(k, arg))
            }
            Some(NodeRef::Select(_, a, b)) => self.divides_unsigned(k, a) && self.divides_unsigned(k, b),
            _ => false,
        }
    }
}
