//! Decodes parts: a `GraphProto`, `NodeProto`, `TensorProto` or other message without a model.

use std::sync::Arc;

use bytes::Bytes;
use onnx_ir::raw::NodeFields;
use onnx_ir::{Attribute, FunctionId, NodeId, Origin};
use onnx_proto::wire::{Input, Payload, Reader};
use onnx_schema::attr;
use onnx_types::tensor::Tensor;

use super::prescan::ScannedNodes;
use super::tensor::{SparseParts, TensorParts};
use super::{Cx, DecodeOptions, Decoded, Occurrences, Result};
use crate::error::DecodeError;

/// Reads a `GraphProto`; it becomes the main graph of a model that holds nothing else.
///
/// # Errors
///
/// Returns an error if the bytes are not protobuf, a limit is exceeded, or the interrupt stops the work. Everything
/// else is reported as a diagnostic.
pub fn decode_graph(bytes: Bytes, options: &DecodeOptions) -> Result<Decoded, DecodeError> {
    let (decoded, ()) = part(bytes, options, |cx| {
        let main = cx.model.main_graph();
        let mut occurrences = Occurrences::new();
        occurrences.push(cx.input.reader());
        cx.graph(&occurrences, main, true, |_| Ok(()))
    })?;
    Ok(decoded)
}

/// Reads a `FunctionProto`; the model that holds it has nothing else but an empty main graph.
///
/// # Errors
///
/// Returns an error if the bytes are not protobuf, a limit is exceeded, or the interrupt stops the work. Everything
/// else is reported as a diagnostic.
pub fn decode_function(bytes: Bytes, options: &DecodeOptions) -> Result<(Decoded, FunctionId), DecodeError> {
    part(bytes, options, |cx| {
        let whole = cx.input.reader();
        cx.function_message(&whole)
    })
}

/// Reads a `NodeProto`; it becomes the only node in the main graph of an otherwise empty model. The names it uses are
/// unresolved.
///
/// ```
/// use onnx_codec::{DecodeOptions, EncodeOptions, decode_node, encode_node};
///
/// // y = Relu (x)
/// let bytes = bytes::Bytes::from_static(b"\x0a\x01x\x12\x01y\x22\x04Relu");
/// let (decoded, node) = decode_node(bytes.clone(), &DecodeOptions::default())?;
/// assert_eq!(decoded.model.str(decoded.model.node(node).op()), "Relu");
/// assert_eq!(encode_node(&decoded.model, node, &EncodeOptions::default())?.to_vec(), bytes);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// Returns an error if the bytes are not protobuf, a limit is exceeded, or the interrupt stops the work. Everything
/// else is reported as a diagnostic.
pub fn decode_node(bytes: Bytes, options: &DecodeOptions) -> Result<(Decoded, NodeId), DecodeError> {
    in_main_graph(bytes, options, |cx| {
        let reader = cx.input.reader();
        let mut scanned = ScannedNodes::default();
        let result = scanned.scan_node(reader.clone(), cx.model.names());
        let node = cx.node(&reader, scanned.fields(), 0, 0)?;
        result.map(|()| node)
    })
}

/// Reads an `AttributeProto`; the main graph has one node, without an operator, that holds it.
///
/// # Errors
///
/// Returns an error if the bytes are not protobuf, a limit is exceeded, or the interrupt stops the work. Everything
/// else is reported as a diagnostic.
pub fn decode_attribute(bytes: Bytes, options: &DecodeOptions) -> Result<(Decoded, NodeId), DecodeError> {
    in_node(bytes, options, |cx| cx.attribute(&cx.input.reader(), cx.input.whole()))
}

/// Reads a `TensorProto`; the main graph has one node, without an operator, whose attribute `value` it is.
///
/// ```
/// use onnx_codec::{DecodeOptions, decode_tensor};
///
/// // A vector of one float, without its data.
/// let bytes = bytes::Bytes::from_static(b"\x08\x01\x10\x01");
/// let (decoded, node) = decode_tensor(bytes, &DecodeOptions::default())?;
/// let tensor = decoded.model.node(node).attributes()[0].as_tensor().expect("it holds a tensor");
/// assert_eq!(tensor.rank(), 1);
/// # Ok::<(), onnx_codec::DecodeError>(())
/// ```
///
/// # Errors
///
/// Returns an error if the bytes are not protobuf, a limit is exceeded, or the interrupt stops the work. Everything
/// else is reported as a diagnostic.
pub fn decode_tensor(bytes: Bytes, options: &DecodeOptions) -> Result<(Decoded, NodeId), DecodeError> {
    in_node(bytes, options, |cx| {
        let mut parts = TensorParts::default();
        cx.tensor_into(&cx.input.reader(), cx.input.whole(), &mut parts)?;
        Ok(Attribute::new(attr::VALUE, cx.finish_tensor(parts)?))
    })
}

