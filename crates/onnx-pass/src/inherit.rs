//! The metadata that new nodes inherit from the nodes that they are derived from.

use onnx_ir::{MetadataEntry, Model, NodeId};
use onnx_types::Symbol;

use crate::patch::Draft;

/// Gives the new nodes of a patch the metadata of its sources: an entry that all sources with its key agree on. A node that has
/// own metadata, such as a copy, keeps that. Names, documentation, fields of other versions and device configurations are
/// about the one node that has them, and are not inherited.
pub(crate) fn inherit(model: &mut Model, draft: &Draft) {
    let entries = common(model, &draft.sources);
    if entries.is_empty() {
        return;
    }
    for &node in &draft.nodes {
        if model.get_node(node).is_some_and(|record| record.metadata().is_empty()) {
            model.node_extras_mut(node).metadata = entries.to_vec();
        }
    }
}

/// The entries of the metadata of nodes that none of them contradicts, in the order in which they first occur.
fn common(model: &Model, sources: &[NodeId]) -> Vec<MetadataEntry> {
    let lists: Vec<&[MetadataEntry]> =
        sources.iter().filter_map(|&node| model.get_node(node)).map(|node| node.metadata()).collect();
    let mut found: Vec<MetadataEntry> = Vec::new();
    let is_contradicted = |entry: &MetadataEntry| {
        let mut others = lists.iter().copied().flatten();
        others.any(|other| other.key() == entry.key() && other.value() != entry.value())
    };
    for entry in lists.iter().copied().flatten() {
        let is_known = |key: Symbol| found.iter().any(|other| other.key() == key);
        if !is_known(entry.key()) && !is_contradicted(entry) {
            found.push(MetadataEntry::new(entry.key(), entry.value().clone()));
        }
    }
    found
}
