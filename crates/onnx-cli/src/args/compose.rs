//! Arguments of the commands that compose models.

use std::path::PathBuf;

use clap::{Args, ValueHint};

use super::{InPlaceArgs, InputArgs, ModelOutputArgs};

const EXTRACT_EXAMPLES: &str = "\
SEL is a name, a scope such as `/layer.0`, a pattern such as `/layer.*/**`, an operator such as `Conv()`, `node(K)`
or `near(SEL, N)`; several with `,`. What a nested graph uses from the graphs around becomes an input.

Examples:
  onnx extract model.onnx --outputs logits                what does a value need?
  onnx extract model.onnx --outputs logits -o part.onnx
  onnx extract model.onnx --inputs 'node(0)' --outputs logits -o rest.onnx
  onnx extract model.onnx --only 'near(logits, 2)' -o window.onnx";

/// Arguments of `onnx extract`.
#[derive(Debug, Args)]
#[command(after_help = EXTRACT_EXAMPLES)]
pub(crate) struct ExtractArgs {
    /// The model; `-` is standard input.
    #[arg(value_name = "IN", value_hint = ValueHint::FilePath)]
    pub(crate) input_file: PathBuf,
    #[command(flatten)]
    pub(crate) output: ModelOutputArgs,
    #[command(flatten)]
    pub(crate) in_place: InPlaceArgs,
    /// The inputs of the part, in order; without this, those that the outputs need.
    #[arg(long, value_name = "SEL", conflicts_with = "only")]
    pub(crate) inputs: Vec<String>,
    /// The outputs of the part, in order; without this, those of the model.
    #[arg(long, value_name = "SEL", conflicts_with = "only")]
    pub(crate) outputs: Vec<String>,
    /// The nodes of the part (repeatable; a list with `,`): what others make becomes an input, what others use an output.
    #[arg(long, value_name = "SEL", required_unless_present_any = ["inputs", "outputs"])]
    pub(crate) only: Vec<String>,
    /// Write the part even if the model has errors; the exit status remains 1.
    #[arg(long, hide_short_help = true)]
    pub(crate) keep_going: bool,
    #[command(flatten)]
    pub(crate) input: InputArgs,
}
