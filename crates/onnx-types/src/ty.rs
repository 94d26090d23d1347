//! Types of values.

use bytes::Bytes;

use crate::dim::{Dim, Shape};
use crate::elem::ElemType;
use crate::symbol::Symbol;

/// The type of a value (specification, "Types"; message `TypeProto`).
#[derive(Clone, Debug, Default)]
pub struct Type {
    /// The kind of value.
    pub kind: TypeKind,
    /// The denotation of the value (such as `IMAGE`), if the model states it.
    pub denotation: Option<Symbol>,
    /// The bytes this type was read from, kept only where encoding it again would give different bytes.
    ///
    /// It is not part of the type's meaning: equality ignores it, and code that changes the type must drop it.
    pub source: Option<Bytes>,
}

/// The kinds of values.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum TypeKind {
    /// The file names no kind.
    #[default]
    Undefined,
    /// A dense tensor.
    Tensor(TensorType),
    /// A sparse tensor.
    SparseTensor(TensorType),
    /// A sequence of values of one type; `None` where the file does not say which.
    Sequence(Option<Box<Type>>),
    /// An optional value; `None` where the file does not state of which type.
    Optional(Option<Box<Type>>),
    /// A map from integers or strings to values of one type.
    Map {
        /// The type of the keys.
        key: ElemType,
        /// The type of the values; `None` where the file does not say which.
        value: Option<Box<Type>>,
    },
    /// A type that only a domain's operators understand.
    Opaque {
        /// The domain that defines the type.
        domain: Symbol,
        /// Its name there.
        name: Symbol,
    },
}

/// Element type and shape of a dense or sparse tensor.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TensorType {
    /// The type of the elements; `Undefined` where it is not known.
    pub elem: ElemType,
    /// The shape; `None` where not even the rank is known.
    pub shape: Option<Shape>,
}

impl Type {
    /// A type of the given kind without denotation.
    #[must_use]
    pub const fn new(kind: TypeKind) -> Self {
        Self { kind, denotation: None, source: None }
    }

    /// A dense tensor.
    #[must_use]
    pub const fn tensor(elem: ElemType, shape: Option<Shape>) -> Self {
        Self::new(TypeKind::Tensor(TensorType { elem, shape }))
    }

    /// A sparse tensor.
    #[must_use]
    pub const fn sparse_tensor(elem: ElemType, shape: Option<Shape>) -> Self {
        Self::new(TypeKind::SparseTensor(TensorType { elem, shape }))
    }

    /// A sequence of `elem`.
    #[must_use]
    pub fn sequence(elem: Self) -> Self {
        Self::new(TypeKind::Sequence(Some(Box::new(elem))))
    }

    /// An optional `elem`.
    #[must_use]
    pub fn optional(elem: Self) -> Self {
        Self::new(TypeKind::Optional(Some(Box::new(elem))))
    }

    /// A map from `key` to `value`.
    #[must_use]
    pub fn map(key: ElemType, value: Self) -> Self {
        Self::new(TypeKind::Map { key, value: Some(Box::new(value)) })
    }

    /// Element type and shape, if this is a dense or sparse tensor.
    #[must_use]
    pub const fn tensor_type(&self) -> Option<&TensorType> {
        match &self.kind {
            TypeKind::Tensor(tensor) | TypeKind::SparseTensor(tensor) => Some(tensor),
            _ => None,
        }
    }

    /// The shape, if this is a tensor of known rank.
    #[must_use]
    pub fn shape(&self) -> Option<&Shape> {
        self.tensor_type()?.shape.as_ref()
    }

    /// The type without negative numbers in the places of sizes, which are unknown; `None` if it has none.
    #[must_use]
    pub fn without_negative(&self) -> Option<Self> {
        self.with_shapes_changed(Shape::has_negative, Shape::forget_negative)
    }

    /// The type with [`Dim::Unknown`] for dimensions that a condition selects; `None` if it selects none.
    #[must_use]
    pub fn forgetting(&self, is_forgotten: impl Fn(Dim) -> bool) -> Option<Self> {
        self.with_shapes_changed(
            |shape| shape.dims().iter().any(|&dim| is_forgotten(dim)),
            |shape| {
                let forgotten = shape.dims_mut().iter_mut().filter(|dim| is_forgotten(**dim));
                forgotten.for_each(|dim| *dim = Dim::Unknown);
            },
        )
    }

    /// The type with its shapes changed, at each level; `None` if the condition selects none.
    fn with_shapes_changed(
        &self,
        is_wrong: impl Fn(&Shape) -> bool,
        change: impl Fn(&mut Shape),
    ) -> Option<Self> {
        let mut levels = std::iter::successors(Some(self), |ty| ty.inner());
        if !levels.any(|ty| ty.shape().is_some_and(&is_wrong)) {
            return None;
        }
        let mut plain = self.clone();
        let mut at = Some(&mut plain);
        while let Some(ty) = at {
            ty.source = None;
            at = match &mut ty.kind {
                TypeKind::Tensor(tensor) | TypeKind::SparseTensor(tensor) => {
                    tensor.shape.iter_mut().for_each(&change);
                    None
                }
                TypeKind::Sequence(inner)
                | TypeKind::Optional(inner)
                | TypeKind::Map { value: inner, .. } => inner.as_deref_mut(),
                TypeKind::Undefined | TypeKind::Opaque { .. } => None,
            };
        }
        Some(plain)
    }

