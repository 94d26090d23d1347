//! Arguments of the commands that edit functions: `onnx inline`, `onnx outline` and `onnx merge`.

use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};

use super::{InPlaceArgs, InputArgs, ModelOutputArgs};

const INLINE_EXAMPLES: &str = "\
SEL is a function, `DOMAIN.NAME` or `DOMAIN.NAME:OVERLOAD`, in which `*` is any text; several with
`,`, without others with `~`. Other selectors denote nodes. Functions that nothing calls
afterwards are removed.

Examples:
  onnx inline model.onnx                                  what would be inlined?
  onnx inline model.onnx -o flat.onnx
  onnx inline model.onnx --only 'com.acme.*() ~ com.acme.Attention' -o out.onnx
  onnx inline model.onnx --except com.acme.Twice -o out.onnx
  onnx inline model.onnx --bodies -o primitive.onnx       operators with bodies, too
  onnx inline model.onnx --names path -o flat.onnx        all new names begin with the path of calls
  onnx inline model.onnx --format json | jq '.result.models[].functions[]'";

/// Arguments of `onnx inline`.
#[derive(Debug, Args)]
#[command(after_help = INLINE_EXAMPLES)]
pub(crate) struct InlineArgs {
    /// The model; `-` is standard input. Also several, or directories: with `-o DIR/`, `--in-place` or `--dry-run`.
    #[arg(value_name = "IN", value_hint = ValueHint::FilePath)]
    pub(crate) input_file: PathBuf,
    #[command(flatten)]
    pub(crate) output: ModelOutputArgs,
    #[command(flatten)]
    pub(crate) in_place: InPlaceArgs,
    /// Also replace standard operators that ONNX defines by a body, such as `Clip`, until none is left.
    #[arg(long)]
    pub(crate) bodies: bool,
    /// Inline only calls of these functions or operators, or these calls; without this, all calls.
    #[arg(long, value_name = "SEL")]
    pub(crate) only: Vec<String>,
    /// Do not inline calls of these functions, nor these calls.
    #[arg(long, value_name = "SEL")]
    pub(crate) except: Vec<String>,
    /// Names of new nodes and values: those of the body unless they are taken, or always with the path of calls.
    #[arg(long, value_enum, value_name = "NAMES", default_value_t = Names::Body)]
    pub(crate) names: Names,
    /// Write the model even if what was found is denied or the file has errors; the exit status remains 1.
    #[arg(long, hide_short_help = true)]
    pub(crate) keep_going: bool,
    #[command(flatten)]
    pub(crate) input: InputArgs,
}

/// Names of new nodes and values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Names {
    /// Those of the body; the path of calls is a prefix of a name that is taken.
    Body,
    /// The path of calls is a prefix of every name.
    Path,
}

const OUTLINE_EXAMPLES: &str = "\
Repeated blocks are sets of nodes of the main graph that are equal but for the values that they
use, such as the layers of a transformer. `onnx inline` is the inverse. SEL is the name of a node
or value, a scope of names, `node(K)`, `near(SEL, N)` or a list of these; the nodes become one
function together, so no other node may be between them.

Examples:
  onnx outline model.onnx                                 what would be outlined?
  onnx outline model.onnx -o short.onnx
  onnx outline model.onnx --min-nodes 10 -o short.onnx
  onnx outline model.onnx --only '/layer.0/**' --function com.acme.Layer -o out.onnx
  onnx outline model.onnx --only 'near(s, 1), s' --function com.acme.Part:v2 -o out.onnx";

/// Arguments of `onnx outline`.
#[derive(Debug, Args)]
#[command(after_help = OUTLINE_EXAMPLES)]
pub(crate) struct OutlineArgs {
    /// The model; `-` is standard input. Also several, or directories: with `-o DIR/`, `--in-place` or `--dry-run`.
    #[arg(value_name = "IN", value_hint = ValueHint::FilePath)]
    pub(crate) input_file: PathBuf,
    #[command(flatten)]
    pub(crate) output: ModelOutputArgs,
    #[command(flatten)]
    pub(crate) in_place: InPlaceArgs,
    /// Replace repeated blocks of the main graph by calls of functions; the default.
    #[arg(long, conflicts_with = "only")]
    pub(crate) repeated: bool,
    /// Replace these nodes by one call of one function (repeatable; a list with `,`).
    #[arg(long, value_name = "SEL")]
    pub(crate) only: Vec<String>,
    /// The function for `--only`: DOMAIN.NAME or DOMAIN.NAME:OVERLOAD.
    #[arg(long, value_name = "NAME", requires = "only", conflicts_with_all = ["repeated", "domain", "min_nodes"])]
    #[arg(default_value = "outlined.Part")]
    pub(crate) function: String,
    /// The domain of the functions of repeated blocks.
    #[arg(long, value_name = "DOMAIN", conflicts_with = "only", default_value = "outlined")]
    pub(crate) domain: String,
    /// Blocks of fewer nodes stay.
    #[arg(long, value_name = "N", conflicts_with = "only", default_value_t = 4)]
    pub(crate) min_nodes: usize,
    /// Write the model even if the file has errors; the exit status remains 1.
    #[arg(long, hide_short_help = true)]
    pub(crate) keep_going: bool,
    #[command(flatten)]
    pub(crate) input: InputArgs,
}
