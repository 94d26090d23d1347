//! A model from the bytes of a file.

use bytes::Bytes;
use onnx_codec::{Content, DecodeOptions, decode, sniff};
use onnx_diag::Severity;
use onnx_formats::MessageType;
use onnx_ir::Model;
use onnx_text::{ParseOptions, parse_model};
use onnx_types::Execution;

/// Reads a file: the extension of the name decides about the format, otherwise the contents.
pub(crate) fn model(name: &str, bytes: Bytes, execution: &Execution) -> Result<Model, String> {
    let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension).to_ascii_lowercase();
    let content = sniff(&bytes);
    match (extension.as_str(), content) {
        ("onnxtxt", _) | (_, Content::OnnxText) => {
            let options = ParseOptions::default().with_execution(execution.clone());
            parse_model(&bytes, &options).map_err(|error| error.to_string())
        }
        ("json" | "onnxjson", _) | (_, Content::Json) => {
            let read = onnx_formats::read_json(MessageType::MODEL, &bytes, execution);
            binary(name, read.map_err(|error| format!("this is not JSON of a model: {error}"))?, execution)
        }
        ("textproto" | "pbtxt" | "prototxt", _) | (_, Content::Textproto) => {
            let read = onnx_formats::read_text(MessageType::MODEL, &bytes, execution);
            binary(
                name,
                read.map_err(|error| format!("this is not protobuf text of a model: {error}"))?,
                execution,
            )
        }
        (_, content) if content.is_not_a_model() => {
            let what = content.description().unwrap_or_default();
            Err(format!("{} is not a model: {what}", onnx_draw::shown(name)))
        }
        _ => binary(name, bytes, execution),
    }
}

fn binary(name: &str, bytes: Bytes, execution: &Execution) -> Result<Model, String> {
    let options = DecodeOptions::default().with_execution(execution.clone());
    let decoded = decode(bytes, &options).map_err(|error| format!("{}: {error}", onnx_draw::shown(name)))?;
    let first = decoded.findings.diagnostics().iter().find(|finding| finding.severity == Severity::Error);
    // A file of another format decodes to an empty model.
    match first.filter(|_| decoded.model.node_count() == 0) {
        Some(finding) => Err(format!("{}: {}", onnx_draw::shown(name), finding.message)),
        None => Ok(decoded.model),
    }
}
