//! The text format and JSON of protobuf.
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests may fail")]

use bytes::Bytes;
use onnx_formats::{ConvertError, Limits, LossKind, from_json, from_text, to_json, to_text};
use onnx_proto::messages::{
    AttributeProto, GraphProto, ModelProto, NodeProto, TensorProto, TypeProto, ValueInfoProto, type_proto,
};
use proptest::prelude::*;
use prost::Message;

/// A model with fields of all kinds, with defaults written out and strings that need escapes.
fn sample() -> ModelProto {
    let attribute = |name: &str| AttributeProto { name: Some(name.into()), ..AttributeProto::default() };
    let node = NodeProto {
        input: vec!["x".into(), String::new()],
        output: vec!["é\n\"\\\u{1}".into()],
        op_type: Some("Relu".into()),
        attribute: vec![
            AttributeProto { f: Some(-0.0), r#type: Some(1), ..attribute("f") },
            AttributeProto { i: Some(i64::MIN), r#type: Some(2), ..attribute("i") },
            AttributeProto {
                s: Some(Bytes::from_static(b"\x00\xff'\"\\")),
                r#type: Some(3),
                ..attribute("s")
            },
            AttributeProto {
                floats: vec![f32::INFINITY, f32::NEG_INFINITY, f32::NAN, 0.1],
                ..attribute("fs")
            },
            AttributeProto { ints: vec![0, -1, i64::MAX], r#type: Some(77), ..attribute("is") },
            AttributeProto { strings: vec![Bytes::new(), Bytes::from_static(b"a")], ..attribute("ss") },
        ],
        ..NodeProto::default()
    };
    let weights = TensorProto {
        dims: vec![2, 2],
        data_type: Some(11),
        double_data: vec![f64::MIN_POSITIVE, 1e300, -0.1, f64::NAN],
        ..TensorProto::default()
    };
    let raw = TensorProto { raw_data: Some((0..=255_u8).collect()), ..TensorProto::default() };
    let unsigned = TensorProto { uint64_data: vec![u64::MAX, 0], ..TensorProto::default() };
    let tensor = type_proto::Tensor { elem_type: Some(0), shape: None };
    let ty = TypeProto { value: Some(type_proto::Value::TensorType(tensor)), ..TypeProto::default() };
    let input = ValueInfoProto { name: Some(String::new()), r#type: Some(ty), ..ValueInfoProto::default() };
    let graph = GraphProto {
        node: vec![node],
        initializer: vec![weights, raw, unsigned],
        input: vec![input],
        ..GraphProto::default()
    };
    ModelProto { ir_version: Some(0), graph: Some(graph), ..ModelProto::default() }
}

/// Checks that both forms of a model give the same bytes back.
#[track_caller]
fn check(bytes: &Bytes) {
    let text = to_text(bytes.clone()).unwrap();
    assert_eq!(from_text(&text.text).unwrap(), bytes, "{}", text.text);
    let json = to_json(bytes.clone()).unwrap();
    assert_eq!(from_json(&json.text).unwrap(), bytes, "{}", json.text);
    assert_eq!(text.losses, json.losses);
}

#[test]
fn models_come_back() {
    let bytes = Bytes::from(sample().encode_to_vec());
    check(&bytes);
    assert!(to_text(bytes).unwrap().losses.is_empty());
    check(&Bytes::new());
    assert_eq!(to_text(Bytes::new()).unwrap().text, "");
}

#[test]
fn fields_have_the_names_of_the_schema() {
    let bytes = Bytes::from(sample().encode_to_vec());
    let json = to_json(bytes.clone()).unwrap().text;
    for piece in [
        "\"ir_version\": \"0\"",
        "\"op_type\": \"Relu\"",
        "\"type\": \"FLOAT\"",
        "\"i\": \"-9223372036854775808\"",
    ] {
        assert!(json.contains(piece), "{piece} in {json}");
    }
    let text = to_text(bytes).unwrap().text;
    for piece in [
        "ir_version: 0\n",
        "  node {\n",
        "op_type: \"Relu\"",
        "type: FLOAT\n",
        "type: 77\n",
        "floats: nan\n",
        "floats: 0.1\n",
        "dims: 2\n",
    ] {
        assert!(text.contains(piece), "{piece} in {text}");
    }
    // Camel case is read too, as protobuf prescribes.
    assert_eq!(from_json("{\"irVersion\": 10}").unwrap(), b"\x08\x0a".as_slice());
}

#[test]
fn losses_are_listed() {
    let mut model = sample();
    let graph = model.graph.as_mut().unwrap();
    graph.node[0].attribute[3].floats[2] = f32::from_bits(0xffc0_0001);
    graph.initializer[0].double_data[3] = f64::from_bits(0x7ff0_0000_0000_0001);
    let mut bytes = model.encode_to_vec();
    // Field 1000 of the model, and field 999 of another graph, which protobuf merges into the first.
    bytes.extend_from_slice(b"\xc0\x3e\x01");
    bytes.extend_from_slice(b"\x3a\x04\xba\x3e\x01x");
    let text = to_text(&bytes).unwrap();
    let losses: Vec<_> = text.losses.iter().map(|loss| (loss.path.as_str(), loss.kind)).collect();
    assert_eq!(
        losses,
        [
            ("", LossKind::UnknownField { number: 1000 }),
            ("graph", LossKind::UnknownField { number: 999 }),
            ("graph.node[0].attribute[3].floats[2]", LossKind::NanBits),
            ("graph.initializer[0].double_data[3]", LossKind::NanBits),
        ]
    );
    let shown: Vec<_> = text.losses.iter().map(ToString::to_string).collect();
    assert_eq!(shown[0], "the model: field 1000, which the schema does not know");
    assert_eq!(to_json(&bytes).unwrap().losses, text.losses);
    assert_eq!(text.losses.count(), 4);
    // What is left is the rest of the model.
    assert_eq!(from_text(&text.text).unwrap(), sample().encode_to_vec());
}

#[test]
fn syntax_errors_say_where() {
    for (text, place, message) in [
        ("ir_version: x", "line 1, column 13", "expected an integer"),
        ("ir_version: 1\n  é", "line 2, column 3", "invalid token"),
        ("ir_version: 1 ir_version: 2", "line 1, column 15", "already set"),
        ("graph {\n  node { op: 1 }\n}", "line 2, column 10", "'op' not found"),
        ("graph {\n", "line 2, column 1", "reached end of input"),
        ("graph { name: \"\n", "line 1, column 15", "invalid string"),
        ("graph { initializer { raw_data: \"\\q\" } }", "line 1, column", ""),
        ("[type.googleapis.com/onnx.X] { }", "line 1, column", "not found"),
    ] {
        let error = from_text(text).unwrap_err().to_string();
        assert!(error.starts_with(place) && error.contains(message), "{text:?}: {error}");
    }
    for (json, place) in [
        ("", "line 1, column 1"),
        ("{\n  \"nothing\": 1}", "line 2, column"),
        ("{\"ir_version\": \"x\"}", "line 1, column"),
        ("{} {}", "line 1, column 4"),
        ("{\"graph\": {\"initializer\": [{\"raw_data\": \"*\"}]}}", "line 1, column"),
        ("[]", "line 1, column"),
    ] {
        let error = from_json(json).unwrap_err().to_string();
        assert!(error.starts_with(place), "{json:?}: {error}");
        assert_eq!(error.matches("line").count(), 1, "{error}");
    }
    for bytes in [b"\x08".as_slice(), b"\x3a\xff\xff\xff\xff\x0f", b"\x0f"] {
        assert!(matches!(to_text(bytes), Err(ConvertError::Bytes(_))));
        assert!(matches!(to_json(bytes), Err(ConvertError::Bytes(_))));
    }
}

/// `levels` graphs inside each other, in text.
fn nested_text(levels: usize) -> String {
    let open = "node { attribute { g { ".repeat(levels);
    format!("graph {{ {open} {} }}", "} } } ".repeat(levels))
}

#[test]
fn nesting_is_bounded() {
    // The graph and three messages for each level, below the model.
    let deepest = (Limits::DEFAULT.message_depth as usize - 1) / 3;
    let bytes = from_text(nested_text(deepest)).unwrap();
    assert_eq!(from_text(&to_text(bytes).unwrap().text).unwrap(), from_text(nested_text(deepest)).unwrap());
    let bytes = from_text(nested_text(deepest)).unwrap();
    assert_eq!(from_json(to_json(&bytes).unwrap().text).unwrap(), bytes);
    let error = from_text(nested_text(deepest + 1)).unwrap_err().to_string();
    assert!(error.contains("more than 100 deep"), "{error}");
    for hostile in [
        nested_text(100_000),
        "graph{".repeat(200_000),
        "graph<".repeat(200_000),
        "graph:[".repeat(200_000),
        "[".repeat(200_000),
        "graph { name: \"{{{{\" # {{{{\n".repeat(1000),
    ] {
        assert!(from_text(&hostile).is_err());
        assert!(from_json(&hostile).is_err());
    }
    assert!(from_json("{\"graph\":".repeat(200_000)).is_err());
    assert!(from_json("{\"x\":[".repeat(200_000)).is_err());
    // Braces in strings and comments do not nest.
    let harmless = format!("graph {{ name: \"{0}\\\"{0}\" doc_string: '{0}' }} # {0}\n", "{".repeat(200));
    from_text(&harmless).unwrap();
    // The same from bytes.
    let mut bytes = Vec::new();
    for _ in 0..200 {
        let mut outer = b"\x3a".to_vec();
        prost::encoding::encode_varint(bytes.len() as u64, &mut outer);
        outer.extend_from_slice(&bytes);
        bytes = outer;
    }
    let _ = to_text(&bytes);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    /// No text and no bytes panic.
    #[test]
    fn any_input_is_an_answer(
        text in "([a-z_{}<>:,;\\[\\]\"'#\\\\0-9. \n-]|graph|node|\\{|\\}|: |ir_version|attribute|floats|raw_data|s: ){0,40}",
        bytes in prop::collection::vec(any::<u8>(), 0..60),
    ) {
        if let Ok(bytes) = from_text(&text) {
            let text = to_text(bytes.clone()).unwrap().text;
            prop_assert_eq!(from_text(&text).unwrap(), bytes);
        }
        let _ = from_json(&text);
        if let Ok(rendered) = to_text(&bytes) {
            prop_assert!(from_text(&rendered.text).is_ok());
        }
        let _ = to_json(&bytes);
    }

    /// Strings of bytes and numbers come back exactly.
    #[test]
    fn contents_come_back(
        raw in prop::collection::vec(any::<u8>(), 0..40),
        name in any::<String>(),
        float in any::<f32>(),
        double in any::<f64>(),
        int in any::<i64>(),
    ) {
        let mut model = sample();
        let graph = model.graph.as_mut().unwrap();
        graph.name = Some(name);
        graph.initializer[1].raw_data = Some(raw.into());
        graph.initializer[0].double_data[0] = double;
        graph.node[0].attribute[0].f = Some(float);
        graph.node[0].attribute[1].i = Some(int);
        check(&model.encode_to_vec().into());
    }
}