    /// The element type of a tensor; `Undefined` for everything else.
    #[must_use]
    pub fn elem(&self) -> ElemType {
        self.tensor_type().map_or(ElemType::Undefined, |tensor| tensor.elem)
    }

    /// The type inside a sequence, optional or map.
    #[must_use]
    pub fn inner(&self) -> Option<&Self> {
        match &self.kind {
            TypeKind::Sequence(inner) | TypeKind::Optional(inner) | TypeKind::Map { value: inner, .. } => {
                inner.as_deref()
            }
            _ => None,
        }
    }

    /// This type, with what `other` states where this one states nothing: both are types of one value. A size that is a number
    /// takes precedence over a variable; where both state something else, this type counts.
    #[must_use]
    pub fn completed_by(&self, other: &Self) -> Self {
        let mut result = self.clone();
        let mut at = Some((&mut result, other));
        while let Some((ty, other)) = at {
            at = None;
            ty.source = None;
            match (&mut ty.kind, &other.kind) {
                (kind @ TypeKind::Undefined, other) => *kind = other.clone(),
                (TypeKind::Tensor(tensor), TypeKind::Tensor(other))
                | (TypeKind::SparseTensor(tensor), TypeKind::SparseTensor(other)) => tensor.complete(other),
                (TypeKind::Sequence(inner), TypeKind::Sequence(Some(other)))
                | (TypeKind::Optional(inner), TypeKind::Optional(Some(other)))
                | (TypeKind::Map { value: inner, .. }, TypeKind::Map { value: Some(other), .. }) => {
                    match inner {
                        Some(inner) => at = Some((&mut **inner, &**other)),
                        None => *inner = Some(other.clone()),
                    }
                }
                _ => {}
            }
        }
        if result == *self { self.clone() } else { result }
    }
}

impl TensorType {
    /// Adds what `other` states and this type does not.
    fn complete(&mut self, other: &Self) {
        if self.elem == ElemType::Undefined {
            self.elem = other.elem;
        }
        match (&mut self.shape, &other.shape) {
            (shape @ None, other) => shape.clone_from(other),
            (Some(shape), Some(other)) if shape.rank() == other.rank() => {
                for (dim, other) in shape.dims_mut().iter_mut().zip(other.dims()) {
                    if *dim == Dim::Unknown || (dim.known().is_none() && other.known().is_some()) {
                        *dim = *other;
                    }
                }
            }
            _ => {}
        }
    }
}

impl From<TypeKind> for Type {
    fn from(kind: TypeKind) -> Self {
        Self::new(kind)
    }
}

impl PartialEq for Type {
    fn eq(&self, other: &Self) -> bool {
        self.kind == other.kind && self.denotation == other.denotation
    }
}

impl Eq for Type {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equality_ignores_the_source() {
        let plain = Type::tensor(ElemType::Float, Some(Shape::known(&[2])));
        let read = Type { source: Some(Bytes::from_static(b"x")), ..plain.clone() };
        assert_eq!(plain, read);
        assert_ne!(plain, Type::sparse_tensor(ElemType::Float, Some(Shape::known(&[2]))));
        assert_eq!(Type::sequence(plain.clone()).inner(), Some(&plain));
    }

    #[test]
    fn a_type_is_completed_by_what_another_states() {
        let (n, m) = (Dim::Var(Symbol::from_index(1)), Dim::Var(Symbol::from_index(2)));
        let tensor = |elem, dims: &[Dim]| Type::tensor(elem, Some(Shape::new(dims.iter().copied())));
        let is = |a: &Type, b: &Type, expected: &Type| {
            assert_eq!(a.completed_by(b), *expected);
            assert_eq!(
                Type::sequence(a.clone()).completed_by(&Type::sequence(b.clone())).inner(),
                Some(expected)
            );
        };
        let a = tensor(ElemType::Float, &[Dim::Unknown, n, n, Dim::Known(3)]);
        let b = tensor(ElemType::Undefined, &[m, Dim::Known(2), m, Dim::Known(4)]);
        is(&a, &b, &tensor(ElemType::Float, &[m, Dim::Known(2), n, Dim::Known(3)]));
        is(&b, &a, &tensor(ElemType::Float, &[m, Dim::Known(2), m, Dim::Known(4)]));
        is(&a, &tensor(ElemType::Float, &[]), &a);
        is(&a, &Type::default(), &a);
        is(&Type::default(), &a, &a);
        is(
            &Type::tensor(ElemType::Int64, None),
            &a,
            &tensor(ElemType::Int64, &[Dim::Unknown, n, n, Dim::Known(3)]),
        );
    }
}
