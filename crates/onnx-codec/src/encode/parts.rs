//! Encodes parts: a `GraphProto`, `FunctionProto` or `NodeProto` without a model.

use bytes::Bytes;
use onnx_ir::{FunctionId, GraphId, Model, NodeId};
use onnx_proto::wire::{Segments, Writer};

use onnx_types::tensor::Tensor;

use super::{Cx, EncodeOptions, Result};

/// Writes a graph of a model as `GraphProto`.
///
/// # Errors
///
/// Returns an error if graphs or types are nested too deeply for any reader, or a repeated element would fill too much.
///
/// # Panics
///
/// Panics if the graph is not of this model.
pub fn encode_graph(model: &Model, graph: GraphId, options: &EncodeOptions) -> Result<Segments> {
    part(model, options, |cx, writer| cx.graph(writer, graph, 0))
}

/// Writes a function of a model as `FunctionProto`.
///
/// # Errors
///
/// Returns an error if graphs or types are nested too deeply for any reader, or a repeated element would fill too much.
///
/// # Panics
///
/// Panics if the function is not of this model.
pub fn encode_function(model: &Model, function: FunctionId, options: &EncodeOptions) -> Result<Segments> {
    part(model, options, |cx, writer| cx.function(writer, function))
}

/// Writes a node of a model as `NodeProto`.
///
/// # Errors
///
/// Returns an error if graphs or types are nested too deeply for any reader, or a repeated element would fill too much.
///
/// # Panics
///
/// Panics if the node is not of this model.
pub fn encode_node(model: &Model, node: NodeId, options: &EncodeOptions) -> Result<Segments> {
    part(model, options, |cx, writer| cx.node(writer, node, 0, &mut Vec::new()))
}

/// Encodes each function of a model as a separate `FunctionProto`. They share one name plan.
pub(crate) fn functions(model: &Model, options: &EncodeOptions) -> Result<Vec<(FunctionId, Bytes)>> {
    let plan = model.name_plan();
    let cx = Cx { model, plan: &plan, options, raw_bytes: model.names().holds_raw_bytes() };
    let write = |&id: &FunctionId| {
        let mut writer = Writer::with_capacity(256);
        cx.function(&mut writer, id)?;
        Ok((id, writer.finish().into_bytes()))
    };
    model.functions().iter().map(write).collect()
}

/// Writes with the context of a model.
pub(crate) fn part(
    model: &Model,
    options: &EncodeOptions,
    write: impl FnOnce(&Cx<'_>, &mut Writer) -> Result,
) -> Result<Segments> {
    let plan = model.name_plan();
    let cx = Cx { model, plan: &plan, options, raw_bytes: model.names().holds_raw_bytes() };
    let mut writer = Writer::with_capacity(1024);
    write(&cx, &mut writer)?;
    Ok(writer.finish())
}

/// Writes the fields of a tensor, with this name instead of that of the tensor.
pub(crate) fn tensor_into(cx: &Cx<'_>, writer: &mut Writer, tensor: &Tensor, name: Option<&str>) -> Result {
    cx.tensor(writer, tensor, name)
}
