//! Arguments of `onnx run`.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Args, ValueHint};

use super::files::ValueFormat;
use crate::args::{DocumentArgs, InputArgs, OutputArgs};
use crate::compare::ToleranceArgs;
use crate::report::ReportArgs;

const RUN_EXAMPLES: &str = "\
Without inputs, they are generated, and the command reports their types; only sizes, seed and
names of inputs decide about them.

Examples:
  onnx run model.onnx                                 on generated inputs
  onnx run model.onnx --feed x=x.npy -o outputs.npz   on given inputs
  onnx run model.onnx --feeds test_data_set_0 -o out  input_K.pb or NAME.npy; writes output_K.pb
  onnx run model.onnx --save-inputs case -o case      records a run
  onnx run model.onnx --feeds case --expect case      repeats it, and compares the outputs
  onnx run model.onnx --set batch=2 --stats           where do time and memory go?
  onnx run model.onnx --at /layer.0/Softmax           inner values, too";

/// Arguments of `onnx run`.
#[derive(Debug, Args)]
#[command(after_help = RUN_EXAMPLES)]
pub(crate) struct RunArgs {
    /// The model; `-` is standard input.
    #[arg(value_name = "MODEL", value_hint = ValueHint::FilePath)]
    pub(crate) input_file: PathBuf,
    #[command(flatten)]
    pub(crate) feeds: FeedArgs,
    /// Size of a dimension variable, or of an axis of an input (`x[0]`), for generated inputs; may be given several times.
    #[arg(long = "set", value_name = "DIM=N")]
    pub(crate) sizes: Vec<String>,
    /// Write the outputs, and the values of `--at`, into this directory, an archive `.npz`, or the only one into a file `.npy` or
    /// `.pb`.
    #[arg(short, long, value_name = "DIR|FILE", value_hint = ValueHint::AnyPath)]
    pub(crate) output: Option<PathBuf>,
    /// The files in the directory: `output_K.pb` (the default; `NAME.pb` for a value of `--at`), or `NAME.npy`.
    #[arg(long, value_enum, value_name = "FORMAT", requires = "output")]
    pub(crate) to: Option<ValueFormat>,
    /// Write the inputs into this directory, to repeat the run with `--feeds DIR`.
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) save_inputs: Option<PathBuf>,
    /// Compare the outputs with those recorded in a directory, or in an archive `.npz`.
    ///
    /// The directory has `output_K.pb` or `NAME.npy`. If an output is beyond its tolerance, the exit status is 1.
    #[arg(long, value_name = "DIR", value_hint = ValueHint::AnyPath)]
    pub(crate) expect: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) tolerances: ToleranceArgs,
    /// Also print inner values, and write them with `-o`: the name of a value or node, or a selector.
    #[arg(long, value_name = "SEL")]
    pub(crate) at: Vec<String>,
    /// List the nodes that take the most time and memory.
    #[arg(long)]
    pub(crate) stats: bool,
    /// Compute nodes on at most N threads; without this, one for each processor. Results do not depend on it.
    #[arg(long, value_name = "N", hide_short_help = true)]
    pub(crate) threads: Option<NonZeroUsize>,
    #[command(flatten)]
    pub(crate) documents: DocumentArgs,
    #[command(flatten)]
    pub(crate) report: ReportArgs,
    #[command(flatten)]
    pub(crate) input: InputArgs,
    #[command(flatten)]
    pub(crate) write: OutputArgs,
}

/// Where inputs come from.
#[derive(Debug, Args)]
pub(crate) struct FeedArgs {
    /// A value of an input: a file `.npy`, `.npz` or `.pb` (repeatable).
    #[arg(long, value_name = "NAME=FILE")]
    pub(crate) feed: Vec<String>,
    /// Values of inputs: a directory with `input_K.pb` by index or `NAME.npy`, or an archive `.npz`.
    #[arg(long, value_name = "DIR", value_hint = ValueHint::AnyPath)]
    pub(crate) feeds: Option<PathBuf>,
    /// Seed of generated inputs and of random operators; it permits that only some inputs are given. Without this, 0.
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
}
