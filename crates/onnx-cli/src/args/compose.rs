//! Arguments of the commands that compose models.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgGroup, Args, ValueHint};
use onnx_compose::Parts;
use regex::bytes::Regex;

use super::{DocumentArgs, InPlaceArgs, InputArgs, ModelOutputArgs};
use crate::report::ReportArgs;
use crate::split;

const EXTRACT_EXAMPLES: &str = "\
SEL is a selector, such as a name, a pattern of names `/layer.*/**`, an operator `Conv()` or a
window `near(SEL, N)`; several with `,`. What a nested graph uses from the graphs around becomes
an input.

Examples:
  onnx extract model.onnx --outputs logits                what does a value need?
  onnx extract model.onnx --outputs logits -o part.onnx
  onnx extract model.onnx --inputs 'node(0)' --outputs logits -o rest.onnx
  onnx extract model.onnx --only 'near(logits, 2)' -o window.onnx
  onnx extract model.onnx --parts 500MB -o parts/";

const EXTRACT_USAGE: &str = "onnx extract [OPTIONS] --outputs <SEL> <IN>
       onnx extract [OPTIONS] --only <SEL> <IN>
       onnx extract [OPTIONS] --parts <N|BYTES> <IN>";

/// Arguments of `onnx extract`.
#[derive(Debug, Args)]
#[command(after_help = EXTRACT_EXAMPLES, override_usage = EXTRACT_USAGE)]
#[command(group(ArgGroup::new("part").required(true).multiple(true).args(["inputs", "outputs", "only", "parts"])))]
pub(crate) struct ExtractArgs {
    /// The model; `-` is standard input. Also several, or directories: with `-o DIR/`, `--in-place` or `--dry-run`.
    #[arg(value_name = "IN", value_hint = ValueHint::FilePath)]
    pub(crate) input_file: PathBuf,
    #[command(flatten)]
    pub(crate) output: ModelOutputArgs,
    #[command(flatten)]
    pub(crate) in_place: InPlaceArgs,
    /// The inputs of the part, in order; without this, those that the outputs need.
    #[arg(long, value_name = "SEL", conflicts_with = "only")]
    pub(crate) inputs: Vec<String>,
    /// The outputs of the part, in order; without this, those of the model.
    #[arg(long, value_name = "SEL", conflicts_with = "only")]
    pub(crate) outputs: Vec<String>,
    /// The nodes of the part (repeatable; a list with `,`): what others make becomes an input, what others use an output.
    #[arg(long, value_name = "SEL")]
    pub(crate) only: Vec<String>,
    /// Cut the model into this number of parts, or into parts with at most these bytes of weights; OUT is a directory, in which each of several models
    /// has one.
    #[arg(long, value_name = "N|BYTES", value_parser = split::parts, conflicts_with_all = ["only", "inputs", "outputs"])]
    pub(crate) parts: Option<Parts>,
    /// Write the part even if the model has errors; the exit status remains 1.
    #[arg(long, hide_short_help = true)]
    pub(crate) keep_going: bool,
    #[command(flatten)]
    pub(crate) input: InputArgs,
}

const MERGE_EXAMPLES: &str = "\
OUT=IN is a value of a model and an input of the next one, for every model where both are;
`in(1, OUT)=in(3, IN)` names the models. Inputs that are not connected stay inputs, outputs that
are not connected stay outputs. A library is a model with functions. Those that the model calls
and does not define are added.

Examples:
  onnx merge encoder.onnx decoder.onnx --connect hidden=x -o model.onnx
  onnx merge parts/part-1.onnx parts/part-2.onnx --by-name --outputs logits -o model.onnx
  onnx merge a.onnx b.onnx c.onnx --connect 'in(1, h)=in(3, x)' -o model.onnx
  onnx merge left.onnx right.onnx --prefix left. --prefix right. -o both.onnx
  onnx merge model.onnx --link library.onnx -o linked.onnx";

/// Arguments of `onnx merge`.
#[derive(Debug, Args)]
#[command(after_help = MERGE_EXAMPLES)]
pub(crate) struct MergeArgs {
    /// The models, at least two unless libraries are linked; `-` is standard input.
    #[arg(value_name = "IN", required = true, value_hint = ValueHint::FilePath)]
    pub(crate) input_files: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) output: ModelOutputArgs,
    #[command(flatten)]
    pub(crate) in_place: InPlaceArgs,
    /// Let an output take the place of an input (repeatable).
    #[arg(long, value_name = "OUT=IN", num_args = 1..)]
    pub(crate) connect: Vec<String>,
    /// Connect inputs to the outputs, or else the inputs, of earlier models with the same name.
    #[arg(long)]
    pub(crate) by_name: bool,
    /// Put a prefix before all names of a model: one for each model, in order; `''` for none.
    #[arg(long, value_name = "PREFIX")]
    pub(crate) prefix: Vec<String>,
    /// Dimension variables that mean the same size in all models (a list with `,`).
    #[arg(long, value_name = "DIM", value_delimiter = ',')]
    pub(crate) same_dims: Vec<String>,
    /// The inputs of the merged model, in order, by its names; without this, those that are not connected.
    #[arg(long, value_name = "SEL")]
    pub(crate) inputs: Vec<String>,
    /// The outputs of the merged model, in order, by its names; without this, those that are not connected.
    #[arg(long, value_name = "SEL")]
    pub(crate) outputs: Vec<String>,
    /// Add the functions of this library that the model calls (repeatable).
    #[arg(long, value_name = "LIB", value_hint = ValueHint::FilePath)]
    pub(crate) link: Vec<PathBuf>,
    /// Remove training information, which refers to a whole model; models that have it are refused otherwise.
    #[arg(long, hide_short_help = true)]
    pub(crate) drop_training: bool,
    /// Write the model even if the file has errors; the exit status remains 1.
    #[arg(long, hide_short_help = true)]
    pub(crate) keep_going: bool,
    #[command(flatten)]
    pub(crate) input: InputArgs,
}

