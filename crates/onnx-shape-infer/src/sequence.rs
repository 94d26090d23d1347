//! What is known about the elements of a sequence, one by one.
//!
//! The type of a sequence holds for each of its elements. Where a sequence is built in the graph, more is known: how many
//! elements there are and what each is, or from which tensor they were cut.

use std::sync::Arc;

use onnx_types::Dim;

use crate::cx::Cx;
use crate::engine::control::Known;
use crate::ty::Dims;

/// The elements of a sequence.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Members {
    /// What each element is, in order.
    Listed(Vec<Known>),
    /// The parts of a tensor, in order.
    Parts(Parts),
    /// As many elements as the dimension; about each, nothing is known beyond the element type of the sequence.
    Counted(Dim),
}

/// A tensor that was cut along an axis into parts.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Parts {
    /// The dimensions of the tensor.
    pub(crate) whole: Dims,
    /// The axis along which it was cut.
    pub(crate) axis: usize,
    /// Whether the parts have the axis still; otherwise each has one place of it.
    pub(crate) keeps_axis: bool,
    /// How many parts there are.
    pub(crate) count: Dim,
    /// The size of each part but the last one, which may be smaller, where parts of one size are asked for.
    pub(crate) part: Option<i64>,
}

/// Longer lists are not kept, because each insertion creates a new list.
const MAX_LISTED: usize = 32;

impl Members {
    /// How many elements there are.
    pub(crate) fn count(&self) -> Dim {
        match self {
            Self::Listed(list) => i64::try_from(list.len()).map_or(Dim::Unknown, Dim::Known),
            Self::Parts(parts) => parts.count,
            Self::Counted(count) => *count,
        }
    }
}

/// An index in a sequence of `count` elements; an insertion has one more possible index than a read. `None` if it is
/// out of range.
pub(crate) fn place(index: i64, places: usize, count: usize) -> Option<usize> {
    let counted = if index < 0 { index.checked_add(i64::try_from(count).ok()?)? } else { index };
    usize::try_from(counted).ok().filter(|&at| at < places)
}

impl Cx<'_, '_> {
    /// What is known about the elements of an input that is a sequence.
    pub(crate) fn members(&self, index: usize) -> Option<Arc<Members>> {
        self.state.table.members(self.input(index)?).cloned()
    }

    /// The elements of a sequence, where each is known by itself.
    pub(crate) fn listed(&self, index: usize) -> Option<Vec<Known>> {
        match &*self.members(index)? {
            Members::Listed(list) => Some(list.clone()),
            Members::Parts(_) | Members::Counted(_) => None,
        }
    }

    /// Says what is known about the elements of an output that is a sequence.
    pub(crate) fn set_members(&mut self, output: usize, members: impl Into<Arc<Members>>) {
        let members = members.into();
        if matches!(&*members, Members::Listed(list) if list.len() > MAX_LISTED) {
            return;
        }
        if let Some(out) = self.outs.get_mut(output) {
            out.members = Some(members);
        }
    }
}
