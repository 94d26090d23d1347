//! Bodies that do not depend on the node: a generated table, and the functions that are built from it.

use std::collections::HashMap;

use onnx_ir::{AttrValue, Attribute, FunctionId, GraphId, Model, NewNode, OpsetImport, Position, ValueId};
use onnx_schema::{AttrDefault, AttrKind, Schema, SchemaId, domain};
use onnx_types::tensor::Tensor;
use onnx_types::{ElemType, Symbol, Type};

use super::changes::refuse_changes;
use crate::generated::bodies::BODIES;
use crate::reason::FunctionReason;

/// The body of an operator, as the generated table has it.
#[derive(Debug)]
pub(crate) struct StaticBody {
    /// The index of the schema.
    pub(crate) schema: usize,
    /// The operator set version that the body is written for.
    pub(crate) opset: i64,
    pub(crate) inputs: &'static [&'static str],
    pub(crate) outputs: &'static [&'static str],
    /// The attributes of the operator that the body refers to.
    pub(crate) attributes: &'static [Symbol],
    pub(crate) nodes: &'static [StaticNode],
}

/// A node of a body; all operators are of the default domain.
#[derive(Debug)]
pub(crate) struct StaticNode {
    pub(crate) op: Symbol,
    pub(crate) inputs: &'static [&'static str],
    pub(crate) outputs: &'static [&'static str],
    pub(crate) attributes: &'static [(Symbol, StaticAttr)],
}

/// An attribute of a node of a body.
#[derive(Debug)]
pub(crate) enum StaticAttr {
    /// A reference to an attribute of the operator.
    Ref(Symbol, AttrKind),
    Int(i64),
    Ints(&'static [i64]),
    Float(f32),
    /// A `float` tensor of rank 0.
    Scalar(f32),
    Graph(&'static StaticGraph),
}

/// A nested graph of a body.
#[derive(Debug)]
pub(crate) struct StaticGraph {
    pub(crate) name: &'static str,
    /// The names, each with the element type of a tensor of rank 0; `Undefined` for an input of which nothing is declared.
    pub(crate) inputs: &'static [(&'static str, ElemType)],
    pub(crate) outputs: &'static [&'static str],
    pub(crate) nodes: &'static [StaticNode],
}

/// The body of an operator for an operator set version: that of the greatest version not above it.
pub(crate) fn static_body(schema: SchemaId, version: i64) -> Option<&'static StaticBody> {
    let of_schema = BODIES.iter().filter(|body| body.schema == schema.index());
    of_schema.filter(|body| body.opset <= version).max_by_key(|body| body.opset)
}

/// Names of values in a graph and the graphs around it.
type Scope = HashMap<&'static str, ValueId>;

/// Builds a body into a function.
///
/// The function imports `version`, which the operators of the body must mean the same in as in the version that the body is
/// written for.
pub(crate) fn build(
    model: &mut Model,
    function: FunctionId,
    schema: &'static Schema,
    body: &StaticBody,
    version: i64,
) -> Result<(), FunctionReason> {
    refuse_changes(body, version)?;
    let graph = model.function(function).body();
    model.function_mut(function).opset_imports.push(OpsetImport::new(domain::ONNX, version));
    for &name in body.attributes {
        match schema.default_of(name) {
            Some(default) => model.push_function_default(function, Attribute::new(name, value(default)))?,
            None => model.function_mut(function).attributes.push(name),
        }
    }
    let mut scope: Scope = HashMap::new();
    for &name in body.inputs {
        scope.insert(name, model.add_graph_input(graph, name, None));
    }
    fill(model, graph, &mut scope, body.nodes, body.outputs)
}

/// The value of a default.
fn value(default: AttrDefault) -> AttrValue {
    match default {
        AttrDefault::Float(number) => AttrValue::Float(number),
        AttrDefault::Int(number) => AttrValue::Int(number),
        AttrDefault::String(text) => text.into(),
        AttrDefault::Floats(numbers) => AttrValue::Floats(numbers.to_vec()),
        AttrDefault::Ints(numbers) => AttrValue::Ints(numbers.to_vec()),
        AttrDefault::Strings(texts) => {
            AttrValue::Strings(texts.iter().map(|text| text.as_bytes().into()).collect())
        }
        _ => AttrValue::None,
    }
}

/// Adds nodes and outputs to a graph. Graphs are nested as deep as the table has them.
fn fill(
    model: &mut Model,
    graph: GraphId,
    scope: &mut Scope,
    nodes: &'static [StaticNode],
    outputs: &[&'static str],
) -> Result<(), FunctionReason> {
    for node in nodes {
        let mut new = NewNode::new(node.op);
        for (name, value) in node.attributes {
            new.attributes.push(attribute(model, graph, scope, *name, value)?);
        }
        for name in node.inputs {
            new.inputs.push(if name.is_empty() { None } else { Some(find(scope, name)?) });
        }
        for &name in node.outputs {
            if name.is_empty() {
                new.outputs.push(None);
                continue;
            }
            let symbol = model.intern(name);
            let value = model.new_value_in(graph, symbol);
            scope.insert(name, value);
            new.outputs.push(Some(value));
        }
        model.add_node(Position::End(graph), new)?;
    }
    for name in outputs {
        let value = find(scope, name)?;
        model.push_graph_output(graph, value);
    }
    Ok(())
}

fn find(scope: &Scope, name: &str) -> Result<ValueId, FunctionReason> {
    scope
        .get(name)
        .copied()
        .ok_or_else(|| FunctionReason::new(format!("the body uses `{name}`, which it does not define")))
}

fn attribute(
    model: &mut Model,
    graph: GraphId,
    scope: &Scope,
    name: Symbol,
    value: &StaticAttr,
) -> Result<Attribute, FunctionReason> {
    Ok(match *value {
        StaticAttr::Ref(target, kind) => Attribute::reference(name, target, kind),
        StaticAttr::Int(number) => Attribute::new(name, number),
        StaticAttr::Ints(numbers) => Attribute::new(name, numbers),
        StaticAttr::Float(number) => Attribute::new(name, number),
        StaticAttr::Scalar(number) => Attribute::new(name, Tensor::scalar(number)),
        StaticAttr::Graph(nested) => {
            let symbol = model.intern(nested.name);
            let inner = model.new_graph_in(graph, symbol);
            let mut scope = scope.clone();
            for &(name, elem) in nested.inputs {
                let ty = (elem != ElemType::Undefined)
                    .then(|| Type::tensor(elem, Some(onnx_types::Shape::scalar())));
                scope.insert(name, model.add_graph_input(inner, name, ty));
            }
            fill(model, inner, &mut scope, nested.nodes, nested.outputs)?;
            Attribute::new(name, inner)
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_has_the_bodies_that_the_schemas_list() {
        let mut expected: Vec<(usize, i64)> = Vec::new();
        for schema in onnx_schema::all() {
            expected.extend(schema.function_bodies().map(|(version, _)| (schema.id().index(), version)));
        }
        let found: Vec<(usize, i64)> = BODIES.iter().map(|body| (body.schema, body.opset)).collect();
        assert_eq!(found, expected);
    }
}
