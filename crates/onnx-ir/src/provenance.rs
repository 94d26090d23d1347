//! Origins of nodes and values.

use std::collections::HashSet;

use onnx_types::Symbol;
use slotmap::{Key as _, SecondaryMap};

use crate::entity::{NodeId, ValueId};
use crate::model::Model;

/// The origin of a node or value.
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

/// The derivation of nodes from earlier ones by a pass. It outlives the earlier nodes.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Derivation {
    /// The name of the pass.
    pub pass: Symbol,
    /// The earlier nodes, the most important first.
    pub sources: Box<[DerivationSource]>,
}

/// A node that another one was made from.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct DerivationSource {
    /// The operator of the earlier node.
    pub op: Symbol,
    /// The name of the earlier node.
    pub name: Symbol,
    /// The origin of the earlier node.
    pub origin: Origin,
}

/// An [`Origin`] in one word: its kind in the two lowest bits, what belongs to it above them.
#[derive(Clone, Copy, Debug, Default)]
struct Packed(u64);

impl Packed {
    /// The greatest column that is stored exactly; larger ones are stored as this one.
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
    /// Resets the origin of a new node, whose slot an erased node may have used.
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
    /// The origin of a node.
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

    /// Records that a pass makes nodes from `sources`, which may be erased afterwards. The result is the origin of the nodes
    /// that it makes; see [`Model::set_node_origin`].
    ///
    /// # Panics
    ///
    /// Panics if one of `sources` is not of this model or was erased.
    pub fn derive(&mut self, pass: Symbol, sources: &[NodeId]) -> Origin {
        let source = |&from: &NodeId| {
            let earlier = &self.nodes[from];
            DerivationSource { op: earlier.op, name: earlier.name, origin: self.node_origin(from) }
        };
        let sources = sources.iter().map(source).collect();
        // A model has fewer than 2^32 derivations, as it has fewer nodes in its whole life.
        let id = DerivationId(self.provenance.derivations.len() as u32);
        self.provenance.derivations.push(Derivation { pass, sources });
        Origin::Derived(id)
    }

    /// The record of a derivation.
    #[must_use]
    pub fn derivation(&self, id: DerivationId) -> Option<&Derivation> {
        self.provenance.derivations.get(id.0 as usize)
    }

    /// The derivation of a node for people: the pass, and the nodes that it made the node from, the most important first; those that
    /// were derived in turn with theirs. `None` if no pass made the node.
    #[must_use]
    pub fn derivation_text(&self, node: NodeId) -> Option<String> {
        /// More sources tell nothing new.
        const MAX_SOURCES: usize = 4;
        /// Passes that are followed back.
        const MAX_PASSES: usize = 8;
        let mut origin = self.node_origin(node);
        let mut text = String::new();
        for pass in 0..MAX_PASSES {
            let Origin::Derived(id) = origin else { break };
            let derivation = self.derivation(id)?;
            text.push_str(if pass == 0 { "made by " } else { ", which was made by " });
            text.push_str(self.str(derivation.pass));
            for (index, source) in derivation.sources.iter().take(MAX_SOURCES).enumerate() {
                text.push_str(if index == 0 { " from " } else { " and " });
                text.push_str(&onnx_diag::Quoted(self.str(source.op)).to_string());
                if !source.name.is_empty() {
                    text.push_str(&format!(" ({})", onnx_diag::Quoted(self.str(source.name))));
                }
            }
            origin = derivation.sources.first().map_or(Origin::Unknown, |source| source.origin);
        }
        (!text.is_empty()).then_some(text)
    }

    /// Returns `true` if a pass of this name made a node, or a node that it goes back to through any number of passes.
    #[must_use]
    pub fn is_derived_by(&self, node: NodeId, pass: &str) -> bool {
        let mut open = vec![self.node_origin(node)];
        let mut seen = HashSet::new();
        while let Some(origin) = open.pop() {
            let Origin::Derived(id) = origin else { continue };
            let Some(derivation) = self.derivation(id).filter(|_| seen.insert(id)) else { continue };
            if self.str(derivation.pass) == pass {
                return true;
            }
            open.extend(derivation.sources.iter().map(|source| source.origin));
        }
        false
    }

