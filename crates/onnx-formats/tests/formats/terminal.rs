//! Nothing that is written acts on a terminal or is invisible.
#![allow(clippy::unwrap_used, reason = "helpers of tests may fail")]

use onnx_diag::is_unprintable;
use onnx_formats::{from_json, from_text, to_json, to_text};
use onnx_proto::messages::{GraphProto, ModelProto};
use prost::Message;

#[test]
fn every_character_that_acts_or_is_invisible_is_escaped() {
    // Of the private planes, which are escaped like any other character, some are enough.
    let all = ('\0'..'\u{f0100}').filter(|&c| is_unprintable(c));
    let name: String = all.flat_map(|c| ['a', c]).collect();
    let graph = GraphProto { name: Some(name), ..GraphProto::default() };
    let model = ModelProto { graph: Some(graph), ..ModelProto::default() }.encode_to_vec();
    let (text, json) = (to_text(&model).unwrap().text, to_json(&model).unwrap().text);
    for written in [&text, &json] {
        let found = written.chars().find(|&c| c != '\n' && is_unprintable(c));
        assert_eq!(found, None);
    }
    assert_eq!(from_text(&text).unwrap(), model);
    assert_eq!(from_json(&json).unwrap(), model);
}
