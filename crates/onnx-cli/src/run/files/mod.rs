//! Values in files: `.npy` and `.npz` of NumPy, and messages of protobuf (`.pb`).

mod npy;

use std::collections::BTreeMap;
use std::io::{Cursor, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use onnx_codec::file::{Kind, read, write_file};
use onnx_codec::value::{KeyMessage, ValueMessage, ValueMessageKind, decode_value, encode_value};
use onnx_codec::{DecodeOptions, EncodeOptions, ReadMode, WriteOptions};
use onnx_eval::{MapKey, Value};
use onnx_types::tensor::{NoData, Tensor};
use onnx_types::{ElemType, Execution, Type, TypeKind};
use zip::{ZipArchive, ZipWriter};

use crate::exit::Failure;
use crate::input::display_name;

/// Bytes that an array of an archive may have, against archives that expand without end.
const MOST_BYTES: u64 = 1 << 36;

/// The value in a file, for an input of this name and type.
pub(crate) fn value(
    path: &Path,
    name: &str,
    ty: Option<&Type>,
    execution: &Execution,
) -> Result<Value, Failure> {
    let about = |failure: Failure| failure.about(&display_name(path));
    match extension(path).as_str() {
        "npy" => {
            let bytes = read(path, ReadMode::Memory)?;
            npy::read(&bytes, elem(ty)).map(Value::from).map_err(about)
        }
        "npz" => {
            let mut arrays = arrays(path)?;
            let only = (arrays.len() == 1).then(|| arrays.pop_first()).flatten().map(|(_, bytes)| bytes);
            let bytes = only
                .or_else(|| arrays.remove(name))
                .ok_or_else(|| about(Failure::new(format_args!("has no array `{name}`"))))?;
            npy::read(&bytes, elem(ty)).map(Value::from).map_err(about)
        }
        "pb" => message(&read(path, ReadMode::Memory)?, ty, execution).map_err(about),
        _ => Err(about(Failure::new("is not a file of a value")).help("use a file `.npy`, `.npz` or `.pb`")),
    }
}

/// The arrays of an archive by their names, for inputs of these types.
pub(crate) fn archive(path: &Path) -> Result<BTreeMap<String, Bytes>, Failure> {
    arrays(path)
}

/// The value of an array of an archive.
pub(crate) fn array(bytes: &Bytes, ty: Option<&Type>) -> Result<Value, Failure> {
    npy::read(bytes, elem(ty)).map(Value::from)
}

pub(crate) fn extension(path: &Path) -> String {
    path.extension().unwrap_or_default().to_string_lossy().to_ascii_lowercase()
}

fn elem(ty: Option<&Type>) -> Option<ElemType> {
    match &ty?.kind {
        TypeKind::Tensor(tensor) | TypeKind::SparseTensor(tensor) => Some(tensor.elem),
        _ => None,
    }
}

fn arrays(path: &Path) -> Result<BTreeMap<String, Bytes>, Failure> {
    let about = |error: zip::result::ZipError| Failure::new(error).about(&display_name(path));
    let mut archive = ZipArchive::new(Cursor::new(read(path, ReadMode::Memory)?)).map_err(about)?;
    let mut arrays = BTreeMap::new();
    let mut left = MOST_BYTES;
    for index in 0..archive.len() {
        let file = archive.by_index(index).map_err(about)?;
        let name = file.name().map_err(about)?;
        let name = name.strip_suffix(".npy").unwrap_or(&name).to_owned();
        let mut bytes = Vec::new();
        let taken = file.take(left.saturating_add(1)).read_to_end(&mut bytes);
        taken.map_err(|error| Failure::new(error).about(&display_name(path)))?;
        left = left.checked_sub(bytes.len() as u64).ok_or_else(|| {
            Failure::new("expands to more memory than a value may take").about(&display_name(path))
        })?;
        arrays.insert(name, bytes.into());
    }
    Ok(arrays)
}

fn message(bytes: &Bytes, ty: Option<&Type>, execution: &Execution) -> Result<Value, Failure> {
    let kind = match ty.map(|ty| &ty.kind) {
        Some(TypeKind::Sequence(_)) => ValueMessageKind::Sequence,
        Some(TypeKind::Optional(_)) => ValueMessageKind::Optional,
        Some(TypeKind::Map { .. }) => ValueMessageKind::Map,
        _ => ValueMessageKind::Tensor,
    };
    let options = DecodeOptions::default().with_execution(execution.clone());
    from_message(decode_value(bytes.clone(), kind, &options)?)
}

/// The value of a message; messages are not nested deeper than the codec allows.
fn from_message(message: ValueMessage) -> Result<Value, Failure> {
    Ok(match message {
        ValueMessage::Tensor(tensor) => Value::from(checked(&tensor)?),
        ValueMessage::Sequence(items) => {
            Value::Sequence(Arc::new(items.into_iter().map(from_message).collect::<Result<_, _>>()?))
        }
        ValueMessage::Optional(None) => Value::Optional(None),
        ValueMessage::Optional(Some(inner)) => Value::Optional(Some(Arc::new(from_message(*inner)?))),
        ValueMessage::Map(entries) => {
            let entry = |(key, value)| {
                let key = match key {
                    KeyMessage::Int(key) => MapKey::Int(key),
                    KeyMessage::Text(key) => MapKey::Text(key),
                };
                Ok::<_, Failure>((key, from_message(value)?))
            };
            Value::Map(Arc::new(entries.into_iter().map(entry).collect::<Result<_, _>>()?))
        }
    })
}

/// The tensor with its elements in memory, if it is valid.
fn checked(tensor: &Tensor) -> Result<Tensor, Failure> {
    use onnx_types::tensor::Payload;
    let payload = match tensor.elem() {
        ElemType::String => Payload::strings(tensor.string_bytes().map_err(Failure::new)?.to_vec()),
        _ => Payload::Raw(tensor.bytes(&NoData).map_err(Failure::new)?),
    };
    Ok(Tensor::from_parts(tensor.data_type(), tensor.dims().iter().copied().collect(), payload))
}

fn to_message(value: &Value) -> ValueMessage {
    match value {
        Value::Tensor(tensor) => ValueMessage::Tensor(Arc::clone(tensor)),
        Value::Sequence(items) => ValueMessage::Sequence(items.iter().map(to_message).collect()),
        Value::Optional(inner) => {
            ValueMessage::Optional(inner.as_deref().map(|inner| Box::new(to_message(inner))))
        }
        Value::Map(entries) => {
            let entry = |(key, value): (&MapKey, &Value)| {
                let key = match key {
                    MapKey::Int(key) => KeyMessage::Int(*key),
                    MapKey::Text(key) => KeyMessage::Text(key.clone()),
                };
                (key, to_message(value))
            };
            ValueMessage::Map(entries.iter().map(entry).collect())
        }
    }
}

/// Format of the files of a directory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum ValueFormat {
    /// Messages of protobuf, by index: `output_K.pb`.
    #[default]
    Pb,
    /// Arrays of NumPy, by name: `NAME.npy`.
    Npy,
}

