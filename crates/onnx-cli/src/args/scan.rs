//! Arguments of `onnx scan`.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum, ValueHint};

use crate::limits::{LimitChanges, duration};

const EXAMPLES: &str = "\
Each file has a row, also one that is no model, takes too long, or ends the separate process that
reads it. The exit status is 0 whatever the files are; 2: a directory or the output failed.

Examples:
  onnx scan models/ -o rows.jsonl
  onnx scan models/ -o rows.jsonl --resume        continue where the last run ended
  onnx scan models/ --to csv -o rows.csv
  onnx scan models/ | jq -r 'select(.ok | not) | [.path, .stage, .error] | @tsv'
  onnx scan models/ --no-checks --file-timeout 10s --limit nodes=1M";

/// Arguments of `onnx scan`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ScanArgs {
    /// Files, or directories to search for *.onnx files that are not hidden.
    #[arg(required_unless_present = "worker", value_name = "FILE", value_hint = ValueHint::AnyPath)]
    pub(crate) files: Vec<PathBuf>,
    /// The format of the rows; their columns are those of `scan` of the Python package.
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t = ScanForm::Jsonl)]
    pub(crate) to: ScanForm,
    /// Where to write the rows, in the order of the files, each as soon as it is known; without this, standard output.
    #[arg(short, long = "output", value_name = "OUT", value_hint = ValueHint::FilePath)]
    pub(crate) output_file: Option<PathBuf>,
    /// Continue an output: files whose path has a row there are left out, and rows are appended.
    #[arg(long, requires = "output_file")]
    pub(crate) resume: bool,
    /// Replace an output that has rows; other files are never replaced.
    #[arg(long, conflicts_with = "resume")]
    pub(crate) force: bool,
    /// Scan N files at a time, each in a separate process; without this, one for each processor.
    #[arg(long, value_name = "N")]
    pub(crate) jobs: Option<NonZeroUsize>,
    /// The time for one file.
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "5m")]
    pub(crate) file_timeout: Duration,
    /// Leave out the checker and inference: `errors`, `warnings` and `unknown_shapes` are unknown.
    #[arg(long)]
    pub(crate) no_checks: bool,
    #[command(flatten)]
    pub(crate) limits: LimitChanges,
    /// Make rows for the paths on standard input.
    #[arg(long, hide = true)]
    pub(crate) worker: bool,
}

/// How rows are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ScanForm {
    /// An object of JSON for each line.
    Jsonl,
    /// A table with commas, with a line of headings.
    Csv,
}

impl ScanForm {
    /// What the command line calls it.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Jsonl => "jsonl",
            Self::Csv => "csv",
        }
    }
}
