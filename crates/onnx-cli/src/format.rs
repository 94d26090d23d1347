//! The formats in which a model can be stored.

use std::path::Path;

use clap::ValueEnum;
use onnx_codec::{Content, OPERATOR_SET, sniff};

use crate::exit::Failure;
use crate::input::display_name;
use crate::part::Part;

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

    /// Its name in options and reports.
    pub(crate) const fn id(self) -> &'static str {
        match self {
            Self::Onnx => "onnx",
            Self::Textproto => "textproto",
            Self::Json => "json",
            Self::Onnxtxt => "onnxtxt",
        }
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

/// The failure for bytes that cannot be a model in a format; `None` if they can. `otherwise` is advice for a binary model
/// where a text is expected.
pub(crate) fn rejected(bytes: &[u8], wanted: Format, otherwise: &str) -> Option<Failure> {
    let content = sniff(bytes);
    let is_possible = match wanted {
        Format::Onnx => !content.is_not_a_model(),
        Format::Json => matches!(content, Content::Json | Content::Text),
        Format::Textproto => matches!(content, Content::Textproto | Content::Text),
        Format::Onnxtxt => matches!(content, Content::OnnxText | Content::Text),
    };
    let is_unknown = matches!(content, Content::Unknown | Content::Protobuf | Content::Part(..));
    if is_possible || (wanted.is_text() && is_unknown && !is_binary(bytes)) {
        return None;
    }
    if wanted.is_text() && is_unknown {
        let what =
            if content == Content::Unknown { "this is not text" } else { "this looks like a binary model" };
        return Some(Failure::not_a_model(what).help(otherwise));
    }
    let for_text_only = otherwise == FOR_TEXT_ONLY;
    let help = match content {
        Content::Empty => "the program that wrote it failed, or the download was interrupted".to_owned(),
        Content::LfsPointer => "run `git lfs pull`".to_owned(),
        Content::WebPage => "the download went wrong".to_owned(),
        Content::Json if for_text_only => "`onnx convert --from json` converts it".to_owned(),
        Content::Textproto if for_text_only => "`onnx convert --from textproto` converts it".to_owned(),
        Content::Json => "add `--from json`".to_owned(),
        Content::Textproto => "add `--from textproto`".to_owned(),
        Content::OnnxText => "add `--from onnxtxt`".to_owned(),
        Content::Zip => {
            "unpack it first (PyTorch's own models are zip archives, too, and not ONNX models)".to_owned()
        }
        Content::Compressed(_) => "unpack it first".to_owned(),
        Content::Utf16 => "store the text as UTF-8".to_owned(),
        Content::Known(OPERATOR_SET) => {
            "with the extension .onnxops, `onnx check` checks it, and `--ops FILE` loads it".to_owned()
        }
        Content::Part(_, part) => format!("`onnx check --as {part}` reads it"),
        Content::Text => "if it is a model as text, give its format with `--from`".to_owned(),
        _ => "only ONNX models can be read".to_owned(),
    };
    let what = content.description().unwrap_or_else(|| "this is not a model".to_owned());
    Some(Failure::not_a_model(what).help(help))
}

/// The format of contents that neither the user nor an extension states: binary unless it is recognized as another one.
pub(crate) fn of_contents(bytes: &[u8], part: Part) -> Format {
    match sniff(bytes) {
        Content::Json => Format::Json,
        Content::Textproto => Format::Textproto,
        Content::OnnxText => Format::Onnxtxt,
        // The text of a part does not begin with the header of a model.
        Content::Text if part != Part::Model && part.has_text() => Format::Onnxtxt,
        _ => Format::Onnx,
    }
}

/// Returns `true` if bytes that no signature identifies are not text: more than one in twenty of the first 512 bytes is a
/// control character or not UTF-8.
fn is_binary(bytes: &[u8]) -> bool {
    let start = bytes.get(..512).unwrap_or(bytes);
    let is_odd = |byte: &&u8| byte.is_ascii_control() && !byte.is_ascii_whitespace();
    let invalid: usize = start.utf8_chunks().map(|chunk| chunk.invalid().len()).sum();
    let odd = start.iter().filter(is_odd).count() + invalid;
    start.contains(&0) || start.first().as_ref().is_some_and(is_odd) || odd > start.len() / 20
}

