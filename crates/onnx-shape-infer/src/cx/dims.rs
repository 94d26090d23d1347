//! Axes, sizes that must be equal, broadcasting.

use onnx_types::Dim;

use super::{Cx, Outcome};
use crate::facts::{Question, Relation, Strength};
use crate::fault::{AXIS_OUT_OF_RANGE, AXIS_TWICE, NO_BROADCAST, SIZES_DIFFER, TOO_LARGE, WRONG_RANK};
use crate::ty::Dims;

impl Cx<'_, '_> {
    /// Counts a negative axis from the end: an axis of a tensor of the given rank.
    ///
    /// # Errors
    ///
    /// With a finding when it is outside `-rank..rank`.
    pub fn axis(&mut self, axis: i64, rank: usize) -> Outcome<usize> {
        let signed = i64::try_from(rank).unwrap_or(i64::MAX);
        let counted = if axis < 0 { axis.saturating_add(signed) } else { axis };
        match usize::try_from(counted) {
            Ok(counted) if counted < rank => Ok(counted),
            _ => {
                Err(self
                    .fail(&AXIS_OUT_OF_RANGE, format_args!("axis {axis} is outside a tensor of rank {rank}")))
            }
        }
    }

    /// Counts negative axes from the end, and gives for each axis of the rank whether it is named.
    ///
    /// # Errors
    ///
    /// Reports a diagnostic if an axis is out of range or occurs twice.
    pub fn axes(&mut self, axes: &[i64], rank: usize) -> Outcome<smallvec::SmallVec<[bool; 8]>> {
        let mut named = smallvec::SmallVec::from_elem(false, rank);
        for &axis in axes {
            let axis = self.axis(axis, rank)?;
            if let Some(slot) = named.get_mut(axis) {
                if *slot {
                    return Err(self.fail(&AXIS_TWICE, format_args!("axis {axis} is named twice")));
                }
                *slot = true;
            }
        }
        Ok(named)
    }

    /// Records a relation that follows from the semantics of the node: it holds in every valid run of the node.
    pub fn prove(&mut self, relation: Relation) {
        self.state.conclude(relation, Strength::Proved, Some(self.id), "");
    }

    /// Records a guard: a relation that the results of the node depend on and that a valid run may violate. `reason`
    /// completes "because": "the window must fit into the padded axis".
    ///
    /// If the options exclude assumptions, the shapes and elements of all outputs become unknown. A rule that knows less
    /// without the assumption, but not nothing, asks [`may_assume`](Self::may_assume).
    pub fn assume(&mut self, relation: Relation, reason: &'static str) {
        if !self.may_assume(relation, reason) {
            self.state.is_refused = true;
        }
    }

    /// Records a guard as [`assume`](Self::assume) does; `false` if the options exclude assumptions. Then the rule may only
    /// claim what holds without it.
    #[must_use]
    pub fn may_assume(&mut self, relation: Relation, reason: &'static str) -> bool {
        if self.state.options.assumed {
            self.state.conclude(relation, Strength::Assumed, Some(self.id), reason);
        }
        self.state.options.assumed
    }

    /// Whether two dimensions are the same, by algebra and by the intervals of symbols: `None` when that is not known.
    #[must_use]
    pub fn dims_eq(&self, a: Dim, b: Dim) -> Option<bool> {
        self.state.ask(Question::Equal, a, b)
    }

    /// Whether the first is at most the second, by algebra and by the intervals of symbols: `None` when that is not known.
    #[must_use]
    pub fn dims_le(&self, a: Dim, b: Dim) -> Option<bool> {
        self.state.ask(Question::AtMost, a, b)
    }

    /// Whether a dimension is known to be at least 0, as a size must be.
    #[must_use]
    pub fn is_size(&self, dim: Dim) -> bool {
        self.dims_le(Dim::Known(0), dim) == Some(true)
    }

    /// The smaller of two dimensions, by all that is known about symbols.
    pub fn min(&mut self, a: Dim, b: Dim) -> Dim {
        self.state.exprs.min_in(a, b, &self.state.facts)
    }

    /// The larger of two dimensions, by all that is known about symbols.
    pub fn max(&mut self, a: Dim, b: Dim) -> Dim {
        self.state.exprs.max_in(a, b, &self.state.facts)
    }

