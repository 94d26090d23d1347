//! The side table: types and contents by value.

use std::sync::Arc;

use onnx_ir::ValueId;
use onnx_types::{Dim, ElemType, Type};
use slotmap::SecondaryMap;

use crate::content::Content;
use crate::sequence::Members;
use crate::ty::{Dims, Ty};

/// The range of the dimensions of a value in the pool of all dimensions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Span {
    start: u32,
    /// The rank; [`Span::NO_RANK`] when it is not known.
    rank: u32,
}

impl Span {
    const NO_RANK: u32 = u32::MAX;
    const UNKNOWN: Self = Self { start: 0, rank: Self::NO_RANK };
}

/// What decides between kinds of values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Nothing is known, or not even the element type of a dense tensor.
    Unknown,
    /// A dense tensor of such elements.
    Tensor(ElemType),
    /// Anything else.
    Other,
}

/// Which parts of the type of a value are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outline {
    /// None.
    Unknown,
    /// Those of a dense tensor: whether the element type is known, and the place of the shape if the rank is.
    Tensor { has_elem: bool, shape: Option<Span> },
    /// It is not a dense tensor.
    Other,
}

/// An element type and the place of a shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Key(ElemType, Span);

#[derive(Clone, Debug)]
enum Slot {
    Tensor(ElemType, Span),
    Other(Arc<Type>),
}

/// What is known about values, densely: a few words for each, and all dimensions in one pool.
#[derive(Clone, Debug, Default)]
pub(crate) struct Table {
    slots: SecondaryMap<ValueId, Slot>,
    dims: Vec<Dim>,
    contents: SecondaryMap<ValueId, Content>,
    members: SecondaryMap<ValueId, Arc<Members>>,
}

impl Table {
    pub(crate) fn reserve(&mut self, values: usize) {
        self.slots.set_capacity(values);
        self.dims.reserve(values.saturating_mul(3));
    }

    /// Gives a value the entries of another one, where it has none.
    pub(crate) fn adopt(&mut self, value: ValueId, from: ValueId) {
        if !self.slots.contains_key(value)
            && let Some(slot) = self.slots.get(from).cloned()
        {
            self.slots.insert(value, slot);
        }
        if !self.contents.contains_key(value)
            && let Some(content) = self.contents.get(from).cloned()
        {
            self.contents.insert(value, content);
        }
        if !self.members.contains_key(value)
            && let Some(members) = self.members.get(from).cloned()
        {
            self.members.insert(value, members);
        }
    }

    pub(crate) fn contains(&self, value: ValueId) -> bool {
        self.slots.contains_key(value)
    }

    pub(crate) fn elem(&self, value: ValueId) -> Option<ElemType> {
        let elem = match self.slots.get(value)? {
            Slot::Tensor(elem, _) => *elem,
            Slot::Other(ty) => ty.elem(),
        };
        (elem != ElemType::Undefined).then_some(elem)
    }

    /// What kind of value it is.
    pub(crate) fn kind(&self, value: ValueId) -> Kind {
        match self.slots.get(value) {
            None | Some(Slot::Tensor(ElemType::Undefined, _)) => Kind::Unknown,
            Some(&Slot::Tensor(elem, _)) => Kind::Tensor(elem),
            Some(Slot::Other(_)) => Kind::Other,
        }
    }

    /// Which parts of the type of a value are known, without a copy of its dimensions.
    pub(crate) fn outline(&self, value: ValueId) -> Outline {
        match self.slots.get(value) {
            None => Outline::Unknown,
            Some(&Slot::Tensor(elem, span)) => Outline::Tensor {
                has_elem: elem != ElemType::Undefined,
                shape: (span.rank != Span::NO_RANK).then_some(span),
            },
            Some(Slot::Other(_)) => Outline::Other,
        }
    }

    /// The dimensions of a dense or sparse tensor.
    pub(crate) fn dims(&self, value: ValueId) -> Option<&[Dim]> {
        match self.slots.get(value)? {
            Slot::Tensor(_, span) => self.at(*span),
            Slot::Other(ty) => Some(ty.shape()?.dims()),
        }
    }

