//! Whether a node gives the same outputs each time it runs on the same inputs.

use onnx_ir::{AttrValue, Callee, Model, NodeId, OpsetVersions};
use onnx_schema::{Determinism, Registry, domain, op};
use onnx_types::Symbol;

/// Maximum number of nested nodes that are examined; a node with more counts as not deterministic.
const MAX_NODES: usize = 100_000;

/// Returns `true` if a node is [deterministic](Model::is_deterministic) and contains few enough nodes for the check.
pub(crate) fn is_deterministic(model: &Model, node: NodeId, registry: &Registry) -> bool {
    let mut nodes = model.walk_node(node).with_functions(registry).nodes().zip(1..);
    nodes.all(|(node, count)| count < MAX_NODES && model.has_deterministic_operator(node, registry))
}

/// Like [`is_deterministic`], for a node of these versions of operator sets instead of those in scope.
pub(crate) fn is_deterministic_in(
    model: &Model,
    node: NodeId,
    registry: &Registry,
    versions: &[(Symbol, i64)],
) -> bool {
    if versions.is_empty() {
        return is_deterministic(model, node, registry);
    }
    let changed = OpsetVersions::default().or(versions.iter().copied());
    model.walk_node(node).nodes().zip(1..).all(|(inner, count)| {
        let record = model.node(inner);
        let others = model.versions_in(record.graph()).iter();
        let others = others.filter(|&(domain, _)| changed.get(domain).is_none());
        let in_scope = changed.or(others);
        let is_one = match model.callee_in(record, &in_scope, registry) {
            Callee::Standard(schema) => {
                schema.determinism() == Determinism::Deterministic || record.nested_graphs().next().is_some()
            }
            Callee::Function(function) => {
                let mut body = model.nodes_in(model.function(function).body());
                body.all(|node| is_deterministic(model, node, registry))
            }
            Callee::Custom(schema) => schema.determinism == Determinism::Deterministic,
            // Operators that nothing declares.
            _ => is_deterministic(model, inner, registry),
        };
        is_one && count < MAX_NODES
    })
}

/// Returns `true` if nothing declares whether the operator of a node is deterministic: its set is not known, or its declaration
/// leaves it open.
pub(crate) fn is_undeclared(
    model: &Model,
    node: NodeId,
    registry: &Registry,
    versions: &[(Symbol, i64)],
) -> bool {
    let record = model.node(node);
    let changed = OpsetVersions::default().or(versions.iter().copied());
    let others = model.versions_in(record.graph()).iter();
    let others = others.filter(|&(domain, _)| changed.get(domain).is_none());
    match model.callee_in(record, &changed.or(others), registry) {
        Callee::Custom(schema) => schema.determinism == Determinism::Unknown,
        Callee::Undefined | Callee::NotImported => onnx_schema::opset_versions(record.domain()).is_none(),
        _ => false,
    }
}

/// Returns `true` if a node, or a node nested in it, refers to an attribute of the function around it.
pub(crate) fn has_references(model: &Model, node: NodeId) -> bool {
    model.walk_node(node).nodes().any(|node| {
        let attributes = model.node(node).attributes();
        attributes.iter().any(|attribute| matches!(attribute.value(), AttrValue::Ref(_)))
    })
}

/// Returns `true` if a node refers to values by name: `Gradient`, which differentiates the nodes between them. No edit takes
/// account of that.
pub(crate) fn refers_by_name(model: &Model) -> bool {
    let mut nodes = model.all_graphs().flat_map(|graph| model.nodes(graph));
    nodes.any(|node| {
        let record = model.node(node);
        record.op() == op::GRADIENT && record.domain() == domain::PREVIEW_TRAINING
    })
}

/// The reason why a model with such a node is not edited.
pub(crate) const BY_NAME: &str = "a `Gradient` of the model refers to values by name";
