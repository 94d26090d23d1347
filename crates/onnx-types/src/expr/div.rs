//! Floor and ceiling division and the remainder.

use super::bounds::Scope;
use super::poly::{Poly, flooring, gcd, truncating};
use super::table::{NodeRef, PairOp};
use super::{Dim, ExprTable};

/// Maximum number of rewrites of one division; far more than any identity needs.
const MAX_ROUNDS: usize = 16;

impl ExprTable {
    /// `floor(a / b)`, as `//` of Python. Undefined for `b = 0`.
    ///
    /// ```
    /// use onnx_types::Interner;
    /// use onnx_types::expr::ExprTable;
    ///
    /// let (mut table, mut names) = (ExprTable::new(), Interner::new());
    /// let n = names.intern("N").into();
    /// let twice = table.mul(n, 2.into());
    /// let odd = table.add(twice, 3.into());
    /// assert_eq!(table.floor_div(odd, 2.into()), table.add(n, 1.into()));
    /// ```
    pub fn floor_div(&mut self, a: Dim, b: Dim) -> Dim {
        self.divide(a, b, false).unwrap_or_default()
    }

    /// `ceil(a / b)`, stored as `-floor(-a / b)`, whose canonical form is `floor((a + b - 1) / b)` where `b >= 0` is
    /// provable. Undefined for `b = 0`.
    pub fn ceil_div(&mut self, a: Dim, b: Dim) -> Dim {
        self.divide(a, b, true).unwrap_or_default()
    }

    /// `a - b * floor(a / b)`, as `%` of Python: the result has the sign of `b`. Undefined for `b = 0`.
    pub fn modulo(&mut self, a: Dim, b: Dim) -> Dim {
        self.try_modulo(a, b).unwrap_or_default()
    }

