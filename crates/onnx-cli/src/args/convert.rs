//! Arguments of `onnx convert`, and of every command that writes a model.

use std::path::PathBuf;

use clap::{Args, ValueHint};

use super::{InputArgs, OutputArgs};
use crate::format::Format;
use crate::part::Part;
use crate::report::ModelReportArgs;
use crate::size;

/// Where the weights of a model are written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Weights {
    /// Embedded weights stay in the model unless it would be too large for protobuf; external data stays reachable.
    #[default]
    Auto,
    /// All weights stay where they are; references may become unreachable.
    Keep,
    /// All weights are in the model.
    Embed,
    /// Large tensors are in a separate file: of this name, or of the name of the output and `.data`.
    External(Option<String>),
}

/// Where weights are written.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct WeightsArgs {
    /// Where the weights of the output are: `auto`, `keep` (where they are), `embed` (in the model), or `external[=NAME]`
    /// (in a separate file, relative to the directory of OUT). `auto` embeds external data only in streams, copies it
    /// only into other directories, and moves weights out of models of 2 GiB.
    #[arg(long, value_name = "WHERE", value_parser = weights, default_value = "auto", display_order = 92)]
    pub(crate) weights: Weights,
}

/// Reads `auto`, `keep`, `embed`, `external` or `external=NAME`.
fn weights(text: &str) -> Result<Weights, String> {
    Ok(match text.split_once('=') {
        None if text == "auto" => Weights::Auto,
        None if text == "keep" => Weights::Keep,
        None if text == "embed" => Weights::Embed,
        None if text == "external" => Weights::External(None),
        Some(("external", name)) if !name.is_empty() => Weights::External(Some(name.to_owned())),
        _ => return Err("write `auto`, `keep`, `embed`, `external` or `external=NAME`".to_owned()),
    })
}

/// How external data is written.
#[derive(Clone, Debug, Args)]
pub(crate) struct ExternalArgs {
    /// Leave tensors smaller than this in the model (default: 1024).
    #[arg(long, value_name = "SIZE", value_parser = size::parse)]
    pub(crate) threshold: Option<u64>,
    /// Let tensors begin at multiples of this power of two; without this, 64, and 4096 for large tensors.
    #[arg(long, value_name = "SIZE", value_parser = size::parse)]
    pub(crate) align: Option<u64>,
    /// Begin another file where one would grow beyond this size.
    #[arg(long, value_name = "SIZE", value_parser = size::parse)]
    pub(crate) shard_size: Option<u64>,
    /// Move tensors in attributes as well; few readers expect that.
    #[arg(long)]
    pub(crate) all_tensors: bool,
    /// State the SHA-1 digests of the external files, which reads all weights once.
    #[arg(long)]
    pub(crate) checksum: bool,
}

impl ExternalArgs {
    /// None of these options.
    pub(crate) const DEFAULT: Self =
        Self { threshold: None, align: None, shard_size: None, all_tensors: false, checksum: false };

    /// The first of these options that is given.
    pub(crate) fn given(&self) -> Option<&'static str> {
        let options = [
            (self.threshold.is_some(), "--threshold"),
            (self.align.is_some(), "--align"),
            (self.shard_size.is_some(), "--shard-size"),
            (self.all_tensors, "--all-tensors"),
            (self.checksum, "--checksum"),
        ];
        options.into_iter().find_map(|(is_given, name)| is_given.then_some(name))
    }
}

const CONVERT_EXAMPLES: &str = "\
Extensions state the formats: .onnx and .pb (binary), .onnxtxt and .onnxtext (ONNX text),
.textproto, .pbtxt and .prototxt (protobuf text), .json.
The output is written whole or not at all. Findings of reading go to standard error.

Examples:
  onnx convert model.onnx -o model.textproto
  onnx convert model.onnx -o - --to textproto | less
  onnx convert big.onnx -o out.onnx --weights external=out.data         weights beside the model
  onnx convert out.onnx -o one-file.onnx --weights embed                weights back into the model
  onnx convert edited.onnxtxt -o edited.onnx --weights-from model.onnx  text from `print`, with its weights
  onnx convert node.onnxtxt --as node -o node.pb";

/// Arguments of `onnx convert`.
#[derive(Debug, Args)]
#[command(after_help = CONVERT_EXAMPLES)]
pub(crate) struct ConvertArgs {
    /// The model, or what `--as` says; `-` is standard input.
    #[arg(value_name = "IN", value_hint = ValueHint::FilePath)]
    pub(crate) input_file: PathBuf,
    /// Where to write; `-` is standard output.
    #[arg(short, long = "output", value_name = "OUT", value_hint = ValueHint::FilePath)]
    pub(crate) output_file: PathBuf,
    /// The format of the output; without this, the extension decides, and standard output is `onnx`.
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub(crate) to: Option<Format>,
    /// Content of the input: a whole model, or a part of one on its own.
    #[arg(long = "as", value_name = "WHAT", default_value = "model", value_parser = Part::with_text())]
    pub(crate) part: Part,
    /// The model that a text was printed from: it provides the elements of the tensors that are elided in the text.
    #[arg(long, value_name = "MODEL", value_hint = ValueHint::FilePath)]
    pub(crate) weights_from: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) weights: WeightsArgs,
    #[command(flatten)]
    pub(crate) report: ModelReportArgs,
    #[command(flatten)]
    pub(crate) external: ExternalArgs,
    /// Convert what could be decoded of a file with errors; the exit status remains 1.
    #[arg(long)]
    pub(crate) keep_going: bool,
    #[command(flatten)]
    pub(crate) input: InputArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}
