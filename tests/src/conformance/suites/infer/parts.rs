//! Makes models of recorded calls that infer one node or one function.

use bytes::Bytes;
use onnx_proto::messages::{
    AttributeProto, FunctionProto, GraphProto, ModelProto, NodeProto, OperatorSetIdProto, TensorProto,
    TypeProto, ValueInfoProto,
};
use prost::Message;
use serde_json::Value;

/// What a call was given or gave: the name in the call, and the bytes of the message.
pub(super) type Piece = (String, Bytes);

fn read<M: Message + Default>(bytes: &Bytes) -> Result<M, String> {
    M::decode(bytes.clone()).map_err(|error| error.to_string())
}

fn info(name: &str, ty: TypeProto) -> ValueInfoProto {
    ValueInfoProto { name: Some(name.to_owned()), r#type: Some(ty), ..ValueInfoProto::default() }
}

fn model(graph: GraphProto, imports: Vec<(String, i64)>) -> ModelProto {
    let import = |(domain, version)| OperatorSetIdProto { domain: Some(domain), version: Some(version) };
    ModelProto {
        ir_version: Some(14),
        graph: Some(graph),
        opset_import: imports.into_iter().map(import).collect(),
        ..ModelProto::default()
    }
}

/// The model of a call of `infer_node_outputs`: a graph that contains only the node, whose inputs have the given types,
/// and whose initializers are the given data.
///
/// # Errors
///
/// When a message cannot be read.
pub(super) fn of_node(inputs: &[Piece], options: &Value) -> Result<Bytes, String> {
    let mut graph = GraphProto { name: Some("g".to_owned()), ..GraphProto::default() };
    for (name, bytes) in inputs {
        if name == "node" {
            graph.node.push(read::<NodeProto>(bytes)?);
        } else if let Some(name) = name.strip_prefix("data:") {
            graph
                .initializer
                .push(TensorProto { name: Some(name.to_owned()), ..read::<TensorProto>(bytes)? });
        }
    }
    for (name, bytes) in inputs {
        if let Some(name) = name.strip_prefix("type:")
            && !graph.initializer.iter().any(|tensor| tensor.name.as_deref() == Some(name))
        {
            graph.input.push(info(name, read(bytes)?));
        }
    }
    let text = |key: &str| options.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let imports = options.get("opset_imports").and_then(Value::as_object).into_iter().flatten();
    let mut imports: Vec<(String, i64)> =
        imports.filter_map(|(domain, version)| Some((domain.clone(), version.as_i64()?))).collect();
    if imports.is_empty() {
        let since = options.get("since_version").and_then(Value::as_i64).unwrap_or(1);
        imports.push((text("domain"), since));
    }
    Ok(model(graph, imports).encode_to_vec().into())
}

/// The model of a call of `infer_function_output_types`: the function, and a node with the attributes of the call. The
/// inputs of the graph have the types of the call; an input that is absent there has no type here.
///
/// # Errors
///
/// When a message cannot be read.
pub(super) fn of_function(inputs: &[Piece]) -> Result<Bytes, String> {
    let mut graph = GraphProto { name: Some("g".to_owned()), ..GraphProto::default() };
    let mut function = FunctionProto::default();
    let mut attributes = Vec::new();
    for (name, bytes) in inputs {
        if name == "function" {
            function = read(bytes)?;
        } else if name.starts_with("type:") {
            let ty: TypeProto = read(bytes)?;
            let ty = ty.value.is_some().then_some(ty);
            graph.input.push(ValueInfoProto { r#type: ty, ..info(name, TypeProto::default()) });
        } else if name.starts_with("attr:") {
            attributes.push(read::<AttributeProto>(bytes)?);
        }
    }
    graph.node.push(NodeProto {
        op_type: function.name.clone(),
        domain: function.domain.clone(),
        attribute: attributes,
        ..NodeProto::default()
    });
    let mut model = model(graph, Vec::new());
    model.functions.push(function);
    Ok(model.encode_to_vec().into())
}

/// A model whose inputs have the types that a call gave back, under their names in the call.
///
/// # Errors
///
/// When a message cannot be read.
pub(super) fn of_types(outputs: &[Piece]) -> Result<Bytes, String> {
    let mut graph = GraphProto { name: Some("g".to_owned()), ..GraphProto::default() };
    for (name, bytes) in outputs {
        let name = name.strip_prefix("type:").unwrap_or(name);
        graph.input.push(info(name, read(bytes)?));
    }
    Ok(model(graph, Vec::new()).encode_to_vec().into())
}
