//! Two threads give what one gives: the same model, the same findings, the same errors.

use bytes::Bytes;
use onnx_codec::{DecodeError, DecodeOptions};
use onnx_diag::Sink;
use onnx_ir::Model;
use onnx_text::{ParseError, ParseOptions};

use super::{equal, findings, sound, write};

/// Bytes are read as a file and as a text, by one thread and by two.
///
/// # Errors
///
/// What does not hold.
pub fn two_threads(bytes: &[u8]) -> Result<(), String> {
    files(&Bytes::copy_from_slice(bytes))?;
    texts(bytes)
}

/// Bytes are read as a file by one thread and by two.
///
/// # Errors
///
/// What does not hold.
pub fn files(bytes: &Bytes) -> Result<(), String> {
    let read = |two_threads_from| {
        onnx_codec::decode(bytes.clone(), &DecodeOptions { two_threads_from, ..DecodeOptions::default() })
    };
    match (read(usize::MAX), read(1)) {
        (Ok(one), Ok(two)) => {
            same_findings(&one.findings, &two.findings)?;
            same_models(&one.model, &two.model)
        }
        (one, two) => {
            let text = |error: DecodeError| error.to_string();
            equal(&one.err().map(text), &two.err().map(text), "the errors of reading differ")
        }
    }
}

/// Bytes are parsed by one thread and by two.
///
/// # Errors
///
/// What does not hold.
pub fn texts(bytes: &[u8]) -> Result<(), String> {
    let parse = |two_threads_from| {
        onnx_text::parse_model(bytes, &ParseOptions { two_threads_from, ..ParseOptions::default() })
    };
    match (parse(usize::MAX), parse(1)) {
        (Ok(one), Ok(two)) => same_models(&one, &two),
        (Err(one), Err(two)) => same_findings(ParseError::findings(&one), ParseError::findings(&two)),
        _ => Err("only one of them parses the text".to_owned()),
    }
}

fn same_findings(one: &Sink, two: &Sink) -> Result<(), String> {
    equal(&findings(one)?, &findings(two)?, "the findings differ")
}

fn same_models(one: &Model, two: &Model) -> Result<(), String> {
    sound(two, "after reading with two threads", true)?;
    equal(&write(one)?, &write(two)?, "the models are written differently")?;
    let nodes = |model: &Model| {
        let nodes = model.nodes(model.main_graph());
        nodes.map(|node| model.node_origin(node)).collect::<Vec<_>>()
    };
    equal(&nodes(one), &nodes(two), "the nodes come from different places")
}
