//! What is known about the type of one value.

use std::sync::Arc;

use onnx_types::{Dim, ElemType, Shape, Type, TypeKind};
use smallvec::SmallVec;

/// The dimensions of a shape, outermost first. Up to six are stored inline, so that common shapes need no allocation.
pub type Dims = SmallVec<[Dim; 6]>;

/// The size at a place of a shape; unknown where the shape has no such place.
pub(crate) fn at(dims: &[Dim], index: usize) -> Dim {
    dims.get(index).copied().unwrap_or_default()
}

/// What is known about the type of a value. Rules get and give it; the results of a run are kept more densely.
#[derive(Clone, PartialEq, Debug, Default)]
pub enum Ty {
    /// Nothing.
    #[default]
    Unknown,
    /// A dense tensor of elements that may be [`ElemType::Undefined`] (not known), and of a shape that may not be known.
    Tensor(ElemType, Option<Dims>),
    /// A value of any other kind: a sparse tensor, sequence, optional, map or opaque value.
    Other(Arc<Type>),
}

impl Ty {
    /// A dense tensor of known shape.
    pub fn tensor(elem: ElemType, dims: impl IntoIterator<Item = Dim>) -> Self {
        Self::Tensor(elem, Some(dims.into_iter().collect()))
    }

    /// Whether nothing at all is known.
    #[must_use]
    pub const fn is_unknown(&self) -> bool {
        matches!(self, Self::Unknown)
    }

    /// The element type, if it is a dense or sparse tensor and that is known.
    #[must_use]
    pub fn elem(&self) -> Option<ElemType> {
        let elem = match self {
            Self::Unknown => ElemType::Undefined,
            Self::Tensor(elem, _) => *elem,
            Self::Other(ty) => ty.elem(),
        };
        (elem != ElemType::Undefined).then_some(elem)
    }

    /// The dimensions, if it is a dense or sparse tensor of known rank.
    #[must_use]
    pub fn dims(&self) -> Option<&[Dim]> {
        match self {
            Self::Unknown => None,
            Self::Tensor(_, dims) => dims.as_deref(),
            Self::Other(ty) => ty.shape().map(Shape::dims),
        }
    }

    /// Converts to a type of the model's vocabulary; `None` if the type is unknown.
    #[must_use]
    pub fn to_type(&self) -> Option<Type> {
        match self {
            Self::Unknown => None,
            Self::Tensor(elem, dims) => {
                Some(Type::tensor(*elem, dims.as_ref().map(|dims| Shape::new(dims.iter().copied()))))
            }
            Self::Other(ty) => Some(Type::clone(ty)),
        }
    }

    /// The same without the sizes of its dimensions and without its rank.
    #[must_use]
    pub fn without_shape(&self) -> Self {
        match self {
            Self::Unknown => Self::Unknown,
            Self::Tensor(elem, _) => Self::Tensor(*elem, None),
            Self::Other(ty) => Self::Other(Arc::new(strip(ty))),
        }
    }
}

/// The nesting of types is bounded by what a decoder accepts; types made in memory are cut off here.
pub(crate) const MAX_NESTING: usize = 128;

fn strip(ty: &Type) -> Type {
    map_shapes(ty, &mut |_| None, MAX_NESTING)
}

/// The type with every shape in it replaced; what is nested deeper than `depth` becomes unknown.
pub(crate) fn map_shapes(ty: &Type, change: &mut dyn FnMut(&Shape) -> Option<Shape>, depth: usize) -> Type {
    let Some(depth) = depth.checked_sub(1) else { return Type::default() };
    let inner = |inner: &Option<Box<Type>>, change: &mut dyn FnMut(&Shape) -> Option<Shape>| {
        inner.as_ref().map(|inner| Box::new(map_shapes(inner, change, depth)))
    };
    let tensor = |tensor: &onnx_types::TensorType, change: &mut dyn FnMut(&Shape) -> Option<Shape>| {
        onnx_types::TensorType { elem: tensor.elem, shape: tensor.shape.as_ref().and_then(change) }
    };
    Type::new(match &ty.kind {
        TypeKind::Tensor(of) => TypeKind::Tensor(tensor(of, change)),
        TypeKind::SparseTensor(of) => TypeKind::SparseTensor(tensor(of, change)),
        TypeKind::Sequence(of) => TypeKind::Sequence(inner(of, change)),
        TypeKind::Optional(of) => TypeKind::Optional(inner(of, change)),
        TypeKind::Map { key, value } => TypeKind::Map { key: *key, value: inner(value, change) },
        other => other.clone(),
    })
}

/// The type with every shape in it replaced, to a safe depth.
pub(crate) fn with_shapes(ty: &Type, change: &mut dyn FnMut(&Shape) -> Option<Shape>) -> Type {
    map_shapes(ty, change, MAX_NESTING)
}

impl From<Type> for Ty {
    fn from(ty: Type) -> Self {
        match ty.kind {
            TypeKind::Undefined => Self::Unknown,
            TypeKind::Tensor(tensor) => {
                Self::Tensor(tensor.elem, tensor.shape.map(|shape| shape.dims().iter().copied().collect()))
            }
            _ => Self::Other(Arc::new(ty)),
        }
    }
}

impl From<Option<Type>> for Ty {
    fn from(ty: Option<Type>) -> Self {
        ty.map_or(Self::Unknown, Self::from)
    }
}

impl From<&Type> for Ty {
    fn from(ty: &Type) -> Self {
        match &ty.kind {
            TypeKind::Tensor(tensor) => Self::Tensor(
                tensor.elem,
                tensor.shape.as_ref().map(|shape| shape.dims().iter().copied().collect()),
            ),
            _ => ty.clone().into(),
        }
    }
}