impl MergeArgs {
    /// Whether an option is given that needs several models.
    pub(crate) fn joins(&self) -> bool {
        let lists = [&self.connect, &self.prefix, &self.same_dims, &self.inputs, &self.outputs];
        self.by_name || self.drop_training || lists.iter().any(|list| !list.is_empty())
    }
}

const FIND_EXAMPLES: &str = "\
`SEL, SEL` and `SEL | SEL` select what either does, `SEL & SEL` what both do, `SEL ~ SEL` what
only the first does. Exit status 1 means that nothing matches.

Examples:
  onnx find model.onnx '/layer.0/**'                            names: `*` is any text without a slash
  onnx find model.onnx 'Conv<kernel_shape = [1, 1]>() -> Relu()'
  onnx find model.onnx 'type(float16) & bytes(>1MB)'            values by type and size
  onnx find model.onnx 'between(input, /layer.3/Add)' --count
  onnx find model.onnx 'near(finding(ONNX3016), 2)'             what surrounds a diagnostic?";

/// Arguments of `onnx find`.
#[derive(Debug, Args)]
#[command(after_help = FIND_EXAMPLES)]
pub(crate) struct FindArgs {
    /// The model; `-` is standard input.
    #[arg(value_name = "IN", value_hint = ValueHint::FilePath)]
    pub(crate) input_file: PathBuf,
    /// What to find: a name, a pattern of names, an operator, or a function of these.
    #[arg(value_name = "SEL")]
    pub(crate) selector: String,
    /// Print only the number of nodes and values.
    #[arg(long)]
    pub(crate) count: bool,
    #[command(flatten)]
    pub(crate) report: ReportArgs,
    /// Search what could be decoded of a file with errors; the exit status remains 1.
    #[arg(long, hide_short_help = true)]
    pub(crate) keep_going: bool,
    #[command(flatten)]
    pub(crate) documents: DocumentArgs,
    #[command(flatten)]
    pub(crate) input: InputArgs,
}

const REDUCE_EXAMPLES: &str = "\
COMMAND runs without a shell; `{}` is the file of a model. Status 0 means that it succeeds, 125
that it cannot try the model, 126 and 127 end the search, everything else that it fails. Without
-o, nothing is written.

Examples:
  onnx reduce model.onnx -o tiny.onnx -- ./loads {}
  onnx reduce model.onnx -o tiny.onnx --match 'Invalid rank' -- python run.py {}
  onnx reduce model.onnx -o tiny.onnx --run-timeout 10s -- ./loads {}    does it hang?";

/// Arguments of `onnx reduce`.
#[derive(Debug, Args)]
#[command(after_help = REDUCE_EXAMPLES)]
pub(crate) struct ReduceArgs {
    /// The model; `-` is standard input.
    #[arg(value_name = "IN", value_hint = ValueHint::FilePath)]
    pub(crate) input_file: PathBuf,
    /// The command that fails, and its arguments.
    #[arg(last = true, value_name = "COMMAND", required = true)]
    pub(crate) command: Vec<OsString>,
    #[command(flatten)]
    pub(crate) output: ModelOutputArgs,
    /// A failure counts only if the output of the command contains this regular expression.
    #[arg(long = "match", value_name = "REGEX")]
    pub(crate) wanted: Option<Regex>,
    /// End a run of the command after this time, as in `90s` or `5m`; it has failed then.
    #[arg(long, value_name = "TIME", value_parser = crate::limits::duration)]
    pub(crate) run_timeout: Option<Duration>,
    /// Also try models with defects that the original does not have.
    #[arg(long, hide_short_help = true)]
    pub(crate) allow_invalid: bool,
    /// Work with what could be decoded of a file with errors; the exit status remains 1.
    #[arg(long, hide_short_help = true)]
    pub(crate) keep_going: bool,
    #[command(flatten)]
    pub(crate) documents: DocumentArgs,
    #[command(flatten)]
    pub(crate) input: InputArgs,
}
