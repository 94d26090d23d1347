//! The command line.

mod compose;
mod content;
mod convert;
mod cost;
mod draw;
mod edit;
mod functions;
mod groups;
mod infer;
mod input;
mod lookup;
mod number_formats;
mod order;
mod output;
#[cfg(test)]
mod pairs;
mod quantize;
mod scan;
mod view;
mod weights;

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::builder::styling::{AnsiColor, Styles};
use clap::{ArgAction, Args, Parser, Subcommand, ValueEnum, ValueHint};

use crate::compare::CompareArgs;

use crate::limits::LimitArgs;
use crate::ops::args::OpsArgs;
use crate::part::Part;
use crate::report::{ModelReportArgs, ReportArgs};
use crate::rewrite::RewriteArgs;
use crate::run::RunArgs;
use crate::simplify::SimplifyArgs;

pub(crate) use compose::{ExtractArgs, FindArgs, MergeArgs, ReduceArgs};
pub(crate) use content::{DiffArgs, HashArgs};
pub(crate) use convert::{ConvertArgs, ConvertAssume};
pub(crate) use cost::CostArgs;
pub(crate) use draw::{ColorBy, DrawArgs};
pub(crate) use edit::{EditArgs, InterfaceArgs, MetadataArgs, NameKind, SmallEditArgs};
pub(crate) use functions::{InlineArgs, Names, OutlineArgs};
pub(crate) use groups::{command, parse, program, usage_of};
pub(crate) use infer::{GuardFormat, InferArgs, Merge, Runtime, Symbols};
pub(crate) use input::{COMMON, DocumentArgs, InputArgs, SeverityArgs};
pub(crate) use lookup::{CompletionsArgs, ExplainArgs, ListKind, ManArgs, SelfTestArgs};
pub(crate) use number_formats::NumberFormatArgs;
pub(crate) use order::with_command_first;
pub(crate) use output::{
    Changed, ExternalArgs, FormatOfExtension, InPlaceArgs, ModelOutputArgs, OutputArgs, OutputFormat, Weights,
};
pub(crate) use quantize::{CalibrationMethod, QuantizeArgs, QuantizedForm};
pub(crate) use scan::{ScanArgs, ScanForm};
pub(crate) use view::ViewArgs;
pub(crate) use weights::{
    ChosenArgs, ExportWeightsArgs, ImportWeightsArgs, ListOrder, ListWeightsArgs, Order, ShowWeightsArgs,
    StatsArgs, StripArgs, WeightsCommand, WeightsCommandArgs,
};

const STYLES: Styles = Styles::styled()
    .header(AnsiColor::Green.on_default().bold())
    .usage(AnsiColor::Green.on_default().bold())
    .literal(AnsiColor::Cyan.on_default().bold())
    .placeholder(AnsiColor::Cyan.on_default());

const AFTER: &str = "\
Exit status: 0 success, 1 negative result, 2 the command failed, 3 a limit was exceeded.

Examples:
  onnx info model.onnx                   what is in it?
  onnx check model.onnx                  what is wrong with it?
  onnx convert model.onnx -o model.json  the same in another format
  onnx infer model.onnx --unknown        which shapes are not known, and why?
  onnx explain value-defined-twice       what does this diagnostic mean?";

/// Inspect ONNX models, check them, and convert between their formats.
#[derive(Debug, Parser)]
#[command(name = "onnx", version, styles = STYLES, after_help = AFTER)]
#[command(propagate_version = true, max_term_width = 100)]
pub(crate) struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
    /// When to use colours: `auto` (on terminals, unless NO_COLOR is set), `always` or `never`.
    #[arg(long, global = true, value_enum, default_value_t = Color::Auto, value_name = "WHEN", hide_possible_values = true)]
    #[arg(display_order = 100, help_heading = COMMON)]
    pub(crate) color: Color,
    /// Write only errors: no summary, no warnings, nothing about models without errors.
    #[arg(short, long, global = true, display_order = 101, help_heading = COMMON)]
    pub(crate) quiet: bool,
    /// Sort the lines of `--format table` or `csv` by this column; `-COLUMN` is descending.
    ///
    /// A formula counts as its value with sizes of 1; what is not known is last.
    #[arg(long, global = true, value_name = "COLUMN", allow_hyphen_values = true)]
    #[arg(display_order = 101, help_heading = COMMON)]
    pub(crate) sort_by: Option<String>,
    /// Write summaries without their tables.
    #[arg(long, global = true, display_order = 101, help_heading = COMMON)]
    pub(crate) brief: bool,
    /// Write figures to standard error, such as times; twice: also decisions.
    #[arg(short, long, global = true, action = ArgAction::Count, conflicts_with = "quiet")]
    #[arg(display_order = 102, help_heading = COMMON)]
    pub(crate) verbose: u8,
}

