//! Arguments of `onnx cost`.

use std::path::PathBuf;

use clap::{Args, ValueHint};

use super::{DocumentArgs, InputArgs};
use crate::report::ReportArgs;

const COST_EXAMPLES: &str = "\
Weights are not read. Sizes that are not set stay variables, and amounts are expressions of them.

Examples:
  onnx cost model.onnx
  onnx cost model.onnx --set batch=4
  onnx cost model.onnx --set 'x[0]=4' --set sequence=128
  onnx cost model.onnx --all                       every node, not only the most expensive ones
  onnx cost models/ --format json | jq '.result.models[] | [.name, .macs]'";

/// Arguments of `onnx cost`.
#[derive(Debug, Args)]
#[command(after_help = COST_EXAMPLES)]
pub(crate) struct CostArgs {
    /// Models, or directories to search for *.onnx files that are not hidden; `-` is standard input.
    #[arg(required = true, value_name = "FILE", value_hint = ValueHint::AnyPath)]
    pub(crate) files: Vec<PathBuf>,
    /// Size of a dimension variable, or of an axis of an input (`x[0]`); may be given several times.
    ///
    /// Of several models, each gets the sizes of what it has.
    #[arg(long = "set", value_name = "DIM=N")]
    pub(crate) sizes: Vec<String>,
    /// Do not cut long lists.
    #[arg(long)]
    pub(crate) all: bool,
    #[command(flatten)]
    pub(crate) documents: DocumentArgs,
    #[command(flatten)]
    pub(crate) report: ReportArgs,
    #[command(flatten)]
    pub(crate) input: InputArgs,
}
