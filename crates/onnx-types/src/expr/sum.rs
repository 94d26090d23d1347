//! Sums: collection of terms and the identities between the terms of one sum.

use smallvec::SmallVec;

use super::poly::{Factor, Poly, Term, rank};
use super::table::{NodeRef, PairOp};
use super::{Dim, ExprTable};

/// Maximum number of rewrites of one sum.
const MAX_REWRITES: usize = 64;

/// The coefficients of `x`, `x//k`, `x%k` and, for `k = 2`, `(x+1)//2` in a sum.
#[derive(Clone, Copy)]
struct Quartet {
    whole: i64,
    floor: i64,
    ceil: i64,
    rest: i64,
}

impl Quartet {
    /// The sort key of readability: few terms, then small coefficients.
    fn cost(self) -> (usize, u128) {
        let all = [self.whole, self.floor, self.ceil, self.rest];
        let count = all.iter().filter(|&&coef| coef != 0).count();
        (count, all.iter().map(|coef| u128::from(coef.unsigned_abs())).sum())
    }

    /// The same value in terms of `x` and `x//k` only.
    fn plain(self, k: i64) -> Option<Self> {
        // `(x+1)//2` is `x - x//2`, and `x%k` is `x - k*(x//k)`.
        let whole = self.whole.checked_add(self.rest)?.checked_add(self.ceil)?;
        let floor = self.floor.checked_sub(self.rest.checked_mul(k)?)?.checked_sub(self.ceil)?;
        Some(Self { whole, floor, ceil: 0, rest: 0 })
    }

    /// The cheapest way to write the same value, with `x = k*(x//k) + x%k` and, for 2, `x = x//2 + (x+1)//2`.
    ///
    /// Every form is `floors * (x//k) + rests * (x%k)` for the same two numbers, so the choice depends only on the
    /// value and not on how the sum was constructed.
    #[cfg_attr(
        not(test),
        expect(clippy::arithmetic_side_effects, reason = "only divisors greater than 1 have a quartet")
    )]
    fn cheapest(self, k: i64) -> Option<Self> {
        let floors = self.whole.checked_mul(k)?.checked_add(self.floor)?.checked_add(self.ceil)?;
        let rests = self.whole.checked_add(self.rest)?.checked_add(self.ceil)?;
        let zero = Self { whole: 0, floor: 0, ceil: 0, rest: 0 };
        let mut ways: SmallVec<[Self; 6]> = SmallVec::new();
        ways.push(Self { floor: floors, rest: rests, ..zero });
        ways.push(Self { whole: rests, floor: floors.checked_sub(rests.checked_mul(k)?)?, ..zero });
        if floors % k == 0 {
            let whole = floors / k;
            ways.push(Self { whole, rest: rests.checked_sub(whole)?, ..zero });
        }
        if k == 2 {
            let difference = floors.checked_sub(rests)?;
            ways.push(Self { floor: difference, ceil: rests, ..zero });
            ways.push(Self { whole: difference, ceil: rests.checked_sub(difference)?, ..zero });
            ways.push(Self { ceil: floors, rest: rests.checked_sub(floors)?, ..zero });
        }
        ways.into_iter().min_by_key(|way| way.cost())
    }
}

impl ExprTable {
    /// The sum of two dimensions.
    ///
    /// ```
    /// use onnx_types::Dim;
    /// use onnx_types::expr::ExprTable;
    ///
    /// let mut table = ExprTable::new();
    /// assert_eq!(table.add(Dim::Known(2), Dim::Known(3)), Dim::Known(5));
    /// assert!(table.is_empty());
    /// ```
    pub fn add(&mut self, a: Dim, b: Dim) -> Dim {
        self.combine(a, b, 1).unwrap_or_default()
    }

    /// The difference of two dimensions; it may be negative.
    pub fn sub(&mut self, a: Dim, b: Dim) -> Dim {
        self.combine(a, b, -1).unwrap_or_default()
    }

    /// The negated dimension.
    pub fn neg(&mut self, a: Dim) -> Dim {
        self.combine(Dim::Known(0), a, -1).unwrap_or_default()
    }

    /// The sum of any number of dimensions; 0 for none.
    pub fn sum(&mut self, dims: &[Dim]) -> Dim {
        let mut sum = Poly::default();
        for &dim in dims {
            if self.poly(dim).and_then(|poly| sum.add_scaled(&poly, 1)).is_none() {
                return Dim::Unknown;
            }
        }
        self.finish(sum).unwrap_or_default()
    }