/// Reads a `SparseTensorProto`; the main graph has one node, without an operator, whose attribute `sparse_value` it is.
///
/// # Errors
///
/// Returns an error if the bytes are not protobuf, a limit is exceeded, or the interrupt stops the work. Everything
/// else is reported as a diagnostic.
pub fn decode_sparse_tensor(bytes: Bytes, options: &DecodeOptions) -> Result<(Decoded, NodeId), DecodeError> {
    in_node(bytes, options, |cx| {
        let mut parts = SparseParts::default();
        cx.sparse_into(&cx.input.reader(), cx.input.whole(), &mut parts)?;
        Ok(Attribute::new(attr::SPARSE_VALUE, Arc::new(cx.finish_sparse(parts)?)))
    })
}

/// Reads a `ValueInfoProto`; it becomes the only input of the main graph.
///
/// # Errors
///
/// Returns an error if the bytes are not protobuf, a limit is exceeded, or the interrupt stops the work. Everything
/// else is reported as a diagnostic.
pub fn decode_value_info(bytes: Bytes, options: &DecodeOptions) -> Result<Decoded, DecodeError> {
    let read = |cx: &mut Cx<'_>| cx.graph_input(&cx.input.reader(), cx.input.whole());
    let (decoded, ()) = in_main_graph(bytes, options, read)?;
    Ok(decoded)
}

/// Decodes tensors that are parts of one input other than a model.
pub(crate) struct TensorDecoder<'a>(Cx<'a>);

impl<'a> TensorDecoder<'a> {
    pub(crate) fn new(input: &'a Input, options: &'a DecodeOptions) -> Result<Self> {
        let mut cx = Cx::new(input, options);
        cx.start()?;
        Ok(Self(cx))
    }

    /// Decodes the `TensorProto` in a field of the message that the reader reads.
    pub(crate) fn tensor(&mut self, reader: &Reader<'a>, payload: Payload<'a>) -> Result<Tensor> {
        let mut parts = TensorParts::default();
        self.0.tensor_into(reader, payload, &mut parts)?;
        self.0.finish_tensor(parts)
    }
}

/// Decodes a part that becomes an attribute of a node without operator, in an otherwise empty model.
fn in_node(
    bytes: Bytes,
    options: &DecodeOptions,
    read: impl FnOnce(&mut Cx<'_>) -> Result<Attribute>,
) -> Result<(Decoded, NodeId), DecodeError> {
    in_main_graph(bytes, options, |cx| {
        let attributes = vec![read(cx)?];
        let node = cx.model.write_node(NodeFields { attributes, ..NodeFields::default() }, &[], &[]);
        if cx.options.offsets {
            cx.model.set_node_origin(node, Origin::Byte(0));
        }
        Ok(node)
    })
}

/// Decodes a part into the main graph of an otherwise empty model.
fn in_main_graph<T>(
    bytes: Bytes,
    options: &DecodeOptions,
    read: impl FnOnce(&mut Cx<'_>) -> Result<T>,
) -> Result<(Decoded, T), DecodeError> {
    part(bytes, options, |cx| {
        let main = cx.model.main_graph();
        let outer = cx.model.enter(main, true);
        let part = read(cx)?;
        cx.model.leave(outer);
        Ok(part)
    })
}

/// Decodes a part into an empty model.
fn part<T>(
    bytes: Bytes,
    options: &DecodeOptions,
    read: impl FnOnce(&mut Cx<'_>) -> Result<T>,
) -> Result<(Decoded, T), DecodeError> {
    let input = Input::new(bytes, super::wire_limits(&options.execution.limits))?;
    let mut cx = Cx::new(&input, options);
    cx.start()?;
    let part = read(&mut cx)?;
    Ok((Decoded { model: cx.model.finish(), findings: cx.findings }, part))
}
