//! Arguments of `onnx convert`.

use std::path::PathBuf;

use clap::{Args, ValueHint};

use super::{ExternalArgs, InPlaceArgs, InputArgs, ModelOutputArgs};
use crate::part::Part;

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
    #[command(flatten)]
    pub(crate) output: ModelOutputArgs,
    #[command(flatten)]
    pub(crate) in_place: InPlaceArgs,
    /// Content of the input: a whole model, or a part of one on its own.
    #[arg(long = "as", value_name = "WHAT", default_value = "model", value_parser = Part::with_text())]
    pub(crate) part: Part,
    /// The model that a text was printed from: it provides the elements of the tensors that are elided in the text.
    #[arg(long, value_name = "MODEL", value_hint = ValueHint::FilePath)]
    pub(crate) weights_from: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) external: ExternalArgs,
    /// Convert what could be decoded of a file with errors; the exit status remains 1.
    #[arg(long, hide_short_help = true)]
    pub(crate) keep_going: bool,
    #[command(flatten)]
    pub(crate) input: InputArgs,
}