/// The name of a file for a value: characters other than letters, digits, `-`, `_` and `.` are escaped.
pub(crate) fn file_name(name: &str, extension: &str) -> String {
    let mut escaped = String::new();
    for (index, c) in name.char_indices() {
        if c.is_alphanumeric() || matches!(c, '-' | '_') || (c == '.' && index > 0) {
            escaped.push(c);
        } else {
            c.encode_utf8(&mut [0; 4]).bytes().for_each(|byte| escaped.push_str(&format!("%{byte:02X}")));
        }
    }
    format!("{escaped}.{extension}")
}

/// Writes values, in the order of the outputs, into a directory or an archive. Returns the files with their formats and
/// sizes.
pub(crate) fn write(
    path: &Path,
    to: ValueFormat,
    values: &[(String, Value)],
    options: &WriteOptions,
) -> Result<Vec<(PathBuf, &'static str, u64)>, Failure> {
    if extension(path) == "npz" {
        let archive = pack(values)?;
        write_file(path, Kind::Array, options, |out| out.write_all(&archive))?;
        return Ok(vec![(path.to_owned(), "npz", archive.len() as u64)]);
    }
    let mut files: Vec<(PathBuf, Kind, Vec<u8>)> = Vec::new();
    for (index, (name, value)) in values.iter().enumerate() {
        let about = |failure: Failure| failure.about(name);
        match to {
            ValueFormat::Pb => {
                let message = encode_value(&to_message(value), name, &EncodeOptions::default())?;
                let name = format!("output_{index}.pb");
                files.push((path.join(name), Kind::Message, message.into_bytes().into()));
            }
            ValueFormat::Npy => {
                let bytes = npy::write(tensor(value).map_err(about)?).map_err(about)?;
                files.push((path.join(file_name(name, "npy")), Kind::Array, bytes));
            }
        }
    }
    std::fs::create_dir_all(path)
        .map_err(|error| Failure::new(format_args!("{}: cannot be created: {error}", path.display())))?;
    let mut written = Vec::new();
    for (path, kind, bytes) in files {
        write_file(&path, kind, options, |out| out.write_all(&bytes))?;
        written.push((path, if kind == Kind::Array { "npy" } else { "pb" }, bytes.len() as u64));
    }
    Ok(written)
}

fn tensor(value: &Value) -> Result<&Tensor, Failure> {
    let failure = || Failure::new("is not a tensor").help("write protobuf: `-o DIR --to pb`");
    value.tensor().map(|tensor| &**tensor).ok_or_else(failure)
}

fn pack(values: &[(String, Value)]) -> Result<Vec<u8>, Failure> {
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    let stored = zip::write::SimpleFileOptions::default()
        .compression_method(zip::CompressionMethod::Stored)
        .large_file(true);
    for (name, value) in values {
        let about = |failure: Failure| failure.about(name);
        let bytes = npy::write(tensor(value).map_err(about)?).map_err(about)?;
        archive.start_file(format!("{name}.npy"), stored).map_err(Failure::new).map_err(about)?;
        archive.write_all(&bytes).map_err(|error| about(Failure::new(error)))?;
    }
    Ok(archive.finish().map_err(Failure::new)?.into_inner())
}
