//! Whether a node gives the same outputs each time it runs on the same inputs.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use onnx_ir::{AttrValue, Callee, FunctionId, Model, NodeId};
use onnx_schema::Determinism;

use crate::transfer::STANDARD;

/// Maximum number of nested nodes that are examined; a node with more counts as not deterministic.
const MAX_NODES: usize = 100_000;

/// Returns `true` if a node, the graphs nested in it and the functions that it calls contain operators that are known to be
/// deterministic only. An unknown operator and a function that calls itself forever count as not deterministic.
pub(crate) fn is_deterministic(model: &Model, node: NodeId) -> bool {
    let mut open = vec![node];
    let mut seen: HashMap<FunctionId, (), RandomState> = HashMap::default();
    let mut left = MAX_NODES;
    while let Some(node) = open.pop() {
        left = match left.checked_sub(1) {
            Some(left) => left,
            None => return false,
        };
        let record = model.node(node);
        let mut graphs: Vec<_> = record.nested_graphs().collect();
        match model.callee(node, &STANDARD) {
            // An operator with graphs is as deterministic as their nodes.
            Callee::Standard(schema)
                if schema.determinism() == Determinism::Deterministic || !graphs.is_empty() => {}
            Callee::Function(function) => {
                if seen.insert(function, ()).is_none() {
                    graphs.push(model.function(function).body());
                }
            }
            _ => return false,
        }
        for graph in graphs {
            open.extend(model.nodes(graph));
            if open.len() > left {
                return false;
            }
        }
    }
    true
}

/// Returns `true` if a node, or a node nested in it, refers to an attribute of the function around it.
pub(crate) fn has_references(model: &Model, node: NodeId) -> bool {
    let is_reference = |node: NodeId| {
        let attributes = model.node(node).attributes();
        attributes.iter().any(|attribute| matches!(attribute.value(), AttrValue::Ref(_)))
    };
    is_reference(node)
        || model.node(node).nested_graphs().any(|graph| model.nodes_in(graph).any(is_reference))
}
