//! Arguments of `onnx draw`.

use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};

use super::{DocumentArgs, InputArgs, OutputArgs};
use crate::report::ModelReportArgs;

const DRAW_EXAMPLES: &str = "\
Nodes are in boxes: scopes of their names or of the exporter, functions, nested graphs, and
repeated blocks. The extension of the output decides the format: .svg, .png, or .html, a file in
which boxes open and close.

Examples:
  onnx draw model.onnx -o model.svg
  onnx draw model.onnx -o model.html                 boxes open and close; works without a network
  onnx draw model.onnx -o model.svg --depth 2
  onnx draw model.onnx -o part.svg --at 'near(logits, 3)'
  onnx draw model.onnx -o model.svg --color-by cost
  onnx draw model.onnx -o model.svg --color-by findings
  onnx draw b.onnx -o changes.svg --against a.onnx";

/// Arguments of `onnx draw`.
#[derive(Debug, Args)]
#[command(after_help = DRAW_EXAMPLES)]
pub(crate) struct DrawArgs {
    /// The model; `-` is standard input.
    #[arg(value_name = "IN", value_hint = ValueHint::FilePath)]
    pub(crate) input_file: PathBuf,
    /// Where to write, by extension: `.svg`, `.png` or `.html`; without this, SVG to standard output.
    #[arg(short, long = "output", value_name = "OUT", value_hint = ValueHint::FilePath)]
    pub(crate) output_file: Option<PathBuf>,
    /// Draw only a part: nodes, such as `near(logits, 3)`, or a graph: `main()`, `function(DOMAIN.NAME)`.
    #[arg(long, value_name = "SEL")]
    pub(crate) at: Option<String>,
    /// Number of levels of boxes that are open; without this, as many as give a picture of at most 120 boxes.
    #[arg(long, value_name = "N")]
    pub(crate) depth: Option<usize>,
    /// Meaning of colors.
    #[arg(long, value_enum, value_name = "WHAT", default_value_t = ColorBy::Type)]
    pub(crate) color_by: ColorBy,
    /// An older model: nodes that it does not have, or has with other attributes or operands, are colored.
    #[arg(long, value_name = "OLD", value_hint = ValueHint::FilePath, conflicts_with = "color_by")]
    pub(crate) against: Option<PathBuf>,
    /// Draw what could be decoded of a file with errors; the exit status remains 1.
    #[arg(long)]
    pub(crate) keep_going: bool,
    #[command(flatten)]
    pub(crate) documents: DocumentArgs,
    #[command(flatten)]
    pub(crate) report: ModelReportArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    #[command(flatten)]
    pub(crate) input: InputArgs,
}

/// Meaning of colors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ColorBy {
    /// The operator.
    Type,
    /// Operations, compared with the most expensive box.
    Cost,
    /// The outermost box.
    Scope,
    /// The worst diagnostic.
    Findings,
}
