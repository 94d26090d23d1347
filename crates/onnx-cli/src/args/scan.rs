//! Arguments of `onnx scan`.

use std::ffi::OsStr;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, ValueEnum, ValueHint};

use crate::exit::Failure;
use crate::input::display_name;
use crate::limits::{LimitChanges, duration};
use crate::output::shown;

const EXAMPLES: &str = "\
Each file has a row, also one that is no model, takes too long, or ends the separate process that
reads it. The exit status is 0 whatever the files are; 2: the output, a directory, or a file that
is named here and does not exist.

Examples:
  onnx scan models/ -o rows.jsonl
  onnx scan models/ -o rows.jsonl --resume        continue where the last run ended
  onnx scan models/ -o rows.csv                   a table; .parquet: columns with types
  onnx scan models/ | jq -r 'select(.ok | not) | [.path, .stage, .error] | @tsv'
  onnx scan models/ --no-checks --file-timeout 10s --limit nodes=1M";

/// Arguments of `onnx scan`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ScanArgs {
    /// Files, or directories to search for *.onnx files that are not hidden.
    #[arg(required_unless_present = "worker", value_name = "FILE", value_hint = ValueHint::AnyPath)]
    pub(crate) files: Vec<PathBuf>,
    /// The format of the rows, whose columns are those of `scan` of the Python package; without this, that of the extension of
    /// the output, or jsonl if it has none.
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub(crate) to: Option<ScanForm>,
    /// Where to write the rows, each as soon as it is known; without this, standard output.
    #[arg(short, long = "output", value_name = "OUT", value_hint = ValueHint::FilePath)]
    pub(crate) output_file: Option<PathBuf>,
    /// Continue an output: files that have a row there, however their path is written, are left out, and rows are appended.
    #[arg(long, requires = "output_file")]
    pub(crate) resume: bool,
    /// Replace an output that has rows; other files are never replaced.
    #[arg(long, conflicts_with = "resume")]
    pub(crate) force: bool,
    /// Write the rows in the order of the files: the row of a file that takes long holds back those behind it.
    #[arg(long)]
    pub(crate) in_order: bool,
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

impl ScanArgs {
    /// The format of the rows. An extension that is not that of a format is refused: the user expects that format.
    pub(crate) fn form(&self) -> Result<ScanForm, Failure> {
        let output = self.output_file.as_deref();
        let extension = output.and_then(Path::extension).map(OsStr::to_string_lossy);
        let (None, Some(output), Some(extension)) = (self.to, output, extension) else {
            return Ok(self.to.unwrap_or(ScanForm::Jsonl));
        };
        let forms = ScanForm::value_variants();
        let form = forms.iter().find(|form| extension.eq_ignore_ascii_case(form.name()));
        form.copied().ok_or_else(|| {
            let [jsonl, csv, parquet] = [ScanForm::Jsonl, ScanForm::Csv, ScanForm::Parquet].map(ScanForm::name);
            Failure::new(format_args!("{}: rows have no format `{}`", display_name(output), shown(&extension)))
                .help(format!(
                    "name the file *.{jsonl}, *.{csv} or *.{parquet}, or give the format: `--to {jsonl}`, `--to {csv}` or `--to {parquet}`"
                ))
        })
    }
}

/// How rows are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ScanForm {
    /// An object of JSON for each line.
    Jsonl,
    /// A table with commas, with a line of headings.
    Csv,
    /// A file of Apache Parquet, which is complete or not there; only if the command was built with the cargo feature `parquet`.
    Parquet,
}

impl ScanForm {
    /// What the command line calls it.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Jsonl => "jsonl",
            Self::Csv => "csv",
            Self::Parquet => "parquet",
        }
    }
}
