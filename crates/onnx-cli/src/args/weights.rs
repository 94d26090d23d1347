//! Arguments of `onnx weights`.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand, ValueEnum, ValueHint};

use super::{InPlaceArgs, InputArgs, ModelOutputArgs, OutputArgs};
use crate::limits::LimitArgs;
use crate::report::{ReportArgs, ReportFormat};
use crate::size;

const EXAMPLES: &str = "\
Examples:
  onnx weights list model.onnx
  onnx weights stats model.onnx --sort anomaly     which weights are odd?
  onnx weights show model.onnx --at conv1.weight
  onnx weights export model.onnx -o weights.safetensors
  onnx weights import model.onnx weights.safetensors -o new.onnx
  onnx weights strip model.onnx -o shared.onnx     without the elements of the weights";

/// Arguments of `onnx weights`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct WeightsCommandArgs {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: WeightsCommand,
}

/// The subcommands of `onnx weights`.
#[derive(Debug, Subcommand)]
pub(crate) enum WeightsCommand {
    /// List the weights, without reading them: types, dimensions, sizes, and where their elements are.
    List(ListWeightsArgs),
    /// Show elements.
    Show(ShowWeightsArgs),
    /// Show extremes, mean, distribution and anomalies of the elements.
    Stats(StatsArgs),
    /// Write weights into a file of tensors.
    Export(ExportWeightsArgs),
    /// Replace weights by those of a file or of another model, or generate those that were stripped.
    Import(ImportWeightsArgs),
    /// Remove the elements of weights, so that a model can be shared without them.
    Strip(StripArgs),
}

impl WeightsCommandArgs {
    /// The name of the command in reports.
    pub(crate) const fn name(&self) -> &'static str {
        match self.command {
            WeightsCommand::List(_) => "weights list",
            WeightsCommand::Show(_) => "weights show",
            WeightsCommand::Stats(_) => "weights stats",
            WeightsCommand::Export(_) => "weights export",
            WeightsCommand::Import(_) => "weights import",
            WeightsCommand::Strip(_) => "weights strip",
        }
    }

    /// The model.
    pub(crate) fn input(&self) -> &Path {
        match &self.command {
            WeightsCommand::List(args) => &args.chosen.input_file,
            WeightsCommand::Show(args) => &args.chosen.input_file,
            WeightsCommand::Stats(args) => &args.chosen.input_file,
            WeightsCommand::Export(args) => &args.chosen.input_file,
            WeightsCommand::Import(args) => &args.input_file,
            WeightsCommand::Strip(args) => &args.chosen.input_file,
        }
    }

    /// The file of the weights that the model gets.
    pub(crate) fn weights_file(&self) -> Option<&Path> {
        match &self.command {
            WeightsCommand::Import(args) => args.weights_file.as_deref(),
            _ => None,
        }
    }

    /// The limits and the timeout.
    pub(crate) fn bounds(&self) -> &LimitArgs {
        match &self.command {
            WeightsCommand::List(args) => &args.chosen.input.bounds,
            WeightsCommand::Show(args) => &args.chosen.input.bounds,
            WeightsCommand::Stats(args) => &args.chosen.input.bounds,
            WeightsCommand::Export(args) => &args.chosen.input.bounds,
            WeightsCommand::Import(args) => &args.input.bounds,
            WeightsCommand::Strip(args) => &args.chosen.input.bounds,
        }
    }

    /// The file for the report, for subcommands whose standard output can be a model.
    pub(crate) fn report_file(&self) -> Option<&Path> {
        match &self.command {
            WeightsCommand::Import(args) => args.output.report.file.as_deref(),
            WeightsCommand::Strip(args) => args.output.report.file.as_deref(),
            _ => None,
        }
    }

    /// The format of the report.
    pub(crate) fn format(&self) -> ReportFormat {
        match &self.command {
            WeightsCommand::List(args) => args.report.format,
            WeightsCommand::Show(args) => args.report.format,
            WeightsCommand::Stats(args) => args.report.format,
            WeightsCommand::Export(args) => args.report.format,
            WeightsCommand::Import(args) => args.output.report.effective_format(),
            WeightsCommand::Strip(args) => args.output.report.effective_format(),
        }
    }
}