    fn at(&self, span: Span) -> Option<&[Dim]> {
        let start = span.start as usize;
        if span.rank == Span::NO_RANK {
            None
        } else {
            self.dims.get(start..start.checked_add(span.rank as usize)?)
        }
    }

    /// The type that is not a dense tensor.
    pub(crate) fn other(&self, value: ValueId) -> Option<&Arc<Type>> {
        match self.slots.get(value)? {
            Slot::Tensor(..) => None,
            Slot::Other(ty) => Some(ty),
        }
    }

    pub(crate) fn ty(&self, value: ValueId) -> Ty {
        match self.slots.get(value) {
            None => Ty::Unknown,
            Some(Slot::Tensor(elem, span)) => Ty::Tensor(*elem, self.at(*span).map(Dims::from_slice)),
            Some(Slot::Other(ty)) => Ty::Other(Arc::clone(ty)),
        }
    }

    pub(crate) fn set(&mut self, value: ValueId, ty: &Ty) {
        self.members.remove(value);
        let slot = match ty {
            Ty::Unknown => {
                self.slots.remove(value);
                return;
            }
            Ty::Tensor(elem, dims) => {
                Slot::Tensor(*elem, dims.as_ref().map_or(Span::UNKNOWN, |dims| self.pool(dims)))
            }
            Ty::Other(ty) => Slot::Other(Arc::clone(ty)),
        };
        self.slots.insert(value, slot);
    }

    /// Sets the type of a value to a dense tensor with the shape of another dense tensor. Returns `false` if the other
    /// value is not one, or has no known rank.
    pub(crate) fn set_like(&mut self, value: ValueId, elem: ElemType, like: ValueId) -> bool {
        let Some(&Slot::Tensor(_, span)) = self.slots.get(like) else { return false };
        if span.rank == Span::NO_RANK {
            return false;
        }
        self.members.remove(value);
        self.slots.insert(value, Slot::Tensor(elem, span));
        true
    }

    /// What decides the type of a dense tensor of known elements and rank: two values with the same key have the same type.
    pub(crate) fn key(&self, value: ValueId) -> Option<Key> {
        match self.slots.get(value)? {
            &Slot::Tensor(elem, span) if elem != ElemType::Undefined && span.rank != Span::NO_RANK => {
                Some(Key(elem, span))
            }
            _ => None,
        }
    }

    /// Puts dimensions into the pool. What does not fit into the pool any more is not known.
    fn pool(&mut self, dims: &[Dim]) -> Span {
        let (Ok(start), Ok(rank)) = (u32::try_from(self.dims.len()), u32::try_from(dims.len())) else {
            return Span::UNKNOWN;
        };
        // A value often has the shape of the one before it.
        if let Some(before) = start.checked_sub(rank)
            && self.dims.get(before as usize..).is_some_and(|last| last == dims)
        {
            return Span { start: before, rank };
        }
        self.dims.extend_from_slice(dims);
        Span { start, rank }
    }

    pub(crate) fn content(&self, value: ValueId) -> Option<&Content> {
        self.contents.get(value)
    }

    pub(crate) fn set_content(&mut self, value: ValueId, content: Option<Content>) {
        match content {
            Some(content) => {
                if self.contents.is_empty() {
                    self.contents.set_capacity(self.slots.capacity());
                }
                self.contents.insert(value, content);
            }
            None => {
                self.contents.remove(value);
            }
        }
    }

    /// The elements of a sequence, as far as they are known one by one.
    pub(crate) fn members(&self, value: ValueId) -> Option<&Arc<Members>> {
        self.members.get(value)
    }

    /// Says what the elements of a sequence are, after its type was set.
    pub(crate) fn set_members(&mut self, value: ValueId, members: Arc<Members>) {
        self.members.insert(value, members);
    }

    pub(crate) fn clear(&mut self, value: ValueId) {
        self.slots.remove(value);
        self.contents.remove(value);
        self.members.remove(value);
    }
}
