//! Bodies of operators: the functions by which the standard defines what they compute.
//!
//! The facts of `onnx-schema` list the operators that have a body, with the operator set versions from which on it exists. A
//! body that does not depend on the node is a fact, and a table is generated from it; all others are written by hand in
//! [`ops`], at the path that the operator has in the other crates. They are made for the version that is in scope at the node.
//! Where the body of the reference implementation deviates from the text of the specification, ours does not; the module of
//! the operator gives the reason.

mod changes;
pub(crate) mod draft;
mod expand;
pub(crate) mod facts;
mod ops;
mod types;

pub use expand::expand;

use onnx_ir::{FunctionId, Model, NodeId, OpsetImport, ValueId, ValueTypes};
use onnx_schema::{Registry, Schema, domain, normalize_domain, op};
use onnx_types::{ElemType, Symbol, Type};

use crate::reason::FunctionReason;
use draft::{Draft, Made, V, result_names};

/// Returns `true` if the standard gives a body to an operator in an operator set version.
///
/// ```
/// use onnx_functions::has_body;
/// use onnx_schema::{domain, lookup, op};
///
/// let relu = lookup(domain::ONNX, op::RELU, 14).unwrap();
/// assert!(has_body(relu, 18) && !has_body(relu, 17));
/// ```
#[must_use]
pub fn has_body(schema: &'static Schema, version: i64) -> bool {
    facts::static_body(schema.id(), version).is_some() || depends_on_node(schema, version)
}

/// Returns `true` if [`has_body`] is, and no operator of a fixed body changed between the version that the body is written for and
/// this one. Runtimes that compare versions, and not meanings, run such bodies only.
///
/// ```
/// use onnx_functions::has_current_body;
/// use onnx_schema::{domain, lookup, op};
///
/// // `CastLike` of the body changed in version 19.
/// let relu = lookup(domain::ONNX, op::RELU, 14).unwrap();
/// assert!(has_current_body(relu, 18) && !has_current_body(relu, 19));
/// ```
#[must_use]
pub fn has_current_body(schema: &'static Schema, version: i64) -> bool {
    match facts::static_body(schema.id(), version) {
        Some(body) => changes::is_current(body, version),
        None => depends_on_node(schema, version),
    }
}

/// The body of the facts that is used for an operator. Those of `Celu` and `Range` deviate from the specification: [`ops`] has
/// others.
fn fixed(schema: &'static Schema, version: i64) -> Option<&'static facts::StaticBody> {
    facts::static_body(schema.id(), version).filter(|_| ![op::CELU, op::RANGE].contains(&schema.op()))
}

/// Returns `true` if the body of an operator depends on the node.
fn depends_on_node(schema: &Schema, version: i64) -> bool {
    schema.context_function_versions().first().is_some_and(|&first| i64::from(first) <= version)
}

/// Adds the function to the model that the standard defines for the operator of a node, and returns it.
///
/// Its inputs are the operands of the operator in order, with those that the node omits, which the body does not use; its
/// outputs are those of the node. It imports the versions in scope at the node. It has the domain and the name of the
/// operator and an overload that nothing calls, so the model means what it did before; remove it with
/// [`Model::remove_function`].
///
/// `types` are the types of the operands, which the body of some operators depends on.
///
/// # Errors
///
/// Returns the reason if the node has none: the standard gives none to the operator in this version, or it depends on a type
/// or an attribute that is not known, or the node cannot be expressed without the operator. The functions of the model are
/// unchanged then.
///
/// ```
/// use onnx_functions::body_of;
/// use onnx_ir::DeclaredTypes;
/// use onnx_schema::Registry;
/// use onnx_text::{ParseOptions, parse_model};
///
/// let text = r#"<ir_version: 10, opset_import: ["": 20]>
/// g (float[N] x) => (float[N] y) { y = HardSwish (x) }"#;
/// let mut model = parse_model(text, &ParseOptions::default())?;
/// let node = model.nodes(model.main_graph()).next().unwrap();
/// let function = body_of(&mut model, node, &DeclaredTypes, Registry::STANDARD)?;
/// let body = model.function(function).body();
/// let ops = model.nodes(body).map(|node| model.str(model.node(node).op()));
/// assert_eq!(ops.collect::<Vec<_>>(), ["HardSigmoid", "Mul"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn body_of(
    model: &mut Model,
    node: NodeId,
    types: &dyn ValueTypes,
    registry: &Registry,
) -> Result<FunctionId, FunctionReason> {
    let overload = model.fresh_name("body");
    let record = model.get_node(node).ok_or("the node is gone")?;
    let identity = (record.domain(), record.op(), overload);
    body_as(model, node, types, registry, identity)
}

