//! Products and powers, and the division of monomials and polynomials.

use std::cmp::Ordering;

use smallvec::SmallVec;

use super::poly::{Factor, Poly, Term, gcd, rank};
use super::sum::take_factor;
use super::table::{MAX_DEGREE, MAX_TERMS, NodeRef, PairOp};
use super::{Dim, ExprTable};

/// The most steps of one polynomial division.
const MAX_STEPS: usize = 64;

impl ExprTable {
    /// The product of two dimensions. Products of sums are multiplied out.
    pub fn mul(&mut self, a: Dim, b: Dim) -> Dim {
        self.try_mul(a, b).unwrap_or_default()
    }

    /// The product of any number of dimensions; 1 for none.
    pub fn product(&mut self, dims: &[Dim]) -> Dim {
        dims.iter().fold(Dim::Known(1), |product, &dim| self.mul(product, dim))
    }

    /// The power of a dimension. Powers above 32 of anything but a number are unknown.
    pub fn pow(&mut self, base: Dim, exponent: u32) -> Dim {
        match base {
            Dim::Known(base) => base.checked_pow(exponent).map_or(Dim::Unknown, Dim::Known),
            Dim::Unknown => Dim::Unknown,
            Dim::Var(_) | Dim::Expr(_) if exponent > MAX_DEGREE => Dim::Unknown,
            Dim::Var(_) | Dim::Expr(_) => (0..exponent).fold(Dim::Known(1), |power, _| self.mul(power, base)),
        }
    }

    fn try_mul(&mut self, a: Dim, b: Dim) -> Option<Dim> {
        match (a, b) {
            (Dim::Unknown, _) | (_, Dim::Unknown) => return None,
            (Dim::Known(a), Dim::Known(b)) => return Some(Dim::Known(a.checked_mul(b)?)),
            (Dim::Known(k), x) | (x, Dim::Known(k)) => {
                let scaled = if k == 1 { return Some(x) } else { self.poly(x)?.scaled(k)? };
                return self.finish(scaled);
            }
            _ => {}
        }
        for (quotient, divisor) in [(a, b), (b, a)] {
            if let Some(NodeRef::Pair(PairOp::ExactDiv, x, by)) = self.node(quotient)
                && by == divisor
            {
                return Some(x);
            }
        }
        let product = self.times(&self.poly(a)?, &self.poly(b)?)?;
        self.finish(product)
    }

    /// The product of two sums, multiplied out.
    pub(super) fn times(&mut self, a: &Poly, b: &Poly) -> Option<Poly> {
        let mut product = a.clone().scaled(b.constant)?;
        for term in &b.terms {
            let part = self.times_mono(a, term.mono)?;
            product.add_scaled(&part, term.coef)?;
            if product.terms.len() > MAX_TERMS {
                return None;
            }
        }
        Some(product)
    }

    /// A sum times a monomial.
    pub(super) fn times_mono(&mut self, sum: &Poly, mono: Dim) -> Option<Poly> {
        let mut product = Poly::default();
        product.add_term(mono, sum.constant)?;
        for term in &sum.terms {
            let mono = self.mono_product(term.mono, mono)?;
            product.add_term(mono, term.coef)?;
        }
        Some(product)
    }

    fn mono_product(&mut self, a: Dim, b: Dim) -> Option<Dim> {
        match (a, b) {
            (Dim::Known(1), x) | (x, Dim::Known(1)) => return Some(x),
            _ => {}
        }
        let mut factors = self.factors(a);
        for factor in self.factors(b) {
            match factors.binary_search_by_key(&rank(factor.atom), |known| rank(known.atom)) {
                Ok(at) => {
                    let known = factors.get_mut(at)?;
                    known.power = known.power.checked_add(factor.power)?;
                }
                Err(at) => factors.insert(at, factor),
            }
        }
        self.seal_product(&factors)
    }

    /// The factors of `a / b`, if the monomial `b` divides the monomial `a`.
    fn mono_quotient(&self, a: Dim, b: Dim) -> Option<SmallVec<[Factor; 4]>> {
        let mut factors = self.factors(a);
        self.factors(b).into_iter().all(|factor| take_factor(&mut factors, factor)).then_some(factors)
    }

