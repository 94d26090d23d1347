//! Any bytes as a text: the property `text_parse` of `onnx_tests::properties`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| onnx_tests::properties::fuzz("text_parse", bytes));
