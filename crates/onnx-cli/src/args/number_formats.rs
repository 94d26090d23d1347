//! Arguments about number formats.

use std::path::PathBuf;

use clap::{ArgGroup, Args, ValueHint};

/// Another number format for the whole model.
#[derive(Debug, Args)]
#[command(group(ArgGroup::new("number-format").args(["float16", "bfloat16", "float32", "dequantize"])))]
pub(crate) struct NumberFormatArgs {
    /// Compute in `float16` wherever the operators take it.
    #[arg(long, conflicts_with = "opset")]
    pub(crate) float16: bool,
    /// Compute in `bfloat16` wherever the operators take it.
    #[arg(long, conflicts_with = "opset")]
    pub(crate) bfloat16: bool,
    /// Compute in `float` instead of `float16` and `bfloat16`: the conversion back.
    #[arg(long, conflicts_with = "opset")]
    pub(crate) float32: bool,
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
    /// Inputs for the runs: an archive `.npz`, a directory with the inputs of one run (`input_K.pb` or `NAME.npy`), or a directory of
    /// such archives and directories. Without this, they are generated.
    #[arg(long, value_name = "DIR|NPZ", value_hint = ValueHint::AnyPath, requires = "number-format", conflicts_with_all = ["seed", "sizes", "without_run"])]
    pub(crate) calibrate: Option<PathBuf>,
    /// Size of a dimension variable, or of an axis of an input (`x[0]`), of generated inputs; may be given several times.
    #[arg(
        long = "set",
        id = "sizes",
        value_name = "DIM=N",
        requires = "number-format",
        conflicts_with = "without_run",
        hide_short_help = true
    )]
    pub(crate) sizes: Vec<String>,
    /// The seed of the inputs that are generated for the runs; without this, 0.
    #[arg(long, value_name = "N", requires = "number-format", hide_short_help = true)]
    pub(crate) seed: Option<u64>,
}

impl NumberFormatArgs {
    /// Whether a format is requested.
    pub(crate) const fn is_requested(&self) -> bool {
        self.float16 || self.bfloat16 || self.float32 || self.dequantize
    }
}
