//! The table of the function bodies that do not depend on the node, which `onnx-functions` builds into models.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::facts::{BodyAttribute, BodyGraph, BodyNode, Facts};
use super::names::constant;
use super::tables::float_source;
use super::types::variant;

/// The file `bodies.rs`.
pub(super) fn source(facts: &Facts) -> Result<String, String> {
    let schemas = facts.core.schemas.iter().enumerate();
    let ids: BTreeMap<_, usize> =
        schemas.map(|(id, schema)| ((&schema.domain, &schema.op, schema.since), id)).collect();
    let mut out = String::from(
        "use onnx_schema::{AttrKind, attr, op};\nuse onnx_types::ElemType;\n\n\
         use crate::bodies::facts::{StaticAttr, StaticBody, StaticGraph, StaticNode};\n\n\
         /// The bodies, in the order of the schemas and of the operator set versions that they are written for.\n",
    );
    let _ = writeln!(out, "pub(crate) static BODIES: [StaticBody; {}] = [", facts.functions.len());
    for body in &facts.functions {
        let id = ids.get(&(&body.domain, &body.op, body.since));
        let id = id.ok_or_else(|| format!("the body of {}-{} has no schema", body.op, body.since))?;
        let nodes = nodes(&body.nodes).map_err(|problem| format!("{}-{}: {problem}", body.op, body.since))?;
        let _ = writeln!(
            out,
            "// {}-{}\nStaticBody {{ schema: {id}, opset: {}, inputs: &{:?}, outputs: &{:?}, attributes: &[{}], \
             nodes: &[{nodes}] }},",
            body.op,
            body.since,
            body.opset,
            body.inputs,
            body.outputs,
            body.attributes.iter().map(|name| symbol(name)).collect::<Vec<_>>().join(", "),
        );
    }
    out.push_str("];\n");
    Ok(out)
}

fn nodes(nodes: &[BodyNode]) -> Result<String, String> {
    let mut out = String::new();
    for node in nodes {
        let attributes = node.attributes.iter().map(|(name, value)| attribute(name, value));
        let _ = write!(
            out,
            "StaticNode {{ op: op::{}, inputs: &{:?}, outputs: &{:?}, attributes: &[{}] }}, ",
            constant(&node.op),
            node.inputs,
            node.outputs,
            attributes.collect::<Result<String, _>>()?,
        );
    }
    Ok(out)
}

fn attribute(name: &str, value: &BodyAttribute) -> Result<String, String> {
    let value = match value {
        BodyAttribute::Ref { target, kind } => {
            format!("Ref({}, AttrKind::{})", symbol(target), variant(kind))
        }
        BodyAttribute::Int { int } => format!("Int({int})"),
        BodyAttribute::Ints { ints } => format!("Ints(&{ints:?})"),
        BodyAttribute::Float { float } => format!("Float({})", float_source(float)?),
        BodyAttribute::Scalar { scalar } => format!("Scalar({})", float_source(scalar)?),
        BodyAttribute::Graph { graph } => format!("Graph(&{})", nested(graph)?),
    };
    Ok(format!("({}, StaticAttr::{value}), ", symbol(name)))
}

fn nested(graph: &BodyGraph) -> Result<String, String> {
    let inputs: Vec<String> =
        graph.inputs.iter().map(|(name, elem)| format!("({name:?}, ElemType::{})", variant(elem))).collect();
    Ok(format!(
        "StaticGraph {{ name: {:?}, inputs: &[{}], outputs: &{:?}, nodes: &[{}] }}",
        graph.name,
        inputs.join(", "),
        graph.outputs,
        nodes(&graph.nodes)?
    ))
}

/// The constant of an attribute name.
fn symbol(name: &str) -> String {
    format!("attr::{}", constant(name))
}
