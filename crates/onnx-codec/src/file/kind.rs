//! Comparison of the kinds of an existing file and its replacement, by name and first bytes.
//!
//! The bytes are not sufficient: weights can equal the encoding of any message, and an empty file is ambiguous.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use super::dir::FileEntry;
use super::set::INCOMPLETE;
use super::target::Target;
use onnx_proto::field::model;

/// What a file holds, so that a writer replaces files of the same kind only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FileKind {
    /// A model, in its binary form, as JSON, protobuf text or ONNX text.
    Model,
    /// A message of protobuf other than a model, such as a graph or an operator set, in its binary form or as protobuf text.
    Message,
    /// A JSON object that this project defines, with its schema, or the index of files of weights.
    Json,
    /// The ONNX text of a model without the elements of large tensors, which is not a model.
    Abridged,
    /// A tensor in the format of NumPy (`.npy`), or an archive of such (`.npz`).
    Array,
    /// Tensors in the format `safetensors`.
    Safetensors,
    /// A picture of a model as SVG, PNG or HTML, with the mark of this project in its first bytes.
    Picture,
    /// Rows about models in the format Parquet, with [the mark](Self::ROWS_MARK) of this project in the last bytes.
    Rows,
}

/// The mark of pictures.
const PICTURE_MARK: &[u8] = b"<!-- onnx draw -->";
/// The first and the last bytes of a file in the format Parquet.
const PARQUET_MAGIC: &[u8] = b"PAR1";

/// The extensions of models in every form.
const MODEL_EXTENSIONS: &[&str] =
    &["onnx", "pb", "textproto", "pbtxt", "prototxt", "json", "onnxtxt", "onnxtext"];
/// The extensions of other messages: those of models, and that of operator set documents.
const MESSAGE_EXTENSIONS: &[&str] =
    &["onnx", "pb", "textproto", "pbtxt", "prototxt", "json", "onnxtxt", "onnxtext", "onnxops"];

/// What a JSON object of this project contains somewhere, since the order of keys is open: its schema or format, or
/// the weights of an index.
const JSON_MARKS: &[&[u8]] = &[
    b"\"schema\":\"onnx-",
    b"\"schema\": \"onnx-",
    b"\"format\":\"onnx-",
    b"\"format\": \"onnx-",
    b"\"weight_map\"",
];
/// What stands for elements that a text leaves out.
const ELISION: &[u8] = "…".as_bytes();

/// Number of bytes that are examined to recognize a text.
const HEAD: u64 = 4096;
/// Maximum number of fields of a message that are read.
const MOST_FIELDS: usize = 64;

/// The wire types of numbers, and of texts and messages.
const VARINT: u32 = 0;
const LEN: u32 = 2;

/// The fields of `ModelProto`: number, wire type, and name in protobuf text.
const MODEL_FIELDS: [(u32, u32, &str); 12] = [
    (model::IR_VERSION, VARINT, "ir_version"),
    (model::PRODUCER_NAME, LEN, "producer_name"),
    (model::PRODUCER_VERSION, LEN, "producer_version"),
    (model::DOMAIN, LEN, "domain"),
    (model::MODEL_VERSION, VARINT, "model_version"),
    (model::DOC_STRING, LEN, "doc_string"),
    (model::GRAPH, LEN, "graph"),
    (model::OPSET_IMPORT, LEN, "opset_import"),
    (model::METADATA_PROPS, LEN, "metadata_props"),
    (model::TRAINING_INFO, LEN, "training_info"),
    (model::FUNCTIONS, LEN, "functions"),
    (model::CONFIGURATION, LEN, "configuration"),
];

impl FileKind {
    /// The name of the program in files of the kind [`Rows`](Self::Rows), which is near their end.
    pub const ROWS_MARK: &str = "onnx scan version ";