    /// The one size of two that must be equal in every valid run: the better known of them. `what` completes the message
    /// of the finding: "the inner sizes of the matrices".
    ///
    /// # Errors
    ///
    /// With a finding when they are different numbers.
    pub fn same(&mut self, a: Dim, b: Dim, what: &str) -> Outcome<Dim> {
        let chosen = match (a, b) {
            _ if a == b => return Ok(a),
            (Dim::Unknown, other) | (other, Dim::Unknown) => return Ok(other),
            (Dim::Known(left), Dim::Known(right)) => {
                return Err(self.fail(&SIZES_DIFFER, format_args!("{what} are {left} and {right}")));
            }
            (Dim::Known(_), _) => a,
            (_, Dim::Known(_)) => b,
            // A name that the author chose says more than one made here.
            (Dim::Var(symbol), _) if self.state.is_fresh(symbol) => b,
            _ => a,
        };
        if self.dims_eq(a, b) == Some(false) {
            return Err(self.fail(&SIZES_DIFFER, format_args!("{what} can never be the same")));
        }
        self.prove(Relation::Equal(a, b));
        Ok(chosen)
    }

    /// The dimensions that two shapes have together by multidirectional broadcasting.
    ///
    /// # Errors
    ///
    /// With a finding when two numbers do not fit.
    pub fn broadcast(&mut self, a: &[Dim], b: &[Dim]) -> Outcome<Dims> {
        let (long, short) = if a.len() >= b.len() { (a, b) } else { (b, a) };
        let (leading, rest) = long.split_at(long.len().saturating_sub(short.len()));
        let mut dims = Dims::from_slice(leading);
        for (&left, &right) in rest.iter().zip(short) {
            dims.push(self.broadcast_dim(left, right)?);
        }
        Ok(dims)
    }

    /// The size that two sizes broadcast to.
    ///
    /// # Errors
    ///
    /// With a finding when two numbers do not fit.
    pub fn broadcast_dim(&mut self, a: Dim, b: Dim) -> Outcome<Dim> {
        match (a, b) {
            _ if a == b => Ok(a),
            (Dim::Known(1), other) | (other, Dim::Known(1)) => Ok(other),
            (Dim::Known(left), Dim::Known(right)) => {
                Err(self.fail(&NO_BROADCAST, format_args!("sizes {left} and {right} do not broadcast")))
            }
            // A number other than 1 is the result wherever the node can run at all.
            (Dim::Known(_), other) | (other, Dim::Known(_)) => {
                let known = if a.known().is_some() { a } else { b };
                if other != Dim::Unknown {
                    self.prove(Relation::Broadcasts(known, other));
                }
                Ok(known)
            }
            (Dim::Unknown, _) | (_, Dim::Unknown) => Ok(Dim::Unknown),
            _ if self.dims_eq(a, b) == Some(true) => Ok(a),
            _ => {
                self.prove(Relation::Broadcasts(a, b));
                self.prove_not_cut(a, b);
                self.prove_not_cut(b, a);
                Ok(self.dims().bcast(a, b))
            }
        }
    }

    /// Requires that one shape broadcasts to another one, which stays as it is. `what` names the tensor of the first: "the
    /// scale".
    ///
    /// # Errors
    ///
    /// With a finding when it has more axes, or a number that is neither 1 nor that of the other shape.
    pub(crate) fn broadcasts_to(&mut self, inner: &[Dim], outer: &[Dim], what: &str) -> Outcome {
        let (found, rank) = (inner.len(), outer.len());
        if found > rank {
            let message = format_args!("{what} has rank {found} and must broadcast to rank {rank}");
            return Err(self.fail(&NO_BROADCAST, message));
        }
        for (&from, &to) in inner.iter().rev().zip(outer.iter().rev()) {
            let differs = matches!((from, to), (Dim::Known(from), Dim::Known(to)) if from != 1 && from != to);
            if differs {
                let (from, to) = (from.known().unwrap_or(0), to.known().unwrap_or(0));
                let message = format_args!("{what} has the size {from}, which does not broadcast to {to}");
                return Err(self.fail(&NO_BROADCAST, message));
            }
        }
        Ok(())
    }

    /// Requires that two sizes are equal if both are numbers. `what` completes the message as for [`same`](Self::same), which
    /// says more where one of the sizes stays a size of a result.
    ///
    /// # Errors
    ///
    /// With a finding when they are different numbers.
    pub(crate) fn agree(&mut self, a: Dim, b: Dim, what: &str) -> Outcome {
        match (a, b) {
            (Dim::Known(_), Dim::Known(_)) => self.same(a, b, what).map(drop),
            _ => Ok(()),
        }
    }

