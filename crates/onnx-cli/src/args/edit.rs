//! Arguments of `onnx edit`.

use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};

use super::{InPlaceArgs, InputArgs, ModelOutputArgs};

const EDIT_EXAMPLES: &str = "\
DIM is a dimension variable (`batch`) or an axis of an input (`x[0]`), SIZE a number or a name: a
name for a fixed size frees it, and constants that contain the old size follow, or the request is
refused and names them. In a pattern, `*` is any text without a slash, `**` any text and `?` one
character; `\\1` in the new name is what the first of them matches. Names are those of the model
before the edit.

Examples:
  onnx edit model.onnx --set batch=1 -o fixed.onnx
  onnx edit model.onnx --set 'x[0]=batch' -o free.onnx
  onnx edit model.onnx --rename x=ids -o new.onnx
  onnx edit model.onnx --add-output /layer.0/Softmax -o more.onnx
  onnx edit model.onnx --import 13 -o right.onnx              the nodes are those of version 13
  onnx edit model.onnx --attribute /layer.0/Softmax.axis=-1 -o new.onnx
  onnx edit model.onnx --operator 'Softmax()=LogSoftmax' -o new.onnx
  onnx edit model.onnx --prefix left/ --metadata author=me -o new.onnx
  onnx edit model.onnx --rename '/layer.0/**=/\\1'            what would change?";

/// Arguments of `onnx edit`.
#[derive(Debug, Args)]
#[command(after_help = EDIT_EXAMPLES)]
pub(crate) struct EditArgs {
    /// The model; `-` is standard input. Also several, or directories: with `-o DIR/`, `--in-place` or `--dry-run`.
    #[arg(value_name = "IN", value_hint = ValueHint::FilePath)]
    pub(crate) input_file: PathBuf,
    #[command(flatten)]
    pub(crate) output: ModelOutputArgs,
    #[command(flatten)]
    pub(crate) in_place: InPlaceArgs,
    /// Change a size: bind (`batch=1`), free (`x[0]=batch`), rename or unify (`N=M`).
    #[arg(long, value_name = "DIM=SIZE")]
    pub(crate) set: Vec<String>,
    /// Import another version of an operator set, without converting nodes.
    ///
    /// This is for nodes that were written for this version; `onnx convert --opset N` converts the nodes.
    #[arg(long, value_name = "[DOMAIN=]N", value_parser = super::convert::opset)]
    pub(crate) import: Vec<(String, i64)>,
    /// Set the version of the format, if it has everything that the model has.
    #[arg(long, value_name = "N", hide_short_help = true)]
    pub(crate) ir_version: Option<i64>,
    /// Rename values, nodes and functions (repeatable); OLD is a name or a pattern.
    #[arg(long, value_name = "OLD=NEW")]
    pub(crate) rename: Vec<String>,
    /// Add a prefix to all names.
    #[arg(long, value_name = "P")]
    pub(crate) prefix: Option<String>,
    /// Remove a prefix from the names that have it.
    #[arg(long, value_name = "P", conflicts_with = "prefix", hide_short_help = true)]
    pub(crate) remove_prefix: Option<String>,
    /// Names that `--rename` and prefixes apply to, with `,`; without this, all.
    #[arg(long, value_name = "KIND", value_enum, value_delimiter = ',', hide_short_help = true)]
    pub(crate) names_of: Vec<NameKind>,
    #[command(flatten)]
    pub(crate) small: SmallEditArgs,
    #[command(flatten)]
    pub(crate) interface: InterfaceArgs,
    #[command(flatten)]
    pub(crate) metadata: MetadataArgs,
    /// Write the model even if it has errors; the exit status remains 1.
    #[arg(long, hide_short_help = true)]
    pub(crate) keep_going: bool,
    #[command(flatten)]
    pub(crate) input: InputArgs,
}

/// Changes of single nodes, types and the order of axes. The model is not written if it has errors afterwards that it did not have.
#[derive(Debug, Args)]
pub(crate) struct SmallEditArgs {
    /// Change the operator of nodes (repeatable): `/act/Relu=Gelu`, `Swish()=com.acme.Swish`; operands and attributes stay.
    #[arg(long, value_name = "SEL=OP")]
    pub(crate) operator: Vec<String>,
    /// Set an attribute of nodes (repeatable): `Cast().to=float16`, `node(3).axes=[0, 1]`; without a value, leave it out.
    #[arg(long, value_name = "SEL.NAME=VALUE")]
    pub(crate) attribute: Vec<String>,
    /// Declare the type of a value (repeatable): `h=float[N, 3]`.
    #[arg(long, value_name = "SEL=TYPE")]
    pub(crate) declare: Vec<String>,
    /// Let callers see the axes of inputs or outputs in another order (repeatable), with a transposition inside: `x=NHWC`, for
    /// a model that computes with NCHW.
    #[arg(long, value_name = "SEL=LAYOUT")]
    pub(crate) layout: Vec<String>,
}

