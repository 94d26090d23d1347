//! Values in files: `.npy` and `.npz` of NumPy, and messages of protobuf (`.pb`).

mod npy;
mod npz;

use std::collections::HashSet;
use std::io::{self, Cursor, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use onnx_codec::file::{FileKind, FileSet, write_file};
use onnx_codec::value::{KeyMessage, ValueMessage, ValueMessageKind, decode_value, encode_value};
use onnx_codec::{DecodeOptions, EncodeOptions, FileError, ReadMode, WriteOptions};
use onnx_eval::{MapKey, Value};
use onnx_types::tensor::{NoData, Tensor};
use onnx_types::{ElemType, Execution, Type, TypeKind};
use zip::ZipWriter;

pub(crate) use npz::Archive;

use crate::exit::Failure;
use crate::folder::CreatedFolder;
use crate::format;
use crate::input::{display_name, is_stream};
use crate::output::shown;
use crate::reading::read;

/// Bytes that are read or written between two checks of the timeout.
const PIECE: usize = 1 << 20;

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
            let bytes = read(path, ReadMode::Memory, &execution.interrupt)?;
            npy::read(&bytes, elem(ty), execution).map(Value::from).map_err(about)
        }
        "npz" => {
            let mut archive = Archive::open(path, execution)?;
            let chosen = match archive.names() {
                [only] => only.clone(),
                _ => name.to_owned(),
            };
            archive.array(&chosen, ty)?.ok_or_else(|| {
                about(Failure::new(format_args!("has no array `{}`", shown(name))))
                    .help("save the array under this name, or as the only one: `numpy.savez`")
            })
        }
        "pb" => message(&read(path, ReadMode::Memory, &execution.interrupt)?, ty, execution).map_err(about),
        _ => Err(format::not_a(path, "a file of a value", "use a file `.npy`, `.npz` or `.pb`")),
    }
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