/// When to use colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    Auto,
    Always,
    Never,
}

/// The subcommands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Find all defects of models, operator set documents and rewrite rules.
    Check(CheckArgs),
    /// Show versions, inputs and outputs, operators and weights.
    Info(InfoArgs),
    /// Count operations, parameters, and bytes of weights and of activations.
    Cost(CostArgs),
    /// List, show, export, import or strip the weights.
    Weights(WeightsCommandArgs),
    /// Write a row of facts about each of many files, whatever they are.
    Scan(ScanArgs),
    /// Find the types and shapes of all values.
    Infer(InferArgs),
    /// Run a model on given or generated inputs.
    Run(RunArgs),
    /// Run two models on the same inputs and compare their outputs.
    Compare(CompareArgs),
    /// Compare two models as graphs.
    Diff(DiffArgs),
    /// Print content hashes of models.
    Hash(HashArgs),
    /// Change the format, the operator set version, or the location of the weights.
    Convert(ConvertArgs),
    /// Quantize weights and activations, and report what it costs.
    Quantize(QuantizeArgs),
    /// Make a model smaller without changing what it computes.
    Simplify(SimplifyArgs),
    /// Apply passes and rewrite rules, with a proof of each edit.
    Rewrite(RewriteArgs),
    /// Change sizes, names, inputs, outputs, types, layouts, attributes, imports, metadata.
    Edit(Box<EditArgs>),
    /// Extract a part of a model.
    Extract(ExtractArgs),
    /// Join models, and add the functions of libraries that they call.
    Merge(MergeArgs),
    /// Replace calls of functions by their bodies.
    Inline(InlineArgs),
    /// Replace repeated blocks of nodes by functions.
    Outline(OutlineArgs),
    /// Show a model, or a part of it, as text.
    Print(PrintArgs),
    /// Draw a model, or a part of it, as a picture or a page.
    Draw(DrawArgs),
    /// Show a model as a page in the browser.
    View(ViewArgs),
    /// Find nodes and values by name, operator, type or position.
    Find(FindArgs),
    /// Format text models and rule files in place; comments stay.
    Fmt(FmtArgs),
    /// Explain a diagnostic, rule or limit by name, or list them.
    Explain(ExplainArgs),
    /// Look up operators, and write operator sets as documents.
    Ops(OpsArgs),
    /// Generate a valid model from a seed.
    Smith(SmithArgs),
    /// Find the smallest model for which a command still fails.
    Reduce(ReduceArgs),
    /// Print a completion script for a shell.
    Completions(CompletionsArgs),
    /// Print the manual page of a command, or write all.
    Man(ManArgs),
    /// Test this program with recorded results of the reference.
    SelfTest(SelfTestArgs),
    /// Test the program on a model.
    #[command(hide = true)]
    Debug(DebugArgs),
}

const CHECK_EXAMPLES: &str = "\
Examples:
  onnx check model.onnx
  onnx check models/ --deny warnings            every *.onnx file under models/; warnings are errors
  onnx check model.onnx --allow ONNX2101        without the findings of one rule
  onnx check model.onnx --format json | jq '.findings[].place.text'
  onnx check models/ --format sarif > findings.sarif
  onnx check model.onnx --ops acme.onnxops      with the operators of a document
  onnx check model.onnx --shapes x=2x128        do the inferred shapes hold for this input?
  onnx check model.onnx --target onnxruntime    what does this runtime lack?
  onnx check model.onnx --fix --dry-run         what could be repaired?
  onnx check model.onnx --fix -o repaired.onnx  without -o, the file itself is repaired
  onnx check shared/ --no-map                   while other programs may write to the files
  onnx check node.pb --as node --opset =21 --opset my.domain=1";

