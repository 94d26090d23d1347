//! Models, and the parts of models that can be stored in a separate file.

use bytes::Bytes;
use clap::ValueEnum;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use onnx_codec::{
    DecodeError, DecodeOptions, Decoded, EncodeError, EncodeOptions, Segments, decode, decode_attribute,
    decode_function, decode_graph, decode_node, decode_sparse_tensor, decode_tensor, decode_value_info,
    encode, encode_function, encode_graph, encode_node,
};
use onnx_diag::{Caps, Diagnostic, Locus, Policy, Sink};
use onnx_ir::{FunctionId, Model, NodeId};
use onnx_text::{
    ParseError, ParseOptions, PrintError, PrintOptions, Printed, parse_function, parse_graph, parse_model,
    parse_node, print_function, print_graph, print_model, print_node, rules,
};
use onnx_types::tensor::Payload;

use crate::size::plural;

/// What a file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Part {
    /// A whole model: `ModelProto`.
    Model,
    /// `GraphProto`.
    Graph,
    /// `FunctionProto`.
    Function,
    /// `NodeProto`.
    Node,
    /// `AttributeProto`.
    Attribute,
    /// `TensorProto`.
    Tensor,
    /// `SparseTensorProto`.
    SparseTensor,
    /// `ValueInfoProto`.
    ValueInfo,
}

/// What of a model the file held; a graph is the main graph.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Piece {
    Model,
    Graph,
    Function(FunctionId),
    Node(NodeId),
    /// The only attribute of this node, which was made to hold it.
    Attribute(NodeId),
    /// The tensor or sparse tensor in the only attribute of this node.
    Contents(NodeId),
    /// The only input of the main graph.
    ValueInfo,
}

impl Part {
    /// Those that can be written as text, for the command line.
    pub(crate) fn with_text() -> impl TypedValueParser<Value = Self> {
        let values = Self::value_variants().iter().filter(|part| part.has_text());
        let values = PossibleValuesParser::new(values.filter_map(Self::to_possible_value));
        values.try_map(|name| Self::from_str(&name, false))
    }

    /// Returns `true` if ONNX text can represent the part without its model.
    pub(crate) const fn has_text(&self) -> bool {
        matches!(self, Self::Model | Self::Graph | Self::Function | Self::Node)
    }

    /// Reads a binary message.
    pub(crate) fn decode(
        self,
        bytes: Bytes,
        options: &DecodeOptions,
    ) -> Result<(Decoded, Piece), DecodeError> {
        Ok(match self {
            Self::Model => (decode(bytes, options)?, Piece::Model),
            Self::Graph => (decode_graph(bytes, options)?, Piece::Graph),
            Self::Function => {
                let (decoded, function) = decode_function(bytes, options)?;
                (decoded, Piece::Function(function))
            }
            Self::Node => {
                let (decoded, node) = decode_node(bytes, options)?;
                (decoded, Piece::Node(node))
            }
            Self::Attribute => {
                let (decoded, node) = decode_attribute(bytes, options)?;
                (decoded, Piece::Attribute(node))
            }
            Self::Tensor => {
                let (decoded, node) = decode_tensor(bytes, options)?;
                (decoded, Piece::Contents(node))
            }
            Self::SparseTensor => {
                let (decoded, node) = decode_sparse_tensor(bytes, options)?;
                (decoded, Piece::Contents(node))
            }
            Self::ValueInfo => (decode_value_info(bytes, options)?, Piece::ValueInfo),
        })
    }

    /// Reads a text. What [has none](Self::has_text) is read as a node.
    pub(crate) fn parse(
        self,
        text: &[u8],
        options: &ParseOptions<'_>,
    ) -> Result<(Decoded, Piece), ParseError> {
        let (model, piece) = match self {
            Self::Model => (parse_model(text, options)?, Piece::Model),
            Self::Graph => (parse_graph(text, options)?, Piece::Graph),
            Self::Function => {
                let (model, function) = parse_function(text, options)?;
                (model, Piece::Function(function))
            }
            _ => {
                let (model, node) = parse_node(text, options)?;
                (model, Piece::Node(node))
            }
        };
        let mut findings = Sink::with(Policy::new(), Caps::DEFAULT);
        if options.keep_elided {
            report_elided(&model, &mut findings);
        }
        Ok((Decoded { model, findings }, piece))
    }
}

/// Reports how many tensors have unknown elements.
fn report_elided(model: &Model, findings: &mut Sink) {
    let count = elided(model);
    if count > 0 {
        let tensors = plural(count, "tensor");
        let message = format!("the text does not contain the elements of {tensors}: they are unknown");
        let found = Diagnostic::new(&rules::ELEMENTS_LEFT_OUT, Locus::model(), message);
        findings.report(
            found.help("`onnx convert TEXT OUT.onnx --weights-from MODEL` takes them from the model"),
        );
    }
}

/// The number of tensors whose elements are unknown.
pub(crate) fn elided(model: &Model) -> u64 {
    let mut count = 0;
    model.for_each_tensor(|_, tensor| count += u64::from(matches!(tensor.payload(), Payload::Elided(_))));
    count
}

impl Piece {
    /// The part of the model that the checker checks.
    pub(crate) const fn checked(self) -> onnx_check::Part {
        match self {
            Self::Model => onnx_check::Part::Model,
            Self::Graph => onnx_check::Part::Graph,
            Self::Function(function) => onnx_check::Part::Function(function),
            Self::Node(node) => onnx_check::Part::Node(node),
            Self::Attribute(node) => onnx_check::Part::Attributes(node),
            Self::Contents(node) => onnx_check::Part::Contents(node),
            Self::ValueInfo => onnx_check::Part::Inputs,
        }
    }

    /// Writes it as a binary message; what has no text, as the node or graph that holds it.
    pub(crate) fn encode(self, model: &Model, options: &EncodeOptions) -> Result<Segments, EncodeError> {
        match self {
            Self::Model => encode(model, options),
            Self::Graph | Self::ValueInfo => encode_graph(model, model.main_graph(), options),
            Self::Function(function) => encode_function(model, function, options),
            Self::Node(node) | Self::Attribute(node) | Self::Contents(node) => {
                encode_node(model, node, options)
            }
        }
    }

    /// Writes it as text; what has none, as the node or graph that holds it.
    pub(crate) fn print(self, model: &Model, options: &PrintOptions<'_>) -> Result<Printed, PrintError> {
        match self {
            Self::Model => print_model(model, options),
            Self::Graph | Self::ValueInfo => print_graph(model, model.main_graph(), options),
            Self::Function(function) => print_function(model, function, options),
            Self::Node(node) | Self::Attribute(node) | Self::Contents(node) => {
                print_node(model, node, options)
            }
        }
    }
}
