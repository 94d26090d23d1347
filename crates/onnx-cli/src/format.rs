//! The formats in which a model can be stored.

use std::path::Path;

use clap::ValueEnum;

use crate::exit::Failure;

/// A format in which a model can be stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Binary protobuf: .onnx, .pb
    Onnx,
    /// The text format of protobuf: .textproto, .pbtxt, .prototxt
    Textproto,
    /// The JSON form of protobuf: .json
    Json,
    /// The ONNX text syntax, for people: .onnxtxt, .onnxtext
    Onnxtxt,
}

/// The extensions of files in the ONNX text syntax.
pub(crate) const TEXT_EXTENSIONS: &[&str] = &["onnxtxt", "onnxtext"];

impl Format {
    /// The format that a file's extension stands for.
    pub(crate) fn of(path: &Path) -> Option<Self> {
        let extension = path.extension()?.to_str()?.to_ascii_lowercase();
        Some(match extension.as_str() {
            "onnx" | "pb" => Self::Onnx,
            "textproto" | "pbtxt" | "prototxt" => Self::Textproto,
            "json" => Self::Json,
            extension if TEXT_EXTENSIONS.contains(&extension) => Self::Onnxtxt,
            _ => return None,
        })
    }

    /// Whether it is made from characters.
    pub(crate) const fn is_text(self) -> bool {
        matches!(self, Self::Textproto | Self::Json | Self::Onnxtxt)
    }

    /// What people call it.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Onnx => "ONNX",
            Self::Textproto => "protobuf text",
            Self::Json => "JSON",
            Self::Onnxtxt => "ONNX text",
        }
    }
}

/// What bytes that are no model look like, as advice.
pub(crate) fn advice(bytes: &[u8]) -> Option<&'static str> {
    let start = without_comments(beginning(bytes));
    let begins =
        |prefix: &[u8]| start.get(..prefix.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(prefix));
    Some(if begins(b"version https://git-lfs") {
        "this is a Git LFS pointer, not the file it stands for: run `git lfs pull`"
    } else if begins(b"<!doctype") || begins(b"<html") || begins(b"<?xml") {
        "this is a web page: the download went wrong"
    } else if begins(b"{") {
        "this looks like JSON: add `--from json`"
    } else if begins(b"PK\x03\x04") {
        "this is a zip archive: unpack it first (PyTorch's own models are zip archives too, and no ONNX models)"
    } else if begins(b"\x1f\x8b") {
        "this is compressed with gzip: unpack it first"
    } else if begins(b"ir_version") || begins(b"graph {") || begins(b"producer_name") {
        "this looks like protobuf text: add `--from textproto`"
    } else if begins(b"<") && start.windows(8).any(|word| word == b"ir_versi" || word == b"opset_im") {
        "this looks like ONNX text: add `--from onnxtxt`"
    } else {
        return None;
    })
}

/// The bytes by which a format is recognized.
fn beginning(bytes: &[u8]) -> &[u8] {
    bytes.get(..512).unwrap_or(bytes)
}

/// The same from the first line on that is neither empty nor a comment.
fn without_comments(mut start: &[u8]) -> &[u8] {
    loop {
        start = start.trim_ascii_start();
        if !start.starts_with(b"#") {
            return start;
        }
        let end = start.iter().position(|&byte| byte == b'\n').unwrap_or(start.len());
        start = start.get(end..).unwrap_or_default();
    }
}

/// Why bytes that could not be read as a text are none, if their beginning shows it; `otherwise` is what to do with a binary
/// model.
pub(crate) fn not_text(bytes: &[u8], otherwise: &str) -> Option<Failure> {
    let start = beginning(bytes);
    if start.starts_with(b"\xff\xfe") || start.starts_with(b"\xfe\xff") {
        return Some(Failure::new("this is UTF-16").help("store the text as UTF-8"));
    }
    // Every message begins with a small number and has many in it; a text has such a character by accident.
    let is_odd = |byte: &&u8| byte.is_ascii_control() && !byte.is_ascii_whitespace();
    let odd = start.iter().filter(is_odd).count();
    if !(start.contains(&0) || start.first().as_ref().is_some_and(is_odd) || odd > start.len() / 20) {
        return None;
    }
    Some(match advice(bytes) {
        Some(advice) => Failure::new("this is no text").help(advice),
        None => Failure::new("this looks like a binary model").help(otherwise),
    })
}

/// What to do with a binary model where only a text is taken.
pub(crate) const FOR_TEXT_ONLY: &str =
    "`onnx print --from onnx` shows it as text, `onnx convert --from onnx` converts it";

/// What to do with a binary model where the format can be said.
pub(crate) const FOR_ANY: &str =
    "if it is a binary model, add `--from onnx`, or give the file the extension .onnx";

/// The format of an output.
pub(crate) fn of_output(path: &Path, wanted: Option<Format>) -> Result<Format, Failure> {
    if let Some(format) = wanted {
        return Ok(format);
    }
    if path.as_os_str() == "-" {
        return Ok(Format::Onnx);
    }
    let of_stream = || onnx_codec::file::is_stream(path).then_some(Format::Onnx);
    Format::of(path).or_else(of_stream).ok_or_else(|| {
        Failure::new(format_args!("the extension of `{}` stands for no format", path.display()))
            .help("use .onnx, .onnxtxt, .textproto or .json, or say the format with `--to`")
    })
}