/// The value of a message, which has the form of the declared type.
pub(crate) fn message(bytes: &Bytes, ty: Option<&Type>, execution: &Execution) -> Result<Value, Failure> {
    if bytes.is_empty() {
        return Err(Failure::new("is empty: it holds no value").help("write the file again"));
    }
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

fn not_a_tensor(error: impl std::fmt::Display) -> Failure {
    Failure::new(error).help("write the file again: `onnx.numpy_helper.from_array` makes such messages")
}

/// The tensor with its elements in memory, if it is valid.
fn checked(tensor: &Tensor) -> Result<Tensor, Failure> {
    use onnx_types::tensor::Payload;
    let payload = match tensor.elem() {
        ElemType::String => Payload::strings(tensor.string_bytes().map_err(not_a_tensor)?.to_vec()),
        _ => Payload::Raw(tensor.bytes(&NoData).map_err(not_a_tensor)?),
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
    format!("{}.{extension}", escaped(name))
}

/// The name of a value in an archive: the name itself, as NumPy writes it, so that `numpy.load` finds the array by it. A program that
/// unpacks an archive without care writes outside of its directory if a name has `..`, or a drive or a host at its beginning, so such
/// names are escaped like those of files; a single `/` at the beginning is what programs leave away. So are names that would be read
/// as escaped ones.
fn entry_name(name: &str) -> String {
    let leads_outside = name.starts_with("//") || may_lead_outside(name.strip_prefix('/').unwrap_or(name));
    if leads_outside || name_of_entry(name) != name { escaped(name) } else { name.to_owned() }
}

fn may_lead_outside(name: &str) -> bool {
    let is_drive = name.as_bytes().get(1) == Some(&b':');
    name.starts_with(['/', '\\'])
        || is_drive
        || name.split(['/', '\\']).any(|component| component == "..")
        || name.contains(char::is_control)
}

/// The name of a value for an entry of an archive. Earlier versions escaped each name with `%` or with `/` at its beginning.
fn name_of_entry(entry: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = entry.as_bytes();
    while let [first, tail @ ..] = rest {
        let digits =
            tail.get(..2).filter(|_| *first == b'%').and_then(|digits| std::str::from_utf8(digits).ok());
        let byte = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        bytes.push(byte.unwrap_or(*first));
        rest = if byte.is_some() { tail.get(2..).unwrap_or_default() } else { tail };
    }
    let is_escaped = |name: &String| escaped(name) == entry && (may_lead_outside(name) || name.contains('%'));
    String::from_utf8(bytes).ok().filter(is_escaped).unwrap_or_else(|| entry.to_owned())
}

fn escaped(name: &str) -> String {
    let mut escaped = String::new();
    for (index, c) in name.char_indices() {
        if c.is_alphanumeric() || matches!(c, '-' | '_') || (c == '.' && index > 0) {
            escaped.push(c);
        } else {
            c.encode_utf8(&mut [0; 4]).bytes().for_each(|byte| escaped.push_str(&format!("%{byte:02X}")));
        }
    }
    escaped
}

/// A file that is written.
struct File {
    path: PathBuf,
    kind: FileKind,
    pieces: Vec<Bytes>,
}

impl File {
    /// A file with a value.
    fn new(
        path: PathBuf,
        format: ValueFormat,
        name: &str,
        value: &Value,
        execution: &Execution,
    ) -> Result<Self, Failure> {
        let about = |failure: Failure| failure.about(name);
        Ok(match format {
            ValueFormat::Pb => {
                let message =
                    encode_value(&to_message(value), name, &EncodeOptions::within(&execution.limits));
                let message = message.map_err(Failure::from).map_err(about)?;
                Self { path, kind: FileKind::Message, pieces: message.iter().cloned().collect() }
            }
            ValueFormat::Npy => {
                let pieces = npy::write(tensor(value).map_err(about)?, execution).map_err(about)?;
                Self { path, kind: FileKind::Array, pieces }
            }
        })
    }

    const fn format(&self) -> &'static str {
        match self.kind {
            FileKind::Array => "npy",
            _ => "pb",
        }
    }

    fn len(&self) -> u64 {
        self.pieces.iter().map(|piece| piece.len() as u64).sum()
    }

    /// Writes the file, or adds it to a set of files.
    fn write_to(
        &self,
        execution: &Execution,
        write: impl FnOnce(&Path, FileKind, &mut Contents<'_>) -> Result<(), FileError>,
    ) -> Result<(), Failure> {
        let mut contents = |out: &mut dyn io::Write| {
            for piece in self.pieces.iter().flat_map(|piece| piece.chunks(PIECE)) {
                execution.interrupt.check().map_err(io::Error::other)?;
                out.write_all(piece)?;
            }
            Ok(())
        };
        let written = write(&self.path, self.kind, &mut contents);
        written.map_err(|error| Failure::from(error).or_timeout(execution))
    }
}

/// A function that writes the contents of a file.
type Contents<'a> = dyn FnMut(&mut dyn io::Write) -> io::Result<()> + 'a;

/// Where outputs are written.
pub(crate) enum Place<'a> {
    /// An archive of NumPy.
    Archive(&'a Path),
    /// A file for the only output.
    File(&'a Path, ValueFormat),
    /// A file for each output in a directory.
    Directory(&'a Path, ValueFormat),
}

impl<'a> Place<'a> {
    /// The place that a path and a format request for outputs with these names.
    pub(crate) fn new(path: &'a Path, to: Option<ValueFormat>, names: &[&str]) -> Result<Self, Failure> {
        let of_file = match extension(path).as_str() {
            _ if is_stream(path) => {
                let failure = Failure::new("outputs are not written to a stream");
                return Err(failure.help("name a directory, or an archive: `-o outputs.npz`"));
            }
            _ if path.is_dir() => None,
            "npz" if to.is_some() => {
                return Err(Failure::new(
                    "`--to` is for directories: an archive `.npz` holds arrays of NumPy",
                )
                .help("leave `--to` away, or name a directory"));
            }
            "npz" => None,
            "npy" => Some(ValueFormat::Npy),
            "pb" => Some(ValueFormat::Pb),
            _ => {
                require_directory(path, ["npz", "npy", "pb"])?;
                None
            }
        };
        let is_archive = extension(path) == "npz" && !path.is_dir();
        let is_by_name = is_archive || to == Some(ValueFormat::Npy);
        if is_by_name {
            let mut before = HashSet::new();
            names.iter().try_for_each(|name| by_name(name, &mut before))?;
        }
        match of_file {
            Some(format) if to.is_some_and(|to| to != format) => {
                Err(Failure::new("the extension of the file and `--to` are different formats")
                    .help("leave `--to` away"))
            }
            Some(format) if names.len() == 1 => Ok(Self::File(path, format)),
            Some(_) => Err(Failure::new(format_args!("one file cannot hold {} values", names.len()))
                .help("name a directory, or an archive: `-o outputs.npz`")),
            None if is_archive => Ok(Self::Archive(path)),
            None => Ok(Self::Directory(path, to.unwrap_or_default())),
        }
    }
}

/// Refuses a name that looks like that of a file as the name of a directory, which would be made.
fn require_directory(path: &Path, extensions: [&'static str; 3]) -> Result<(), Failure> {
    /// Extensions of other files with values or models.
    const OTHERS: [&str; 8] = ["json", "txt", "csv", "onnx", "onnxtxt", "safetensors", "pt", "h5"];
    let extension = extension(path);
    let is_named = path.as_os_str().as_encoded_bytes().ends_with(b"/");
    // A word of two letters is at most one letter away.
    let is_near = |known: &&&str| {
        onnx_schema::nearest(known, std::iter::once(extension.as_str())).is_some() && !extension.is_empty()
    };
    let near = extensions.iter().find(is_near);
    if is_named || (near.is_none() && !OTHERS.contains(&extension.as_str())) {
        return Ok(());
    }
    let near = near.map(|near| format!("did you mean `.{near}`? ")).unwrap_or_default();
    let message = format_args!("`{}` does not have the extension of a file of values", path.display());
    Err(Failure::new(message).help(format!(
        "{near}use `.npz`, `.npy` or `.pb`, or end the name of a directory with a slash: `{}/`",
        path.display()
    )))
}

/// Refuses a name that cannot be that of a file in addition to those before it.
fn by_name<'n>(name: &'n str, before: &mut HashSet<&'n str>) -> Result<(), Failure> {
    /// What file systems accept.
    const MOST_BYTES: usize = 255;
    let help = "write protobuf, by index: `-o DIR --to pb`";
    if !before.insert(name) {
        return Err(Failure::new(format_args!("two values have the name `{}`", shown(name))).help(help));
    }
    if file_name(name, "npy").len() > MOST_BYTES {
        let message = format_args!("`{}` is too long for the name of a file", shown(name));
        return Err(Failure::new(message).help(help));
    }
    Ok(())
}

/// A file that was written, with its format and size.
pub(crate) type WrittenFile = (PathBuf, &'static str, u64);

/// Writes values: the first ones, which are the outputs, in this order, and others by name.
pub(crate) fn write(
    place: &Place<'_>,
    values: &[(String, Value)],
    outputs: usize,
    options: &WriteOptions,
    execution: &Execution,
) -> Result<Vec<WrittenFile>, Failure> {
    let mut files: Vec<File> = Vec::new();
    if let Place::Archive(path) = place {
        let pieces = vec![pack(values, execution)?.into()];
        files.push(File { path: (*path).to_owned(), kind: FileKind::Array, pieces });
    }
    for (index, (name, value)) in values.iter().enumerate() {
        execution.interrupt.check()?;
        let (path, format) = match place {
            Place::Archive(_) => break,
            Place::File(path, format) => ((*path).to_owned(), *format),
            Place::Directory(path, ValueFormat::Pb) if index < outputs => {
                (path.join(format!("output_{index}.pb")), ValueFormat::Pb)
            }
            Place::Directory(path, ValueFormat::Pb) => (path.join(file_name(name, "pb")), ValueFormat::Pb),
            Place::Directory(path, ValueFormat::Npy) => (path.join(file_name(name, "npy")), ValueFormat::Npy),
        };
        files.push(File::new(path, format, name, value, execution)?);
    }
    let file = match (place, files.as_slice()) {
        (Place::Directory(path, _), _) => return write_set(path, files, options, execution),
        (_, [file]) => file,
        (_, _) => return Ok(Vec::new()),
    };
    file.write_to(execution, |path, kind, contents| write_file(path, kind, options, contents))?;
    let format = if matches!(place, Place::Archive(_)) { "npz" } else { file.format() };
    Ok(vec![(file.path.clone(), format, file.len())])
}

/// Writes values as messages into files of a directory.
pub(crate) fn write_messages(
    directory: &Path,
    values: &[(PathBuf, &str, &Value)],
    options: &WriteOptions,
    execution: &Execution,
) -> Result<Vec<WrittenFile>, Failure> {
    let files = values.iter().map(|&(ref path, name, value)| {
        execution.interrupt.check()?;
        File::new(path.clone(), ValueFormat::Pb, name, value, execution)
    });
    write_set(directory, files.collect::<Result<_, _>>()?, options, execution)
}

/// Writes files into a directory, all or none.
fn write_set(
    directory: &Path,
    files: Vec<File>,
    options: &WriteOptions,
    execution: &Execution,
) -> Result<Vec<WrittenFile>, Failure> {
    // Where no directory is, a dry run finds no file that would be replaced.
    if !options.dry_run || directory.is_dir() {
        let created = (!options.dry_run).then(|| CreatedFolder::new(directory)).transpose()?;
        let mut set = FileSet::new(options);
        for file in &files {
            file.write_to(execution, |path, kind, contents| set.add(path, kind, contents))?;
        }
        set.finish()?;
        created.into_iter().for_each(CreatedFolder::keep);
    }
    Ok(files.into_iter().map(|file| (file.path.clone(), file.format(), file.len())).collect())
}

fn tensor(value: &Value) -> Result<&Tensor, Failure> {
    let failure = || Failure::new("is not a tensor").help("write protobuf: `-o DIR --to pb`");
    value.tensor().map(|tensor| &**tensor).ok_or_else(failure)
}

/// What an entry of an archive takes in addition to its name, which occurs twice, and its contents.
const ENTRY_BYTES: usize = 256;

fn pack(values: &[(String, Value)], execution: &Execution) -> Result<Vec<u8>, Failure> {
    let mut arrays = Vec::new();
    let mut length = 0_usize;
    for (name, value) in values {
        let about = |failure: Failure| failure.about(name);
        let pieces = npy::write(tensor(value).map_err(about)?, execution).map_err(about)?;
        let name = entry_name(name);
        let own = pieces.iter().fold(0_usize, |sum, piece| sum.saturating_add(piece.len()));
        length = length.saturating_add(own).saturating_add(2 * name.len() + ENTRY_BYTES);
        arrays.push((name, pieces));
    }
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(length).map_err(|_| npy::out_of_memory(length))?;
    let mut archive = ZipWriter::new(Cursor::new(bytes));
    let stored = zip::write::SimpleFileOptions::default()
        .compression_method(zip::CompressionMethod::Stored)
        .large_file(true);
    for (name, pieces) in arrays {
        let about = |failure: Failure| failure.about(&name);
        archive.start_file(format!("{name}.npy"), stored).map_err(not_an_archive).map_err(about)?;
        for piece in pieces.iter().flat_map(|piece| piece.chunks(PIECE)) {
            execution.interrupt.check()?;
            archive.write_all(piece).map_err(|error| about(not_an_archive(error)))?;
        }
    }
    Ok(archive.finish().map_err(not_an_archive)?.into_inner())
}

fn not_an_archive(error: impl std::fmt::Display) -> Failure {
    Failure::new(error).help("write a directory: `-o DIR`")
}