    /// Requires that two inputs have the same rank, where both are known.
    ///
    /// # Errors
    ///
    /// With a finding when they differ.
    pub(crate) fn same_rank(&mut self, a: usize, b: usize) -> Outcome {
        match (self.rank(a), self.rank(b)) {
            (Ok(left), Ok(right)) if left != right => {
                let message = format_args!("input {a} has rank {left} and input {b} has rank {right}");
                Err(self.fail(&WRONG_RANK, message))
            }
            _ => Ok(()),
        }
    }

    /// Requires that a size is divided by a number without a remainder. `what` completes the message: "channels".
    ///
    /// # Errors
    ///
    /// With a finding when both are numbers and a remainder is left.
    pub(crate) fn divides(&mut self, by: Dim, size: Dim, what: &str) -> Outcome {
        match (size, by) {
            (Dim::Known(size), Dim::Known(by)) if size.checked_rem(by).is_some_and(|rest| rest != 0) => {
                Err(self.fail(&SIZES_DIFFER, format_args!("{size} {what} are not a multiple of {by}")))
            }
            _ => Ok(()),
        }
    }

    /// Records what it means that a size broadcasts with its own minimum with numbers of at least 2: it is the minimum, as
    /// a minimum of 1 has the size 1, too.
    fn prove_not_cut(&mut self, size: Dim, cut: Dim) {
        let Some(operands) = self.state.exprs.min_operands(cut) else { return };
        if !operands.contains(&size) {
            return;
        }
        // Numbers are last.
        if let [.., most @ Dim::Known(2..)] = *operands
            && operands.len() == 2
        {
            self.prove(Relation::AtMost(size, most));
        }
    }

    /// A new symbol for a size of an output that is not known, of which is known that it is at most `most`. The same call
    /// gives the same symbol, so that outputs can share it.
    pub fn size_at_most(&mut self, output: usize, axis: usize, most: Dim) -> Dim {
        if most == Dim::Known(0) {
            return most;
        }
        let Some(value) = self.node.output(output) else { return Dim::Unknown };
        let symbol = self.state.fresh(value, u32::try_from(axis).unwrap_or(u32::MAX));
        if let Some(hi) = self.state.facts.bounds(&self.state.exprs, most).hi {
            self.state.facts.bound(symbol, None, Some(hi));
        }
        if most.known().is_none() && !most.is_unknown() {
            self.prove(Relation::AtMost(Dim::Var(symbol), most));
        }
        Dim::Var(symbol)
    }

    /// The number of elements of a shape.
    pub fn product(&mut self, dims: &[Dim]) -> Dim {
        self.dims().product(dims)
    }

    /// The sum of sizes and of numbers that are added to them.
    ///
    /// # Errors
    ///
    /// Reports a diagnostic if the sum is too large for a size for all values of the symbolic dimensions.
    pub fn sum_of_sizes(&mut self, parts: &[Dim]) -> Outcome<Dim> {
        let known: i128 = parts.iter().filter_map(|part| part.known()).map(i128::from).sum();
        let is_open = |part: &Dim| part.known().is_none() && !self.is_size(*part);
        if known > i128::from(i64::MAX) && !parts.iter().any(is_open) {
            return Err(self.fail(&TOO_LARGE, "a sum of sizes does not fit in 64 bits"));
        }
        // The parts may cancel each other: what they add up to on the way does not matter.
        if parts.iter().all(|part| part.known().is_some())
            && let Ok(sum) = i64::try_from(known)
        {
            return Ok(Dim::Known(sum));
        }
        Ok(self.dims().sum(parts))
    }

    /// The product of sizes.
    ///
    /// # Errors
    ///
    /// With a finding when all are numbers and it is too large for a size.
    pub fn product_of_sizes(&mut self, factors: &[Dim]) -> Outcome<Dim> {
        let product = self.product(factors);
        if product.is_unknown() && factors.iter().all(|&factor| factor.known().is_some_and(|size| size > 0)) {
            let product =
                factors.iter().filter_map(|factor| factor.known()).try_fold(1_i64, i64::checked_mul);
            if product.is_none() {
                return Err(self.fail(&TOO_LARGE, "a product of sizes does not fit in 64 bits"));
            }
        }
        Ok(product)
    }
}
