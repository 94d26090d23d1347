//! Texts: any bytes are parsed or refused, and what was parsed is printed without loss.

use std::sync::OnceLock;

use bytes::Bytes;
use onnx_text::{
    ParseError, ParseOptions, PrintOptions, format_model, parse_function, parse_graph, parse_model,
    parse_node, print_model, tokens,
};

use super::{equal, findings, sound, write};
use crate::conformance::suites::text::TextSuite;

/// Any bytes give a sound model, or printable errors; all ways to print a model work.
///
/// # Errors
///
/// What does not hold.
pub fn text_parse(bytes: &[u8]) -> Result<(), String> {
    let options = ParseOptions::default();
    let errors = |error: &ParseError| findings(error.findings()).map(drop);
    parse_graph(bytes, &options)
        .map_or_else(|error| errors(&error), |model| sound(&model, "a graph", true))?;
    parse_function(bytes, &options)
        .map_or_else(|error| errors(&error), |(model, _)| sound(&model, "a function", true))?;
    parse_node(bytes, &options)
        .map_or_else(|error| errors(&error), |(model, _)| sound(&model, "a node", true))?;
    let model = match parse_model(bytes, &options) {
        Ok(model) => model,
        Err(error) => return errors(&error),
    };
    sound(&model, "after parsing", true)?;
    for options in [PrintOptions::full(), PrintOptions::default(), PrintOptions::compat()] {
        print_model(&model, &options).map_err(|error| format!("what was parsed is not printed: {error}"))?;
    }
    if let Ok(text) = std::str::from_utf8(bytes) {
        let mut end = 0;
        for token in tokens(text) {
            let range = token.range;
            if range.start < end || range.is_empty() || text.get(range.clone()).is_none() {
                return Err(format!("a token at {range:?} behind {end}"));
            }
            end = range.end;
        }
        formatted(text)?;
    }
    Ok(())
}

/// Laying out a text twice gives the same, and it means the same.
fn formatted(text: &str) -> Result<(), String> {
    let Ok(once) = format_model(text, &ParseOptions::default()) else { return Ok(()) };
    let twice = format_model(&once.text, &ParseOptions::default())
        .map_err(|error| format!("what was formatted is refused: {error}"))?;
    equal(&once.text, &twice.text, "formatting twice gives another text")
}

/// The full text of a model parses to the model that is written as the same bytes.
///
/// The input is a file or a text.
///
/// # Errors
///
/// What does not hold.
pub fn text_roundtrip(bytes: &[u8]) -> Result<(), String> {
    static SUITE: OnceLock<Result<TextSuite, String>> = OnceLock::new();
    let suite = SUITE.get_or_init(TextSuite::new).as_ref().map_err(Clone::clone)?;
    let file = match parse_model(bytes, &ParseOptions::default()) {
        Ok(model) => write(&model)?,
        Err(_) => Some(Bytes::copy_from_slice(bytes)),
    };
    let Some(file) = file else { return Ok(()) };
    let looked = suite.file(&file);
    looked.map(drop).map_err(|failure| format!("{}: {}", failure.kind, failure.detail))
}