    /// The description of such a file, with its article.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Model => "a model",
            Self::Message => "a protobuf message",
            Self::Json => "a report, a journal or an index in JSON",
            Self::Abridged => "an abridged text",
            Self::Array => "an array of NumPy",
            Self::Safetensors => "a `safetensors` file",
            Self::Picture => "a picture of `onnx draw`",
            Self::Rows => "a file of `onnx scan` in the format Parquet",
        }
    }

    /// The extensions of such files.
    const fn extensions(self) -> &'static [&'static str] {
        match self {
            Self::Model => MODEL_EXTENSIONS,
            Self::Message => MESSAGE_EXTENSIONS,
            Self::Json => &["json"],
            Self::Abridged => &["onnxtxt", "onnxtext", "txt"],
            Self::Array => &["npy", "npz"],
            Self::Safetensors => &["safetensors"],
            Self::Picture => &["svg", "png", "html", "htm"],
            Self::Rows => &["parquet"],
        }
    }

    fn has_name(self, name: &OsStr) -> bool {
        let extension = Path::new(name).extension().and_then(OsStr::to_str);
        extension.is_some_and(|extension| {
            self.extensions().iter().any(|known| extension.eq_ignore_ascii_case(known))
        })
    }

    /// Returns `true` if the file has the name and the contents of this kind. An empty file and one of a set that was not
    /// written completely have the contents of every kind.
    pub(crate) fn matches(self, target: &Target, entry: &FileEntry) -> io::Result<bool> {
        if !self.has_name(&target.name) {
            return Ok(false);
        }
        if entry.len == 0 {
            return Ok(true);
        }
        let mut file = match target.dir.open_entry(&target.name) {
            // The kind of an unreadable file is unknown.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return Ok(false),
            other => other?,
        };
        let mut head = Vec::new();
        (&mut file).take(HEAD).read_to_end(&mut head)?;
        // What an interrupted writer left is nothing that could be lost.
        if head == INCOMPLETE {
            return Ok(true);
        }
        let text = beginning(&head);
        Ok(match self {
            Self::Model => is_model_text(text) || is_message(&mut file, entry.len, true)?,
            // A model is a message, but no message takes its place: it has weights and a graph.
            Self::Message => {
                let is_model = is_model_text(text) || is_message(&mut file, entry.len, true)?;
                !is_model && (starts_with_field(text) || is_message(&mut file, entry.len, false)?)
            }
            Self::Json => text.starts_with(b"{") && contains(&mut file, JSON_MARKS)?,
            Self::Abridged => {
                text.starts_with(b"<") && is_model_text(text) && contains(&mut file, &[ELISION])?
            }
            Self::Array => head.starts_with(b"\x93NUMPY") || head.starts_with(b"PK\x03\x04"),
            // The header, a JSON object, begins after its length, a number of eight bytes.
            Self::Safetensors => head.get(8) == Some(&b'{'),
            Self::Picture => head.windows(PICTURE_MARK.len()).any(|part| part == PICTURE_MARK),
            Self::Rows => {
                file.seek(SeekFrom::Start(entry.len.saturating_sub(HEAD)))?;
                let mut tail = Vec::new();
                file.take(HEAD).read_to_end(&mut tail)?;
                let mark = Self::ROWS_MARK.as_bytes();
                head.starts_with(PARQUET_MAGIC)
                    && tail.ends_with(PARQUET_MAGIC)
                    && tail.windows(mark.len()).any(|part| part == mark)
            }
        })
    }
}

/// Whether a file contains one of some texts.
fn contains(file: &mut File, texts: &[&[u8]]) -> io::Result<bool> {
    const AT_ONCE: u64 = 1 << 16;
    file.seek(SeekFrom::Start(0))?;
    let overlap = texts.iter().map(|text| text.len()).max().unwrap_or(0);
    let mut window: Vec<u8> = Vec::new();
    loop {
        window.drain(..window.len().saturating_sub(overlap));
        if file.by_ref().take(AT_ONCE).read_to_end(&mut window)? == 0 {
            return Ok(false);
        }
        if texts.iter().any(|text| window.windows(text.len()).any(|part| part == *text)) {
            return Ok(true);
        }
    }
}

/// The text behind blanks and lines of comment.
fn beginning(mut text: &[u8]) -> &[u8] {
    loop {
        text = text.trim_ascii_start();
        if !text.starts_with(b"#") && !text.starts_with(b"//") {
            return text;
        }
        let end = text.iter().position(|&byte| byte == b'\n').unwrap_or(text.len());
        text = text.get(end..).unwrap_or_default();
    }
}

