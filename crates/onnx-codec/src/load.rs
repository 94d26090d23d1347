//! Reading a model file together with access to its external data.

use std::path::Path;

use onnx_diag::Sink;
use onnx_ir::Model;

use crate::file::{self, FileError};
use crate::{DecodeError, DecodeOptions, FileSource, ReadMode, decode};

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
}

/// Reads a model file in the binary form.
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
/// Returns an error if the file cannot be read, is not protobuf, a limit is exceeded, or the work is stopped by the
/// interrupt.
pub fn load(path: impl AsRef<Path>, mode: ReadMode, options: &DecodeOptions) -> Result<Loaded, LoadError> {
    let path = path.as_ref();
    // The source notes which file is under the path, so it is made before the file is read: a model that is replaced
    // between the two steps is noticed when its data is read.
    let data = FileSource::for_model(path)?.with_mode(mode).with_limits(&options.execution.limits);
    let decoded = decode(file::read(path, mode)?, options)?;
    Ok(Loaded { model: decoded.model, findings: decoded.findings, data })
}