/// A model, and which of its weights are meant.
#[derive(Debug, Args)]
pub(crate) struct ChosenArgs {
    /// The model; `-` is standard input.
    #[arg(value_name = "IN", value_hint = ValueHint::FilePath)]
    pub(crate) input_file: PathBuf,
    /// The weights: names of initializers or of values of constants, or another selector (repeatable); without this, all.
    #[arg(long, value_name = "SEL")]
    pub(crate) at: Vec<String>,
    #[command(flatten)]
    pub(crate) input: InputArgs,
}

const LIST_EXAMPLES: &str = "\
Examples:
  onnx weights list model.onnx
  onnx weights list model.onnx --sort size      which are the largest?
  onnx weights list model.onnx --at conv1.weight
  onnx weights list model.onnx --format json | jq '.result.models[].weights[].name'";

/// Arguments of `onnx weights list`.
#[derive(Debug, Args)]
#[command(after_help = LIST_EXAMPLES)]
pub(crate) struct ListWeightsArgs {
    #[command(flatten)]
    pub(crate) chosen: ChosenArgs,
    /// The order of the list.
    #[arg(long, value_enum, value_name = "ORDER", default_value_t = ListOrder::Model)]
    pub(crate) sort: ListOrder,
    /// Do not cut long lists.
    #[arg(long)]
    pub(crate) all: bool,
    #[command(flatten)]
    pub(crate) report: ReportArgs,
}

/// The order of a list of weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ListOrder {
    /// As in the model.
    Model,
    /// The largest first.
    #[value(alias = "bytes")]
    Size,
    /// By name.
    Name,
}

const SHOW_EXAMPLES: &str = "\
Examples:
  onnx weights show model.onnx --at conv1.bias
  onnx weights show model.onnx --at conv1.bias --all";

/// Arguments of `onnx weights show`.
#[derive(Debug, Args)]
#[command(after_help = SHOW_EXAMPLES)]
pub(crate) struct ShowWeightsArgs {
    #[command(flatten)]
    pub(crate) chosen: ChosenArgs,
    /// Show all elements, not only the first ones.
    #[arg(long)]
    pub(crate) all: bool,
    #[command(flatten)]
    pub(crate) report: ReportArgs,
}

const STATS_EXAMPLES: &str = "\
Complex numbers count by their absolute value, strings by their length.

Examples:
  onnx weights stats model.onnx
  onnx weights stats model.onnx --sort anomaly
  onnx weights stats model.onnx --at conv1.weight      with a histogram";

/// Arguments of `onnx weights stats`.
#[derive(Debug, Args)]
#[command(after_help = STATS_EXAMPLES)]
pub(crate) struct StatsArgs {
    #[command(flatten)]
    pub(crate) chosen: ChosenArgs,
    /// The order of the list.
    #[arg(long, value_enum, value_name = "ORDER", default_value_t = Order::Size)]
    pub(crate) sort: Order,
    /// Do not cut long lists.
    #[arg(long)]
    pub(crate) all: bool,
    #[command(flatten)]
    pub(crate) report: ReportArgs,
}

/// An order of weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Order {
    /// The largest first.
    Size,
    /// The most severe anomaly first: NaN, infinities, only zeros, outliers, subnormal numbers, constants.
    Anomaly,
    /// As in the model.
    Model,
}

const EXPORT_EXAMPLES: &str = "\
Without -o, nothing is written. The file is `safetensors`, or by its extension an archive of NumPy
(.npz), an array (.npy) or a message of protobuf (.pb) with one weight.

Examples:
  onnx weights export model.onnx -o weights.safetensors
  onnx weights export model.onnx -o model.safetensors --shard-size 2GiB     shards and an index
  onnx weights export model.onnx -o bias.npy --at conv1.bias";