impl SmallEditArgs {
    /// Whether none is given.
    pub(crate) const fn is_empty(&self) -> bool {
        self.operator.is_empty()
            && self.attribute.is_empty()
            && self.declare.is_empty()
            && self.layout.is_empty()
    }
}

/// Changes of inputs and outputs.
#[derive(Debug, Args)]
pub(crate) struct InterfaceArgs {
    /// The inputs, in order; others are removed.
    ///
    /// An initializer becomes an input.
    #[arg(long, value_name = "SEL")]
    pub(crate) inputs: Vec<String>,
    /// The outputs, in order; others are removed.
    #[arg(long, value_name = "SEL")]
    pub(crate) outputs: Vec<String>,
    /// Add an input: `x=float[N, 4]`.
    #[arg(long, value_name = "NAME=TYPE", conflicts_with = "inputs")]
    pub(crate) add_input: Vec<String>,
    /// Remove an input that is not used or has a default; with a file, that tensor takes its place.
    #[arg(long, value_name = "NAME[=FILE]")]
    pub(crate) remove_input: Vec<String>,
    /// Add outputs: inner values.
    #[arg(long, value_name = "SEL")]
    pub(crate) add_output: Vec<String>,
    /// Remove outputs.
    #[arg(long, value_name = "SEL", hide_short_help = true)]
    pub(crate) remove_output: Vec<String>,
    /// Change the type of inputs or outputs: `x=int32`, `past_key_values.**=float16`.
    ///
    /// There is a `Cast` behind each input, or in front of each output.
    #[arg(long = "type", value_name = "SEL=TYPE")]
    pub(crate) types: Vec<String>,
    /// Make initializers inputs, without defaults.
    #[arg(long, value_name = "SEL", hide_short_help = true)]
    pub(crate) to_input: Vec<String>,
}

/// Changes of what describes the model.
#[derive(Debug, Args)]
pub(crate) struct MetadataArgs {
    /// Set a metadata entry of the model.
    #[arg(long, value_name = "K=V")]
    pub(crate) metadata: Vec<String>,
    /// Remove a metadata entry of the model.
    #[arg(long, value_name = "K", conflicts_with = "remove_all_metadata", hide_short_help = true)]
    pub(crate) remove_metadata: Vec<String>,
    /// Set the tool that made the model.
    #[arg(long, value_name = "TEXT", hide_short_help = true)]
    pub(crate) producer_name: Option<String>,
    /// Set the version of the tool that made the model.
    #[arg(long, value_name = "TEXT", hide_short_help = true)]
    pub(crate) producer_version: Option<String>,
    /// Set the domain of the model.
    #[arg(long, value_name = "TEXT", hide_short_help = true)]
    pub(crate) domain: Option<String>,
    /// Set the version of the model.
    #[arg(long, value_name = "N", allow_negative_numbers = true, hide_short_help = true)]
    pub(crate) model_version: Option<i64>,
    /// Set the documentation of the model.
    #[arg(long, value_name = "TEXT", hide_short_help = true)]
    pub(crate) doc: Option<String>,
    /// Set the name of the main graph.
    #[arg(long, value_name = "TEXT", hide_short_help = true)]
    pub(crate) graph_name: Option<String>,
    /// Remove the documentation of the model and of everything in it.
    #[arg(long, hide_short_help = true)]
    pub(crate) remove_docs: bool,
    /// Remove the metadata of the model and of everything in it.
    #[arg(long, hide_short_help = true)]
    pub(crate) remove_all_metadata: bool,
}

/// A kind of names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum NameKind {
    /// Names of nodes.
    Nodes,
    /// Values that are not of the other kinds.
    Values,
    /// Inputs of the model.
    Inputs,
    /// Outputs of the model.
    Outputs,
    /// Initializers.
    Initializers,
    /// Functions.
    Functions,
}