    /// The place in the file or text that a node goes back to, through any number of passes: that of the first source of
    /// each.
    #[must_use]
    pub fn root_origin(&self, node: NodeId) -> Origin {
        let mut origin = self.node_origin(node);
        // A derivation refers only to earlier ones, so the walk ends.
        while let Origin::Derived(id) = origin {
            let first = self.derivation(id).and_then(|derivation| derivation.sources.first());
            origin = first.map_or(Origin::Unknown, |source| source.origin);
        }
        origin
    }

    /// The places in the file or text that a node goes back to, through any number of passes and all sources of each. Each
    /// place is listed once, in the order in which the sources name them.
    #[must_use]
    pub fn root_origins(&self, node: NodeId) -> Vec<Origin> {
        let mut open = vec![self.node_origin(node)];
        let (mut seen, mut roots) = (HashSet::new(), Vec::new());
        while let Some(origin) = open.pop() {
            if !seen.insert(origin) {
                continue;
            }
            match origin {
                Origin::Derived(id) => {
                    let sources = self.derivation(id).map_or(&[][..], |derivation| &derivation.sources);
                    open.extend(sources.iter().rev().map(|source| source.origin));
                }
                Origin::Unknown => {}
                place => roots.push(place),
            }
        }
        roots
    }

    /// The nodes of the file or text that a node goes back to, through any number of passes and all sources of each, in the order in
    /// which the sources name them: the node itself if no pass made it. Each derivation is followed once.
    #[must_use]
    pub fn root_sources(&self, node: NodeId) -> Vec<DerivationSource> {
        let record = &self.nodes[node];
        let origin = self.node_origin(node);
        let mut open = vec![DerivationSource { op: record.op, name: record.name, origin }];
        let (mut seen, mut roots) = (HashSet::new(), Vec::new());
        while let Some(source) = open.pop() {
            match source.origin {
                Origin::Derived(id) => {
                    if seen.insert(id) {
                        let sources = self.derivation(id).map_or(&[][..], |derivation| &derivation.sources);
                        open.extend(sources.iter().rev().copied());
                    }
                }
                _ if roots.contains(&source) => {}
                _ => roots.push(source),
            }
        }
        roots
    }

    /// The origin of a value that is not a node output: the source position of its `ValueInfoProto` or tensor.
    #[must_use]
    pub fn value_origin(&self, value: ValueId) -> Origin {
        self.provenance.values.get(value).copied().unwrap_or_default().get()
    }

    /// Records where a value came from.
    pub(crate) fn record_value_origin(&mut self, value: ValueId, origin: Origin) {
        self.provenance.values.insert(value, Packed::new(origin));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{NewNode, Position};

    #[test]
    fn a_node_of_several_sources_goes_back_to_all() {
        let mut model = Model::new();
        let (pass, op) = (model.intern("fuse"), model.intern("Relu"));
        let at = Position::End(model.main_graph());
        let [a, b, c, d] = [1, 2, 3, 4].map(|offset| {
            let node = model.add_node(at, NewNode::new(op)).unwrap();
            model.set_node_origin(node, Origin::Byte(offset));
            node
        });
        // `c` was made from `a` and `b`, `d` from `c` and again from `b`.
        let origin = model.derive(pass, &[a, b]);
        model.set_node_origin(c, origin);
        let origin = model.derive(pass, &[c, b]);
        model.set_node_origin(d, origin);
        assert_eq!(model.root_origins(d), [Origin::Byte(1), Origin::Byte(2)]);
        assert_eq!(model.root_origin(d), Origin::Byte(1));
        let origins = |node| -> Vec<Origin> {
            model.root_sources(node).into_iter().map(|source| source.origin).collect()
        };
        assert_eq!(origins(d), [Origin::Byte(1), Origin::Byte(2)]);
        assert_eq!(origins(a), [Origin::Byte(1)]);
        let Origin::Derived(id) = model.node_origin(d) else { panic!("it is derived") };
        let derivation = model.derivation(id).unwrap();
        assert_eq!((derivation.pass, derivation.sources.len(), derivation.sources[0].op), (pass, 2, op));
    }

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
