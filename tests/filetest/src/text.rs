//! `#! text`: the errors of the parser for a text.
//!
//! Errors are expected with line and column. A text without errors must come back when it is printed, in both ways.
//! `as=graph`, `as=function` and `as=node` are for texts that are not whole models.

use onnx_codec::{EncodeError, EncodeOptions, Segments, encode, encode_function, encode_graph, encode_node};
use onnx_ir::{FunctionId, Model, NodeId};
use onnx_text::{
    ParseError, ParseOptions, PrintError, PrintOptions, Printed, parse_function, parse_graph, parse_model,
    parse_node, print_function, print_graph, print_model, print_node,
};

use super::{Finding, Outcome};

/// What a text stands for; a graph is the main graph.
#[derive(Clone, Copy)]
enum Piece {
    Model,
    Graph,
    Function(FunctionId),
    Node(NodeId),
}

type Parse = fn(&str, &ParseOptions) -> Result<(Model, Piece), ParseError>;

pub(super) fn run(text: &str, words: &[&str]) -> Result<Outcome, String> {
    let parse: Parse = match words {
        [] | ["as=model"] => |text, options| Ok((parse_model(text, options)?, Piece::Model)),
        ["as=graph"] => |text, options| Ok((parse_graph(text, options)?, Piece::Graph)),
        ["as=function"] => |text, options| {
            parse_function(text, options).map(|(model, function)| (model, Piece::Function(function)))
        },
        ["as=node"] => {
            |text, options| parse_node(text, options).map(|(model, node)| (model, Piece::Node(node)))
        }
        [word, ..] => return Err(format!("`text` does not know `{word}`")),
    };
    let parse = |text: &str| parse(text, &ParseOptions::default());
    let (model, piece) = match parse(text) {
        Ok(parsed) => parsed,
        Err(error) => {
            let found = error.findings().diagnostics().iter();
            let findings = found.map(|found| Finding { by_column: true, ..Finding::new(found) }).collect();
            return Ok(Outcome { findings, body: None });
        }
    };
    model.verify().map_err(|faults| format!("the graph does not fit together: {faults:?}"))?;
    for options in [PrintOptions::full(), PrintOptions::default().with_elide_above(u64::MAX)] {
        let printed = piece.print(&model, &options).map_err(|error| error.to_string())?.text;
        let (again, same) =
            parse(&printed).map_err(|error| format!("what is printed has errors: {error}\n{printed}"))?;
        if options.full && same.bytes(&again)? != piece.bytes(&model)? {
            return Err(format!("what is printed is something else:\n{printed}"));
        }
    }
    Ok(Outcome::default())
}

impl Piece {
    fn print(self, model: &Model, options: &PrintOptions<'_>) -> Result<Printed, PrintError> {
        match self {
            Self::Model => print_model(model, options),
            Self::Graph => print_graph(model, model.main_graph(), options),
            Self::Function(function) => print_function(model, function, options),
            Self::Node(node) => print_node(model, node, options),
        }
    }

    fn encode(self, model: &Model) -> Result<Segments, EncodeError> {
        let options = EncodeOptions::default();
        match self {
            Self::Model => encode(model, &options),
            Self::Graph => encode_graph(model, model.main_graph(), &options),
            Self::Function(function) => encode_function(model, function, &options),
            Self::Node(node) => encode_node(model, node, &options),
        }
    }

    fn bytes(self, model: &Model) -> Result<Vec<u8>, String> {
        Ok(self.encode(model).map_err(|error| error.to_string())?.to_vec())
    }
}
