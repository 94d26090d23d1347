//! Dimensions and shapes.

use smallvec::SmallVec;

use crate::expr::ExprId;
use crate::symbol::Symbol;

/// One dimension of a tensor: how many elements lie along one axis.
///
/// Dimensions are at least 0, not at least 1: a tensor may be empty (specification, "Static tensor shapes").
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Dim {
    /// A number. In a [`Shape`] it is at least 0: see [`Shape::negative`].
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
///
/// A negative number in the place of a size, which some files have, is not a size: the dimension is unknown, and the number is
/// kept apart, so that the file can be written as it was ([`Shape::negative`]).
#[derive(Clone, Debug, Default)]
pub struct Shape {
    dims: SmallVec<[Dim; 4]>,
    /// What else the model states about each axis; empty if it states nothing.
    notes: Vec<Note>,
}

/// What a model states about an axis in addition to its dimension.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Note {
    /// The denotation, such as `DATA_BATCH`.
    denotation: Option<Symbol>,
    /// The negative number that takes the place of the size.
    negative: Option<i64>,
}

impl Shape {
    /// The shape with the given dimensions.
    #[must_use]
    pub fn new(dims: impl IntoIterator<Item = Dim>) -> Self {
        let mut shape = Self { dims: dims.into_iter().collect(), notes: Vec::new() };
        if shape.dims.iter().any(is_negative) {
            shape.keep_negative();
        }
        shape
    }

    /// Makes negative dimensions unknown.
    #[cold]
    fn keep_negative(&mut self) {
        for axis in 0..self.dims.len() {
            let Some(dim) = self.dims.get_mut(axis).filter(|dim| is_negative(dim)) else { continue };
            let negative = std::mem::take(dim).known();
            self.note(axis).negative = negative;
        }
    }

    /// The note about an axis that the shape has.
    #[cfg_attr(
        not(test),
        expect(
            clippy::arithmetic_side_effects,
            clippy::indexing_slicing,
            reason = "an axis that the shape has is less than their number"
        )
    )]
    fn note(&mut self, axis: usize) -> &mut Note {
        if self.notes.len() <= axis {
            self.notes.resize(axis + 1, Note::default());
        }
        &mut self.notes[axis]
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
        Self { dims: SmallVec::from_elem(Dim::Unknown, rank), notes: Vec::new() }
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
        if is_negative(&dim) {
            self.keep_negative();
        }
    }

    /// The sizes, if all of them are numbers.
    #[must_use]
    pub fn sizes(&self) -> Option<SmallVec<[i64; 4]>> {
        self.dims.iter().map(|dim| dim.known()).collect()
    }

    /// The denotation of an axis, if the model states it (specification, "Dimension denotation").
    #[must_use]
    pub fn denotation(&self, axis: usize) -> Option<Symbol> {
        self.notes.get(axis)?.denotation
    }

    /// The negative number that a file gives in the place of the size of an axis, such as the -1 of old tools. The dimension is
    /// [unknown](Dim::Unknown) then.
    #[must_use]
    pub fn negative(&self, axis: usize) -> Option<i64> {
        self.notes.get(axis)?.negative.filter(|_| self.dim(axis) == Some(Dim::Unknown))
    }

    /// Returns `true` if the file gives a negative number in the place of a size.
    #[must_use]
    pub fn has_negative(&self) -> bool {
        (0..self.notes.len()).any(|axis| self.negative(axis).is_some())
    }

    /// Forgets the negative numbers in the places of sizes, which are unknown.
    pub fn forget_negative(&mut self) {
        self.notes.iter_mut().for_each(|note| note.negative = None);
    }

    /// Sets the denotation of an axis. An axis that the shape does not have is ignored.
    pub fn set_denotation(&mut self, axis: usize, denotation: Option<Symbol>) {
        if axis < self.dims.len() && (denotation.is_some() || axis < self.notes.len()) {
            self.note(axis).denotation = denotation;
        }
    }
}

const fn is_negative(dim: &Dim) -> bool {
    matches!(dim, Dim::Known(size) if *size < 0)
}

impl PartialEq for Shape {
    fn eq(&self, other: &Self) -> bool {
        let same = |axis: usize| {
            self.denotation(axis) == other.denotation(axis) && self.negative(axis) == other.negative(axis)
        };
        self.dims == other.dims && (0..self.notes.len().max(other.notes.len())).all(same)
    }
}

impl Eq for Shape {}

impl std::hash::Hash for Shape {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.dims.hash(state);
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

    #[test]
    fn a_negative_number_is_no_size() {
        let mut shape = Shape::known(&[2, -1]);
        shape.push(Dim::Known(i64::MIN));
        assert_eq!(shape.dims(), [Dim::Known(2), Dim::Unknown, Dim::Unknown]);
        assert_eq!([0, 1, 2, 3].map(|axis| shape.negative(axis)), [None, Some(-1), Some(i64::MIN), None]);
        assert_eq!(shape.sizes(), None);
        let open = Shape::new([Dim::Known(2), Dim::Unknown, Dim::Unknown]);
        assert_ne!(shape, open);
        shape.forget_negative();
        assert_eq!(shape, open);
        // A size that becomes known takes the place of the number.
        let mut shape = Shape::known(&[-1]);
        shape.dims_mut()[0] = Dim::Known(3);
        assert_eq!((shape.negative(0), &shape), (None, &Shape::known(&[3])));
    }
}
