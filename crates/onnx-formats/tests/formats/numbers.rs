//! Every number comes back with all its bits, through text and JSON.
#![allow(clippy::unwrap_used, reason = "helpers of tests may fail")]

use onnx_formats::{from_json, from_text, to_json, to_text};
use onnx_proto::messages::{AttributeProto, GraphProto, ModelProto, NodeProto, TensorProto};
use prost::Message;

fn model(node: NodeProto, tensor: TensorProto) -> Vec<u8> {
    let graph = GraphProto { node: vec![node], initializer: vec![tensor], ..GraphProto::default() };
    ModelProto { graph: Some(graph), ..ModelProto::default() }.encode_to_vec()
}

#[track_caller]
fn comes_back(bytes: &[u8]) {
    let text = to_text(bytes).unwrap();
    assert!(text.losses.is_empty(), "{:?}", text.losses);
    assert!(from_text(&text.text).unwrap() == bytes, "text");
    let json = to_json(bytes).unwrap();
    assert!(from_json(&json.text).unwrap() == bytes, "JSON");
}

/// Numbers that look random and are the same each time.
fn scrambled(count: u64) -> impl Iterator<Item = u64> {
    (0..count).map(|index| {
        let mut x = index.wrapping_add(0x9e37_79b9_7f4a_7c15).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x ^= x >> 29;
        x = x.wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ x >> 32
    })
}

#[test]
fn floats_of_all_kinds() {
    // Around each power of two, both signs, zeros, subnormal numbers and infinities, and then any bits.
    let edges = (0..=0xff_u32).flat_map(|exponent| {
        let edge = exponent << 23;
        (0..16).chain(0x3f_fffc..0x40_0004).map(move |low| edge.wrapping_add(low).wrapping_sub(8))
    });
    let bits = edges.flat_map(|bits| [bits, bits | 1 << 31]).chain(scrambled(30_000).map(|bits| bits as u32));
    let mut floats: Vec<f32> = bits.map(f32::from_bits).filter(|value| !value.is_nan()).collect();
    // The largest number was refused by JSON, and the other one was rounded twice.
    floats.extend([f32::MAX, f32::MIN, f32::from_bits(0x15ae_43fd), f32::NAN]);
    let attribute = AttributeProto { f: Some(f32::MAX), floats: floats.clone(), ..AttributeProto::default() };
    let node = NodeProto { attribute: vec![attribute], ..NodeProto::default() };
    comes_back(&model(node, TensorProto { float_data: floats, ..TensorProto::default() }));
}

/// What other readers make of the greatest numbers: Python's parses with 64 bits, and refuses what is above them.
#[test]
fn the_greatest_floats_are_not_rounded_up() {
    let attribute =
        AttributeProto { f: Some(f32::MIN), floats: vec![f32::MAX, f32::MIN], ..AttributeProto::default() };
    let node = NodeProto { attribute: vec![attribute], ..NodeProto::default() };
    let bytes = model(node, TensorProto { float_data: vec![f32::MAX], ..TensorProto::default() });
    comes_back(&bytes);
    let json = to_json(&bytes).unwrap().text;
    let numbers = json.split(|c: char| !(c.is_ascii_digit() || "+-.e".contains(c)));
    let large: Vec<f64> =
        numbers.filter(|number| number.ends_with("e+38")).map(|n| n.parse().unwrap()).collect();
    assert_eq!(large.len(), 4, "{json}");
    assert!(large.iter().all(|value| value.abs() == f64::from(f32::MAX)), "{json}");
}

#[test]
fn doubles_of_all_kinds() {
    let edges = (0..=0x7ff_u64).flat_map(|exponent| {
        let edge = exponent << 52;
        (0..16).map(move |low| edge.wrapping_add(low).wrapping_sub(8))
    });
    let bits = edges.flat_map(|bits| [bits, bits | 1 << 63]).chain(scrambled(20_000));
    let doubles: Vec<f64> = bits.map(f64::from_bits).filter(|value| !value.is_nan()).collect();
    let tensor = TensorProto { double_data: doubles, ..TensorProto::default() };
    comes_back(&model(NodeProto::default(), tensor));
}

#[test]
fn integers_of_all_widths() {
    let wide: Vec<u64> =
        (0..64).flat_map(|bit| [0_i64, -1, 1].map(|by| (1_u64 << bit).wrapping_add_signed(by))).collect();
    let tensor = TensorProto {
        int64_data: wide.iter().map(|&value| value.cast_signed()).collect(),
        int32_data: wide.iter().map(|&value| value as i32).chain([i32::MIN, i32::MAX]).collect(),
        dims: vec![i64::MIN, i64::MAX, 0, -1],
        data_type: Some(i32::MIN),
        uint64_data: wide,
        ..TensorProto::default()
    };
    comes_back(&model(NodeProto::default(), tensor));
}

#[test]
fn what_does_not_fit() {
    for (value, message) in [
        ("int32_data: 2147483648", "not in -2147483648 to 2147483647"),
        ("int64_data: 9223372036854775808", "not in"),
        ("uint64_data: 18446744073709551616", "does not fit into 64 bits"),
        ("uint64_data: -1", "must not be negative"),
        ("int64_data: 1.5", "expected an integer, but found `1.5`"),
        ("int64_data: 09", "octal"),
        ("float_data: 0x1", "expected a decimal number"),
        ("float_data: 010", "expected a decimal number"),
        ("float_data: e5", "expected a decimal number"),
    ] {
        let error = from_text(format!("graph {{ initializer {{ {value} }} }}")).unwrap_err().to_string();
        assert!(error.contains(message) && error.starts_with("line 1, column "), "{value}: {error}");
    }
    for (value, message) in [
        ("\"int32_data\": [2147483648]", "not in -2147483648 to 2147483647"),
        ("\"int64_data\": [\"-9223372036854775809\"]", "is not in -9223372036854775808"),
        ("\"uint64_data\": [-1]", "not in 0 to"),
        ("\"int64_data\": [1.5]", "expected an integer"),
        ("\"int64_data\": [\" 1\"]", "expected an integer"),
        ("\"int64_data\": [01]", "expected a number"),
        ("\"float_data\": [3.5e38]", "3.5e38 is too large for a float"),
        ("\"float_data\": [\"inf\"]", "expected a number"),
        ("\"double_data\": [1e309]", "too large for a double"),
    ] {
        let json = format!("{{\"graph\": {{\"initializer\": [{{{value}}}]}}}}");
        let error = from_json(json).unwrap_err().to_string();
        assert!(error.contains(message) && error.starts_with("line 1, column "), "{value}: {error}");
    }
}
