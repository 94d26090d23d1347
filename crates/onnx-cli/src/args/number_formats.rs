//! Arguments about number formats.

use std::path::PathBuf;

use clap::{ArgGroup, Args, ValueHint};

use super::output::WeightsArgs;
use super::{COMMON, ExternalArgs, InPlaceArgs, InputArgs, ModelOutputArgs, OutputArgs};
use crate::report::ModelReportArgs;

/// Another number format for the whole model.
#[derive(Debug, Args)]
#[command(group(ArgGroup::new("number-format").args(["float16", "bfloat16", "dequantize"])))]
pub(crate) struct NumberFormatArgs {
    /// Compute in `float16` wherever the operators take it.
    #[arg(long, conflicts_with = "opset")]
    pub(crate) float16: bool,
    /// Compute in `bfloat16` wherever the operators take it.
    #[arg(long, conflicts_with = "opset")]
    pub(crate) bfloat16: bool,
    /// Make quantized weights floats again.
    ///
    /// Pairs of `QuantizeLinear` and `DequantizeLinear` with the same parameters are removed.
    #[arg(long, conflicts_with = "opset")]
    pub(crate) dequantize: bool,
    /// Leave the types of inputs and outputs as they are.
    #[arg(long, requires = "number-format", hide_short_help = true)]
    pub(crate) keep_io: bool,
    /// Only change these nodes: a selector.
    #[arg(long, value_name = "SELECTOR", requires = "number-format", hide_short_help = true)]
    pub(crate) only: Vec<String>,
    /// Nodes that stay as they are, with their nested graphs: a selector, such as `Softmax()`.
    #[arg(long, value_name = "SELECTOR", requires = "number-format", hide_short_help = true)]
    pub(crate) except: Vec<String>,
    /// Do not run the model: neither to find numbers that are out of range, nor to measure the error.
    #[arg(long, requires = "number-format", hide_short_help = true)]
    pub(crate) without_run: bool,
    /// The seed of the inputs that are generated for the runs; without this, 0.
    #[arg(long, value_name = "N", requires = "number-format", hide_short_help = true)]
    pub(crate) seed: Option<u64>,
}

impl NumberFormatArgs {
    /// Whether a format is requested.
    pub(crate) const fn is_requested(&self) -> bool {
        self.float16 || self.bfloat16 || self.dequantize
    }
}

const QUANTIZE_EXAMPLES: &str = "\
The weights of MatMul, Gemm, Conv, ConvTranspose and Gather become quantized numbers with scales, and a
DequantizeLinear in front of each use: any runtime that has this operator runs the result.
Four bits and blocks (--to int4 --block 32) need version 21 of the operators: onnx convert --opset 21.
Without -o, nothing is written: the summary states what would be.

Examples:
  onnx quantize model.onnx --to int8 --weights-only --per-channel -o small.onnx
  onnx quantize model.onnx --to uint8 --weights-only --symmetric -o small.onnx
  onnx quantize model.onnx --to int8 --weights-only --budget snr=30 -o small.onnx
  onnx quantize model.onnx --to int8 --weights-only --measure -v         what would it cost?
  onnx convert small.onnx --dequantize -o float.onnx                     floats again";

/// Arguments of `onnx quantize`.
#[derive(Debug, Args)]
#[command(after_help = QUANTIZE_EXAMPLES)]
pub(crate) struct QuantizeArgs {
    /// The model; `-` is standard input.
    #[arg(value_name = "IN", value_hint = ValueHint::FilePath)]
    pub(crate) input_file: PathBuf,
    #[command(flatten)]
    pub(crate) output: QuantizeOutputArgs,
    #[command(flatten)]
    pub(crate) in_place: InPlaceArgs,
    /// The type of the quantized numbers: `int8`, `uint8`, `int4`, `uint4`, `int16`, `float8e4m3fn`, ...
    #[arg(long, value_name = "TYPE")]
    pub(crate) to: String,
    /// Quantize weights; activations remain floats.
    #[arg(long)]
    pub(crate) weights_only: bool,
    /// A scale for each output channel of a weight.
    #[arg(long, conflicts_with = "block")]
    pub(crate) per_channel: bool,
    /// A scale for each N elements along the axis that is summed over.
    #[arg(long, value_name = "N")]
    pub(crate) block: Option<usize>,
    /// No zero points: zero is in the middle of the range. Signed types have none anyhow.
    #[arg(long)]
    pub(crate) symmetric: bool,
    /// Nodes whose weights stay: a selector, such as `Gather()`.
    #[arg(long, value_name = "SELECTOR")]
    pub(crate) except: Vec<String>,
    /// The least quality of the outputs: `snr=30`, in decibels. The weights that lose most stay until it is reached.
    #[arg(long, value_name = "snr=DB")]
    pub(crate) budget: Option<String>,
    /// Run both models on generated inputs, and report how far their outputs are apart.
    #[arg(long)]
    pub(crate) measure: bool,
    /// The seed of the inputs that are generated for the runs; without this, 0.
    #[arg(long, value_name = "N", hide_short_help = true)]
    pub(crate) seed: Option<u64>,
    #[command(flatten)]
    pub(crate) external: ExternalArgs,
    /// Work with what could be decoded of a file with errors; the exit status remains 1.
    #[arg(long, hide_short_help = true)]
    pub(crate) keep_going: bool,
    #[command(flatten)]
    pub(crate) input: InputArgs,
}

/// Where the quantized model is written. Its format is that of the extension: `--to` is the type of the numbers.
#[derive(Debug, Args)]
pub(crate) struct QuantizeOutputArgs {
    /// Where to write; `-` is standard output.
    ///
    /// Without this, nothing is written: the summary states what would be.
    #[arg(short, long = "output", value_name = "OUT", value_hint = ValueHint::FilePath)]
    pub(crate) output_file: Option<PathBuf>,
    /// Do all the work and print the summary, but write no model and no data.
    #[arg(long, help_heading = COMMON)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) weights: WeightsArgs,
    #[command(flatten)]
    pub(crate) report: ModelReportArgs,
    #[command(flatten)]
    pub(crate) write: OutputArgs,
}

impl QuantizeOutputArgs {
    /// The same as the arguments of other commands.
    pub(crate) fn as_model_output(&self) -> ModelOutputArgs {
        ModelOutputArgs {
            output_file: self.output_file.clone(),
            dry_run: self.dry_run,
            to: None,
            weights: self.weights.clone(),
            report: self.report.clone(),
            write: self.write,
        }
    }
}
