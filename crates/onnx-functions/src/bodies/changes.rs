//! Bodies that are written for an older operator set than the model imports.
//!
//! Such a body is used if its nodes mean the same in both versions. `onnx-schema` has every schema of every operator,
//! so this compares what each node uses with all schemas between the two versions.

use onnx_schema::{Formal, Schema, domain};
use onnx_types::Symbol;

use super::facts::{StaticAttr, StaticBody, StaticNode};
use crate::reason::FunctionReason;

/// The reason if an operator of a body has another meaning in a later operator set version.
pub(crate) fn refuse_changes(body: &StaticBody, version: i64) -> Result<(), FunctionReason> {
    refuse_changed_nodes(body.nodes, body.opset, version)
}

/// Returns `true` if the version has no later schema of an operator of the body.
pub(crate) fn is_current(body: &StaticBody, version: i64) -> bool {
    let mut open: Vec<&[StaticNode]> = vec![body.nodes];
    while let Some(nodes) = open.pop() {
        for node in nodes {
            let since =
                |version| onnx_schema::lookup(domain::ONNX, node.op, version).map(Schema::since_version);
            if since(body.opset) != since(version) {
                return false;
            }
            open.extend(node.attributes.iter().filter_map(|(_, value)| match value {
                StaticAttr::Graph(graph) => Some(graph.nodes),
                _ => None,
            }));
        }
    }
    true
}

fn refuse_changed_nodes(nodes: &[StaticNode], from: i64, to: i64) -> Result<(), FunctionReason> {
    for node in nodes {
        refuse_changed_node(node, from, to)?;
        for (_, value) in node.attributes {
            if let StaticAttr::Graph(graph) = value {
                refuse_changed_nodes(graph.nodes, from, to)?;
            }
        }
    }
    Ok(())
}

fn refuse_changed_node(node: &StaticNode, from: i64, to: i64) -> Result<(), FunctionReason> {
    let name = onnx_schema::known_name(node.op).unwrap_or_default();
    let old = onnx_schema::lookup(domain::ONNX, node.op, from);
    let mut old = old.ok_or_else(|| FunctionReason::new(format!("version {from} does not have `{name}`")))?;
    let later = old
        .versions()
        .iter()
        .filter(|schema| schema.since_version() > old.since_version() && schema.since_version() <= to);
    for new in later {
        if let Err(part) = keeps_meaning(node, old, new) {
            let since = new.since_version();
            return Err(FunctionReason::new(format!(
                "the body is for version {from}, and version {since} changes {part} of `{name}`, which it uses"
            )));
        }
        old = new;
    }
    Ok(())
}

/// Returns the part of the operator that a schema changes for a node.
fn keeps_meaning(node: &StaticNode, old: &'static Schema, new: &'static Schema) -> Result<(), &'static str> {
    if new.is_deprecated() {
        return Err("the use");
    }
    let keeps = |before: Option<&Formal>, after: Option<&Formal>| {
        let (Some(before), Some(after)) = (before, after) else { return false };
        before.is_variadic() == after.is_variadic() && old.types_of(before).is_subset(new.types_of(after))
    };
    if !(0..node.inputs.len()).all(|index| keeps(old.input_for(index), new.input_for(index)))
        || !new.allows_inputs(node.inputs.len())
    {
        return Err("an input");
    }
    if !(0..node.outputs.len()).all(|index| keeps(old.output_for(index), new.output_for(index)))
        || !new.allows_outputs(node.outputs.len())
    {
        return Err("an output");
    }
    for attribute in new.attributes() {
        let is_given = node.attributes.iter().any(|&(name, _)| name == attribute.name);
        let is_kept = match old.attribute(attribute.name) {
            Some(before) if is_given => before.kind == attribute.kind,
            Some(before) => {
                before.default == attribute.default && (!attribute.is_required || before.is_required)
            }
            None => !attribute.is_required && new.is_neutral_addition(attribute.name),
        };
        if !is_kept {
            return Err("an attribute");
        }
    }
    let is_gone = |&(name, _): &(Symbol, StaticAttr)| new.attribute(name).is_none();
    if node.attributes.iter().any(is_gone) {
        return Err("an attribute");
    }
    Ok(())
}