/// Arguments of `onnx check`.
#[derive(Debug, Args)]
#[command(after_help = CHECK_EXAMPLES)]
pub(crate) struct CheckArgs {
    /// Models, or directories to search for *.onnx files that are not hidden; `-` is standard input.
    #[arg(required = true, value_name = "FILE", value_hint = ValueHint::AnyPath)]
    pub(crate) files: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) report: ReportArgs,
    /// Also print notes that nearly every model has, which are only counted otherwise.
    #[arg(long)]
    pub(crate) notes: bool,
    /// Check N files at a time; without this, one for each processor. The report does not depend on it.
    #[arg(long, value_name = "N", hide_short_help = true)]
    pub(crate) jobs: Option<NonZeroUsize>,
    /// Content of the input: a whole model, or a part of one that is encoded as a separate binary message.
    #[arg(long = "as", value_enum, value_name = "WHAT", default_value_t = Part::Model, hide_short_help = true)]
    pub(crate) part: Part,
    /// The IR version around a part; without this, the newest.
    #[arg(long, value_name = "N", allow_negative_numbers = true, hide_short_help = true)]
    pub(crate) ir_version: Option<i64>,
    /// An operator set that is imported around a part, once for each; without this, the newest of ONNX. A function
    /// imports its own: those given here are of the model that holds it. The default domain is the empty one: `=21`.
    #[arg(long = "opset", value_name = "DOMAIN=VERSION", value_parser = opset, hide_short_help = true)]
    pub(crate) opsets: Vec<(String, i64)>,
    /// Leave out type and shape inference, which finds nodes that contradict each other.
    #[arg(long, conflicts_with = "full")]
    pub(crate) fast: bool,
    /// With `--profile reference`, also report what inference finds; all other checks do.
    #[arg(long, hide_short_help = true)]
    pub(crate) full: bool,
    /// Test the rules of rule files on models that are generated around their left sides, and run the claims that
    /// `--reproducers` writes.
    #[arg(long)]
    pub(crate) prove: bool,
    /// Report everything that a runtime lacks; `onnx explain --list targets`.
    #[arg(long, value_name = "NAME|FILE")]
    pub(crate) target: Option<String>,
    /// Test shapes of inputs against the declarations and the conditions of inference: `x=2x128,length=1`; a name with no
    /// sizes is a scalar.
    #[arg(long, value_name = "NAME=SIZES,…")]
    pub(crate) shapes: Vec<String>,
    /// Also check the elements of the tensors in the model, which reads all weights.
    #[arg(long)]
    pub(crate) data: bool,
    /// Report operators of domains that ONNX does not define, unless they are functions of the model.
    #[arg(long, hide_short_help = true)]
    pub(crate) check_custom_domains: bool,
    #[command(flatten)]
    pub(crate) documents: DocumentArgs,
    /// Let functions import other versions of an operator set than the model does.
    #[arg(long, hide_short_help = true)]
    pub(crate) skip_opset_compatibility: bool,
    /// Whose rules count.
    #[arg(long, value_enum, default_value_t = RuleProfile::Spec)]
    pub(crate) profile: RuleProfile,
    /// Also report missing recommended metadata: the producer and the domain of the model.
    #[arg(long, hide_short_help = true)]
    pub(crate) recommendations: bool,
    /// Repair in place what can be repaired without changing the meaning of the model, and show the changes.
    #[arg(long)]
    pub(crate) fix: bool,
    /// Where `--fix` writes the repaired model; without this, it replaces the input.
    #[arg(short, long = "output", value_name = "OUT", value_hint = ValueHint::FilePath, requires = "fix")]
    pub(crate) output_file: Option<PathBuf>,
    /// Only show what `--fix` would change.
    #[arg(long, requires = "fix")]
    pub(crate) dry_run: bool,
    /// One line for each finding.
    #[arg(long)]
    pub(crate) concise: bool,
    #[command(flatten)]
    pub(crate) input: InputArgs,
}

impl CheckArgs {
    /// Whether inference is part of the check. That of the reference is without, unless it is full.
    pub(crate) fn infers(&self) -> bool {
        self.full || (!self.fast && self.profile == RuleProfile::Spec)
    }
}

