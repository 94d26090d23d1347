//! The ONNX text syntax: parsed into the editable graph, and printed from it.
#![forbid(unsafe_code)]

mod elements;
mod error;
mod lexer;
mod limits;
mod parse;
mod print;
pub mod rules;

pub use error::{ParseError, PrintError};
pub use limits::Limits;
pub use parse::{ParseOptions, parse_function, parse_graph, parse_model, parse_node};
pub use print::{PrintOptions, Printed, print_function, print_graph, print_model, print_node};
