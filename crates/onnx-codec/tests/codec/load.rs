//! Loading files that are not binary models.
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use std::error::Error as _;

use onnx_codec::{Content, DecodeOptions, LoadError, ReadMode, load};

/// The message for a file of these contents, and the format that it names.
fn fails(contents: &[u8]) -> (String, Content) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.onnx");
    std::fs::write(&path, contents).unwrap();
    match load(&path, ReadMode::Memory, &DecodeOptions::default()).unwrap_err() {
        error @ LoadError::Content { content, .. } => (error.to_string(), content),
        error => (error.to_string(), Content::Unknown),
    }
}

#[test]
fn the_error_names_the_format_and_what_reads_it() {
    let text = b"<ir_version: 10, opset_import: [\"\": 20]> g (float x) => (float y) { y = Neg (x) }";
    let message = "this looks like ONNX text; `load` reads binary models, `onnx_text::parse_model` reads it";
    assert_eq!(fails(text), (message.to_owned(), Content::OnnxText));
    let message = "this looks like JSON; `load` reads binary models, `onnx_formats::read_json` reads it";
    assert_eq!(fails(br#"{"irVersion": "10", "graph": {"name": "g"}}"#), (message.to_owned(), Content::Json));
    let message =
        "this looks like protobuf text; `load` reads binary models, `onnx_formats::read_text` reads it";
    assert_eq!(fails(b"ir_version: 10\ngraph { name: \"g\" }\n"), (message.to_owned(), Content::Textproto));
    let message = "the file is empty; `load` reads binary models";
    assert_eq!(fails(b""), (message.to_owned(), Content::Empty));
}

#[test]
fn a_damaged_binary_model_is_an_error_of_decoding() {
    let (message, content) = fails(b"\x08\x0a\x3a\x03\x12\x05g");
    assert_eq!(content, Content::Unknown);
    assert!(message.starts_with("the model cannot be read: "), "{message}");
}

#[test]
fn the_error_of_decoding_is_the_source() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.onnx");
    std::fs::write(&path, "<ir_version: 10> g () => () {}").unwrap();
    let error = load(&path, ReadMode::Memory, &DecodeOptions::default()).unwrap_err();
    assert!(error.source().is_some());
}
