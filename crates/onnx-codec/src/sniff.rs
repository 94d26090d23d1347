//! Recognizes what a file that is not a model contains, for error messages.

use onnx_proto::field::{function, graph, model, node, tensor};

/// The format that the first bytes of a file indicate. [`sniff`] returns it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Content {
    /// No bytes.
    Empty,
    /// A Git LFS pointer.
    LfsPointer,
    /// An HTML or XML page.
    WebPage,
    /// JSON.
    Json,
    /// The text format of protobuf.
    Textproto,
    /// The ONNX text syntax.
    OnnxText,
    /// Text in UTF-16.
    Utf16,
    /// Other text.
    Text,
    /// A file format with a signature: its name with the article.
    Known(&'static str),
    /// A compressed file, by the name of the program.
    Compressed(&'static str),
    /// A zip archive.
    Zip,
    /// A part of a model, by the name of its message and the value of `--as`.
    Part(&'static str, &'static str),
    /// A protobuf message that may be a model.
    Protobuf,
    /// None of these.
    Unknown,
}

impl Content {
    /// A clause that describes it: `the file is empty`, `this is a PNG image`. `None` for [`Content::Unknown`].
    #[must_use]
    pub fn description(self) -> Option<String> {
        Some(match self {
            Self::Empty => "the file is empty".to_owned(),
            Self::LfsPointer => "this is a Git LFS pointer, not the file that it refers to".to_owned(),
            Self::WebPage => "this is a web page".to_owned(),
            Self::Json => "this looks like JSON".to_owned(),
            Self::Textproto => "this looks like protobuf text".to_owned(),
            Self::OnnxText => "this looks like ONNX text".to_owned(),
            Self::Utf16 => "this is UTF-16".to_owned(),
            Self::Text => "this is a text file".to_owned(),
            Self::Known(name) => format!("this is {name}"),
            Self::Compressed(program) => format!("this is compressed with {program}"),
            Self::Zip => "this is a zip archive".to_owned(),
            Self::Part(message, _) => format!("this looks like a {message}, which is a part of a model"),
            Self::Protobuf => "this looks like a binary model".to_owned(),
            Self::Unknown => return None,
        })
    }

    /// Whether it cannot be a binary model whatever its other bytes are.
    #[must_use]
    pub const fn is_not_a_model(self) -> bool {
        !matches!(self, Self::Protobuf | Self::Unknown)
    }

    /// Whether it consists of characters.
    #[must_use]
    pub const fn is_text(self) -> bool {
        matches!(
            self,
            Self::LfsPointer | Self::WebPage | Self::Json | Self::Textproto | Self::OnnxText | Self::Text
        )
    }
}

/// The bytes that are examined of a text.
const WINDOW: usize = 4096;
/// The most fields of a message that are examined: a file has as many as it has pairs of bytes.
const MOST_FIELDS: usize = 1 << 20;

/// The description of an operator set document in [`Content::Known`].
pub const OPERATOR_SET: &str = "an operator set document";

/// Signatures at an offset.
const SIGNATURES: &[(usize, &[u8], Content)] = &[
    (0, b"PK\x03\x04", Content::Zip),
    (0, b"\x1f\x8b", Content::Compressed("gzip")),
    (0, b"\x28\xb5\x2f\xfd", Content::Compressed("zstd")),
    (0, b"\xfd7zXZ\0", Content::Compressed("xz")),
    (0, b"BZh", Content::Compressed("bzip2")),
    (0, b"\xff\xfe", Content::Utf16),
    (0, b"\xfe\xff", Content::Utf16),
    (0, b"\x89PNG\r\n\x1a\n", Content::Known("a PNG image")),
    (0, b"\xff\xd8\xff", Content::Known("a JPEG image")),
    (0, b"\x89HDF\r\n\x1a\n", Content::Known("an HDF5 file, such as a Keras model: convert it with tf2onnx")),
    (0, b"\x93NUMPY", Content::Known("a NumPy array")),
    (0, b"GGUF", Content::Known("a GGUF model")),
    (0, b"\x0a\x09ONNXOPSET", Content::Known(OPERATOR_SET)),
    (0, b"%PDF", Content::Known("a PDF document")),
    (0, b"\x7fELF", Content::Known("an ELF program or library")),
    (
        0,
        b"onnx: this file belongs to a set of files that was not written completely",
        Content::Known("a file of a set that was not written completely: write the set again"),
    ),
    (4, b"TFL3", Content::Known("a TensorFlow Lite model: convert it with tf2onnx")),
    (
        4,
        b"ORTM",
        Content::Known(
            "a model in the ORT format, which only onnxruntime reads: use the ONNX model that it was made from",
        ),
    ),
];

/// Recognizes what a file contains, from its length and its first 4 KiB, or from the numbers of the first million fields of a message.
///
/// ```
/// use onnx_codec::{Content, sniff};
/// assert_eq!(sniff(b""), Content::Empty);
/// assert_eq!(sniff(b"version https://git-lfs.github.com/spec/v1\n"), Content::LfsPointer);
/// assert_eq!(sniff(b"\x08\x0a\x3a\x00"), Content::Protobuf);
/// ```
#[must_use]
pub fn sniff(bytes: &[u8]) -> Content {
    if bytes.is_empty() {
        return Content::Empty;
    }
    let has = |&&(at, signature, _): &&(usize, &[u8], Content)| {
        bytes.get(at..).is_some_and(|rest| rest.starts_with(signature))
    };
    if let Some(&(.., content)) = SIGNATURES.iter().find(has) {
        return content;
    }
    if is_safetensors(bytes) {
        return Content::Known("a safetensors file: it has weights, but no graph");
    }
    if let [0x80, 2..=5, ..] = bytes {
        return Content::Known("a Python pickle, such as a PyTorch checkpoint: export it with torch.onnx");
    }
    text(bytes).unwrap_or_else(|| message(bytes))
}

/// A length of 8 bytes, and a JSON object of that length.
fn is_safetensors(bytes: &[u8]) -> bool {
    let Some((length, rest)) = bytes.split_first_chunk() else { return false };
    rest.starts_with(b"{")
        && usize::try_from(u64::from_le_bytes(*length)).is_ok_and(|length| length <= rest.len())
}

/// The kind of text; `None` for binary files.
fn text(bytes: &[u8]) -> Option<Content> {
    let window = bytes.get(..WINDOW).unwrap_or(bytes);
    let text = match std::str::from_utf8(window) {
        Ok(text) => text,
        // The window may end within a character.
        Err(error) if error.error_len().is_none() && window.len() == WINDOW => {
            std::str::from_utf8(window.get(..error.valid_up_to())?).ok()?
        }
        Err(_) => return None,
    };
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if text.chars().any(|c| c.is_control() && !matches!(c, '\n' | '\r' | '\t' | '\u{c}' | '\u{1b}')) {
        return None;
    }
    let start = without_comments(text);
    let begins =
        |prefix: &str| start.get(..prefix.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(prefix));
    Some(if begins("version https://git-lfs") {
        Content::LfsPointer
    } else if begins("<!doctype") || begins("<html") || begins("<?xml") {
        Content::WebPage
    } else if begins("{") {
        Content::Json
    } else if ["ir_version:", "graph {", "graph:", "producer_name:", "opset_import {", "model_version:"]
        .iter()
        .any(|prefix| begins(prefix))
    {
        Content::Textproto
    } else if begins("<") && (start.contains("ir_version") || start.contains("opset_import")) {
        Content::OnnxText
    } else {
        Content::Text
    })
}

/// The text from the first line on that is neither empty nor a comment.
fn without_comments(mut text: &str) -> &str {
    loop {
        text = text.trim_start();
        if !text.starts_with('#') {
            return text;
        }
        text = text.split_once('\n').map_or("", |(_, rest)| rest);
    }
}

/// Which message the fields fit. Few fields suffice: a model has a version where a node has an
/// input, and a tensor has its element type where a model has a producer.
fn message(bytes: &[u8]) -> Content {
    /// Wire types of numbers and of byte strings.
    const VARINT: u8 = 0;
    const LEN: u8 = 2;
    let mut rest = bytes;
    let mut seen = [None; 32];
    for (number, wire) in std::iter::from_fn(|| field(&mut rest)).take(MOST_FIELDS) {
        let Some(slot) = seen.get_mut(number as usize) else { return Content::Unknown };
        slot.get_or_insert(wire);
    }
    let is = |number: u32, wire: u8| seen.get(number as usize) == Some(&Some(wire));
    if is(tensor::DATA_TYPE, VARINT) && !is(model::GRAPH, LEN) {
        Content::Part("TensorProto", "tensor")
    } else if is(graph::NODE, LEN) && (is(graph::INPUT, LEN) || is(graph::OUTPUT, LEN)) {
        Content::Part("GraphProto", "graph")
    } else if is(function::NAME, LEN) && is(function::NODE, LEN) && is(function::OPSET_IMPORT, LEN) {
        Content::Part("FunctionProto", "function")
    } else if (is(node::INPUT, LEN) || is(node::OUTPUT, LEN))
        && is(node::OP_TYPE, LEN)
        && !is(model::IR_VERSION, VARINT)
    {
        Content::Part("NodeProto", "node")
    } else if seen.iter().any(Option::is_some) {
        Content::Protobuf
    } else {
        Content::Unknown
    }
}

/// Consumes a field of a message and returns its number and wire type; `None` at the end and where the bytes are malformed, as zeros are.
fn field(rest: &mut &[u8]) -> Option<(u32, u8)> {
    let tag = varint(rest).filter(|tag| tag >> 3 > 0)?;
    let wire = u8::try_from(tag & 7).ok()?;
    let skip = match wire {
        0 => {
            varint(rest)?;
            0
        }
        1 => 8,
        2 => usize::try_from(varint(rest)?).ok()?,
        5 => 4,
        _ => return None,
    };
    *rest = rest.get(skip..)?;
    Some((u32::try_from(tag >> 3).ok()?, wire))
}

fn varint(rest: &mut &[u8]) -> Option<u64> {
    let mut value = 0_u64;
    for shift in (0..64).step_by(7) {
        let (&byte, after) = rest.split_first()?;
        *rest = after;
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_recognized_by_their_first_bytes() {
        for (bytes, wanted) in [
            (&b""[..], "the file is empty"),
            (
                b"version https://git-lfs.github.com/spec/v1\n",
                "this is a Git LFS pointer, not the file that it refers to",
            ),
            (b"<!DOCTYPE html>", "this is a web page"),
            (b"# x\n\n{\"graph\": {}}", "this looks like JSON"),
            (b"ir_version: 8\n", "this looks like protobuf text"),
            (b"<ir_version: 8>", "this looks like ONNX text"),
            (b"\xff\xfea\0", "this is UTF-16"),
            (b"Hello, \xc3\xa9!\n", "this is a text file"),
            (
                crate::file::INCOMPLETE,
                "this is a file of a set that was not written completely: write the set again",
            ),
            (b"PK\x03\x04..", "this is a zip archive"),
            (b"\x1f\x8b\x08", "this is compressed with gzip"),
            (b"\x89PNG\r\n\x1a\n\0", "this is a PNG image"),
            (b"\x89HDF\r\n\x1a\n\0", "this is an HDF5 file, such as a Keras model: convert it with tf2onnx"),
            (b"\x1c\0\0\0TFL3", "this is a TensorFlow Lite model: convert it with tf2onnx"),
            (b"\x02\0\0\0\0\0\0\0{}", "this is a safetensors file: it has weights, but no graph"),
            (
                b"\x08\x01\x10\x01\x4a\x04\0\0\0\0",
                "this looks like a TensorProto, which is a part of a model",
            ),
            (b"\x0a\x01x\x12\x01y\x22\x04Relu", "this looks like a NodeProto, which is a part of a model"),
            (
                b"\x0a\x00\x12\x01g\x5a\x03\x0a\x01x",
                "this looks like a GraphProto, which is a part of a model",
            ),
            (b"\x08\x0a\x3a\x00", "this looks like a binary model"),
        ] {
            assert_eq!(sniff(bytes).description().as_deref(), Some(wanted), "{bytes:?}");
        }
        for bytes in [&b"\0"[..], &[0; 9000], &[0xff; 40], b"\x0f", b"\xfa\xff\xff\xff\x0f\0"] {
            assert_eq!(sniff(bytes), Content::Unknown, "{bytes:?}");
        }
    }

    /// A sparse file of any size is all fields.
    #[test]
    fn the_fields_that_are_examined_are_bounded() {
        let mut fields = b"\x08\x01".repeat(MOST_FIELDS - 1);
        fields.extend(b"\x10\x01");
        assert_eq!(sniff(&fields), Content::Part("TensorProto", "tensor"));
        fields.splice(..0, *b"\x08\x01");
        assert_eq!(sniff(&fields), Content::Protobuf);
    }

    #[test]
    fn a_window_may_end_within_a_character() {
        let text = "x".repeat(WINDOW - 1) + "é and more";
        assert_eq!(sniff(text.as_bytes()), Content::Text);
        for end in 0..64 {
            let _ = sniff(&[0x80; 64][..end]);
        }
    }
}
