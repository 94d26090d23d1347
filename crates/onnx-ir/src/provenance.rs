//! Where things came from.

use onnx_types::Symbol;
use slotmap::{Key as _, SecondaryMap};

use crate::entity::{NodeId, ValueId};
use crate::model::Model;

/// Where a node or value came from.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Origin {
    /// Made by hand, or not recorded.
    #[default]
    Unknown,
    /// The message that starts at this byte of the file.
    Byte(u64),
    /// A line and column of a text, both counted from 1.
    Text {
        /// The line.
        line: u32,
        /// The column, in characters.
        column: u32,
    },
    /// Made by a pass; see [`Model::derivation`].
    Derived(DerivationId),
}

/// The position of a [`Derivation`] in its model.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct DerivationId(u32);

/// How a pass made a node from an earlier one. It outlives the earlier node.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Derivation {
    /// The name of the pass.
    pub pass: Symbol,
    /// The operator of the earlier node.
    pub op: Symbol,
    /// The name of the earlier node.
    pub name: Symbol,
    /// Where the earlier node came from.
    pub origin: Origin,
}

/// An [`Origin`] in one word: its kind in the two lowest bits, what belongs to it above them.
#[derive(Clone, Copy, Debug, Default)]
struct Packed(u64);

impl Packed {
    /// The highest column that is told from those after it.
    const LAST_COLUMN: u32 = u32::MAX >> 2;

    fn new(origin: Origin) -> Self {
        Self(match origin {
            Origin::Unknown => 0,
            // No input has 2^62 bytes.
            Origin::Byte(offset) => offset << 2 | 1,
            Origin::Text { line, column } => {
                u64::from(line) << 32 | u64::from(column.min(Self::LAST_COLUMN)) << 2 | 2
            }
            Origin::Derived(id) => u64::from(id.0) << 2 | 3,
        })
    }

    const fn get(self) -> Origin {
        // What is cut off is the kind, or the line.
        let low = (self.0 as u32) >> 2;
        match self.0 & 3 {
            0 => Origin::Unknown,
            1 => Origin::Byte(self.0 >> 2),
            2 => Origin::Text { line: (self.0 >> 32) as u32, column: low },
            _ => Origin::Derived(DerivationId((self.0 >> 2) as u32)),
        }
    }
}

/// The side tables of origins.
#[derive(Clone, Debug, Default)]
pub(crate) struct Provenance {
    /// By the slot of the node's key.
    nodes: Vec<Packed>,
    values: SecondaryMap<ValueId, Packed>,
    derivations: Vec<Derivation>,
}

impl Provenance {
    /// Says that nothing is known of a new node, whose slot an erased node may have left.
    pub(crate) fn forget_node(&mut self, node: NodeId) {
        if let Some(origin) = self.nodes.get_mut(slot(node)) {
            *origin = Packed::default();
        }
    }
}

impl Provenance {
    /// Makes room for the origins of this many more nodes.
    pub(crate) fn reserve(&mut self, nodes: usize) {
        self.nodes.reserve(nodes);
    }
}

/// The slot of a node's key.
fn slot(node: NodeId) -> usize {
    (node.data().as_ffi() & u64::from(u32::MAX)) as usize
}

impl Model {
    /// Where a node came from.
    #[must_use]
    pub fn node_origin(&self, node: NodeId) -> Origin {
        self.provenance.nodes.get(slot(node)).copied().unwrap_or_default().get()
    }

    /// Records where a node came from.
    pub fn set_node_origin(&mut self, node: NodeId, origin: Origin) {
        let slot = slot(node);
        let nodes = &mut self.provenance.nodes;
        if nodes.len() <= slot {
            nodes.resize(slot + 1, Packed::default());
        }
        nodes[slot] = Packed::new(origin);
    }

    /// Records that a pass made `node` from `from`, which may be erased afterwards.
    ///
    /// # Panics
    ///
    /// When `from` is not of this model or was erased.
    pub fn derive_node(&mut self, node: NodeId, pass: Symbol, from: NodeId) {
        let earlier = &self.nodes[from];
        let (op, name) = (earlier.op, earlier.name);
        let origin = self.node_origin(from);
        // A model has fewer than 2^32 derivations, as it has fewer nodes in its whole life.
        let id = DerivationId(self.provenance.derivations.len() as u32);
        self.provenance.derivations.push(Derivation { pass, op, name, origin });
        self.set_node_origin(node, Origin::Derived(id));
    }

    /// What is recorded of a derivation.
    #[must_use]
    pub fn derivation(&self, id: DerivationId) -> Option<&Derivation> {
        self.provenance.derivations.get(id.0 as usize)
    }

    /// The place in the file or text that a node goes back to, through any number of passes.
    #[must_use]
    pub fn root_origin(&self, node: NodeId) -> Origin {
        let mut origin = self.node_origin(node);
        // A derivation refers only to earlier ones, so the walk ends.
        while let Origin::Derived(id) = origin {
            origin = self.derivation(id).map_or(Origin::Unknown, |derivation| derivation.origin);
        }
        origin
    }

    /// Where a value came from: the place of its `ValueInfoProto` or tensor, for values that no node makes.
    #[must_use]
    pub fn value_origin(&self, value: ValueId) -> Origin {
        self.provenance.values.get(value).copied().unwrap_or_default().get()
    }

    /// Records where a value came from.
    pub fn set_value_origin(&mut self, value: ValueId, origin: Origin) {
        self.provenance.values.insert(value, Packed::new(origin));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_word_holds_every_origin() {
        for origin in [
            Origin::Unknown,
            Origin::Byte(0),
            Origin::Byte((1 << 62) - 1),
            Origin::Text { line: u32::MAX, column: Packed::LAST_COLUMN },
            Origin::Text { line: 1, column: 0 },
            Origin::Derived(DerivationId(u32::MAX)),
        ] {
            assert_eq!(Packed::new(origin).get(), origin);
        }
        let far = Packed::new(Origin::Text { line: 7, column: u32::MAX });
        assert_eq!(far.get(), Origin::Text { line: 7, column: Packed::LAST_COLUMN });
    }
}
