//! Any bytes as a file or a text, printed and parsed again: the property `text_roundtrip` of `onnx_tests::properties`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| onnx_tests::properties::fuzz("text_roundtrip", bytes));