    fn combine(&mut self, a: Dim, b: Dim, scale: i64) -> Option<Dim> {
        if let (Dim::Known(a), Dim::Known(b)) = (a, b) {
            return Some(Dim::Known(a.checked_add(b.checked_mul(scale)?)?));
        }
        if b == Dim::Known(0) && !a.is_unknown() {
            return Some(a);
        }
        let mut sum = self.poly(a)?;
        match b {
            Dim::Expr(_) => sum.add_scaled(&self.poly(b)?, scale)?,
            Dim::Unknown => return None,
            Dim::Known(_) | Dim::Var(_) => sum.add_term(b, scale)?,
        }
        self.finish(sum)
    }

    /// The canonical dimension of a sum.
    pub(super) fn finish(&mut self, mut sum: Poly) -> Option<Dim> {
        self.normalise(&mut sum)?;
        match sum.terms.as_slice() {
            [] => Some(Dim::Known(sum.constant)),
            [Term { mono, coef: 1 }] if sum.constant == 0 => Some(*mono),
            terms => self.intern(NodeRef::Sum(terms, sum.constant)),
        }
    }

    /// Applies the identities between the terms of a sum; returns `true` if the sum changed.
    pub(super) fn normalise(&mut self, sum: &mut Poly) -> Option<bool> {
        let exact = sum.terms.iter().any(|term| self.has_exact(term.mono));
        if !exact && !sum.terms.iter().any(|term| self.is_related(term.mono)) {
            return Some(false);
        }
        let before = sum.clone();
        if exact {
            self.reduce_exact(sum)?;
        }
        self.relate(sum)?;
        Some(*sum != before)
    }

    /// Uses `k * m * (x /: (k*m)) = x` on every term, so that the coefficient of an exact division lies in `0..k`.
    fn reduce_exact(&mut self, sum: &mut Poly) -> Option<()> {
        for _ in 0..MAX_REWRITES {
            let mut step = None;
            for term in sum.terms.iter().copied() {
                if self.has_exact(term.mono) {
                    step = self.cancel_exact(term);
                    if step.is_some() {
                        break;
                    }
                }
            }
            let Some((mono, coef, x, rest)) = step else { return Some(()) };
            let (quotient, used) = coef;
            sum.add_term(mono, used.checked_neg()?)?;
            let rest = self.seal_product(&rest)?;
            let x = self.poly(x)?;
            let product = self.times_mono(&x, rest)?;
            sum.add_scaled(&product, quotient)?;
        }
        None
    }

    /// A term `coef * (x /: (k*m)) * m * rest` with `coef` outside `0..k`: the monomial, `(q, q*k)`, `x` and `rest`.
    #[expect(clippy::type_complexity, reason = "the parts of one identity, used once")]
    fn cancel_exact(&self, term: Term) -> Option<(Dim, (i64, i64), Dim, SmallVec<[Factor; 4]>)> {
        let factors = self.factors(term.mono);
        for factor in &factors {
            let Some(NodeRef::Pair(PairOp::ExactDiv, x, by)) = self.node(factor.atom) else { continue };
            let divisor = self.poly(by)?;
            let (k, wanted) = match divisor.terms.as_slice() {
                [] => (divisor.constant, SmallVec::new()),
                [only] if divisor.constant == 0 => (only.coef, self.factors(only.mono)),
                _ => continue,
            };
            let mut rest = factors.clone();
            if !take_factor(&mut rest, Factor { atom: factor.atom, power: 1 })
                || !wanted.iter().all(|&wanted| take_factor(&mut rest, wanted))
                || k <= 0
            {
                continue;
            }
            let quotient = term.coef.div_euclid(k);
            if quotient != 0 {
                return Some((term.mono, (quotient, quotient.checked_mul(k)?), x, rest));
            }
        }
        None
    }

