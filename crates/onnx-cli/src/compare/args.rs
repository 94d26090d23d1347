//! Arguments of `onnx compare`.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};
use onnx_eval::compare::Tolerances;

use crate::args::{DocumentArgs, InputArgs};
use crate::report::ReportArgs;
use crate::run::FeedArgs;

const COMPARE_EXAMPLES: &str = "\
Floats are equal if |a - b| <= atol + rtol * |b|, or within the distance in units in the last place;
NaN equals NaN, and an infinity itself: such elements (masks) have no error, and are left out of the
cosine and the ratio of signal to noise. Integers, strings and truth values are compared exactly.
The defaults depend on the element type and are printed. Exit status 1: an output is beyond its
tolerance, or only one of the models has it; 2: nothing was compared.

Examples:
  onnx compare a.onnx b.onnx                        generated inputs; sizes 0 and 1, too
  onnx compare a.onnx b.onnx --set batch=0,1,7 --runs 3
  onnx compare a.onnx b.onnx --feeds test_data_set_0 --rtol 1e-3
  onnx compare a.onnx b.onnx --inner                after which node do they diverge?
  onnx compare a.onnx b.onnx --inner --all          how far is each value from its counterpart?
  onnx compare a.onnx b.onnx --map x=x              values with other names: that of A and that of B
  onnx compare whole.onnx - --common < part.onnx    inner values of A are inputs and outputs of B

Inputs and outputs are matched by name, and as `--map` says. Instead of B, `--with onnxruntime`
runs A in that runtime, which is a package of a Python (`--python PATH`).";

/// Arguments of `onnx compare`.
#[derive(Debug, Args)]
#[command(after_help = COMPARE_EXAMPLES)]
pub(crate) struct CompareArgs {
    /// The first model; `-` is standard input.
    #[arg(value_name = "A", value_hint = ValueHint::FilePath)]
    pub(crate) a: PathBuf,
    /// The second model; `-` is standard input.
    #[arg(value_name = "B", value_hint = ValueHint::FilePath, required_unless_present = "with")]
    pub(crate) b: Option<PathBuf>,
    /// Compare with another engine instead of a second model: `onnxruntime`, without optimizations.
    #[arg(long, value_enum, value_name = "ENGINE", conflicts_with_all = ["b", "inner", "map", "common"])]
    pub(crate) with: Option<OtherEngine>,
    /// The Python that has the engine; without this, `ONNX_PYTHON` in the environment, or `python3`.
    #[arg(long, value_name = "PATH", requires = "with", value_hint = ValueHint::ExecutablePath)]
    pub(crate) python: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) feeds: FeedArgs,
    /// Sizes of a dimension variable, or of an axis of an input (`x[0]`).
    ///
    /// The models run with each combination; without this, with small sizes that differ from each other, then 1, then 0.
    #[arg(long = "set", value_name = "DIM=N,…")]
    pub(crate) sizes: Vec<String>,
    /// Number of runs on generated inputs for each size; the seed counts up. Without this, 3 if there is one size, else 1.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) runs: Option<u32>,
    /// Compute nodes on at most N threads; without this, one for each processor. Results do not depend on it.
    #[arg(long, value_name = "N", hide_short_help = true)]
    pub(crate) threads: Option<NonZeroUsize>,
    #[command(flatten)]
    pub(crate) tolerances: ToleranceArgs,
    /// Also compare inner values, and name the first node after which they differ.
    ///
    /// Values of the same name are compared, and those whose nodes correspond, as `onnx diff` pairs them.
    #[arg(long)]
    pub(crate) inner: bool,
    /// With `--inner`: a row for each pair of values, with the errors, the cosine of the angle between them and the ratio of
    /// signal to noise; the least similar ones are first.
    #[arg(long, requires = "inner", conflicts_with = "with")]
    pub(crate) all: bool,
    /// Compare a value of A with the value of B that has another name: an input, an output or an inner value (repeatable).
    #[arg(long, value_name = "A=B")]
    pub(crate) map: Vec<String>,
    /// Do not report outputs that only one of the models has.
    #[arg(long)]
    pub(crate) common: bool,
    #[command(flatten)]
    pub(crate) documents: DocumentArgs,
    #[command(flatten)]
    pub(crate) report: ReportArgs,
    #[command(flatten)]
    pub(crate) input: InputArgs,
}

/// An engine that is not this one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum OtherEngine {
    /// The package onnxruntime of a Python.
    Onnxruntime,
}

/// How far floats may be apart.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct ToleranceArgs {
    /// Relative tolerance of floats.
    #[arg(long, value_name = "R", value_parser = tolerance)]
    pub(crate) rtol: Option<f64>,
    /// Absolute tolerance of floats.
    #[arg(long, value_name = "A", value_parser = tolerance)]
    pub(crate) atol: Option<f64>,
    /// Tolerance of floats in units in the last place.
    #[arg(long, value_name = "U")]
    pub(crate) ulps: Option<u64>,
}

impl ToleranceArgs {
    /// The tolerances: the given ones, or the defaults of each element type.
    pub(crate) fn tolerances(self) -> Tolerances {
        Tolerances::default().with_rtol(self.rtol).with_atol(self.atol).with_ulps(self.ulps)
    }

    /// Whether one is given.
    pub(crate) const fn is_given(self) -> bool {
        self.rtol.is_some() || self.atol.is_some() || self.ulps.is_some()
    }
}

/// Reads a tolerance.
fn tolerance(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(number) if number >= 0.0 && f64::is_finite(number) => Ok(number),
        _ => Err(format!("`{text}` is not a tolerance: write a number of 0 or more, such as 1e-4")),
    }
}