/// The letters, digits and underscores at the beginning of a text, and the rest.
fn word(text: &[u8]) -> (&[u8], &[u8]) {
    let end = text.iter().position(|byte| !(byte.is_ascii_alphanumeric() || *byte == b'_'));
    text.split_at_checked(end.unwrap_or(text.len())).unwrap_or((text, &[]))
}

/// A field of protobuf text: a name with `:` or `{` behind it.
fn starts_with_field(text: &[u8]) -> bool {
    let (name, rest) = word(text);
    !name.is_empty() && matches!(rest.trim_ascii_start().first(), Some(b':' | b'{' | b'<'))
}

fn is_model_text(text: &[u8]) -> bool {
    let is_field = |name: &[u8]| MODEL_FIELDS.iter().any(|(_, _, field)| is_name(name, field));
    if let Some(rest) = text.strip_prefix(b"<") {
        // ONNX text: `<ir_version: 10, …>`.
        return is_field(word(rest.trim_ascii_start()).0);
    }
    if let Some(rest) = text.strip_prefix(b"{") {
        let rest = rest.trim_ascii_start();
        return match rest.strip_prefix(b"\"") {
            Some(name) => is_field(word(name).0),
            None => rest.starts_with(b"}"),
        };
    }
    starts_with_field(text) && is_field(word(text).0)
}

/// Whether a key is the name of a field, as protobuf text has it or as JSON does: `ir_version`, `irVersion`.
fn is_name(key: &[u8], field: &str) -> bool {
    key.iter()
        .filter(|byte| **byte != b'_')
        .map(u8::to_ascii_lowercase)
        .eq(field.bytes().filter(|byte| *byte != b'_'))
}

/// Whether the beginning of a file is fields of protobuf that fit into it; of a model, if so wanted.
fn is_message(file: &mut File, len: u64, of_model: bool) -> io::Result<bool> {
    let mut at = 0;
    for _ in 0..MOST_FIELDS {
        if at == len {
            break;
        }
        file.seek(SeekFrom::Start(at))?;
        let mut header = Vec::new();
        file.by_ref().take(20).read_to_end(&mut header)?;
        let Some((number, wire, end)) = field(&header) else { return Ok(false) };
        let of_number = MODEL_FIELDS.iter().find(|(field, ..)| *field == number);
        let is_known = of_number.is_some_and(|(_, kind, _)| *kind == wire);
        // A tensor begins as a model does, and has a number where a model has a text.
        let is_foreign = if at == 0 { !is_known } else { of_number.is_some() && !is_known };
        if of_model && is_foreign {
            return Ok(false);
        }
        match at.checked_add(end).filter(|end| *end <= len) {
            Some(end) => at = end,
            None => return Ok(false),
        }
    }
    Ok(true)
}

/// Number, wire type and length of the field that begins here, its header included.
fn field(bytes: &[u8]) -> Option<(u32, u32, u64)> {
    let (key, behind_key) = varint(bytes)?;
    let (number, wire) = (u32::try_from(key >> 3).ok()?, (key & 7) as u32);
    if !(1..1 << 29).contains(&number) {
        return None;
    }
    let rest = bytes.get(behind_key..)?;
    let body = match wire {
        VARINT => varint(rest)?.1 as u64,
        1 => 8,
        LEN => {
            let (len, header) = varint(rest)?;
            len.checked_add(header as u64)?
        }
        5 => 4,
        _ => return None,
    };
    Some((number, wire, body.checked_add(behind_key as u64)?))
}

