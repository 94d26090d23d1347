//! Loading models in any format.
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use onnxkit::codec::{Content, EncodeOptions, LoadError, ReadMode, encode};
use onnxkit::formats::{MessageType, write_json, write_text};
use onnxkit::types::{Execution, Limits};
use onnxkit::{LoadAnyError, decode_any, load_any, text};

const MODEL: &str = r#"<ir_version: 10, opset_import: ["": 20]> g (float x) => (float y) { y = Neg (x) }"#;

fn load(contents: &[u8], execution: &Execution) -> Result<String, LoadAnyError> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model");
    std::fs::write(&path, contents).unwrap();
    let loaded = load_any(&path, ReadMode::Memory, execution)?;
    Ok(text::print_model(&loaded.model, &text::PrintOptions::default()).unwrap().text)
}

#[test]
fn every_format_gives_the_same_model() {
    let model = text::parse_model(MODEL, &text::ParseOptions::default()).unwrap();
    let printed = text::print_model(&model, &text::PrintOptions::default()).unwrap().text;
    let binary = encode(&model, &EncodeOptions::default()).unwrap().into_bytes();
    let (mut json, mut textproto) = (Vec::new(), Vec::new());
    write_json(MessageType::MODEL, [&binary[..]], &Execution::default(), &mut json).unwrap();
    write_text(MessageType::MODEL, [&binary[..]], &Execution::default(), &mut textproto).unwrap();
    for contents in [&binary[..], &json[..], &textproto[..], MODEL.as_bytes()] {
        assert_eq!(load(contents, &Execution::default()).unwrap(), printed);
        let (decoded, findings) = decode_any(contents.to_vec().into(), &Execution::default()).unwrap();
        assert_eq!(text::print_model(&decoded, &text::PrintOptions::default()).unwrap().text, printed);
        assert!(findings.is_empty());
    }
}

#[test]
fn errors_are_those_of_the_format() {
    let limits = Limits::default().with_nodes(0);
    assert!(matches!(load(MODEL.as_bytes(), &limits.into()), Err(LoadAnyError::Text(_))));
    assert!(matches!(load(br#"{"graph": 1}"#, &Execution::default()), Err(LoadAnyError::Format(_))));
    let empty = load(b"", &Execution::default()).unwrap_err();
    assert!(
        matches!(empty, LoadAnyError::Load(LoadError::Content { content: Content::Empty, .. })),
        "{empty}"
    );
}