/// The failure for bytes that could not be read as ONNX text, if their beginning shows that they are not.
pub(crate) fn not_text(bytes: &[u8], otherwise: &str) -> Option<Failure> {
    rejected(bytes, Format::Onnxtxt, otherwise)
}

/// What to do with a binary model where only a text is taken.
pub(crate) const FOR_TEXT_ONLY: &str =
    "`onnx print --from onnx` shows it as text, `onnx convert --from onnx` converts it";

/// What to do with a binary model where the format can be said.
pub(crate) const FOR_ANY: &str =
    "if it is a binary model, add `--from onnx`, or give the file the extension .onnx";

/// The failure for contents that are not what is needed, if their beginning shows what they are; `what` is what is needed.
pub(crate) fn instead(bytes: &[u8], what: &str) -> Option<Failure> {
    let content = sniff(bytes);
    let description = match content {
        Content::Text | Content::Unknown => return None,
        Content::Json if is_model_as_json(bytes) => "this looks like a model as JSON".to_owned(),
        Content::Json => return None,
        _ => content.description()?,
    };
    if description.ends_with(what) {
        return None;
    }
    Some(Failure::new(format_args!("{description}, and {what} is needed")))
}

/// Whether JSON has the members of a model, which no other document has.
fn is_model_as_json(bytes: &[u8]) -> bool {
    contains(bytes, b"\"graph\"") && contains(bytes, b"\"node\"")
}

/// The format of a file that is a model where another kind of file is possible, by its extension or its contents.
pub(crate) fn of_model(path: &Path, bytes: &[u8]) -> Option<Format> {
    let of_contents = || match sniff(bytes) {
        Content::Protobuf => Some(Format::Onnx),
        Content::Textproto => Some(Format::Textproto),
        Content::OnnxText => Some(Format::Onnxtxt),
        Content::Json => is_model_as_json(bytes).then_some(Format::Json),
        _ => None,
    };
    // Other documents have these extensions, too.
    let is_shared = path.extension().is_some_and(|extension| extension == "json" || extension == "pb");
    Format::of(path).filter(|_| !is_shared).or_else(of_contents)
}

fn contains(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

/// The failure for a file that an argument names where a file of another kind is needed: `what`. Also for one that is not there.
pub(crate) fn not_a(path: &Path, what: &str, help: &str) -> Failure {
    if let Err(source) = path.metadata() {
        let failure = Failure::cannot_read(path, source);
        return if failure.help.is_some() { failure } else { failure.help(help) };
    }
    let is_model = Format::of(path).is_some_and(|format| format != Format::Json);
    let reason = if is_model { "is a model, not" } else { "is not" };
    Failure::new(format_args!("{reason} {what}")).about(&display_name(path)).help(help)
}

/// The format of an output. `help` says how to name it where the extension stands for none.
pub(crate) fn of_output(path: &Path, wanted: Option<Format>, help: &str) -> Result<Format, Failure> {
    if let Some(format) = wanted {
        return Ok(format);
    }
    if path.as_os_str() == "-" {
        return Ok(Format::Onnx);
    }
    if path.as_os_str().as_encoded_bytes().ends_with(b"/") || path.is_dir() {
        let reason = if path.to_str().is_none() { " whose name is not UTF-8" } else { "" };
        let message = format_args!("`{}` is a directory{reason}", path.display());
        return Err(Failure::new(message).help("name the file in it: `-o DIR/NAME.onnx`"));
    }
    let of_stream = || onnx_codec::file::is_stream(path).then_some(Format::Onnx);
    Format::of(path).or_else(of_stream).ok_or_else(|| {
        Failure::new(format_args!("the extension of `{}` stands for no format", path.display())).help(help)
    })
}
