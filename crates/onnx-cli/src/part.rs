//! Models, and the parts of them that can be in a file of their own.

use bytes::Bytes;
use clap::ValueEnum;
use onnx_codec::{
    DecodeError, DecodeOptions, Decoded, EncodeError, EncodeOptions, Segments, decode, decode_function,
    decode_graph, decode_node, encode, encode_function, encode_graph, encode_node,
};
use onnx_diag::{Caps, Policy, Sink};
use onnx_ir::{FunctionId, Model, NodeId};
use onnx_text::{
    ParseError, ParseOptions, PrintError, PrintOptions, Printed, parse_function, parse_graph, parse_model,
    parse_node, print_function, print_graph, print_model, print_node,
};

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
}

/// What of a model the file held; a graph is the main graph.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Piece {
    Model,
    Graph,
    Function(FunctionId),
    Node(NodeId),
}

impl Part {
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
        })
    }

    /// Reads a text.
    pub(crate) fn parse(self, text: &[u8]) -> Result<(Decoded, Piece), ParseError> {
        let options = ParseOptions::default();
        let (model, piece) = match self {
            Self::Model => (parse_model(text, &options)?, Piece::Model),
            Self::Graph => (parse_graph(text, &options)?, Piece::Graph),
            Self::Function => {
                let (model, function) = parse_function(text, &options)?;
                (model, Piece::Function(function))
            }
            Self::Node => {
                let (model, node) = parse_node(text, &options)?;
                (model, Piece::Node(node))
            }
        };
        // A text that can be parsed at all has no findings.
        Ok((Decoded { model, findings: Sink::with(Policy::new(), Caps::DEFAULT) }, piece))
    }
}

impl Piece {
    /// Writes it as a binary message.
    pub(crate) fn encode(self, model: &Model) -> Result<Segments, EncodeError> {
        let options = EncodeOptions::default();
        match self {
            Self::Model => encode(model, &options),
            Self::Graph => encode_graph(model, model.main_graph(), &options),
            Self::Function(function) => encode_function(model, function, &options),
            Self::Node(node) => encode_node(model, node, &options),
        }
    }

    /// Writes it as text.
    pub(crate) fn print(self, model: &Model, options: &PrintOptions<'_>) -> Result<Printed, PrintError> {
        match self {
            Self::Model => print_model(model, options),
            Self::Graph => print_graph(model, model.main_graph(), options),
            Self::Function(function) => print_function(model, function, options),
            Self::Node(node) => print_node(model, node, options),
        }
    }
}
