//! The mapping from values of an original to values of its copy.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use onnx_types::Symbol;
use slotmap::SparseSecondaryMap;
use smallvec::SmallVec;

use crate::attr::Attribute;
use crate::entity::{NodeId, ValueId};
use crate::extras::ValueRef;

/// The mapping from values of the original to values of a copy.
///
/// Before copying, map the inputs of the graph to the values that take their place, and give the attributes of the call
/// where a function's body is inlined. Afterwards it maps every value to its copy.
#[derive(Clone, Debug, Default)]
pub struct CopyMap {
    pub(super) values: ValueMap,
    pub(super) attributes: Option<HashMap<Symbol, Attribute, RandomState>>,
    pub(super) nodes: Vec<(NodeId, NodeId)>,
}

/// Values and what takes their place. A model of many calls is inlined with a map for each of them, and most have few values.
#[derive(Clone, Debug, Default)]
pub(super) struct ValueMap {
    /// The entries, as long as a search among them is faster than a hash table.
    few: SmallVec<[(ValueId, Option<ValueId>); 8]>,
    many: SparseSecondaryMap<ValueId, Option<ValueId>, RandomState>,
}

impl ValueMap {
    /// Number of entries from which on they are in the hash table.
    const MANY: usize = 16;

    pub(super) fn get(&self, value: ValueId) -> Option<&Option<ValueId>> {
        if self.many.is_empty() {
            return self.few.iter().find(|(from, _)| *from == value).map(|(_, to)| to);
        }
        self.many.get(value)
    }

    pub(super) fn insert(&mut self, from: ValueId, to: Option<ValueId>) {
        if !self.many.is_empty() {
            self.many.insert(from, to);
        } else if let Some(entry) = self.few.iter_mut().find(|(other, _)| *other == from) {
            entry.1 = to;
        } else if self.few.len() < Self::MANY {
            self.few.push((from, to));
        } else {
            self.many.extend(self.few.drain(..));
            self.many.insert(from, to);
        }
    }

    pub(super) fn remove(&mut self, value: ValueId) -> Option<Option<ValueId>> {
        if !self.many.is_empty() {
            return self.many.remove(value);
        }
        let index = self.few.iter().position(|(from, _)| *from == value)?;
        Some(self.few.swap_remove(index).1)
    }
}

impl CopyMap {
    /// A map without entries: outer values stay what they are, and so do references to attributes.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Lets uses of `from` become uses of `to` in the copy. `None` lets nodes omit the operand, such as an optional input of
    /// a function that the call omits.
    pub fn map(&mut self, from: ValueId, to: impl Into<Option<ValueId>>) {
        self.values.insert(from, to.into());
    }

    /// Gives the attributes of a call: references to a function's attribute are replaced by the attribute of that name, and
    /// left out where the list holds none. Put the function's defaults at the end of the list; the first of a name counts.
    /// A reference in the list must have a value in every call if the function has a default for the attribute: where it has
    /// none, the default would apply, which a copy cannot express.
    pub fn set_attributes(&mut self, attributes: Vec<Attribute>) {
        let mut first = HashMap::with_capacity_and_hasher(attributes.len(), RandomState::default());
        for attribute in attributes {
            first.entry(attribute.name()).or_insert(attribute);
        }
        self.attributes = Some(first);
    }

    /// The counterpart of a value in the copy: the value itself if it is not mapped, also if operands omit it.
    #[must_use]
    pub fn get(&self, value: ValueId) -> ValueId {
        self.operand(value).unwrap_or(value)
    }

    /// The nodes that were copied, each with its copy, in the order in which the copies were made: those of nested graphs before
    /// the node that contains them. Nodes of graphs that took the place of references are included.
    #[must_use]
    pub fn copied_nodes(&self) -> &[(NodeId, NodeId)] {
        &self.nodes
    }

    /// The attribute of the call with this name, if attributes were given.
    #[must_use]
    pub fn attribute(&self, name: Symbol) -> Option<&Attribute> {
        self.attributes.as_ref()?.get(&name)
    }

    pub(super) fn operand(&self, value: ValueId) -> Option<ValueId> {
        self.values.get(value).copied().unwrap_or(Some(value))
    }

    pub(super) fn reference(&self, reference: ValueRef) -> ValueRef {
        match reference {
            ValueRef::Value(value) => ValueRef::Value(self.get(value)),
            ValueRef::Name(_) => reference,
        }
    }

    /// Returns `true` if a value is mapped to nothing.
    pub(super) fn omits(&self, reference: ValueRef) -> bool {
        matches!(reference, ValueRef::Value(value) if self.operand(value).is_none())
    }
}