/// Arguments of `onnx weights export`.
#[derive(Debug, Args)]
#[command(after_help = EXPORT_EXAMPLES)]
pub(crate) struct ExportWeightsArgs {
    #[command(flatten)]
    pub(crate) chosen: ChosenArgs,
    /// Where to write; without this, nothing is written.
    #[arg(short, long = "output", value_name = "OUT", value_hint = ValueHint::FilePath)]
    pub(crate) output_file: Option<PathBuf>,
    /// Do all the work and print the summary, but write nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Begin another file where one would have more bytes of elements than this, and write an index of all.
    #[arg(long, value_name = "SIZE", value_parser = size::parse)]
    pub(crate) shard_size: Option<u64>,
    #[command(flatten)]
    pub(crate) report: ReportArgs,
    #[command(flatten)]
    pub(crate) write: OutputArgs,
}

const IMPORT_EXAMPLES: &str = "\
Types and dimensions must be those of the weights; everything else of the model stays. Weights
that the file does not have stay. Those of another model are found by their names, wherever it
stores them, also in nested graphs and functions.

Examples:
  onnx weights import stripped.onnx original.onnx -o whole.onnx               from another model
  onnx weights import model.onnx weights.safetensors -o new.onnx
  onnx weights import model.onnx model.safetensors.index.json -o new.onnx     from shards
  onnx weights import model.onnx weights.npz -o new.onnx
  onnx weights import model.onnx --replace conv1.bias=bias.npy -o new.onnx
  onnx weights import shared.onnx --generate -o filled.onnx                   in place of stripped ones";

/// Arguments of `onnx weights import`.
#[derive(Debug, Args)]
#[command(after_help = IMPORT_EXAMPLES)]
pub(crate) struct ImportWeightsArgs {
    /// The model; `-` is standard input.
    #[arg(value_name = "IN", value_hint = ValueHint::FilePath)]
    pub(crate) input_file: PathBuf,
    /// Another model, a file `.safetensors`, the index of several, or an archive of NumPy (`.npz`).
    #[arg(value_name = "WEIGHTS", value_hint = ValueHint::FilePath)]
    pub(crate) weights_file: Option<PathBuf>,
    /// Replace one weight by the tensor of a file `.npy`, `.npz`, `.pb` or `.safetensors`, or by that of another model (repeatable).
    #[arg(long, value_name = "NAME=FILE")]
    pub(crate) replace: Vec<String>,
    /// Generate the weights that were stripped, from the seed that the model states, unless the file has them.
    #[arg(long)]
    pub(crate) generate: bool,
    /// The seed of generated weights; without this, that of the model.
    #[arg(long, value_name = "N", requires = "generate")]
    pub(crate) seed: Option<u64>,
    #[command(flatten)]
    pub(crate) output: ModelOutputArgs,
    #[command(flatten)]
    pub(crate) in_place: InPlaceArgs,
    #[command(flatten)]
    pub(crate) input: InputArgs,
}

const STRIP_EXAMPLES: &str = "\
Types, dimensions and a seed remain: `onnx weights import --generate` makes elements from the
seed. Tensors of up to 8 elements, strings, `bool` and integers of 32 and 64 bits stay, because
they can be shapes and indices.

Examples:
  onnx weights strip model.onnx -o shared.onnx
  onnx weights strip model.onnx -o shared.onnx --everything
  onnx weights strip model.onnx -o shared.onnx --at embedding";

/// Arguments of `onnx weights strip`.
#[derive(Debug, Args)]
#[command(after_help = STRIP_EXAMPLES)]
pub(crate) struct StripArgs {
    #[command(flatten)]
    pub(crate) chosen: ChosenArgs,
    /// Also strip `bool` and integers of 32 and 64 bits.
    #[arg(long)]
    pub(crate) everything: bool,
    /// Tensors with fewer elements stay.
    #[arg(long, value_name = "N", default_value_t = 9)]
    pub(crate) min_elements: u64,
    /// The seed of generated elements.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) seed: u64,
    #[command(flatten)]
    pub(crate) output: ModelOutputArgs,
    #[command(flatten)]
    pub(crate) in_place: InPlaceArgs,
}
