//! Messages that stand alone: a `GraphProto`, a `FunctionProto` or a `NodeProto` without a model around it.

use bytes::Bytes;
use onnx_ir::{FunctionId, NodeId};
use onnx_proto::wire::Input;

use super::{Cx, DecodeOptions, Decoded, Pieces, Result};
use crate::error::DecodeError;

/// Reads a `GraphProto`; it becomes the main graph of a model that holds nothing else.
///
/// # Errors
///
/// When the bytes are not protobuf, or a limit is exceeded. Everything else is a finding.
pub fn decode_graph(bytes: Bytes, options: &DecodeOptions) -> Result<Decoded, DecodeError> {
    let (decoded, ()) = alone(bytes, options, |cx| {
        let main = cx.model.main_graph();
        let mut pieces = Pieces::new();
        pieces.push(cx.input.reader());
        cx.graph(&pieces, main, true, |_| Ok(()))
    })?;
    Ok(decoded)
}

/// Reads a `FunctionProto`; the model that holds it has nothing else but an empty main graph.
///
/// # Errors
///
/// When the bytes are not protobuf, or a limit is exceeded. Everything else is a finding.
pub fn decode_function(bytes: Bytes, options: &DecodeOptions) -> Result<(Decoded, FunctionId), DecodeError> {
    alone(bytes, options, |cx| {
        let whole = cx.input.reader();
        cx.function_message(&whole)
    })
}

/// Reads a `NodeProto`; it stands alone in the main graph of a model that holds nothing else. The names it uses are
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
/// When the bytes are not protobuf, or a limit is exceeded. Everything else is a finding.
pub fn decode_node(bytes: Bytes, options: &DecodeOptions) -> Result<(Decoded, NodeId), DecodeError> {
    alone(bytes, options, |cx| {
        let main = cx.model.main_graph();
        let outer = cx.loader.enter(main, true);
        let node = cx.node_fields(cx.input.reader(), 0, main, 0)?;
        cx.loader.leave(&mut cx.model, outer);
        Ok(node)
    })
}

fn alone<T>(
    bytes: Bytes,
    options: &DecodeOptions,
    read: impl FnOnce(&mut Cx<'_>) -> Result<T>,
) -> Result<(Decoded, T), DecodeError> {
    let input = Input::new(bytes, options.limits.wire)?;
    let mut cx = Cx::new(&input, options);
    let part = read(&mut cx)?;
    cx.model.mark_names_clean();
    Ok((Decoded { model: cx.model, findings: cx.findings }, part))
}
