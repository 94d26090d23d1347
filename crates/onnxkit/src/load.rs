//! Loading a model in any format.

use std::fmt;
use std::path::Path;

use bytes::Bytes;
use onnx_codec::file::{self, FileError};
use onnx_codec::{Content, DecodeError, DecodeOptions, Decoded, FileSource, LoadError, Loaded, ReadMode};
use onnx_diag::Sink;
use onnx_formats::{ConvertError, MessageType};
use onnx_ir::Model;
use onnx_text::{ParseError, ParseOptions};
use onnx_types::Execution;

/// Why a model could not be loaded in any format.
#[derive(Debug)]
#[non_exhaustive]
pub enum LoadAnyError {
    /// The file cannot be read, or is neither a model nor one of the formats of models.
    Load(LoadError),
    /// The file is not a model in the text format or the JSON form of protobuf, as which it begins.
    Format(ConvertError),
    /// The file is not a model in ONNX text, as which it begins.
    Text(ParseError),
}

impl fmt::Display for LoadAnyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Load(error) => error.fmt(f),
            Self::Format(error) => error.fmt(f),
            Self::Text(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for LoadAnyError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Load(error) => error.source(),
            Self::Format(error) => error.source(),
            Self::Text(error) => error.source(),
        }
    }
}

impl From<FileError> for LoadAnyError {
    fn from(error: FileError) -> Self {
        Self::Load(error.into())
    }
}

impl From<DecodeError> for LoadAnyError {
    fn from(error: DecodeError) -> Self {
        Self::Load(error.into())
    }
}

/// Reads a model file in the binary form, the text format or the JSON form of protobuf, or ONNX text. The contents decide
/// which it is, not the name of the file.
///
/// External data is in the directory of the file, in every format. See [`onnx_codec::load`] for `mode`; texts are always copied.
///
/// ```
/// use onnxkit::codec::ReadMode;
/// use onnxkit::load_any;
/// use onnxkit::types::Execution;
///
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("model.onnxtxt");
/// std::fs::write(&path, r#"<ir_version: 10, opset_import: ["": 20]> g (float x) => (float y) { y = Neg (x) }"#)?;
/// let loaded = load_any(&path, ReadMode::Memory, &Execution::default())?;
/// assert_eq!(loaded.model.node_count(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// Returns an error if the file cannot be read or is not a model, a limit is exceeded, or the interrupt stops the work.
pub fn load_any(
    path: impl AsRef<Path>,
    mode: ReadMode,
    execution: &Execution,
) -> Result<Loaded, LoadAnyError> {
    let path = path.as_ref();
    let options = DecodeOptions::default().with_execution(execution.clone());
    let content = match onnx_codec::load(path, mode, &options) {
        Err(LoadError::Content {
            content: content @ (Content::OnnxText | Content::Textproto | Content::Json),
            ..
        }) => content,
        loaded => return loaded.map_err(LoadAnyError::Load),
    };
    let data = FileSource::for_model(path)?.with_mode(mode).with_limits(&execution.limits);
    let contents = file::read_until(path, ReadMode::Memory, &execution.interrupt)?;
    let (model, findings) = read(contents, content, execution)?;
    Ok(Loaded { model, findings, data })
}

/// Reads a model from the bytes of a file in any of these formats, with the findings of the decoder. The bytes decide which it is.
///
/// ```
/// use onnxkit::decode_any;
/// use onnxkit::types::Execution;
///
/// let text = r#"{"ir_version": "10", "graph": {"name": "g"}, "opset_import": [{"version": "20"}]}"#;
/// let (model, _) = decode_any(text.into(), &Execution::default())?;
/// assert_eq!(model.str(model.graph(model.main_graph()).name()), "g");
/// # Ok::<(), onnxkit::LoadAnyError>(())
/// ```
///
/// # Errors
///
/// Returns an error if the bytes are not a model, a limit is exceeded, or the interrupt stops the work.
pub fn decode_any(bytes: Bytes, execution: &Execution) -> Result<(Model, Sink), LoadAnyError> {
    let content = onnx_codec::sniff(&bytes);
    read(bytes, content, execution)
}

fn read(bytes: Bytes, content: Content, execution: &Execution) -> Result<(Model, Sink), LoadAnyError> {
    let encoded = match content {
        Content::OnnxText => {
            let options = ParseOptions::default().with_execution(execution.clone());
            let model = onnx_text::parse_model(bytes, &options).map_err(LoadAnyError::Text)?;
            return Ok((model, Sink::new()));
        }
        Content::Json => onnx_formats::read_json(MessageType::MODEL, &bytes, execution),
        Content::Textproto => onnx_formats::read_text(MessageType::MODEL, &bytes, execution),
        _ => Ok(bytes),
    };
    let options = DecodeOptions::default().with_execution(execution.clone());
    let Decoded { model, findings } = onnx_codec::decode(encoded.map_err(LoadAnyError::Format)?, &options)?;
    Ok((model, findings))
}
