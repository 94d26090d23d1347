//! Arguments of `onnx convert`.

use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};

use super::{ExternalArgs, InPlaceArgs, InputArgs, ModelOutputArgs, NumberFormatArgs};
use crate::part::Part;

const CONVERT_EXAMPLES: &str = "\
Extensions state the formats: .onnx and .pb (binary), .onnxtxt and .onnxtext (ONNX text),
.textproto, .pbtxt and .prototxt (protobuf text), .json.

Examples:
  onnx convert model.onnx -o model.textproto
  onnx convert model.onnx -o - --to textproto | less
  onnx convert big.onnx -o out.onnx --weights external=out.data         weights beside the model
  onnx convert out.onnx -o one-file.onnx --weights embed                weights back into the model
  onnx convert edited.onnxtxt -o edited.onnx --weights-from model.onnx  text, with its weights
  onnx convert model.onnx --opset 22 -o newer.onnx                      for another runtime
  onnx convert model.onnx --opset 13                                    what would change?
  onnx convert model.onnx --float16 --keep-io -o half.onnx             half precision inside
  onnx convert node.onnxtxt --as node -o node.pb";

/// Reads `[DOMAIN=]VERSION`.
pub(super) fn opset(text: &str) -> Result<(String, i64), String> {
    if let Some((domain, version)) =
        text.split_once(':').filter(|(_, version)| version.parse::<i64>().is_ok())
    {
        return Err(format!("a domain and its version are written `{domain}={version}`"));
    }
    let (domain, version) = match text.contains('=') {
        true => super::opset(text)?,
        false => super::opset(&format!("={text}"))?,
    };
    if version < 1 {
        return Err(format!("`{version}` is not a version: write a number from 1, such as 21"));
    }
    Ok((domain, version))
}

/// A condition that a conversion may rely on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ConvertAssume {
    /// No size is 0 when the model runs.
    PositiveSizes,
}

/// Arguments of `onnx convert`.
#[derive(Debug, Args)]
#[command(after_help = CONVERT_EXAMPLES)]
pub(crate) struct ConvertArgs {
    /// The model, or what `--as` says; `-` is standard input. Also several, or directories: with `-o DIR/`, `--in-place` or `--dry-run`.
    #[arg(value_name = "IN", value_hint = ValueHint::FilePath)]
    pub(crate) input_file: PathBuf,
    #[command(flatten)]
    pub(crate) output: ModelOutputArgs,
    #[command(flatten)]
    pub(crate) in_place: InPlaceArgs,
    /// Content of the input: a whole model, or a part of one on its own.
    #[arg(long = "as", value_name = "WHAT", default_value = "model", value_parser = Part::with_text())]
    pub(crate) part: Part,
    /// Convert the model to another version of an operator set: `18`, or `ai.onnx.ml=4` (repeatable); without `-o`, show what
    /// would change.
    #[arg(long, value_name = "[DOMAIN=]N", value_parser = opset)]
    pub(crate) opset: Vec<(String, i64)>,
    /// A condition that the conversion may rely on: `positive-sizes`, no size is 0 when the model runs. What is relied on is
    /// written into the metadata, as guards are.
    #[arg(long, value_name = "CONDITION", value_enum, requires = "opset", conflicts_with_all = ["prove", "number-format"])]
    pub(crate) assume: Option<ConvertAssume>,
    /// Prove or test that each converted node computes the same; if that is refuted, nothing is written.
    #[arg(long, requires = "opset", conflicts_with = "number-format", hide_short_help = true)]
    pub(crate) prove: bool,
    /// Set the version of the format, if it has everything that the model uses.
    #[arg(long, value_name = "N", hide_short_help = true)]
    pub(crate) ir_version: Option<i64>,
    #[command(flatten)]
    pub(crate) number_format: NumberFormatArgs,
    /// The model that a text was printed from: it provides the elements of the tensors that are elided in the text.
    #[arg(long, value_name = "MODEL", value_hint = ValueHint::FilePath)]
    pub(crate) weights_from: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) external: ExternalArgs,
    /// Convert what could be decoded of a file with errors, and to the nearest version of an operator set that all nodes reach;
    /// the exit status remains 1.
    #[arg(long, hide_short_help = true)]
    pub(crate) keep_going: bool,
    #[command(flatten)]
    pub(crate) input: InputArgs,
}
