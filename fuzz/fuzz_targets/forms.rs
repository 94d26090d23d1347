//! Any bytes as protobuf's text and as JSON: the property `forms` of `onnx_tests::properties`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| onnx_tests::properties::fuzz("forms", bytes));
