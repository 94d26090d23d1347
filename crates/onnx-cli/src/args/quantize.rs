//! Arguments of `onnx quantize`.

use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};

use super::output::FormatOfExtension;
use super::{ExternalArgs, InPlaceArgs, InputArgs, ModelOutputArgs};

const EXAMPLES: &str = "\
Operators compute with quantized numbers between QuantizeLinear and DequantizeLinear, whose scales
come from runs of the model on the inputs of --calibrate, or on generated ones (--seed). With
--weights-only, only weights become quantized numbers. Some types need later versions of the
operators: onnx convert --opset 21. Without -o, nothing is written: the summary states what would
be.

Examples:
  onnx quantize model.onnx --to uint8 --calibrate images/ --per-channel --measure -o int8.onnx
  onnx quantize model.onnx --to int8 --seed 0 --set batch=2 --save-ranges ranges.json -o int8.onnx
  onnx quantize model.onnx --to int8 --ranges ranges.json --except 'Softmax()' -o int8.onnx
  onnx quantize model.onnx --to int8 --dynamic -o dynamic.onnx
  onnx quantize model.onnx --to int8 --weights-only --budget snr=30 -o small.onnx
  onnx quantize model.onnx --to uint8 --weights-only --measure -v        what would it cost?
  onnx convert small.onnx --dequantize -o float.onnx                     floats again";

/// How ranges follow from the numbers of a calibration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum CalibrationMethod {
    /// All numbers are in the range.
    Minmax,
    /// The part of the numbers that `--percentile` states.
    Percentile,
    /// The least divergence of the distributions before and after.
    Entropy,
    /// The least square of the error.
    Mse,
}

/// The form of a quantized model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum QuantizedForm {
    /// Pairs of `QuantizeLinear` and `DequantizeLinear`.
    Qdq,
    /// Operators that take quantized numbers.
    Operator,
}

/// Arguments of `onnx quantize`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct QuantizeArgs {
    /// The model; `-` is standard input. Also several, or directories: with `-o DIR/`, `--in-place` or `--dry-run`.
    #[arg(value_name = "IN", value_hint = ValueHint::FilePath)]
    pub(crate) input_file: PathBuf,
    #[command(flatten)]
    pub(crate) output: ModelOutputArgs<FormatOfExtension>,
    #[command(flatten)]
    pub(crate) in_place: InPlaceArgs,
    /// The type of the quantized numbers: `int8`, `uint8`, `int4`, `uint4`, `int16`, `float8e4m3fn`, ...
    #[arg(long, value_name = "TYPE")]
    pub(crate) to: String,
    /// Quantize weights; activations remain floats.
    #[arg(long, conflicts_with = "dynamic")]
    pub(crate) weights_only: bool,
    /// Find the ranges of activations in each run of the result: products and convolutions compute in integers.
    #[arg(long, conflicts_with_all = ["ranges", "save_ranges", "symmetric", "budget", "losses"])]
    pub(crate) dynamic: bool,
    /// The form of the result: pairs of QuantizeLinear and DequantizeLinear, or operators that take quantized numbers.
    ///
    /// `operator` makes QLinearConv and QLinearMatMul of static quantization, and MatMulNBits of onnxruntime of `--weights-only`.
    #[arg(long, value_enum, value_name = "FORM", default_value = "qdq", conflicts_with = "dynamic")]
    pub(crate) form: QuantizedForm,
    #[command(flatten)]
    pub(crate) calibration: CalibrationArgs,
    /// Which operators compute with quantized numbers: `generic`, `onnxruntime`, `tensorrt` or the file of a target.
    ///
    /// Without this, `generic`. With `--weights-only`, it is for `--form operator`.
    #[arg(long, value_name = "NAME|FILE", conflicts_with = "dynamic")]
    pub(crate) target: Option<String>,
    /// The type of the weights; without this, signed, as wide as `--to`.
    #[arg(long, value_name = "TYPE", conflicts_with_all = ["weights_only", "dynamic"])]
    pub(crate) weight_type: Option<String>,
    /// A scale for each output channel of a weight.
    #[arg(long, conflicts_with = "block")]
    pub(crate) per_channel: bool,
    /// A scale for each N elements along the axis that is summed over.
    #[arg(long, value_name = "N", requires = "weights_only")]
    #[arg(conflicts_with_all = ["dynamic", "ranges", "save_ranges", "samples", "method", "keep_biases", "weight_type", "losses"])]
    pub(crate) block: Option<usize>,
    /// No zero points: zero is in the middle of the range. Signed weights have none anyhow.
    #[arg(long)]
    pub(crate) symmetric: bool,
    /// Nodes that stay: a selector, such as `Gather()`.
    #[arg(long, value_name = "SELECTOR")]
    pub(crate) except: Vec<String>,
    /// The least quality of the outputs: `snr=30`, in decibels. What loses most stays until it is reached.
    #[arg(long, value_name = "snr=DB")]
    pub(crate) budget: Option<String>,
    /// Run both models, and report how far their outputs are apart.
    #[arg(long)]
    pub(crate) measure: bool,
    /// List each quantized value with what rounding does to it in the runs of the calibration.
    #[arg(long, conflicts_with = "weights_only")]
    pub(crate) losses: bool,
    #[command(flatten)]
    pub(crate) external: ExternalArgs,
    /// Work with what could be decoded of a file with errors; the exit status remains 1.
    #[arg(long, hide_short_help = true)]
    pub(crate) keep_going: bool,
    #[command(flatten)]
    pub(crate) input: InputArgs,
}

/// Where the ranges of activations come from.
#[derive(Debug, Args)]
pub(crate) struct CalibrationArgs {
    /// Inputs for the runs: an archive `.npz`, a directory with the inputs of one run (`input_K.pb` or `NAME.npy`), or a directory of
    /// such archives and directories.
    #[arg(long, value_name = "DIR|NPZ", value_hint = ValueHint::AnyPath)]
    pub(crate) calibrate: Option<PathBuf>,
    /// Generate inputs for the runs, from this seed on.
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// Size of a dimension variable, or of an axis of an input (`x[0]`), of generated inputs; may be given several times.
    #[arg(long = "set", value_name = "DIM=N", conflicts_with = "calibrate")]
    pub(crate) sizes: Vec<String>,
    /// The number of inputs that are generated; without this, 8.
    #[arg(long, value_name = "N", requires = "seed", conflicts_with_all = ["weights_only", "dynamic", "calibrate"], hide_short_help = true)]
    pub(crate) samples: Option<usize>,
    /// How ranges follow from the numbers of the runs; without this, `minmax`.
    #[arg(long, value_enum, value_name = "METHOD", conflicts_with_all = ["weights_only", "dynamic"])]
    pub(crate) method: Option<CalibrationMethod>,
    /// The part of the numbers in the range, for `--method percentile`; without this, 99.999.
    #[arg(long, value_name = "PERCENT", requires = "method", hide_short_help = true)]
    pub(crate) percentile: Option<f64>,
    /// Leave biases as they are.
    ///
    /// Otherwise, what rounding of the weights adds to the mean of each output channel in the runs is subtracted from its bias, if the
    /// outputs of these runs are closer to those before then.
    #[arg(long, conflicts_with_all = ["weights_only", "dynamic"], hide_short_help = true)]
    pub(crate) keep_biases: bool,
    /// Ranges of values from a file; the calibration adds those of others.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with = "weights_only")]
    pub(crate) ranges: Option<PathBuf>,
    /// Write the ranges to a file, which can be edited and read with `--ranges`.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with = "weights_only", hide_short_help = true)]
    pub(crate) save_ranges: Option<PathBuf>,
}
