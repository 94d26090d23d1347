//! Whether two types can be those of one value.

use std::fmt;

use onnx_types::{Dim, ElemType, TensorType, Type, TypeKind};

/// What keeps two types from being those of one value. The first of a pair is of the first type.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Conflict {
    Kinds(&'static str, &'static str),
    Elements(ElemType, ElemType),
    Keys(ElemType, ElemType),
    Ranks(usize, usize),
    Sizes { axis: usize, sizes: (i64, i64) },
}

impl fmt::Display for Conflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kinds(a, b) => write!(f, "{a} against {b}"),
            Self::Elements(a, b) => write!(f, "elements of type `{}` against `{}`", a.name(), b.name()),
            Self::Keys(a, b) => write!(f, "keys of type `{}` against `{}`", a.name(), b.name()),
            Self::Ranks(a, b) => write!(f, "rank {a} against rank {b}"),
            Self::Sizes { axis, sizes: (a, b) } => write!(f, "size {a} against {b} in dimension {axis}"),
        }
    }
}

/// The first property in which two types are incompatible. A property that either type leaves open is compatible with
/// any.
pub(crate) fn conflict(mut a: &Type, mut b: &Type) -> Option<Conflict> {
    loop {
        match (&a.kind, &b.kind) {
            (TypeKind::Undefined, _) | (_, TypeKind::Undefined) => return None,
            (TypeKind::Tensor(a), TypeKind::Tensor(b))
            | (TypeKind::SparseTensor(a), TypeKind::SparseTensor(b)) => return tensors(a, b),
            (TypeKind::Sequence(_), TypeKind::Sequence(_))
            | (TypeKind::Optional(_), TypeKind::Optional(_)) => {}
            (TypeKind::Map { key: a, .. }, TypeKind::Map { key: b, .. }) => {
                if are_different(*a, *b) {
                    return Some(Conflict::Keys(*a, *b));
                }
            }
            (TypeKind::Opaque { .. }, TypeKind::Opaque { .. }) if a.kind == b.kind => return None,
            (TypeKind::Opaque { .. }, TypeKind::Opaque { .. }) => {
                return Some(Conflict::Kinds("an opaque type", "another one"));
            }
            (x, y) => return Some(Conflict::Kinds(kind_name(x), kind_name(y))),
        }
        (a, b) = (a.inner()?, b.inner()?);
    }
}

fn tensors(a: &TensorType, b: &TensorType) -> Option<Conflict> {
    if are_different(a.elem, b.elem) {
        return Some(Conflict::Elements(a.elem, b.elem));
    }
    let (a, b) = (a.shape.as_ref()?.dims(), b.shape.as_ref()?.dims());
    if a.len() != b.len() {
        return Some(Conflict::Ranks(a.len(), b.len()));
    }
    a.iter().zip(b).enumerate().find_map(|(axis, pair)| match pair {
        // Another rule reports a negative size, which usually means that the size is unknown.
        (&Dim::Known(a), &Dim::Known(b)) if a != b && a >= 0 && b >= 0 => {
            Some(Conflict::Sizes { axis, sizes: (a, b) })
        }
        _ => None,
    })
}

fn are_different(a: ElemType, b: ElemType) -> bool {
    a != b && a != ElemType::Undefined && b != ElemType::Undefined
}

/// The name of a kind of type, with its article.
pub(crate) const fn kind_name(kind: &TypeKind) -> &'static str {
    match kind {
        TypeKind::Undefined => "no type",
        TypeKind::Tensor(_) => "a tensor",
        TypeKind::SparseTensor(_) => "a sparse tensor",
        TypeKind::Sequence(_) => "a sequence",
        TypeKind::Optional(_) => "an optional",
        TypeKind::Map { .. } => "a map",
        TypeKind::Opaque { .. } => "an opaque type",
    }
}

#[cfg(test)]
mod tests {
    use onnx_types::{Shape, Symbol};

    use super::*;

    fn check(a: &Type, b: &Type, expected: Option<&str>) {
        assert_eq!(conflict(a, b).map(|found| found.to_string()).as_deref(), expected);
    }

    fn float(dims: &[Dim]) -> Type {
        Type::tensor(ElemType::Float, Some(Shape::new(dims.iter().copied())))
    }

    #[test]
    fn what_is_open_excludes_nothing() {
        let known = float(&[Dim::Known(2), Dim::Known(3)]);
        let open = float(&[Dim::Unknown, Dim::Var(Symbol::from_index(9))]);
        for other in [known.clone(), open, float(&[Dim::Known(-1), Dim::Known(3)]), Type::default()] {
            check(&known, &other, None);
            check(&other, &known, None);
        }
        check(&known, &Type::tensor(ElemType::Undefined, None), None);
        check(&Type::new(TypeKind::Sequence(None)), &Type::sequence(known), None);
    }

    #[test]
    fn conflicts_are_named() {
        let int = |dims: &[i64]| Type::tensor(ElemType::Int64, Some(Shape::known(dims)));
        check(&float(&[]), &int(&[]), Some("elements of type `float` against `int64`"));
        check(&int(&[]), &int(&[1]), Some("rank 0 against rank 1"));
        check(&int(&[4, 2]), &int(&[4, 3]), Some("size 2 against 3 in dimension 1"));
        check(&int(&[]), &Type::sequence(int(&[])), Some("a tensor against a sequence"));
        check(
            &Type::optional(int(&[2])),
            &Type::optional(int(&[3])),
            Some("size 2 against 3 in dimension 0"),
        );
        let map = |key| Type::map(key, int(&[]));
        check(&map(ElemType::String), &map(ElemType::Int64), Some("keys of type `string` against `int64`"));
        let opaque =
            |name| Type::new(TypeKind::Opaque { domain: Symbol::EMPTY, name: Symbol::from_index(name) });
        check(&opaque(1), &opaque(2), Some("an opaque type against another one"));
        check(&opaque(1), &opaque(1), None);
    }
}
