//! Linear sums of monomials: the working form of every simplification.

use smallvec::SmallVec;

use super::Dim;

/// A coefficient times a monomial. A monomial is a symbol, an atom, or a product of those.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Term {
    pub(super) mono: Dim,
    pub(super) coef: i64,
}

/// A symbol or atom to a power ≥ 1.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Factor {
    pub(super) atom: Dim,
    pub(super) power: u32,
}

/// The fixed order of operands: symbols as their interner numbers them, unnamed ones, then expressions, then a number.
pub(super) fn rank(dim: Dim) -> u64 {
    match dim {
        Dim::Var(symbol) => u64::from(symbol.index()),
        Dim::Expr(id) => 1 << 32 | u64::from(id.index()),
        Dim::Known(_) => u64::MAX - 1,
        Dim::Unknown => u64::MAX,
    }
}

/// The greatest common divisor; 0 is the neutral element.
#[cfg_attr(not(test), expect(clippy::arithmetic_side_effects, reason = "the divisor is not 0"))]
pub(super) const fn gcd(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// A sum of terms, sorted by [`rank`] of their monomials, without zero coefficients, plus a constant.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub(super) struct Poly {
    pub(super) terms: SmallVec<[Term; 4]>,
    pub(super) constant: i64,
}

impl Poly {
    pub(super) fn constant(constant: i64) -> Self {
        Self { terms: SmallVec::new(), constant }
    }

    pub(super) fn mono(mono: Dim) -> Self {
        Self { terms: SmallVec::from_iter([Term { mono, coef: 1 }]), constant: 0 }
    }

    pub(super) fn is_zero(&self) -> bool {
        self.terms.is_empty() && self.constant == 0
    }

    /// The monomial, if this is one with coefficient 1 and nothing else.
    pub(super) fn as_mono(&self) -> Option<Dim> {
        match self.terms.as_slice() {
            [Term { mono, coef: 1 }] if self.constant == 0 => Some(*mono),
            _ => None,
        }
    }

    /// The first coefficient, or the constant where there is none.
    pub(super) fn leading(&self) -> i64 {
        self.terms.first().map_or(self.constant, |term| term.coef)
    }

    /// The coefficient of a monomial; 0 when it does not occur.
    pub(super) fn coef(&self, mono: Dim) -> i64 {
        match self.terms.binary_search_by_key(&rank(mono), |term| rank(term.mono)) {
            Ok(at) => self.terms.get(at).map_or(0, |term| term.coef),
            Err(_) => 0,
        }
    }

    /// Adds `coef * mono`.
    pub(super) fn add_term(&mut self, mono: Dim, coef: i64) -> Option<()> {
        if coef == 0 {
            return Some(());
        }
        if let Dim::Known(value) = mono {
            self.constant = self.constant.checked_add(value.checked_mul(coef)?)?;
            return Some(());
        }
        match self.terms.binary_search_by_key(&rank(mono), |term| rank(term.mono)) {
            Ok(at) => {
                let term = self.terms.get_mut(at)?;
                term.coef = term.coef.checked_add(coef)?;
                if term.coef == 0 {
                    self.terms.remove(at);
                }
            }
            Err(at) => self.terms.insert(at, Term { mono, coef }),
        }
        Some(())
    }

    /// Adds `scale * other`.
    pub(super) fn add_scaled(&mut self, other: &Self, scale: i64) -> Option<()> {
        self.constant = self.constant.checked_add(other.constant.checked_mul(scale)?)?;
        for term in &other.terms {
            self.add_term(term.mono, term.coef.checked_mul(scale)?)?;
        }
        Some(())
    }

    /// The sum times a number.
    pub(super) fn scaled(mut self, scale: i64) -> Option<Self> {
        if scale == 0 {
            return Some(Self::default());
        }
        self.constant = self.constant.checked_mul(scale)?;
        for term in &mut self.terms {
            term.coef = term.coef.checked_mul(scale)?;
        }
        Some(self)
    }

    /// The greatest common divisor of the coefficients without the constant; 0 when there are none.
    pub(super) fn content(&self) -> u64 {
        self.terms.iter().fold(0, |all, term| gcd(all, term.coef.unsigned_abs()))
    }

    /// The greatest common divisor of the coefficients and the constant.
    pub(super) fn full_content(&self) -> u64 {
        gcd(self.content(), self.constant.unsigned_abs())
    }

    /// Divides coefficients that `by > 0` divides; the constant is divided with floor.
    pub(super) fn divided(mut self, by: i64) -> Option<Self> {
        self.constant = self.constant.checked_div_euclid(by)?;
        for term in &mut self.terms {
            term.coef = term.coef.checked_div(by)?;
        }
        Some(self)
    }

    /// Splits into `(q, r)` with `self = by * q + r`, `by > 0`, where `part` gives the quotient of each coefficient and
    /// the constant of `r` lies in `0..by`.
    pub(super) fn split(&self, by: i64, part: fn(i64, i64) -> i64) -> Option<(Self, Self)> {
        let mut quotient = Self::constant(self.constant.checked_div_euclid(by)?);
        let mut rest = Self::constant(self.constant.checked_rem_euclid(by)?);
        for term in &self.terms {
            let q = part(term.coef, by);
            let r = term.coef.checked_sub(q.checked_mul(by)?)?;
            if q != 0 {
                quotient.terms.push(Term { mono: term.mono, coef: q });
            }
            if r != 0 {
                rest.terms.push(Term { mono: term.mono, coef: r });
            }
        }
        Some((quotient, rest))
    }
}

/// Division that rounds towards zero, for positive divisors.
pub(super) fn truncating(a: i64, by: i64) -> i64 {
    a.checked_div(by).unwrap_or(0)
}

/// Division that rounds down, for positive divisors.
pub(super) fn flooring(a: i64, by: i64) -> i64 {
    a.checked_div_euclid(by).unwrap_or(0)
}
