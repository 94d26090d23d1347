//! Types with other elements.

use onnx_types::{ElemType, Type, TypeKind};

/// The element type inside tensors, and inside sequences and optionals of tensors. Sparse tensors and maps have none: no operator
/// casts them.
pub(crate) fn inner_elem(ty: &Type) -> Option<ElemType> {
    let mut at = ty;
    loop {
        match &at.kind {
            TypeKind::Tensor(tensor) => return Some(tensor.elem),
            TypeKind::Sequence(Some(inner)) | TypeKind::Optional(Some(inner)) => at = inner,
            _ => return None,
        }
    }
}

/// Whether elements are floats of another type than `float`, of which a product computes in that type.
pub(crate) const fn is_other_float(elem: ElemType) -> bool {
    matches!(elem, ElemType::Float16 | ElemType::Bfloat16 | ElemType::Double)
}

/// Returns `true` if the type mentions elements of a type anywhere.
pub(crate) fn mentions(ty: &Type, elem: ElemType) -> bool {
    std::iter::successors(Some(ty), |ty| ty.inner())
        .any(|ty| ty.tensor_type().is_some_and(|tensor| tensor.elem == elem))
}

/// Returns `true` if values of the type can be cast: dense tensors.
pub(crate) const fn is_dense(ty: &Type) -> bool {
    matches!(ty.kind, TypeKind::Tensor(_))
}

/// The type with other elements inside.
pub(crate) fn with_elem(ty: &Type, elem: ElemType) -> Type {
    let mut result = ty.clone();
    let mut at = &mut result;
    loop {
        at.source = None;
        match &mut at.kind {
            TypeKind::Tensor(tensor) => {
                tensor.elem = elem;
                break;
            }
            TypeKind::Sequence(Some(inner)) | TypeKind::Optional(Some(inner)) => at = inner,
            _ => break,
        }
    }
    result
}