    /// Compares monomials by degree, then by the powers of their atoms in canonical order. Unlike the order of terms,
    /// this one is kept by multiplication, so polynomial division ends.
    fn mono_order(&self, a: Dim, b: Dim) -> Ordering {
        let (a, b) = (self.factors(a), self.factors(b));
        let degree = |factors: &[Factor]| factors.iter().map(|f| u64::from(f.power)).sum::<u64>();
        degree(&a).cmp(&degree(&b)).then_with(|| {
            for (x, y) in a.iter().zip(&b) {
                // The monomial with the earlier atom has the higher power of it.
                let order = rank(y.atom).cmp(&rank(x.atom)).then(x.power.cmp(&y.power));
                if order.is_ne() {
                    return order;
                }
            }
            a.len().cmp(&b.len())
        })
    }

    /// `(q, r)` with `a = q * b + r`, where `r` holds no multiple of the leading term of `b`.
    pub(super) fn divide_poly(&mut self, a: &Poly, b: &Poly) -> Option<(Poly, Poly)> {
        let lead = b.terms.iter().copied().max_by(|x, y| self.mono_order(x.mono, y.mono))?;
        let (mut quotient, mut rest) = (Poly::default(), a.clone());
        for _ in 0..MAX_STEPS {
            let mut best: Option<(Term, SmallVec<[Factor; 4]>)> = None;
            for term in &rest.terms {
                if term.coef.checked_div(lead.coef)? != 0
                    && best.as_ref().is_none_or(|(known, _)| self.mono_order(known.mono, term.mono).is_lt())
                    && let Some(factors) = self.mono_quotient(term.mono, lead.mono)
                {
                    best = Some((*term, factors));
                }
            }
            let Some((term, factors)) = best else { break };
            let coef = term.coef.checked_div(lead.coef)?;
            let mono = self.seal_product(&factors)?;
            let part = self.times_mono(b, mono)?;
            rest.add_scaled(&part, coef.checked_neg()?)?;
            quotient.add_term(mono, coef)?;
        }
        // Exact quotients in the divisor rewrite the rest, which could then be divided again without end. So here only
        // a division without rest counts.
        if !rest.is_zero() && b.terms.iter().any(|term| self.has_exact(term.mono)) {
            return Some((Poly::default(), a.clone()));
        }
        Some((quotient, rest))
    }

    /// Divides numerator and denominator by their greatest common term, which is returned, and makes the denominator
    /// positive where that can be seen.
    pub(super) fn cancel(&mut self, num: Poly, den: Poly) -> Option<(Poly, Poly, Term)> {
        let content = i64::try_from(gcd(num.full_content(), den.full_content())).ok()?.max(1);
        let mut common: Option<SmallVec<[Factor; 4]>> = None;
        if num.constant != 0 || den.constant != 0 {
            common = Some(SmallVec::new());
        }
        for term in num.terms.iter().chain(&den.terms) {
            let factors = self.factors(term.mono);
            common = Some(match common {
                None => factors,
                Some(known) => shared(&known, &factors),
            });
        }
        let common = self.seal_product(&common.unwrap_or_default())?;
        let mut factor = Term { mono: common, coef: content };
        let (num, den) = (self.divide_by_term(num, factor)?, self.divide_by_term(den, factor)?);
        if !self.wants_flip(&den)? {
            return Some((num, den, factor));
        }
        factor.coef = factor.coef.checked_neg()?;
        Some((num.scaled(-1)?, den.scaled(-1)?, factor))
    }

    /// Returns `true` if the denominator should be negated: if it is negative, or if negation makes its leading
    /// coefficient positive and its sign is unknown.
    fn wants_flip(&mut self, den: &Poly) -> Option<bool> {
        let span = self.poly_span(den);
        match (span.lo >= 0, span.hi <= 0) {
            (true, false) => Some(false),
            (false, true) => Some(true),
            _ => Some(self.flipped(den, 0)?.is_some()),
        }
    }

    /// A sum divided by a term that divides it.
    fn divide_by_term(&mut self, sum: Poly, by: Term) -> Option<Poly> {
        if by == (Term { mono: Dim::Known(1), coef: 1 }) {
            return Some(sum);
        }
        let mut quotient = Poly::constant(sum.constant.checked_div(by.coef)?);
        for term in &sum.terms {
            let mono = match by.mono {
                Dim::Known(_) => term.mono,
                _ => {
                    let factors = self.mono_quotient(term.mono, by.mono)?;
                    self.seal_product(&factors)?
                }
            };
            quotient.add_term(mono, term.coef.checked_div(by.coef)?)?;
        }
        Some(quotient)
    }
}

/// The factors that two products share.
fn shared(a: &[Factor], b: &[Factor]) -> SmallVec<[Factor; 4]> {
    a.iter()
        .filter_map(|x| {
            let y = b.iter().find(|y| y.atom == x.atom)?;
            Some(Factor { atom: x.atom, power: x.power.min(y.power) })
        })
        .collect()
}
