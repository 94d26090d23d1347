//! The command line of `onnx ops`.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand, ValueHint};

use crate::args::OutputArgs;
use crate::report::{ModelReportArgs, ReportArgs, ReportFormat};

const EXAMPLES: &str = "\
Examples:
  onnx ops list --domain ai.onnx.ml
  onnx ops search softmax
  onnx ops show Resize                                      signature, types, versions, what changed
  onnx ops show com.microsoft.FusedMatMul                   an operator of onnxruntime
  onnx ops export --opset 21 -o onnx-21.onnxops             a standard set as a document
  onnx ops export --functions-of model.onnx --domain com.acme -o acme.onnxops
  onnx ops list --ops acme.onnxops --domain com.acme";

/// Arguments of `onnx ops`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct OpsArgs {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: OpsCommand,
    /// Load an operator set document (repeatable).
    #[arg(long, global = true, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) ops: Vec<PathBuf>,
}

/// The subcommands of `onnx ops`.
#[derive(Debug, Subcommand)]
pub(crate) enum OpsCommand {
    /// List the operators of all domains, or of one.
    List(ListArgs),
    /// Find operators by a part of their name, or of the name of an attribute.
    Search(SearchArgs),
    /// Show all there is to know about an operator; `onnx ops OP` is short for it.
    #[command(disable_version_flag = true)]
    Show(ShowArgs),
    /// Write an operator set as a document.
    Export(ExportArgs),
}

impl OpsArgs {
    /// The file for the report, if the subcommand writes another one, too.
    pub(crate) fn report_file(&self) -> Option<&Path> {
        match &self.command {
            OpsCommand::Export(args) => args.report.file.as_deref(),
            _ => None,
        }
    }

    /// The model that the subcommand reads, if it reads one.
    pub(crate) fn model(&self) -> Option<&Path> {
        match &self.command {
            OpsCommand::Export(args) => args.functions_of.as_deref(),
            _ => None,
        }
    }

    /// The format of the report.
    pub(crate) fn format(&self) -> ReportFormat {
        match &self.command {
            OpsCommand::List(args) => args.sets.report.format,
            OpsCommand::Search(args) => args.sets.report.format,
            OpsCommand::Show(args) => args.report.format,
            OpsCommand::Export(args) => args.report.effective_format(),
        }
    }
}

/// Which operator sets are meant.
#[derive(Debug, Args)]
pub(crate) struct SetArgs {
    /// The domain; the default one is `ai.onnx`. Without this, all domains.
    #[arg(long, value_name = "DOMAIN")]
    pub(crate) domain: Option<String>,
    /// The version of the operator set; without this, the newest.
    #[arg(long, value_name = "VERSION")]
    pub(crate) opset: Option<i64>,
    #[command(flatten)]
    pub(crate) report: ReportArgs,
}

/// Arguments of `onnx ops list`.
#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    #[command(flatten)]
    pub(crate) sets: SetArgs,
}

/// Arguments of `onnx ops search`.
#[derive(Debug, Args)]
pub(crate) struct SearchArgs {
    /// What to look for; capitals do not matter.
    pub(crate) word: String,
    #[command(flatten)]
    pub(crate) sets: SetArgs,
}

/// Arguments of `onnx ops show`.
#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    /// The operator, with its domain in front where several have it: `Relu`, `ai.onnx.ml.Scaler`.
    #[arg(value_name = "OP")]
    pub(crate) op: String,
    /// The version of the operator set; without this, the newest that has the operator.
    #[arg(long, value_name = "N")]
    pub(crate) version: Option<i64>,
    /// The domain; the default one is `ai.onnx`. Without this, any.
    #[arg(long, value_name = "DOMAIN")]
    pub(crate) domain: Option<String>,
    #[command(flatten)]
    pub(crate) report: ReportArgs,
}

/// Arguments of `onnx ops export`.
#[derive(Debug, Args)]
pub(crate) struct ExportArgs {
    /// The domain; the default one is `ai.onnx`.
    #[arg(long, value_name = "DOMAIN", default_value = "ai.onnx")]
    pub(crate) domain: String,
    /// The version of the operator set; without this, the newest, and 1 for the functions of a model.
    #[arg(long, value_name = "VERSION")]
    pub(crate) opset: Option<i64>,
    /// Make an operator set of the functions that a model has in the domain.
    #[arg(long, value_name = "MODEL", value_hint = ValueHint::FilePath)]
    pub(crate) functions_of: Option<PathBuf>,
    /// Output file, and next to it the signatures: `*.signatures.json`; without this, text on standard output.
    ///
    /// With the extension `.textproto` the document is text. `-` writes only the document, in the binary form, to standard
    /// output.
    #[arg(short, long = "output", value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) output_file: Option<PathBuf>,
    /// Do all the work and print the summary, but write no file.
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) report: ModelReportArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}
