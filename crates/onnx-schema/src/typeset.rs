//! Types without shapes, and sets of them.

use std::fmt;

use onnx_types::{ElemType, Type, TypeKind};

use crate::generated::types::TYPES;

/// The structure of a type without shapes and denotations, as type constraints write it: `seq(tensor(float))`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum TypeForm {
    /// A dense tensor of the given elements.
    Tensor(ElemType),
    /// A sparse tensor of the given elements.
    SparseTensor(ElemType),
    /// A sequence of values of one type.
    Sequence(&'static Self),
    /// A value that may be absent.
    Optional(&'static Self),
    /// A map from keys of the given element type to values of one type.
    Map(ElemType, &'static Self),
}

impl TypeForm {
    /// Whether a value of type `ty` has this structure; shapes and denotations do not matter.
    ///
    /// A type of which a part is unknown has no structure that it could be compared with, so the answer is `false`.
    #[must_use]
    pub fn fits(&self, ty: &Type) -> bool {
        let (mut form, mut kind) = (self, &ty.kind);
        // As deep as the structure, whatever the depth of the type.
        loop {
            let (inner_form, inner_type) = match (form, kind) {
                (Self::Tensor(elem), TypeKind::Tensor(tensor))
                | (Self::SparseTensor(elem), TypeKind::SparseTensor(tensor)) => return *elem == tensor.elem,
                (Self::Sequence(form), TypeKind::Sequence(Some(inner)))
                | (Self::Optional(form), TypeKind::Optional(Some(inner))) => (form, inner),
                (Self::Map(key, form), TypeKind::Map { key: found, value: Some(inner) }) if key == found => {
                    (form, inner)
                }
                _ => return false,
            };
            (form, kind) = (inner_form, &inner_type.kind);
        }
    }

    /// A type of this structure, without shapes.
    #[must_use]
    pub fn to_type(self) -> Type {
        match self {
            Self::Tensor(elem) => Type::tensor(elem, None),
            Self::SparseTensor(elem) => Type::sparse_tensor(elem, None),
            Self::Sequence(inner) => Type::sequence(inner.to_type()),
            Self::Optional(inner) => Type::optional(inner.to_type()),
            Self::Map(key, value) => Type::map(key, value.to_type()),
        }
    }
}

/// One of the types that the constraints of ONNX's operators speak of.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TypeId(u8);

impl TypeId {
    /// Number of types.
    pub const COUNT: usize = TYPES.len();

    /// The type with the given position in the table.
    pub(crate) const fn from_raw(index: u8) -> Self {
        assert!((index as usize) < Self::COUNT, "the table has no such type");
        Self(index)
    }

    /// A dense tensor; `None` for the undefined element type.
    #[must_use]
    pub const fn tensor(elem: ElemType) -> Option<Self> {
        // The table begins with the dense tensors in the order of the element codes, which begin with 1.
        match (elem as u8).checked_sub(1) {
            Some(index) => Some(Self(index)),
            None => None,
        }
    }

    /// The table's type that `ty` is when shapes are ignored; `None` where no constraint speaks of such a type, or where
    /// a part of it is unknown.
    #[must_use]
    pub fn of(ty: &Type) -> Option<Self> {
        if let TypeKind::Tensor(tensor) = &ty.kind {
            return Self::tensor(tensor.elem);
        }
        Self::all().find(|id| id.form().fits(ty))
    }

    /// The type with the notation `text`, such as `seq(tensor(float))`; spaces do not matter, and inside a map or a
    /// sequence, the element type may replace the tensor.
    #[must_use]
    pub fn from_text(text: &str) -> Option<Self> {
        let wanted = canonical(text)?;
        Self::all().find(|id| id.text() == wanted)
    }

    /// All types, dense tensors first.
    pub fn all() -> impl DoubleEndedIterator<Item = Self> + ExactSizeIterator {
        (0..TYPES.len()).map(|index| Self(index as u8))
    }

    /// The position of the type in the table.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// The structure of the type.
    #[must_use]
    pub const fn form(self) -> &'static TypeForm {
        &TYPES[self.index()].0
    }

    /// The notation of the type in type strings.
    #[must_use]
    pub const fn text(self) -> &'static str {
        TYPES[self.index()].1
    }
}

