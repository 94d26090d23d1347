//! Arguments of `onnx infer`.

use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};

use super::{DocumentArgs, InPlaceArgs, InputArgs, ModelOutputArgs};
use crate::report::ReportFormat;

const INFER_EXAMPLES: &str = "\
A model that contradicts itself is not written: the exit status is 1. `--keep-going` writes what
can be inferred, and `--merge override` replaces declared types that are wrong.

Examples:
  onnx infer model.onnx -o typed.onnx
  onnx infer model.onnx -o typed.onnx --set batch=1 --set sequence=128
  onnx infer model.onnx --unknown                     what stays unknown, and why?
  onnx infer model.onnx --guards                      for which sizes do the shapes hold?
  onnx infer model.onnx --why logits                  why is the shape of this value not known?
  onnx infer model.onnx -o - --to onnxtxt | less";

/// Arguments of `onnx infer`.
#[derive(Debug, Args)]
#[command(after_help = INFER_EXAMPLES)]
pub(crate) struct InferArgs {
    /// The model; `-` is standard input. Also several, or directories: with `-o DIR/`, `--in-place` or `--dry-run`.
    #[arg(value_name = "IN", value_hint = ValueHint::FilePath)]
    pub(crate) input_file: PathBuf,
    #[command(flatten)]
    pub(crate) output: ModelOutputArgs,
    #[command(flatten)]
    pub(crate) in_place: InPlaceArgs,
    /// Also exit with 1 for a report, such as `--unknown`, if the model contradicts itself.
    #[arg(long)]
    pub(crate) strict: bool,
    #[command(flatten)]
    pub(crate) documents: DocumentArgs,
    /// Refuse inputs of types that an operator does not take or that differ; without this, what would follow from inputs that
    /// differ is unknown, with a warning.
    #[arg(long, hide_short_help = true)]
    pub(crate) check_types: bool,
    /// Do not propagate the elements of small tensors: sizes that are computed in the graph stay unknown.
    #[arg(long, hide_short_help = true)]
    pub(crate) no_values: bool,
    /// Take initializers that are inputs, too, as constants: the result holds for callers who give no other values.
    #[arg(long, hide_short_help = true)]
    pub(crate) trust_defaults: bool,
    /// Take a size of a declared type as the size that an input has under the same name, where nothing else is known: what a
    /// custom operator gives, say. The result holds if the declarations do.
    #[arg(long, hide_short_help = true)]
    pub(crate) trust_names: bool,
    /// What happens to types that the model declares already.
    #[arg(long, value_enum, value_name = "POLICY", default_value_t = Merge::Refine, hide_short_help = true)]
    pub(crate) merge: Merge,
    /// How sizes are written that are computed from others.
    #[arg(long, value_enum, value_name = "STYLE", default_value_t = Symbols::Expr, hide_short_help = true)]
    pub(crate) symbols: Symbols,
    /// Infer for these sizes of dimension variables: `batch=1`, or a list of such; may be given several times.
    #[arg(long = "set", value_name = "DIM=N")]
    pub(crate) sizes: Vec<String>,
    /// List the conditions under which the inferred shapes hold.
    #[arg(long, value_enum, value_name = "FORMAT", num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = "text")]
    pub(crate) guards: Option<GuardFormat>,
    /// Write these conditions into the metadata of the model, as `onnx.infer.guard.N`.
    #[arg(long, hide_short_help = true)]
    pub(crate) write_guards: bool,
    /// Leave unknown in which this runtime deviates from the specification.
    #[arg(long, value_enum, value_name = "RUNTIME", hide_short_help = true)]
    pub(crate) runtime: Option<Runtime>,
    /// List what stays unknown, and where it was lost.
    #[arg(long)]
    pub(crate) unknown: bool,
    /// Show what is known about a value, and why the rest is not.
    #[arg(long, value_name = "VALUE")]
    pub(crate) why: Option<String>,
    /// Work with what could be decoded of a file with errors; the exit status remains 1.
    #[arg(long, hide_short_help = true)]
    pub(crate) keep_going: bool,
    #[command(flatten)]
    pub(crate) input: InputArgs,
}

impl InferArgs {
    /// Whether only a report is requested, and no model.
    pub(crate) fn is_report(&self) -> bool {
        let has_output = self.output.output_file.is_some() || self.output.dry_run || self.in_place.in_place;
        let report = &self.output.report;
        let is_requested = self.unknown
            || self.why.is_some()
            || self.guards.is_some()
            || report.file.is_some()
            || report.format.format != ReportFormat::Text;
        is_requested && !has_output
    }
}

/// Format of the list of guards.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum GuardFormat {
    /// One line for each.
    Text,
    /// One JSON document.
    Json,
}

/// A runtime that inferred results must hold for, in addition to the specification.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Runtime {
    /// onnxruntime.
    Onnxruntime,
}

/// What happens to types that the model declares already.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Merge {
    /// They stay; only what they leave open is filled in.
    Keep,
    /// They stay, and their dimension variables become numbers where these are known.
    Refine,
    /// What was inferred replaces them.
    Override,
}

/// How sizes are written that are computed from others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Symbols {
    /// As expressions: `2*N + 1`.
    Expr,
    /// As identifiers; the metadata of the model say what they stand for.
    Identifiers,
}
