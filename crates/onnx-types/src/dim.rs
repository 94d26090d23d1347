//! Dimensions and shapes.

use smallvec::SmallVec;

use crate::expr::ExprId;
use crate::symbol::Symbol;

/// One dimension of a tensor: how many elements lie along one axis.
///
/// Dimensions are at least 0, not at least 1: a tensor may be empty (specification, "Static tensor shapes").
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Dim {
    /// A number. Files can hold negative ones; they are faults that the checker reports.
    Known(i64),
    /// A dimension variable: the same name stands for the same number in the whole model.
    Var(Symbol),
    /// A computed size, such as `2*N + 1`, in the model's [`ExprTable`](crate::expr::ExprTable).
    Expr(ExprId),
    /// Nothing is known.
    #[default]
    Unknown,
}

impl Dim {
    /// The number, if it is one.
    #[must_use]
    pub const fn known(self) -> Option<i64> {
        match self {
            Self::Known(size) => Some(size),
            _ => None,
        }
    }

    /// Whether nothing is known.
    #[must_use]
    pub const fn is_unknown(self) -> bool {
        matches!(self, Self::Unknown)
    }
}

impl From<i64> for Dim {
    fn from(size: i64) -> Self {
        Self::Known(size)
    }
}

impl From<Symbol> for Dim {
    fn from(name: Symbol) -> Self {
        Self::Var(name)
    }
}

/// The dimensions of a tensor whose rank is known; rank 0 is a scalar.
///
/// A tensor type without a shape has an unknown rank; that is `Option<Shape>::None`, never an empty shape.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Shape {
    dims: SmallVec<[Dim; 4]>,
    /// The denotation of each axis (such as `DATA_BATCH`), if the model states it; empty if it states none.
    denotations: Vec<Option<Symbol>>,
}

impl Shape {
    /// The shape with the given dimensions.
    #[must_use]
    pub fn new(dims: impl IntoIterator<Item = Dim>) -> Self {
        Self { dims: dims.into_iter().collect(), denotations: Vec::new() }
    }

    /// The shape of a scalar.
    #[must_use]
    pub fn scalar() -> Self {
        Self::default()
    }

    /// The shape with the given sizes.
    #[must_use]
    pub fn known(sizes: &[i64]) -> Self {
        Self::new(sizes.iter().map(|&size| Dim::Known(size)))
    }

    /// A shape of `rank` unknown dimensions.
    #[must_use]
    pub fn unknown(rank: usize) -> Self {
        Self { dims: SmallVec::from_elem(Dim::Unknown, rank), denotations: Vec::new() }
    }

    /// The number of axes.
    #[must_use]
    pub fn rank(&self) -> usize {
        self.dims.len()
    }

    /// The dimensions in order.
    #[must_use]
    pub fn dims(&self) -> &[Dim] {
        &self.dims
    }

    /// The dimensions, for editing in place.
    pub fn dims_mut(&mut self) -> &mut [Dim] {
        &mut self.dims
    }

    /// The dimension of an axis, if there is such an axis.
    #[must_use]
    pub fn dim(&self, axis: usize) -> Option<Dim> {
        self.dims.get(axis).copied()
    }

    /// Adds an axis at the end.
    pub fn push(&mut self, dim: Dim) {
        self.dims.push(dim);
    }

    /// The sizes, if all of them are numbers.
    #[must_use]
    pub fn sizes(&self) -> Option<SmallVec<[i64; 4]>> {
        self.dims.iter().map(|dim| dim.known()).collect()
    }

    /// The denotation of an axis, if the model states it (specification, "Dimension denotation").
    #[must_use]
    pub fn denotation(&self, axis: usize) -> Option<Symbol> {
        self.denotations.get(axis).copied().flatten()
    }

    /// Sets the denotation of an axis. An axis that the shape does not have is ignored.
    #[cfg_attr(
        not(test),
        expect(
            clippy::arithmetic_side_effects,
            reason = "an axis that the shape has is less than their number"
        )
    )]
    pub fn set_denotation(&mut self, axis: usize, denotation: Option<Symbol>) {
        if axis < self.dims.len() && (denotation.is_some() || axis < self.denotations.len()) {
            if self.denotations.len() <= axis {
                self.denotations.resize(axis + 1, None);
            }
            if let Some(slot) = self.denotations.get_mut(axis) {
                *slot = denotation;
            }
        }
    }
}

impl FromIterator<Dim> for Shape {
    fn from_iter<I: IntoIterator<Item = Dim>>(dims: I) -> Self {
        Self::new(dims)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dimension_takes_two_words() {
        assert_eq!(size_of::<Dim>(), 16);
    }

    #[test]
    fn denotations_stay_with_their_axis() {
        let mut shape = Shape::known(&[1, 3]);
        shape.set_denotation(1, Some(Symbol::from_index(7)));
        shape.set_denotation(5, Some(Symbol::from_index(8)));
        assert_eq!(shape.denotation(0), None);
        assert_eq!(shape.denotation(1), Some(Symbol::from_index(7)));
        assert_eq!(shape.denotation(5), None);
        assert_eq!(shape.sizes().as_deref(), Some(&[1, 3][..]));
    }
}
