//! Operator set documents as files, with their companions.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use onnx_codec::file::{FileKind, FileSet, write_file};
use onnx_codec::operator_set::declared;
use onnx_codec::{
    DecodeOptions, EncodeOptions, OPERATOR_SET, WriteOptions, decode_operator_set, encode_operator_set,
};
use onnx_diag::Sink;
use onnx_formats::{signatures_from_json, signatures_to_json};
use onnx_ir::OperatorSetDocument;
use onnx_schema::{OperatorSet, Registry};
use onnx_types::Execution;

use crate::exit::Failure;
use crate::format::instead;
use crate::input::display_name;
use crate::reading::read_within;

/// A document that was read.
pub(crate) struct Read {
    pub(crate) document: OperatorSetDocument,
    /// The findings of reading.
    pub(crate) findings: Sink,
    /// The signatures of the companion, if there is one.
    pub(crate) signatures: Option<OperatorSet>,
}

/// The standard operators with those of documents laid over them.
pub(crate) fn registry(files: &[PathBuf], execution: &Execution) -> Result<Registry, Failure> {
    let mut registry = Registry::standard();
    for file in files {
        let about = |failure: Failure| failure.about(&display_name(file));
        let Read { document, signatures, .. } = load(file, execution)?;
        let set = declared(&document, signatures.as_ref()).map_err(Failure::new).map_err(|failure| {
            about(failure).help("`onnx check FILE.onnxops` reports what is wrong with a document")
        })?;
        // What the standard defines is not redefined.
        if onnx_schema::domain_symbol(set.domain()).and_then(onnx_schema::opset_versions).is_some() {
            continue;
        }
        let with_set = registry.with(&set).map_err(Failure::new).map_err(about);
        registry = with_set
            .map_err(|failure| failure.help("load documents that declare an operator set only once"))?;
    }
    Ok(registry)
}

/// The same, with the operators of onnxruntime in domains that no document declares, and the inference rules and kernels of all of them.
/// Builds of onnxruntime differ in which operators they have, so others are accepted.
pub(crate) fn registry_with_onnxruntime(
    files: &[PathBuf],
    execution: &Execution,
) -> Result<Registry, Failure> {
    onnx_quantize::with_onnxruntime(&registry(files, execution)?).map_err(Failure::defect)
}

/// Reads a document, and its companion where that exists.
pub(crate) fn load(path: &Path, execution: &Execution) -> Result<Read, Failure> {
    let about = |failure: Failure| failure.about(&display_name(path));
    let contents = read_within(path, execution)?;
    let bytes = encoded(path, contents.clone()).map_err(about)?;
    let decoded = decode_operator_set(bytes, &DecodeOptions::default().with_execution(execution.clone()))
        .map_err(|error| about(not_a_document(error.into(), &contents)))?;
    // Protobuf accepts the fields of a model, of which the first one has another type.
    let document = &decoded.document;
    if document.str(document.magic).is_empty()
        && !decoded.findings.is_empty()
        && let Some(failure) = instead(&contents, OPERATOR_SET)
    {
        return Err(about(failure.help(HELP)));
    }
    let companion = companion(path);
    let signatures = if companion.exists() { Some(signatures(&companion, execution)?) } else { None };
    Ok(Read { document: decoded.document, findings: decoded.findings, signatures })
}

fn signatures(path: &Path, execution: &Execution) -> Result<OperatorSet, Failure> {
    let bytes = read_within(path, execution)?;
    let text = std::str::from_utf8(&bytes).map_err(Failure::new);
    let set = text.and_then(|text| signatures_from_json(text).map_err(Failure::new));
    set.map_err(|failure| {
        failure
            .about(&display_name(path))
            .help("write the signatures again: `onnx ops export -o FILE.onnxops`")
    })
}

/// Whether a file holds an operator set document: by its extension, or in the text format of protobuf by its first field.
pub(crate) fn is_document(path: &Path) -> bool {
    /// Comments before the first field can be longer; the extension decides then.
    const MAX_START: u64 = 4096;
    if path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("onnxops")) {
        return true;
    }
    if !is_text(path) || !path.is_file() {
        return false;
    }
    let mut start = Vec::new();
    let read = File::open(path).and_then(|file| file.take(MAX_START).read_to_end(&mut start));
    let text = String::from_utf8_lossy(&start);
    let mut lines =
        text.lines().map(str::trim_start).filter(|line| !line.is_empty() && !line.starts_with('#'));
    read.is_ok() && lines.next().is_some_and(|line| line.starts_with("magic:"))
}

/// Whether a file of this name holds the text format of protobuf.
fn is_text(path: &Path) -> bool {
    let extension = path.extension().unwrap_or_default();
    ["textproto", "pbtxt"].iter().any(|text| extension.eq_ignore_ascii_case(text))
}

fn encoded(path: &Path, bytes: Bytes) -> Result<Bytes, Failure> {
    if !is_text(path) {
        return Ok(bytes);
    }
    let text = std::str::from_utf8(&bytes).map_err(Failure::not_a_model)?;
    Ok(onnx_formats::operator_set_from_text(text)?)
}

/// What to do about a file that is not a document.
const HELP: &str = "`--ops` takes operator set documents: `onnx ops export -o FILE.onnxops` writes one";

fn not_a_document(failure: Failure, contents: &[u8]) -> Failure {
    if failure.limit.is_some() {
        return failure;
    }
    instead(contents, OPERATOR_SET)
        .unwrap_or_else(|| failure.about("this is not an operator set document"))
        .help(HELP)
}

/// The file with the signatures of a document: `acme.signatures.json` in the directory of `acme.onnxops`.
fn companion(path: &Path) -> PathBuf {
    path.with_extension("signatures.json")
}

/// The bytes of a document, as text or in the binary form, and the format.
pub(crate) fn bytes(document: &OperatorSetDocument, is_text: bool) -> Result<(Bytes, &'static str), Failure> {
    let bytes = encode_operator_set(document, &EncodeOptions::default())?.into_bytes();
    Ok(match is_text {
        true => (onnx_formats::operator_set_to_text(bytes)?.text.into(), "textproto"),
        false => (bytes, "onnxops"),
    })
}

/// Writes a document, and its signatures next to it if there are any. Returns the files with
/// their formats and sizes.
pub(crate) fn save(
    path: &Path,
    document: &OperatorSetDocument,
    signatures: Option<&OperatorSet>,
    options: &WriteOptions,
) -> Result<Vec<(PathBuf, &'static str, u64)>, Failure> {
    let (bytes, format) = bytes(document, is_text(path))?;
    let mut files = vec![(path.to_owned(), format, bytes.len() as u64)];
    let Some(signatures) = signatures else {
        write_file(path, FileKind::Message, options, |out| out.write_all(&bytes))?;
        return Ok(files);
    };
    let text = signatures_to_json(signatures).map_err(Failure::defect)?;
    let companion = companion(path);
    let mut set = FileSet::new(options);
    set.add(&companion, FileKind::Json, |out| out.write_all(text.as_bytes()))?;
    set.add(path, FileKind::Message, |out| out.write_all(&bytes))?;
    set.finish()?;
    files.push((companion, "json", text.len() as u64));
    Ok(files)
}
