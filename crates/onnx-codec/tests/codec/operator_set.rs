//! Operator set documents: written, read back, and the operators they declare.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests fail by panicking"
)]

use std::sync::Arc;

use onnx_codec::operator_set::{self, declared, document};
use onnx_codec::{DecodeOptions, EncodeOptions, decode_operator_set, encode_operator_set};
use onnx_formats::{signatures_from_json, signatures_to_json};
use onnx_ir::OperatorSetDocument;
use onnx_schema::{
    AttrKind, DeclaredDefault, DeclaredSchema, OperatorSet, Registry, all, declare, domains, known_name,
    opset_versions,
};

/// Every standard operator set.
fn standard_sets() -> impl Iterator<Item = OperatorSet> {
    domains().flat_map(|domain| {
        let name = known_name(domain).unwrap();
        opset_versions(domain).unwrap().map(move |version| OperatorSet::standard(name, version).unwrap())
    })
}

/// The set with the bodies that a document can hold: those in force.
fn in_force(set: &OperatorSet) -> OperatorSet {
    let mut expected = OperatorSet::new(set.domain(), set.version());
    for schema in set.operators() {
        let mut schema = schema.clone();
        let body = schema.function_body(set.version()).map(Arc::<[u8]>::from);
        schema.bodies.retain(|(version, bytes)| *version <= set.version() && Some(bytes) == body.as_ref());
        expected.add_schema(schema).unwrap();
    }
    expected
}

fn bytes_of(document: &OperatorSetDocument) -> bytes::Bytes {
    encode_operator_set(document, &EncodeOptions::default()).unwrap().into_bytes()
}

fn read(bytes: bytes::Bytes) -> OperatorSetDocument {
    let decoded = decode_operator_set(bytes, &DecodeOptions::default()).unwrap();
    assert!(decoded.findings.is_empty());
    decoded.document
}

#[test]
fn standard_sets_come_back_equal() {
    let (mut sets, mut operators, mut bodies) = (0, 0, 0);
    for set in standard_sets() {
        let written = document(&set).unwrap();
        let bytes = bytes_of(&written);
        let document = read(bytes.clone());
        assert_eq!(bytes_of(&document), bytes, "{} {}", set.domain(), set.version());
        let signatures = signatures_from_json(&signatures_to_json(&set).unwrap()).unwrap();
        let expected = in_force(&set);
        let found = declared(&document, Some(&signatures)).unwrap();
        for (found, expected) in found.operators().iter().zip(expected.operators()) {
            assert_eq!(found, expected);
        }
        assert_eq!(found, expected);
        sets += 1;
        operators += found.operators().len();
        bodies += document.functions.functions().len();
    }
    assert_eq!((sets, operators, bodies), (36, 4442, 335));
}

#[test]
fn all_documents_together_are_the_standard_registry() {
    let mut registry = Registry::standard();
    for set in standard_sets() {
        let document = read(bytes_of(&document(&set).unwrap()));
        let signatures = signatures_from_json(&signatures_to_json(&set).unwrap()).unwrap();
        registry = registry.with(declared(&document, Some(&signatures)).unwrap()).unwrap();
    }
    let mut bodies = 0;
    for schema in all() {
        let found = registry.declared(schema.domain_name(), schema.name(), schema.since_version()).unwrap();
        let mut found = found.clone();
        found.bodies.sort();
        let expected = DeclaredSchema::from(schema);
        // A body for versions that have a newer schema is in force nowhere, so no document holds it.
        let last = schema.until_version().unwrap_or(i64::MAX);
        assert!(expected.bodies.iter().all(|&(version, _)| version <= last), "{schema}");
        bodies += found.bodies.len();
        assert_eq!(found, expected);
    }
    assert_eq!(bodies, 43);
}

const ACME: &str = r#"
    magic: "ONNXOPSET" ir_version: 10 domain: "com.acme" opset_version: 2 doc_string: "Ours."
    operator { op_type: "Twice" since_version: 2 status: STABLE }
    operator { op_type: "Opaque" since_version: 1 status: EXPERIMENTAL doc_string: "Who knows." }
    functions {
      name: "Twice" domain: "com.acme" input: "x" output: "y" attribute: "mode"
      attribute_proto { name: "scale" type: FLOAT f: 2.0 }
      opset_import { domain: "" version: 18 }
      node { op_type: "Constant" output: "two" attribute { name: "value_float" ref_attr_name: "scale" type: FLOAT } }
      node { op_type: "Cast" input: "x" output: "c" attribute { name: "to" ref_attr_name: "mode" type: INT } }
      node { op_type: "Mul" input: "c" input: "two" output: "y" }
    }
"#;

#[test]
fn bodies_tell_what_they_can() {
    let document = read(onnx_formats::operator_set_from_text(ACME).unwrap());
    let set = declared(&document, None).unwrap();
    let [twice, opaque] = set.operators() else { panic!("there are two operators") };
    assert_eq!((twice.min_inputs(), twice.max_inputs(), twice.max_outputs()), (0, Some(1), Some(1)));
    assert_eq!(twice.attribute("mode").unwrap().kind, Some(AttrKind::Int));
    assert_eq!(twice.attribute("scale").unwrap().default, Some(DeclaredDefault::Float(2.0)));
    assert!(twice.function_body(2).is_some() && twice.function_body(1).is_none());
    assert_eq!((opaque.min_inputs(), opaque.max_inputs()), (0, None));
    assert!(opaque.allows_unchecked_attributes);
    assert_eq!(opaque.since_version(), 1);
}