/// Like [`body_of`], for a function of the given domain, name and overload, which calls can name.
///
/// # Errors
///
/// See [`body_of`].
pub fn body_as(
    model: &mut Model,
    node: NodeId,
    types: &dyn ValueTypes,
    registry: &Registry,
    (domain, name, overload): (Symbol, Symbol, Symbol),
) -> Result<FunctionId, FunctionReason> {
    let schema = schema_of(model, node, registry)?;
    let graph = model.node(node).graph();
    let version = model.versions_in(graph).get(domain::ONNX);
    let version = version.ok_or("the default operator set, which the body uses, is not imported")?;
    let own = model.versions_in(graph).get(schema.domain()).unwrap_or(version);
    if !has_body(schema, own) {
        return Err(FunctionReason::new(format!(
            "the standard gives no body to `{}` in version {own}",
            schema.name()
        )));
    }
    let function = model.add_function(domain, name, overload);
    let made = match fixed(schema, own) {
        Some(body) => {
            let record = model.node(node);
            let operands: Vec<Option<Type>> =
                record.inputs().flatten().map(|value| types.type_of(model, value)).collect();
            types::refuse_types(body, schema, version, &operands)
                .and_then(|()| types::refuse_single_pixels(model, node, types))
                .and_then(|()| facts::build(model, function, schema, body, version))
        }
        None => draft(model, (node, function), (schema, version), types),
    };
    if let Err(reason) = made {
        model.remove_functions(&[function]);
        return Err(reason);
    }
    Ok(function)
}

/// The element types of the operands of a node, as far as they are known.
fn elems(model: &Model, node: NodeId, types: &dyn ValueTypes) -> Vec<Option<ElemType>> {
    let elem = |value: ValueId| types.type_of(model, value).map(|ty| ty.elem());
    let operands = model.node(node).inputs().flatten();
    operands.map(|value| elem(value).filter(|&elem| elem != ElemType::Undefined)).collect()
}

/// The standard operator that a node calls.
fn schema_of(model: &Model, node: NodeId, registry: &Registry) -> Result<&'static Schema, FunctionReason> {
    model.get_node(node).ok_or("the node is gone")?;
    let schema = model.callee(node, registry).standard();
    schema.ok_or_else(|| "the node calls no operator of the standard".into())
}

/// Fills a function with the body that depends on the node.
fn draft(
    model: &mut Model,
    (node, function): (NodeId, FunctionId),
    (schema, version): (&'static Schema, i64),
    types: &dyn ValueTypes,
) -> Result<(), FunctionReason> {
    let write = ops::body(schema).ok_or("the body is not known")?;
    let record = model.node(node);
    if !schema.allows_inputs(record.input_count()) || !schema.allows_outputs(record.outputs().len()) {
        return Err("the node has a number of inputs or outputs that the operator does not allow".into());
    }
    let count = record.outputs().len();
    let type_of = |value: Option<ValueId>| types.type_of(model, value?);
    let known =
        [record.inputs().map(type_of).collect(), record.outputs().iter().copied().map(type_of).collect()];
    let imports: Vec<OpsetImport> = imports(model, node);
    let attributes = schema.attributes().iter().map(|attribute| attribute.name).collect();
    {
        let mut info = model.function_mut(function);
        info.opset_imports = imports;
        info.attributes = attributes;
    }
    let body = model.function(function).body();
    let mut draft = Draft::new(model, node, (schema, version), known, body);
    let made = write(&mut draft).and_then(|results| {
        if results.len() < count {
            return Err("the node has more outputs than the body".into());
        }
        finish(&mut draft, &results, &result_names(schema, count))
    });
    if made.is_err() {
        draft.drop_graphs();
    }
    made
}

/// The versions in scope at a node, each domain once and under its canonical name.
fn imports(model: &Model, node: NodeId) -> Vec<OpsetImport> {
    let versions = model.versions_in(model.node(node).graph());
    let mut imports: Vec<OpsetImport> = Vec::new();
    for (domain, _) in versions.iter() {
        let domain = normalize_domain(domain);
        if let Some(version) = versions.get(domain)
            && !imports.iter().any(|import| import.domain() == domain)
        {
            imports.push(OpsetImport::new(domain, version));
        }
    }
    imports
}

/// Makes values the outputs of the function, and gives them the names of the schema.
fn finish(draft: &mut Draft<'_>, results: &[V], names: &[String]) -> Made<()> {
    let mut seen: Vec<V> = Vec::new();
    for (&result, name) in results.iter().zip(names) {
        let is_free = draft.model().value(result).producer().is_some() && !seen.contains(&result);
        let output = if is_free { result } else { draft.identity(result)? };
        seen.push(output);
        let body = draft.place();
        let model = draft.model();
        let name = model.intern(name);
        let inputs = model.graph(body).inputs();
        if model.value(output).name().is_empty() && !inputs.iter().any(|&v| model.value(v).name() == name) {
            model.set_value_name(output, name);
        }
        model.push_graph_output(body, output);
    }
    Ok(())
}
