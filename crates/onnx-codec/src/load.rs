//! Reading a model file together with access to its external data.

use std::path::Path;

use onnx_diag::{Diagnostic, Sink};
use onnx_ir::Model;

use crate::file::{self, FileError};
use crate::rules::NO_GRAPH;
use crate::{Content, DecodeError, DecodeOptions, Decoded, FileSource, ReadMode, decode, sniff};

/// A model that was read from a file.
#[derive(Debug)]
pub struct Loaded {
    /// The model. Its external data stays in its files.
    pub model: Model,
    /// The diagnostics of reading, in file order.
    pub findings: Sink,
    /// The files of its external data, for whatever reads weights.
    pub data: FileSource,
}

/// Why a model could not be loaded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// The file cannot be read.
    #[error(transparent)]
    File(#[from] FileError),
    /// Its contents are not a model.
    #[error(transparent)]
    Decode(#[from] DecodeError),
    /// Its contents are of another format.
    #[error("{}", foreign(*content))]
    Content {
        /// The format that the contents indicate.
        content: Content,
        /// The error of reading them as a binary model, if they are not a protobuf message.
        source: Option<DecodeError>,
    },
}

/// What a file contains that is not a binary model, and what reads it.
fn foreign(content: Content) -> String {
    let what = content.description().unwrap_or_else(|| "this is not a model".to_owned());
    let reader = match content {
        Content::OnnxText => "`onnx_text::parse_model` reads it",
        Content::Textproto => "`onnx_formats::read_text` reads it",
        Content::Json => "`onnx_formats::read_json` reads it",
        Content::Part(..) => "`decode_graph`, `decode_node` and similar functions read it",
        _ => return format!("{what}; `load` reads binary models"),
    };
    format!("{what}; `load` reads binary models, {reader}")
}

/// Reads a model file in the binary form. `onnxkit::load_any` reads the other formats, too.
///
/// With [`ReadMode::Map`], opening a file of any size takes microseconds, and the caller vouches that no other process
/// changes the file meanwhile. The mode also applies to the files of external data.
///
/// ```
/// use onnx_codec::{DecodeOptions, ReadMode, load};
///
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("model.onnx");
/// std::fs::write(&path, b"\x08\x0a\x3a\x03\x12\x01g")?;
/// let loaded = load(&path, ReadMode::Memory, &DecodeOptions::default())?;
/// assert_eq!(loaded.model.info().ir_version, 10);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// Returns an error if the file cannot be read, is not protobuf or holds another format ([`sniff`]), a limit is exceeded, or
/// the work is stopped by the interrupt.
pub fn load(path: impl AsRef<Path>, mode: ReadMode, options: &DecodeOptions) -> Result<Loaded, LoadError> {
    let path = path.as_ref();
    // The source notes which file is under the path, so it is made before the file is read: a model that is replaced
    // between the two steps is noticed when its data is read.
    let data = FileSource::for_model(path)?.with_mode(mode).with_limits(&options.execution.limits);
    let bytes = file::read_until(path, mode, &options.execution.interrupt)?;
    // Of other formats, some bytes are fields of protobuf: then the decoder finds no graph.
    let foreign = || Some(sniff(&bytes)).filter(|content| content.is_not_a_model());
    let no_graph = |found: &Diagnostic| found.rule == &NO_GRAPH;
    match decode(bytes.clone(), options) {
        Ok(Decoded { model, findings }) => match foreign() {
            Some(content) if findings.diagnostics().iter().any(no_graph) => {
                Err(LoadError::Content { content, source: None })
            }
            _ => Ok(Loaded { model, findings, data }),
        },
        Err(error) if error.limit().is_some() || error.stopped().is_some() => Err(error.into()),
        Err(error) => match foreign() {
            Some(content) => Err(LoadError::Content { content, source: Some(error) }),
            None => Err(error.into()),
        },
    }
}
