//! What two values have in common, where either may be the one at run time.

use onnx_types::{Dim, ElemType, Shape, TensorType, Type, TypeKind};

use crate::content::Elem;
use crate::cx::Cx;
use crate::engine::control::Known;
use crate::ty::{Dims, Ty};

/// The two are of different kinds or have different element types, which no value has at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Differ;

/// What holds for both: sizes that are not the same are unknown, and ranks that differ leave no shape. Of two values that
/// must be of one type, one that nothing is known about is of the type of the other.
pub(crate) fn join(cx: &Cx<'_, '_>, a: &Known, b: &Known) -> Result<Known, Differ> {
    let ty = join_ty(cx, &a.ty, &b.ty)?;
    let content = match (&a.content, &b.content) {
        (Some(a), Some(b)) if a.len() == b.len() => {
            let same = |(a, b): (&Elem, &Elem)| if a == b { *a } else { Elem::Unknown };
            Some(a.iter().zip(b.iter()).map(same).collect())
        }
        _ => None,
    };
    let content = content.filter(|content: &crate::content::Content| {
        ty.dims().is_some_and(|dims| dims.iter().all(|dim| dim.known().is_some()))
            && content.iter().any(|&elem| elem != Elem::Unknown)
    });
    Ok(Known { ty, content })
}

/// The type that two types have in common, as for [`join`].
pub(crate) fn join_ty(cx: &Cx<'_, '_>, a: &Ty, b: &Ty) -> Result<Ty, Differ> {
    Ok(match (a, b) {
        (Ty::Unknown, other) | (other, Ty::Unknown) => other.without_shape(),
        (Ty::Tensor(a, left), Ty::Tensor(b, right)) => {
            let elem = join_elem(*a, *b)?;
            let dims = left.as_deref().zip(right.as_deref()).and_then(|(a, b)| join_dims(cx, a, b));
            Ty::Tensor(elem, dims)
        }
        (Ty::Other(a), Ty::Other(b)) => join_type(cx, a, b)?.into(),
        (Ty::Tensor(..), Ty::Other(_)) | (Ty::Other(_), Ty::Tensor(..)) => return Err(Differ),
    })
}

/// An element type that is not known is the other one: both must be the same.
fn join_elem(a: ElemType, b: ElemType) -> Result<ElemType, Differ> {
    match (a, b) {
        (ElemType::Undefined, other) | (other, ElemType::Undefined) => Ok(other),
        _ if a == b => Ok(a),
        _ => Err(Differ),
    }
}

fn join_dims(cx: &Cx<'_, '_>, a: &[Dim], b: &[Dim]) -> Option<Dims> {
    let same = |(&a, &b): (&Dim, &Dim)| if cx.dims_eq(a, b) == Some(true) { a } else { Dim::Unknown };
    (a.len() == b.len()).then(|| a.iter().zip(b).map(same).collect())
}

fn join_tensor(cx: &Cx<'_, '_>, a: &TensorType, b: &TensorType) -> Result<TensorType, Differ> {
    let dims = a.shape.as_ref().zip(b.shape.as_ref());
    let shape = dims.and_then(|(a, b)| join_dims(cx, a.dims(), b.dims())).map(Shape::new);
    Ok(TensorType { elem: join_elem(a.elem, b.elem)?, shape })
}

/// The types inside are joined from the outside in, without recursion.
fn join_type(cx: &Cx<'_, '_>, a: &Type, b: &Type) -> Result<Type, Differ> {
    use TypeKind as K;
    let (mut a, mut b) = (a, b);
    let mut wrappers = Vec::new();
    let mut joined = loop {
        let (left, right, wrap) = match (&a.kind, &b.kind) {
            (K::Undefined, _) | (_, K::Undefined) => break Type::default(),
            (K::Tensor(x), K::Tensor(y)) => break Type::new(K::Tensor(join_tensor(cx, x, y)?)),
            (K::SparseTensor(x), K::SparseTensor(y)) => {
                break Type::new(K::SparseTensor(join_tensor(cx, x, y)?));
            }
            (K::Sequence(x), K::Sequence(y)) => (x, y, Wrapper::Sequence),
            (K::Optional(x), K::Optional(y)) => (x, y, Wrapper::Optional),
            (K::Map { key: k, value: x }, K::Map { key: l, value: y }) if k == l => (x, y, Wrapper::Map(*k)),
            (K::Opaque { .. }, K::Opaque { .. }) if a == b => break a.clone(),
            _ => return Err(Differ),
        };
        wrappers.push(wrap);
        match (left, right) {
            (Some(left), Some(right)) => (a, b) = (left, right),
            _ => break Type::default(),
        }
    };
    for wrapper in wrappers.into_iter().rev() {
        joined = wrapper.around(joined);
    }
    Ok(joined)
}

enum Wrapper {
    Sequence,
    Optional,
    Map(ElemType),
}

impl Wrapper {
    fn around(self, inner: Type) -> Type {
        let inner = (inner.kind != TypeKind::Undefined).then(|| Box::new(inner));
        Type::new(match self {
            Self::Sequence => TypeKind::Sequence(inner),
            Self::Optional => TypeKind::Optional(inner),
            Self::Map(key) => TypeKind::Map { key, value: inner },
        })
    }
}