/// Reads `DOMAIN=VERSION`.
fn opset(text: &str) -> Result<(String, i64), String> {
    let (domain, version) =
        text.rsplit_once('=').ok_or("write the domain and the version, as in `ai.onnx.ml=3` or `=21`")?;
    let version =
        version.parse().map_err(|_| format!("`{version}` is not a version: write a number, such as 21"))?;
    Ok((domain.to_owned(), version))
}

/// Whose rules count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum RuleProfile {
    /// All rules that follow from the specification.
    Spec,
    /// Only what the reference checker refuses.
    Reference,
}

const INFO_EXAMPLES: &str = "\
Weights are not read, so this is quick for models of any size.

Examples:
  onnx info model.onnx
  onnx info --all model.onnx                    without cutting long lists
  onnx info --functions model.onnx              what do functions need, and what do they cost?
  onnx info --versions model.onnx               which operator set versions can it have?
  onnx info --format json model.onnx | jq '.result.models[].operators[].name'
  onnx info --format jsonl models/*.onnx        one line of JSON for each model";

/// Arguments of `onnx info`.
#[derive(Debug, Args)]
#[command(after_help = INFO_EXAMPLES)]
pub(crate) struct InfoArgs {
    /// Models, or directories to search for *.onnx files that are not hidden; `-` is standard input.
    #[arg(required = true, value_name = "FILE", value_hint = ValueHint::AnyPath)]
    pub(crate) files: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) report: ReportArgs,
    /// Do not cut long lists.
    #[arg(long)]
    pub(crate) all: bool,
    /// Show the functions of the model only: calls, signature, operator sets, and the nodes that a call of each creates.
    #[arg(long)]
    pub(crate) functions: bool,
    /// Show the versions of operator sets to which the model can be converted, what each changes, and what prevents it.
    #[arg(long, conflicts_with = "functions")]
    pub(crate) versions: bool,
    #[command(flatten)]
    pub(crate) input: InputArgs,
}

const SMITH_EXAMPLES: &str = "\
The same numbers make the same model, with any release that knows the same operators.

Examples:
  onnx smith --seed 7 -o model.onnx
  onnx smith --seed 7 --nodes 50 --opset 17 -o model.onnxtxt
  onnx smith --op Conv --opset 11 -o conv.onnx
  for seed in $(seq 100); do onnx smith --seed $seed -o - | my-reader || echo $seed; done";

/// Arguments of `onnx smith`.
#[derive(Debug, Args)]
#[command(after_help = SMITH_EXAMPLES)]
pub(crate) struct SmithArgs {
    /// Seed of the random choices.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) seed: u64,
    /// Number of nodes of the main graph; the model has fewer if not all of them fit.
    #[arg(long, value_name = "K", default_value_t = 8)]
    pub(crate) nodes: usize,
    /// The version of the ONNX operators; without this, the seed chooses one.
    #[arg(long, value_name = "V")]
    pub(crate) opset: Option<i64>,
    /// An operator that the model must contain, such as `Conv` or `ai.onnx.ml.Scaler`.
    #[arg(long, value_name = "NAME")]
    pub(crate) op: Option<String>,
    #[command(flatten)]
    pub(crate) output: ModelOutputArgs,
}

const PRINT_EXAMPLES: &str = "\
Large tensors are left out unless `--full` or `--compat` asks for them; what `--full` prints gives
exactly the same file back.

Examples:
  onnx print model.onnx
  onnx print model.onnx --full -o model.onnxtxt
  onnx print model.onnx --no-metadata          without documentation and metadata
  onnx print model.onnx --at logits            the node that produces a value
  onnx print model.onnx --at 'near(node(12), 2)'
  onnx print model.onnx --to dot --at 'near(logits, 3)' | dot -Tsvg > part.svg
  onnx print model.onnx --digest               tells large tensors apart by their contents
  onnx print node.pb --as node";

/// Arguments of `onnx print`.
#[derive(Debug, Args)]
#[command(after_help = PRINT_EXAMPLES)]
pub(crate) struct PrintArgs {
    /// The model, or what `--as` says; `-` is standard input.
    #[arg(value_name = "IN", value_hint = ValueHint::FilePath)]
    pub(crate) input_file: PathBuf,
    /// What the input holds.
    #[arg(long = "as", value_name = "WHAT", default_value = "model", value_parser = Part::with_text())]
    pub(crate) part: Part,
    /// Print everything: all elements of all tensors, and how they are stored.
    #[arg(long)]
    pub(crate) full: bool,
    /// Where to write; without this, standard output.
    #[arg(short, long = "output", value_name = "OUT", value_hint = ValueHint::FilePath)]
    pub(crate) output_file: Option<PathBuf>,
    /// Print only a part: a node by its name or by the name of an output, `node(K)` for the node at index K, `near(SEL, N)`
    /// for the nodes within N edges, `main()` or `function(DOMAIN.NAME)`.
    #[arg(long, value_name = "SEL")]
    pub(crate) at: Option<String>,
    /// What is printed: the model as text, or a picture for Graphviz: `onnx print m.onnx --to dot | dot -Tsvg > m.svg`.
    ///
    /// Of a picture, `--at` chooses the graph or the nodes, such as `near(logits, 3)`; weights are left out.
    #[arg(long, value_enum, value_name = "FORM", default_value_t = PrintForm::Text)]
    #[arg(conflicts_with_all = ["full", "compat", "digest", "no_metadata"])]
    pub(crate) to: PrintForm,
    /// Leave out documentation strings and metadata entries.
    #[arg(long)]
    pub(crate) no_metadata: bool,
    /// Print only what the reference parser reads, and list on standard error what had to be left out. The reference
    /// parser has no escapes: control characters in names are written verbatim, except to a terminal.
    #[arg(long, conflicts_with = "full")]
    pub(crate) compat: bool,
    /// Print the SHA-256 digest of each tensor that is left out, which reads its elements.
    #[arg(long, conflicts_with_all = ["full", "compat"])]
    pub(crate) digest: bool,
    /// Print what could be decoded of a file with errors; the exit status remains 1.
    #[arg(long)]
    pub(crate) keep_going: bool,
    #[command(flatten)]
    pub(crate) report: ModelReportArgs,
    #[command(flatten)]
    pub(crate) input: InputArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// What is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum PrintForm {
    /// The text format.
    Text,
    /// A picture, in the language of Graphviz.
    Dot,
}

const FMT_EXAMPLES: &str = "\
Examples:
  onnx fmt model.onnxtxt
  onnx fmt --check tests/                every *.onnxtxt and *.onnxrules file under tests/
  onnx fmt - < model.onnxtxt";

/// Arguments of `onnx fmt`.
#[derive(Debug, Args)]
#[command(after_help = FMT_EXAMPLES)]
pub(crate) struct FmtArgs {
    /// Models as text, files of rewrite rules, or directories to search for *.onnxtxt and *.onnxrules files that are not hidden; `-`
    /// is a model from standard input to standard output.
    #[arg(required = true, value_name = "FILE", value_hint = ValueHint::AnyPath)]
    pub(crate) files: Vec<PathBuf>,
    /// Change nothing; list the files that would change, and exit with 1 if there are any.
    #[arg(long)]
    pub(crate) check: bool,
    /// Do all the work and print the summary, but change nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) report: ReportArgs,
    #[command(flatten)]
    pub(crate) bounds: LimitArgs,
}

const VERIFY_EXAMPLES: &str = "\
This tests what this program made of the file: links, use lists, owners, scopes. `onnx check` tells
whether the model is a good one.

Examples:
  onnx debug verify model.onnx
  onnx debug verify models/*.onnx";

/// Arguments of `onnx debug`.
#[derive(Debug, Args)]
pub(crate) struct DebugArgs {
    /// What to test.
    #[command(subcommand)]
    pub(crate) command: DebugCommand,
}

/// The subcommands of `onnx debug`.
#[derive(Debug, Subcommand)]
pub(crate) enum DebugCommand {
    /// Prove that the graph of a model holds together once it is loaded.
    Verify(VerifyArgs),
}

/// Arguments of `onnx debug verify`.
#[derive(Debug, Args)]
#[command(after_help = VERIFY_EXAMPLES)]
pub(crate) struct VerifyArgs {
    /// Models, or directories to search for *.onnx files that are not hidden; `-` is standard input.
    #[arg(required = true, value_name = "FILE", value_hint = ValueHint::AnyPath)]
    pub(crate) files: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) report: ReportArgs,
    #[command(flatten)]
    pub(crate) input: InputArgs,
}
