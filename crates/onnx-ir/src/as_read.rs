//! What was read and not touched since.
//!
//! Most programs that read a model and write it leave its nodes alone: they infer types, change metadata or weights. The
//! bytes of the main graph that a decoder leaves here let the encoder write such nodes as they were read. Every access
//! to a node for editing drops them, so there is no edit that could forget to.

use std::ops::{Deref, DerefMut};

use bytes::Bytes;
use slotmap::SlotMap;

use crate::entity::NodeId;
use crate::model::Model;
use crate::node::Node;

/// The nodes of a model, with the bytes of its main graph while they are still what these nodes are written as.
#[derive(Clone, Default)]
pub(crate) struct Nodes {
    records: SlotMap<NodeId, Node>,
    graph_as_read: Option<Bytes>,
}

impl Nodes {
    /// Says that something was edited which nodes are written with, such as the name of a value.
    #[inline]
    pub(crate) fn touch(&mut self) {
        if self.graph_as_read.is_some() {
            self.graph_as_read = None;
        }
    }
}

impl Deref for Nodes {
    type Target = SlotMap<NodeId, Node>;

    #[inline]
    fn deref(&self) -> &Self::Target {
        &self.records
    }
}

impl DerefMut for Nodes {
    #[inline]
    fn deref_mut(&mut self) -> &mut Self::Target {
        self.touch();
        &mut self.records
    }
}

impl Model {
    /// The `GraphProto` that the main graph was read from, as long as no node of the model, no name of a value and
    /// nothing else that nodes are written with was edited since.
    ///
    /// Inputs, outputs, initializers, types and metadata of graphs may have been: the bytes only say how the nodes of the
    /// main graph were written.
    #[must_use]
    pub const fn graph_as_read(&self) -> Option<&Bytes> {
        self.nodes.graph_as_read.as_ref()
    }

    /// Leaves the bytes that the main graph was read from, for the encoder: what a decoder does when it is done. The
    /// model holds on to them until a node is edited.
    pub fn set_graph_as_read(&mut self, graph: Bytes) {
        self.nodes.graph_as_read = Some(graph);
    }
}
