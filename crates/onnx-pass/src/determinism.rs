//! Whether a node gives the same outputs each time it runs on the same inputs.

use onnx_ir::{AttrValue, Model, NodeId};
use onnx_schema::Registry;

/// Maximum number of nested nodes that are examined; a node with more counts as not deterministic.
const MAX_NODES: usize = 100_000;

/// Returns `true` if a node is [deterministic](Model::is_deterministic) and contains few enough nodes to tell.
pub(crate) fn is_deterministic(model: &Model, node: NodeId, registry: &Registry) -> bool {
    let mut nodes = model.walk_node(node).with_functions(registry).nodes().zip(1..);
    nodes.all(|(node, count)| count < MAX_NODES && model.has_deterministic_operator(node, registry))
}

/// Returns `true` if a node, or a node nested in it, refers to an attribute of the function around it.
pub(crate) fn has_references(model: &Model, node: NodeId) -> bool {
    model.walk_node(node).nodes().any(|node| {
        let attributes = model.node(node).attributes();
        attributes.iter().any(|attribute| matches!(attribute.value(), AttrValue::Ref(_)))
    })
}