    #[cfg_attr(
        not(test),
        expect(clippy::arithmetic_side_effects, reason = "no i64 and no quotient of two is the least i128")
    )]
    fn divide(&mut self, a: Dim, b: Dim, up: bool) -> Option<Dim> {
        if let (Dim::Known(a), Dim::Known(b)) = (a, b) {
            let (a, b) = (i128::from(a), i128::from(b));
            let floor = floor_div(if up { -a } else { a }, b)?;
            return i64::try_from(if up { -floor } else { floor }).ok().map(Dim::Known);
        }
        let sign = if up { -1 } else { 1 };
        let numerator = self.poly(a)?.scaled(sign)?;
        let quotient = match b {
            Dim::Unknown => return None,
            Dim::Known(k) => self.divide_known(numerator, k)?,
            _ => {
                let divisor = self.poly(b)?;
                self.divide_symbolic(numerator, divisor)?
            }
        };
        self.finish(quotient.scaled(sign)?)
    }

    /// The canonical sum of `num`, which may differ from `num` where terms are related.
    pub(super) fn settled(&mut self, num: &Poly) -> Option<(Dim, Poly)> {
        let dim = self.finish(num.clone())?;
        Some((dim, self.poly(dim)?))
    }

    /// `floor(num / k)` as a sum.
    #[cfg_attr(
        not(test),
        expect(
            clippy::arithmetic_side_effects,
            reason = "a sign is 1 or -1, and what divides a number other than 0 is not 0"
        )
    )]
    pub(super) fn divide_known(&mut self, mut num: Poly, mut k: i64) -> Option<Poly> {
        if k < 0 {
            (num, k) = (num.scaled(-1)?, k.checked_neg()?);
        }
        if k == 0 {
            return None;
        }
        let (mut out, mut sign) = (Poly::default(), 1);
        for _ in 0..MAX_ROUNDS {
            // Multiples of `k` come out; what stays keeps its sign, so that bounds stay tight.
            let (quotient, rest) = num.split(k, truncating)?;
            out.add_scaled(&quotient, sign)?;
            num = rest;
            if num.terms.is_empty() {
                return Some(out);
            }
            if self.normalise(&mut num)? {
                continue;
            }
            // floor(-e / k) = -floor((e + k - 1) / k): one form for floor and ceiling.
            if let Some(flipped) = self.flipped(&num, k.checked_sub(1)?)? {
                num = flipped;
                sign = -sign;
                // The identities of exact quotients may have brought in multiples of `k` again.
                if !num.split(k, truncating)?.0.is_zero() {
                    continue;
                }
            }
            let common = i64::try_from(gcd(num.content(), k.unsigned_abs())).ok()?;
            num = num.divided(common)?;
            k /= common;
            if let Some(flat) = self.flatten(&num, k) {
                (num, k) = flat;
                continue;
            }
            if let Some(value) = self.poly_span(&num).quotient(k) {
                out.constant = out.constant.checked_add(value.checked_mul(sign)?)?;
                return Some(out);
            }
            if self.normalise(&mut num)? {
                continue;
            }
            let numerator = self.finish(num)?;
            let atom = self.intern(NodeRef::Pair(PairOp::FloorDiv, numerator, Dim::Known(k)))?;
            out.add_term(atom, sign)?;
            return Some(out);
        }
        None
    }

    /// `-num + shift` in canonical form where the leading coefficient of `num` is negative and that of the result is
    /// not. (Exact quotients keep coefficients ≥ 0 at the cost of other terms, so both may be negative.)
    pub(super) fn flipped(&mut self, num: &Poly, shift: i64) -> Option<Option<Poly>> {
        if num.leading() >= 0 {
            return Some(None);
        }
        let mut flipped = num.clone().scaled(-1)?;
        flipped.constant = flipped.constant.checked_add(shift)?;
        self.normalise(&mut flipped)?;
        Some((flipped.leading() >= 0).then_some(flipped))
    }

    /// `(x//d + p) // k` as `(x + d*p) // (d*k)`, where the numerator holds exactly one such quotient.
    fn flatten(&self, num: &Poly, k: i64) -> Option<(Poly, i64)> {
        let mut found = None;
        for (at, term) in num.terms.iter().enumerate() {
            if let Some(NodeRef::Pair(op @ (PairOp::FloorDiv | PairOp::ExactDiv), x, Dim::Known(d))) =
                self.node(term.mono)
            {
                if found.is_some() {
                    return None;
                }
                found = Some((at, term.coef, op, x, d));
            }
        }
        let (at, coef, op, x, d) = found?;
        if op == PairOp::FloorDiv && coef != 1 {
            return None;
        }
        let mut rest = num.clone();
        rest.terms.remove(at);
        let mut flat = rest.scaled(d)?;
        flat.add_scaled(&self.poly(x)?, coef)?;
        Some((flat, k.checked_mul(d)?))
    }

    /// `floor(num / den)` as a sum, for a denominator that is not a number.
    #[cfg_attr(not(test), expect(clippy::arithmetic_side_effects, reason = "a sign is 1 or -1"))]
    fn divide_symbolic(&mut self, mut num: Poly, mut den: Poly) -> Option<Poly> {
        let (mut out, mut sign) = (Poly::default(), 1);
        for _ in 0..MAX_ROUNDS {
            if num.is_zero() {
                return Some(out);
            }
            // Where the quotient is defined the common factor is not 0, so it may go.
            (num, den, _) = self.cancel(num, den)?;
            if den.terms.is_empty() {
                let quotient = self.divide_known(num, den.constant)?;
                out.add_scaled(&quotient, sign)?;
                return Some(out);
            }
            let (quotient, rest) = self.divide_poly(&num, &den)?;
            out.add_scaled(&quotient, sign)?;
            let (numerator, settled_num) = self.settled(&rest)?;
            let (divisor, settled_den) = self.settled(&den)?;
            if settled_num != num || settled_den != den {
                (num, den) = (settled_num, settled_den);
                continue;
            }
            let den_span = self.poly_span(&den);
            if let Some(NodeRef::Pair(op, x, by)) = self.node(numerator)
                && (op == PairOp::ExactDiv || (op == PairOp::FloorDiv && den_span.lo >= 0))
            {
                // x // a // b = x // (a*b) for a positive b.
                let product = self.mul(by, divisor);
                if let (Some(x), Some(product)) = (self.poly(x), self.poly(product)) {
                    (num, den) = (x, product);
                    continue;
                }
            }
            if den_span.lo >= 0 {
                // floor(-e / b) = -(floor((e - 1) / b) + 1) for b >= 1.
                if let Some(flipped) = self.flipped(&num, -1)? {
                    num = flipped;
                    out.constant = out.constant.checked_sub(sign)?;
                    sign = -sign;
                    continue;
                }
                let span = self.poly_span(&num);
                if span.lo >= 0 && span.hi < den_span.lo.max(1) {
                    return Some(out);
                }
            }
            let atom = self.intern(NodeRef::Pair(PairOp::FloorDiv, numerator, divisor))?;
            out.add_term(atom, sign)?;
            return Some(out);
        }
        // Rewriting exact quotients may not terminate; the current sum is correct, so stop here.
        let atom = self.raw_pair(PairOp::FloorDiv, num, den)?;
        out.add_term(atom, sign)?;
        Some(out)
    }

    /// The node of an operation on two sums, without simplification.
    pub(super) fn raw_pair(&mut self, op: PairOp, num: Poly, den: Poly) -> Option<Dim> {
        let (num, den) = (self.finish(num)?, self.finish(den)?);
        self.intern(NodeRef::Pair(op, num, den))
    }

    #[cfg_attr(
        not(test),
        expect(
            clippy::arithmetic_side_effects,
            reason = "the product is at most one divisor away from the dividend, and both have 64 bits"
        )
    )]
    fn try_modulo(&mut self, a: Dim, b: Dim) -> Option<Dim> {
        if let (Dim::Known(a), Dim::Known(b)) = (a, b) {
            let (a, b) = (i128::from(a), i128::from(b));
            return i64::try_from(a - b * floor_div(a, b)?).ok().map(Dim::Known);
        }
        let numerator = self.poly(a)?;
        let rest = match b {
            Dim::Unknown => return None,
            Dim::Known(k) => self.modulo_known(numerator, k)?,
            _ => {
                let divisor = self.poly(b)?;
                self.modulo_symbolic(numerator, divisor)?
            }
        };
        self.finish(rest)
    }

    /// `num % k` as a sum.
    #[cfg_attr(
        not(test),
        expect(clippy::arithmetic_side_effects, reason = "the common divisor is greater than 1")
    )]
    pub(super) fn modulo_known(&mut self, mut num: Poly, mut k: i64) -> Option<Poly> {
        let mut scale = 1_i64;
        if k < 0 {
            // a % -k = -(-a % k).
            (num, k, scale) = (num.scaled(-1)?, k.checked_neg()?, -1);
        }
        if k == 0 {
            return None;
        }
        let mut out = Poly::default();
        for _ in 0..MAX_ROUNDS {
            (_, num) = num.split(k, flooring)?;
            if num.terms.is_empty() {
                out.constant = out.constant.checked_add(num.constant.checked_mul(scale)?)?;
                return Some(out);
            }
            if self.normalise(&mut num)? {
                continue;
            }
            if let Some(plain) = self.without_inner_modulo(&num, k) {
                num = plain;
                continue;
            }
            let common = i64::try_from(gcd(num.content(), k.unsigned_abs())).ok()?;
            if common > 1 {
                // (g*x + c) % (g*k) = g * ((x + c//g) % k) + c % g.
                let over = num.constant.checked_rem_euclid(common)?;
                out.constant = out.constant.checked_add(over.checked_mul(scale)?)?;
                scale = scale.checked_mul(common)?;
                (num, k) = (num.divided(common)?, k / common);
                continue;
            }
            if let Some(quotient) = self.poly_span(&num).quotient(k) {
                num.constant = num.constant.checked_sub(k.checked_mul(quotient)?)?;
                out.add_scaled(&num, scale)?;
                return Some(out);
            }
            let numerator = self.finish(num)?;
            let atom = self.intern(NodeRef::Pair(PairOp::Mod, numerator, Dim::Known(k)))?;
            out.add_term(atom, scale)?;
            return Some(out);
        }
        None
    }

    /// Replaces `c * (x % n)` by `c * x` where `k` divides `c * n`: the remainder by `k` is the same.
    fn without_inner_modulo(&self, num: &Poly, k: i64) -> Option<Poly> {
        for term in &num.terms {
            if let Some(NodeRef::Pair(PairOp::Mod, x, Dim::Known(n))) = self.node(term.mono)
                && term.coef.checked_mul(n)?.checked_rem(k)? == 0
            {
                let mut plain = num.clone();
                plain.add_term(term.mono, term.coef.checked_neg()?)?;
                plain.add_scaled(&self.poly(x)?, term.coef)?;
                return Some(plain);
            }
        }
        None
    }

    /// `num % den` as a sum, for a denominator that is not a number.
    fn modulo_symbolic(&mut self, mut num: Poly, mut den: Poly) -> Option<Poly> {
        let mut scale = Poly::constant(1);
        for _ in 0..MAX_ROUNDS {
            if num.is_zero() {
                return Some(num);
            }
            // (m*x) % (m*y) = m * (x % y) for every m but 0, for which the left side is undefined.
            let factor;
            (num, den, factor) = self.cancel(num, den)?;
            scale = self.times_mono(&scale, factor.mono)?.scaled(factor.coef)?;
            if den.terms.is_empty() {
                let rest = self.modulo_known(num, den.constant)?;
                return self.times(&scale, &rest);
            }
            let (_, rest) = self.divide_poly(&num, &den)?;
            let (numerator, settled_num) = self.settled(&rest)?;
            let (divisor, settled_den) = self.settled(&den)?;
            if settled_num != num || settled_den != den {
                (num, den) = (settled_num, settled_den);
                continue;
            }
            let (span, den_span) = (self.poly_span(&num), self.poly_span(&den));
            // Where the remainder is defined, a divisor that is not negative is at least 1.
            let least = den_span.lo.max(1);
            if span.lo >= 0 && den_span.lo >= 0 && span.hi < least {
                return self.times(&scale, &num);
            }
            if span.hi < 0 && den_span.lo >= 0 && span.lo >= least.saturating_neg() {
                let mut rest = num;
                rest.add_scaled(&den, 1)?;
                return self.times(&scale, &rest);
            }
            let atom = self.intern(NodeRef::Pair(PairOp::Mod, numerator, divisor))?;
            return self.times_mono(&scale, atom);
        }
        let atom = self.raw_pair(PairOp::Mod, num, den)?;
        self.times_mono(&scale, atom)
    }

    /// The interval of a sum when symbols are ≥ 0.
    pub(super) fn poly_span(&self, poly: &Poly) -> super::bounds::Span {
        Scope::new(self, None).poly_span(poly)
    }
}

/// Floor division for divisors of either sign.
pub(super) fn floor_div(a: i128, b: i128) -> Option<i128> {
    let quotient = a.checked_div(b)?;
    let inexact = a.checked_rem(b)? != 0;
    if inexact && (a < 0) != (b < 0) { quotient.checked_sub(1) } else { Some(quotient) }
}