impl fmt::Debug for TypeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}

impl fmt::Display for TypeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.text())
    }
}

/// The notation of a type string in the table: without spaces, scalars written as tensors.
fn canonical(text: &str) -> Option<String> {
    // Longer than any type of the table, spaces included; a bound on the work for any input.
    if text.len() > 256 {
        return None;
    }
    let text: String = text.chars().filter(|letter| !letter.is_whitespace()).collect();
    // Only the innermost type can be a scalar; the text before it is kept, including a map's key type.
    let start = text.rfind(['(', ',']).map_or(0, |at| at + 1);
    let (head, tail) = text.split_at(start);
    let elem = tail.trim_end_matches(')');
    if head.ends_with("tensor(") {
        return Some(text);
    }
    Some(format!("{head}tensor({elem}){}", tail.get(elem.len()..)?))
}

/// A set of types, such as those that a type variable may stand for. Membership is one test of a bit.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct TypeSet([u64; 2]);

impl TypeSet {
    /// The set without types.
    pub const EMPTY: Self = Self([0; 2]);

    pub(crate) const fn from_words(words: [u64; 2]) -> Self {
        Self(words)
    }

    /// The set of one type.
    #[must_use]
    pub const fn of(id: TypeId) -> Self {
        Self::EMPTY.with(id)
    }

    /// This set and one more type.
    #[must_use]
    pub const fn with(mut self, id: TypeId) -> Self {
        self.0[id.index() / 64] |= 1 << (id.index() % 64);
        self
    }

    /// Whether the set holds the type.
    #[must_use]
    pub const fn contains(self, id: TypeId) -> bool {
        self.0[id.index() / 64] >> (id.index() % 64) & 1 == 1
    }

    /// Whether the set holds dense tensors of the given elements.
    #[must_use]
    pub const fn contains_tensor(self, elem: ElemType) -> bool {
        match TypeId::tensor(elem) {
            Some(id) => self.contains(id),
            None => false,
        }
    }

    /// Whether the set holds the type, shapes ignored; a type of which a part is unknown is in no set.
    #[must_use]
    pub fn contains_type(self, ty: &Type) -> bool {
        TypeId::of(ty).is_some_and(|id| self.contains(id))
    }

    /// The types in both sets.
    #[must_use]
    pub const fn intersection(self, other: Self) -> Self {
        Self([self.0[0] & other.0[0], self.0[1] & other.0[1]])
    }

    /// The types in either set.
    #[must_use]
    pub const fn union(self, other: Self) -> Self {
        Self([self.0[0] | other.0[0], self.0[1] | other.0[1]])
    }

    /// Whether all types of this set are in `other`.
    #[must_use]
    pub const fn is_subset(self, other: Self) -> bool {
        self.0[0] & !other.0[0] == 0 && self.0[1] & !other.0[1] == 0
    }

    /// Number of types in the set.
    #[must_use]
    pub const fn len(self) -> usize {
        (self.0[0].count_ones() + self.0[1].count_ones()) as usize
    }

    /// Whether the set holds no type.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// The only type of the set, if there is just one.
    #[must_use]
    pub fn single(self) -> Option<TypeId> {
        if self.len() == 1 { self.iter().next() } else { None }
    }

    /// The types in the order of the table.
    pub fn iter(self) -> impl Iterator<Item = TypeId> {
        TypeId::all().filter(move |&id| self.contains(id))
    }
}

impl FromIterator<TypeId> for TypeSet {
    fn from_iter<I: IntoIterator<Item = TypeId>>(types: I) -> Self {
        types.into_iter().fold(Self::EMPTY, Self::with)
    }
}

impl fmt::Debug for TypeSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

/// The types separated by commas.
impl fmt::Display for TypeSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, id) in self.iter().enumerate() {
            if position > 0 {
                f.write_str(", ")?;
            }
            f.write_str(id.text())?;
        }
        Ok(())
    }
}