#[test]
fn documents_are_text_too() {
    // The fields of the text are not in the order of their numbers, in which the encoder writes them.
    let bytes = bytes_of(&read(onnx_formats::operator_set_from_text(ACME).unwrap()));
    assert_eq!(bytes_of(&read(bytes.clone())), bytes);
    let text = onnx_formats::operator_set_to_text(bytes.clone()).unwrap();
    assert!(text.losses.is_empty());
    assert_eq!(onnx_formats::operator_set_from_text(&text.text).unwrap(), bytes);
}

#[test]
fn odd_fields_come_back() {
    // A magic of other bytes, an unknown field between known ones, defaults written out, an entry without fields.
    let bytes =
        bytes::Bytes::from_static(b"\x0a\x01m\x10\x00\x22\x00\x28\x00\x42\x00\x42\x02\x18\x00\x50\x07");
    let decoded = decode_operator_set(bytes.clone(), &DecodeOptions::default()).unwrap();
    assert_eq!(bytes_of(&decoded.document), bytes);
    assert!(decode_operator_set(bytes.slice(..5), &DecodeOptions::default()).is_ok());
    assert!(decode_operator_set(bytes.slice(..2), &DecodeOptions::default()).is_err());
}

#[test]
fn companions_are_of_one_set() {
    let document = read(onnx_formats::operator_set_from_text(ACME).unwrap());
    let other = OperatorSet::new("com.acme", 1);
    let error = declared(&document, Some(&other)).unwrap_err().to_string();
    assert_eq!(
        error,
        "the signatures are those of version 1 of `com.acme`, and the document has version 2 of `com.acme`"
    );
}

#[test]
fn companions_say_what_is_wrong_with_them() {
    let check = |operators: &str, expected: &str| {
        let text = format!(
            r#"{{"format": "onnx-signatures-1", "domain": "d", "opset_version": 1, "operators": [{operators}]}}"#
        );
        let error = signatures_from_json(&text).map(|_| ()).map_err(|error| error.to_string());
        assert_eq!(error.err().unwrap_or_default(), expected);
    };
    check(r#"{"name": "f", "since_version": 1}"#, "");
    check(
        r#"{"name": "f", "since_version": 2}"#,
        "`d.f-2` is newer than its operator set, which is version 1",
    );
    check(
        r#"{"name": "f", "since_version": 1, "inputs": [{"name": "x", "type": "T"}]}"#,
        "`T` is neither a known type, such as `tensor(float)`, nor a type variable",
    );
    check(
        r#"{"name": "f", "since_version": 1, "attributes": [{"name": "a", "kind": "INT", "default": 1.5}]}"#,
        "`f`: the default of `a` is not a value of its kind",
    );
    check(
        r#"{"name": "f", "since_version": 1, "attributes": [{"name": "a", "kind": "int"}]}"#,
        "`int` is not a kind of attribute: kinds are written as in `AttributeProto.AttributeType`",
    );
    assert!(
        signatures_from_json(r#"{"format": "2", "domain": "", "opset_version": 1, "operators": []}"#)
            .is_err()
    );
}

#[test]
fn every_float_comes_back() {
    for value in [0.1, 1e-45, f32::MAX, -0.0, f32::INFINITY, f32::NEG_INFINITY, 16_777_216.0] {
        let mut set = OperatorSet::new("d", 1);
        set.add(declare("f", 1).attribute_with_default("a", DeclaredDefault::Floats(vec![value, 0.3])))
            .unwrap();
        let text = signatures_to_json(&set).unwrap();
        assert_eq!(signatures_from_json(&text).unwrap(), set);
    }
}

#[test]
fn functions_of_a_model_make_a_document() {
    let text = r#"
        ir_version: 10 opset_import { domain: "d" version: 1 } graph { name: "g" }
        functions { name: "f" domain: "d" input: "x" output: "y" opset_import { version: 18 }
          node { op_type: "Relu" input: "x" output: "y" } }
        functions { name: "g" domain: "other" }
    "#;
    let bytes = onnx_formats::from_text(text).unwrap();
    let model = onnx_codec::decode(bytes, &DecodeOptions::default()).unwrap().model;
    let document = operator_set::document_of_functions(&model, "d", 3).unwrap();
    let set = declared(&document, None).unwrap();
    let names: Vec<String> = set.operators().iter().map(ToString::to_string).collect();
    assert_eq!(names, ["d.f-3"]);
    assert_eq!(set.operators()[0].max_inputs(), Some(1));
}

#[test]
fn damaged_documents_do_no_harm() {
    let whole = onnx_formats::operator_set_from_text(ACME).unwrap();
    let (mut read, mut refused) = (0, 0);
    for at in 0..whole.len() {
        for bit in [0, 3, 5, 7] {
            let mut bytes = whole.to_vec();
            bytes[at] ^= 1 << bit;
            match decode_operator_set(bytes.into(), &DecodeOptions::default()) {
                Ok(decoded) => {
                    // What was read is written, read again and written the same; what it declares is an answer or an error.
                    let bytes = bytes_of(&decoded.document);
                    let again = decode_operator_set(bytes.clone(), &DecodeOptions::default()).unwrap();
                    assert_eq!(bytes_of(&again.document), bytes, "byte {at}, bit {bit}");
                    let _ = declared(&decoded.document, None);
                    read += 1;
                }
                Err(_) => refused += 1,
            }
        }
        let _ = decode_operator_set(whole.slice(..at), &DecodeOptions::default());
    }
    assert!(read > 500 && refused > 50, "{read} {refused}");
}