    /// Applies the identities between `x`, `x//k`, `x%k` and `(x+1)//2`.
    fn relate(&mut self, sum: &mut Poly) -> Option<()> {
        let mut keys: SmallVec<[(i64, Dim); 4]> = SmallVec::new();
        for term in &sum.terms {
            if let Some(key) = self.quartet_key(term.mono) {
                keys.push(key);
            }
        }
        if let [(_, x)] = *keys
            && sum.coef(x) == 0
        {
            // An atom without its relatives is the shortest form already.
            return Some(());
        }
        keys.sort_unstable_by_key(|&(k, x)| (k, rank(x)));
        keys.dedup();
        let mut groups: SmallVec<[(i64, [Dim; 4]); 4]> = SmallVec::new();
        for (k, x) in keys {
            if let Some(atoms) = self.quartet_atoms(k, x)? {
                groups.push((k, atoms));
            }
        }
        // Several divisors may share `x`. Then what each takes from it depends on what the others left, so all start
        // from the one form without remainders.
        if groups.len() > 1 {
            for (k, atoms) in &groups {
                replace_quartet(sum, *atoms, |now| now.plain(*k))?;
            }
        }
        for (k, atoms) in &groups {
            replace_quartet(sum, *atoms, |now| now.cheapest(*k))?;
        }
        Some(())
    }

    /// `(k, x)` for `x//k`, `x%k` and `(x+1)//2` where `x` is a monomial.
    fn quartet_key(&self, atom: Dim) -> Option<(i64, Dim)> {
        let Some(NodeRef::Pair(op, numerator, Dim::Known(k))) = self.node(atom) else { return None };
        let mut numerator = self.poly(numerator)?;
        if op == PairOp::FloorDiv && k == 2 && numerator.constant == 1 {
            numerator.constant = 0;
        }
        let x = numerator.as_mono()?;
        // Where `x` itself is a remainder, looking into it would take time exponential in the nesting.
        (k > 1 && !self.has_exact(x) && !self.is_related(x)).then_some((k, x))
    }

    /// The atoms `x`, `x//k`, `(x+1)//2` (the number 0 for other `k`) and `x%k`; `None` if they simplify, such as for
    /// `x` in `0..k`.
    fn quartet_atoms(&mut self, k: i64, x: Dim) -> Option<Option<[Dim; 4]>> {
        let by = Dim::Known(k);
        let floor = self.divide_known(Poly::mono(x), k)?.as_mono();
        let rest = self.modulo_known(Poly::mono(x), k)?.as_mono();
        let (Some(floor), Some(rest)) = (floor, rest) else { return Some(None) };
        if self.node(floor) != Some(NodeRef::Pair(PairOp::FloorDiv, x, by))
            || self.node(rest) != Some(NodeRef::Pair(PairOp::Mod, x, by))
        {
            return Some(None);
        }
        let ceil = if k == 2 {
            let next = self.intern(NodeRef::Sum(&[Term { mono: x, coef: 1 }], 1))?;
            self.intern(NodeRef::Pair(PairOp::FloorDiv, next, by))?
        } else {
            Dim::Known(0)
        };
        Some(Some([x, floor, ceil, rest]))
    }
}

/// Replaces the coefficients of the atoms of a quartet. Where a number would overflow, the sum stays as it is, which is
/// right as well.
fn replace_quartet(sum: &mut Poly, atoms: [Dim; 4], with: impl Fn(Quartet) -> Option<Quartet>) -> Option<()> {
    let [whole, floor, ceil, rest] = atoms.map(|atom| sum.coef(atom));
    let Some(best) = with(Quartet { whole, floor, ceil, rest }) else { return Some(()) };
    let changes = [
        best.whole.checked_sub(whole)?,
        best.floor.checked_sub(floor)?,
        best.ceil.checked_sub(ceil)?,
        best.rest.checked_sub(rest)?,
    ];
    for (atom, change) in atoms.into_iter().zip(changes) {
        sum.add_term(atom, change)?;
    }
    Some(())
}

/// Takes a factor out of a product; false, with the product unchanged, when it is not in there.
#[cfg_attr(
    not(test),
    expect(clippy::arithmetic_side_effects, reason = "the power in the product is the higher one")
)]
pub(super) fn take_factor(factors: &mut SmallVec<[Factor; 4]>, wanted: Factor) -> bool {
    let Some(at) = factors.iter().position(|factor| factor.atom == wanted.atom) else { return false };
    match factors.get_mut(at) {
        Some(factor) if factor.power > wanted.power => factor.power -= wanted.power,
        Some(factor) if factor.power == wanted.power => {
            factors.remove(at);
        }
        _ => return false,
    }
    true
}