/// A varint and how many bytes it has.
fn varint(bytes: &[u8]) -> Option<(u64, usize)> {
    let len = bytes.iter().take(10).position(|byte| byte & 0x80 == 0)?.checked_add(1)?;
    let value = bytes.iter().take(len).rev().fold(0_u64, |value, byte| value << 7 | u64::from(byte & 0x7f));
    Some((value, len))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is(kind: FileKind, contents: &[u8]) -> bool {
        is_named(kind, if kind == FileKind::Json { "file.json" } else { "file.pb" }, contents)
    }

    fn is_named(kind: FileKind, name: &str, contents: &[u8]) -> bool {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        std::fs::write(&path, contents).unwrap();
        let target = Target::for_path(&path).unwrap();
        let entry = target.entry().unwrap().unwrap();
        kind.matches(&target, &entry).unwrap()
    }

    #[test]
    fn models_are_recognized_in_every_form() {
        let binary = b"\x08\x0a\x3a\x02\x12\x00\x42\x02\x10\x15";
        for model in [
            b"".as_slice(),
            binary,
            b"\x3a\x00",
            b"ir_version: 8\n",
            b"# proto-file: x\ngraph {}",
            b"{\"irVersion\": \"8\"}",
            b"{ \"ir_version\": 8 }",
            b"{}",
            b"<ir_version: 10, opset_import: [\"\": 18]>\n",
            b"// note\n<opset_import: []>",
        ] {
            assert!(is(FileKind::Model, model), "{}", model.escape_ascii());
        }
    }

    #[test]
    fn other_files_are_not_models() {
        let mut cut = b"\x08\x0a\x3a\x7f".to_vec();
        cut.extend([0; 100]);
        for other in [
            b"precious".as_slice(),
            b"notes: buy milk",
            b"{\"name\": \"package\"}",
            &[0; 2000],
            &[0, 0, 128, 63, 0, 0, 0, 64],
            b"\x89PNG\r\n\x1a\n",
            b"PK\x03\x04",
            b"<html>",
            &cut,
        ] {
            assert!(!is(FileKind::Model, other), "{}", other.escape_ascii());
        }
        assert!(is(FileKind::Message, b"\x0a\x01x") && !is(FileKind::Message, b"precious"));
        let tensor = b"\x08\x02\x10\x01\x42\x01y\x4a\x08\0\0\0\0\0\0\0\0";
        assert!(is(FileKind::Message, tensor) && !is(FileKind::Model, tensor));
        for kind in [FileKind::Model, FileKind::Message, FileKind::Json] {
            assert!(is(kind, INCOMPLETE));
        }
        let journal = b"{\"edits\": [], \"schema\": \"onnx-journal/1\"}";
        assert!(is(FileKind::Json, journal) && is(FileKind::Json, b" {\"weight_map\": {}}"));
        for other in
            [b"[]".as_slice(), b"{}", b"{\"name\": \"package\"}", b"{\"ir_version\": 8, \"graph\": {}}"]
        {
            assert!(!is(FileKind::Json, other), "{}", other.escape_ascii());
        }
        let text = |elements| format!("<ir_version: 10> g () => () <float[9] w = {{{elements}}}> {{}}");
        let abridged = text("…9 elements");
        assert!(is_named(FileKind::Abridged, "m.onnxtxt", abridged.as_bytes()));
        assert!(!is_named(FileKind::Abridged, "m.onnxtxt", text("1").as_bytes()));
        assert!(!is_named(FileKind::Abridged, "m.onnx", abridged.as_bytes()));
        let picture = b"<svg>\n<!-- onnx draw -->\n</svg>";
        assert!(
            is_named(FileKind::Picture, "m.svg", picture) && is_named(FileKind::Picture, "m.HTML", picture)
        );
        assert!(
            !is_named(FileKind::Picture, "m.svg", b"<svg></svg>")
                && !is_named(FileKind::Picture, "m.onnx", picture)
        );
    }

    /// Files of weights may have any contents.
    #[test]
    fn contents_do_not_decide_alone() {
        for contents in [b"".as_slice(), b"\x08\x0a\x3a\x02\x12\x00\x42\x02\x10\x15", b"{}"] {
            for name in
                ["w", "w.data", "w.bin", "w.onnx_data", "w.onnx.data", "model.layers.0.weight", "onnx"]
            {
                for kind in [FileKind::Model, FileKind::Message, FileKind::Json] {
                    assert!(!is_named(kind, name, contents), "{name}");
                }
            }
        }
        for name in ["m.onnx", "m.ONNX", "m.textproto", "m.onnxtxt", "a.b.json"] {
            assert!(is_named(FileKind::Model, name, b"\x3a\x00"), "{name}");
        }
        assert!(is_named(FileKind::Message, "a.onnxops", b"\x0a\x01x"));
        assert!(!is_named(FileKind::Model, "a.onnxops", b"\x3a\x00"));
    }
}
