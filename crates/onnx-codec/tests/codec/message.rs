//! Prost messages.
#![allow(clippy::unwrap_used, reason = "helpers of tests may fail")]

use onnx_codec::message::{from_message, to_message};
use onnx_codec::{DecodeOptions, EncodeOptions, decode, encode};
use onnx_formats::from_text;
use onnx_proto::messages::{AttributeProto, GraphProto, ModelProto, NodeProto, TensorProto};
use prost::Message;

#[test]
fn messages_and_models() {
    let message = ModelProto {
        graph: Some(GraphProto {
            initializer: vec![TensorProto {
                name: Some("w".into()),
                dims: vec![10_000],
                data_type: Some(2),
                raw_data: Some(vec![7; 10_000].into()),
                ..TensorProto::default()
            }],
            node: vec![NodeProto {
                op_type: Some("Relu".into()),
                attribute: vec![AttributeProto { f: Some(f32::NAN), ..AttributeProto::default() }],
                ..NodeProto::default()
            }],
            ..GraphProto::default()
        }),
        ..ModelProto::default()
    };
    let model = from_message(&message, &DecodeOptions::default()).unwrap().model;
    let back = to_message(&model, &EncodeOptions::default()).unwrap();
    // Not `==`: a NaN differs from itself.
    assert_eq!(back.encode_to_vec(), message.encode_to_vec());
    // The weights are the model's memory.
    let pieces = encode(&model, &EncodeOptions::default()).unwrap();
    let piece = pieces.iter().find(|piece| piece.len() == 10_000).unwrap();
    let weights = back.graph.unwrap().initializer[0].raw_data.clone().unwrap();
    assert_eq!(weights.as_ptr(), piece.as_ptr());
}

#[test]
fn the_forms_agree_with_the_decoder() {
    let bytes = from_text("ir_version: 10 graph { name: \"g\" }").unwrap();
    let model = decode(bytes.clone(), &DecodeOptions::default()).unwrap().model;
    assert_eq!(encode(&model, &EncodeOptions::default()).unwrap().to_vec(), bytes);
}
