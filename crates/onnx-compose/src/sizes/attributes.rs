//! The attributes of a node as its operator reads them: with the defaults of the version of the operator that is in scope.

use onnx_ir::{Model, Node, NodeId};
use onnx_schema::{AttrDefault, Registry, Schema, Traits};
use onnx_types::Symbol;

/// The attributes of a node that calls a standard operator.
#[derive(Clone, Copy)]
pub(super) struct Attributes<'a> {
    record: &'a Node,
    schema: &'static Schema,
}

impl<'a> Attributes<'a> {
    /// `None` if the node calls no operator that ONNX defines in the version in scope.
    pub(super) fn of(model: &'a Model, node: NodeId) -> Option<Self> {
        let schema = model.callee(node, Registry::STANDARD).standard()?;
        Some(Self { record: model.node(node), schema })
    }

    /// The version that introduced the signature of the operator.
    pub(super) const fn since(self) -> i64 {
        self.schema.since_version()
    }

    /// What kind of operator it is.
    pub(super) const fn traits(self) -> &'static Traits {
        self.schema.traits()
    }

    /// An integer; `None` if the node has none and the operator no default.
    pub(super) fn int(self, name: Symbol) -> Option<i64> {
        match (self.record.attribute(name), self.schema.default_of(name)) {
            (Some(found), _) => found.as_int(),
            (None, Some(AttrDefault::Int(default))) => Some(default),
            (None, _) => None,
        }
    }

    /// A list of integers; `None` if the node has none and the operator no default.
    pub(super) fn ints(self, name: Symbol) -> Option<&'a [i64]> {
        match (self.record.attribute(name), self.schema.default_of(name)) {
            (Some(found), _) => found.as_ints(),
            (None, Some(AttrDefault::Ints(default))) => Some(default),
            (None, _) => None,
        }
    }

    /// A string; `None` if the node has none and the operator no default.
    pub(super) fn text(self, name: Symbol) -> Option<&'a str> {
        match (self.record.attribute(name), self.schema.default_of(name)) {
            (Some(found), _) => found.as_str(),
            (None, Some(AttrDefault::String(default))) => Some(default),
            (None, _) => None,
        }
    }

    /// An axis of a tensor, counted from the front.
    pub(super) fn axis(self, name: Symbol, rank: usize) -> Option<usize> {
        from_front(self.int(name)?, rank)
    }
}

/// The number of an axis, counted from the front.
pub(super) fn from_front(axis: i64, rank: usize) -> Option<usize> {
    let axis = if axis < 0 { axis.checked_add(i64::try_from(rank).ok()?)? } else { axis };
    usize::try_from(axis).ok()
}
