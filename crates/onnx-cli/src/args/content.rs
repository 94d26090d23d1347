//! Arguments of `onnx hash` and `onnx diff`.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Args, ValueHint};

use super::InputArgs;
use crate::compare::ToleranceArgs;
use crate::report::ReportArgs;

const HASH_EXAMPLES: &str = "\
Models have the same hash if they are equal up to the names of inner values and nodes, the order
of nodes and initializers, the encoding, and the location of weights. Metadata and documentation
do not count.

Examples:
  onnx hash model.onnx
  onnx hash models/ --structure              operators, edges and attributes: no weight is read
  onnx hash a.onnx b.onnx --weights          do they have the same weights, whatever uses them?
  onnx hash model.onnx --interface           names, order and types of inputs and outputs
  onnx hash models/ --format jsonl           all four, one line of JSON for each model";

/// Arguments of `onnx hash`.
#[derive(Debug, Args)]
#[command(after_help = HASH_EXAMPLES)]
pub(crate) struct HashArgs {
    /// Models, or directories to search for *.onnx files that are not hidden; `-` is standard input.
    #[arg(required = true, value_name = "FILE", value_hint = ValueHint::AnyPath)]
    pub(crate) files: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) report: ReportArgs,
    /// Hash operators, attributes, edges and functions only; no weight is read.
    #[arg(long, conflicts_with_all = ["weights", "interface"])]
    pub(crate) structure: bool,
    /// Hash types, dimensions and elements of the weights only, whatever uses them.
    #[arg(long, conflicts_with = "interface")]
    pub(crate) weights: bool,
    /// Hash names, order and types of inputs and outputs only; no weight is read.
    #[arg(long)]
    pub(crate) interface: bool,
    /// Hash N files at a time; without this, one for each processor. The report does not depend on it.
    #[arg(long, value_name = "N", hide_short_help = true)]
    pub(crate) jobs: Option<NonZeroUsize>,
    #[command(flatten)]
    pub(crate) input: InputArgs,
}

const DIFF_EXAMPLES: &str = "\
Models are compared as graphs: names of inner values and nodes, orders and encodings do not count.
Exit status 1: they differ.

Examples:
  onnx diff a.onnx b.onnx
  onnx diff a.onnx b.onnx --structure           without reading weights
  onnx diff a.onnx b.onnx --weights --rtol 1e-3  which weights differ by more than that?
  onnx diff a.onnx b.onnx --no-metadata --format json
  onnx diff --install-git                       make `git diff` and `git log -p` show models";

/// Arguments of `onnx diff`.
#[derive(Debug, Args)]
#[command(after_help = DIFF_EXAMPLES)]
pub(crate) struct DiffArgs {
    /// The two models; `-` is standard input. With `--git` and `--textconv`, what git passes.
    #[arg(required_unless_present = "install_git", num_args = 1..=9, value_names = ["A", "B"], value_hint = ValueHint::FilePath)]
    pub(crate) files: Vec<PathBuf>,
    /// List only differences of weights.
    #[arg(long)]
    pub(crate) weights: bool,
    /// Compare types and dimensions of weights only; no weight is read.
    #[arg(long, conflicts_with = "weights")]
    pub(crate) structure: bool,
    /// Leave out differences of metadata, documentation, versions of the format and declared types of inner values.
    #[arg(long)]
    pub(crate) no_metadata: bool,
    #[command(flatten)]
    pub(crate) tolerances: ToleranceArgs,
    /// Be git's external diff driver: take its arguments, and exit with 0 although models differ.
    #[arg(long, conflicts_with_all = ["weights", "format"])]
    pub(crate) git: bool,
    /// Be git's conversion to text: print one model, and exit with 0 although it is none.
    #[arg(long, conflicts_with_all = ["git", "weights", "format"], hide_short_help = true)]
    pub(crate) textconv: bool,
    /// Set git up to show models with this command, and print how to undo it.
    #[arg(long, conflicts_with_all = ["files", "git", "textconv", "weights", "format"])]
    pub(crate) install_git: bool,
    /// With `--install-git`: for all repositories of the user.
    #[arg(long, requires = "install_git", conflicts_with = "local")]
    pub(crate) global: bool,
    /// With `--install-git`: for the repository around the current directory, which is the default.
    #[arg(long, requires = "install_git")]
    pub(crate) local: bool,
    #[command(flatten)]
    pub(crate) report: ReportArgs,
    #[command(flatten)]
    pub(crate) input: InputArgs,
}

impl DiffArgs {
    /// The two models. git passes the path, then each file with its digest and mode.
    pub(crate) fn pair(&self) -> Option<[&PathBuf; 2]> {
        match self.files.as_slice() {
            [a, b] if !self.git => Some([a, b]),
            [_, a, _, _, b, _, _, ..] if self.git => Some([a, b]),
            _ => None,
        }
    }
}
