//! Operators of other domains: those of the sets that a registry declares are checked as standard ones are.

use onnx_schema::{AttrKind, DeclaredSchema, Registry};

use super::Place;
use super::kinds::accepts;
use crate::ast::{AttributeTerm, FlatNode, Operand};
use crate::fault::Mistake;

/// A set that is declared has the operator, and some version of it has the attributes and operands of a node.
pub(super) fn operator(node: &FlatNode, place: Place, registry: &Registry, mistakes: &mut Vec<Mistake>) {
    let is_declared = registry.declared_domains().any(|domain| domain == node.domain);
    if node.domain.is_empty() || !is_declared {
        return;
    }
    let versions: Vec<&DeclaredSchema> = registry.declared_history(&node.domain, &node.op).collect();
    let Some(latest) = versions.last() else {
        // A set that is open can have more operators than are declared.
        if registry.declared_versions(&node.domain).is_some() {
            let message = format!("the operator set `{}` has no operator `{}`", node.domain, node.op);
            mistakes.push(Mistake::meaning(node.at, message));
        }
        return;
    };
    attributes(node, &versions, mistakes);
    for formal in latest.attributes.iter().filter(|formal| formal.is_required && !node.is_open) {
        let is_given = node.attributes.iter().any(|(name, _)| *name == formal.name);
        let is_required = |schema: &&DeclaredSchema| {
            schema.attribute(&formal.name).is_some_and(|attribute| attribute.is_required)
        };
        if !is_given && (place == Place::New || versions.iter().all(is_required)) {
            let message = format!("`{}` requires the attribute `{}`", node.op, formal.name);
            mistakes.push(Mistake::meaning(node.at, message));
        }
    }
    let has_rest = node.operands.iter().any(|operand| matches!(operand, Operand::Rest(_)));
    let count = node.operands.len();
    let fits = |schema: &&DeclaredSchema| {
        count >= schema.min_inputs() && schema.max_inputs().is_none_or(|most| count <= most)
    };
    if !has_rest && !versions.iter().any(fits) {
        mistakes.push(Mistake::meaning(node.at, format!("`{}` does not have {count} operands", node.op)));
    }
    let has_results =
        |schema: &&DeclaredSchema| schema.max_outputs().is_none_or(|most| node.outputs.len() <= most);
    if !versions.iter().any(has_results) {
        let message = format!("`{}` does not have {} results", node.op, node.outputs.len());
        mistakes.push(Mistake::meaning(node.at, message));
    }
}

/// Each attribute is declared, with the kind of its value.
fn attributes(node: &FlatNode, versions: &[&DeclaredSchema], mistakes: &mut Vec<Mistake>) {
    for (name, term, at) in node.placed_attributes() {
        let declared: Vec<Option<AttrKind>> =
            versions.iter().filter_map(|schema| schema.attribute(name)).map(|formal| formal.kind).collect();
        if declared.is_empty() {
            if !versions.iter().any(|schema| schema.allows_unchecked_attributes) {
                mistakes.push(Mistake::meaning(at, format!("`{}` has no attribute `{name}`", node.op)));
            }
            continue;
        }
        let AttributeTerm::Value(value) = term else { continue };
        let Some(given) = value.kind() else { continue };
        let has_kind = declared.iter().any(|kind| kind.is_none_or(|kind| accepts(kind, given)));
        if !has_kind && let Some(kind) = declared.iter().flatten().next() {
            let message = format!("`{}` has the attribute `{name}` of kind {kind}, not {given}", node.op);
            mistakes.push(Mistake::meaning(at, message));
        }
    }
}
