//! The ONNX text syntax: parsed into the editable graph, and printed from it.
//!
//! Text is the notation for reading models, for writing tests, and for showing the results of passes. This crate reads
//! all of the syntax that the reference implementation reads, and extends it so that *everything* a model file can
//! contain has a notation. `docs/text-format.md` in the repository defines the syntax.
//!
//! # Parsing
//!
//! [`parse_model`], [`parse_graph`], [`parse_function`] and [`parse_node`] parse text into the
//! [`Model`](onnx_ir::Model) that decoding the equivalent file returns; nodes, inputs and initializers record their
//! line and column ([`Origin::Text`](onnx_ir::Origin::Text)).
//!
//! ```
//! use onnx_text::{ParseOptions, PrintOptions, parse_model, print_model};
//!
//! let text = r#"<
//!    ir_version: 8,
//!    opset_import: ["": 17]
//! >
//! main (float[N, 3] x) => (float[N, 3] y)
//! <
//!    float[3] bias = {0.5, 1, -2}
//! > {
//!    [add] sum = Add (x, bias)
//!    [act] y = LeakyRelu <alpha = 0.1> (sum)
//! }
//! "#;
//! let model = parse_model(text, &ParseOptions::default())?;
//! assert_eq!(model.node_count(), 2);
//! assert_eq!(print_model(&model, &PrintOptions::default())?.text, text.replace("N, 3", "N,3"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The parser continues after an error, so one run reports all errors, each with its position:
//!
//! ```
//! # use onnx_text::{ParseOptions, parse_graph};
//! let error = parse_graph("g (x) => (y) {\n  y = Relu <a = > (x)\n  z = Add (x, x\n  w = Relu (x)\n}", &ParseOptions::default());
//! let findings = error.err().map(onnx_text::ParseError::into_findings).unwrap_or_default();
//! let first = &findings.diagnostics()[0];
//! assert_eq!(first.locus.position().map(|position| position.to_string()).as_deref(), Some("2:17"));
//! assert_eq!(first.message, "expected a value, found `>`");
//! ```
//!
//! # Printing
//!
//! [`print_model`] and similar functions print for readers by default ([`PrintOptions`]): large tensors are elided and
//! never read, and details of the file's encoding are omitted. [`PrintOptions::full`] prints everything, so that
//! parsing restores exactly the same model, including its encoded bytes. [`PrintOptions::compat`] prints what the
//! reference parser reads, and [`Printed::left_out`] lists what it could not print. [`print_model_to`] prints into a
//! stream, in memory that does not grow with the weights.
//!
//! # Formatting
//!
//! [`format_model`] gives a text the layout of the printer and keeps its comments. [`tokens`] cuts any text into tokens, for
//! syntax highlighting.
//!
//! # What it is not for
//!
//! It does not open files or color output. Text is unsuitable for large weights: keep those in files, as external data.
#![forbid(unsafe_code)]
// What comes from outside is neither indexed nor added up unchecked.
#![cfg_attr(not(test), deny(clippy::indexing_slicing, clippy::arithmetic_side_effects))]

mod decimal;
mod elements;
mod elided;
mod error;
mod format;
mod lexer;
mod limits;
mod parse;
mod print;
pub mod rules;
mod tokens;

pub use elided::ElidedTensorSource;
pub use error::{FormatError, ParseError, PrintError, WriteError};
pub use format::{Formatted, format_model};
pub use onnx_types::Limits;
pub use parse::{ParseOptions, parse_function, parse_graph, parse_model, parse_node};
pub use print::{
    Digest, PrintOptions, Printed, print_function, print_graph, print_model, print_model_to, print_node,
    print_nodes, print_type,
};
pub use tokens::{Token, TokenKind, tokens};
