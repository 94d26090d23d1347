//! Any bytes as a file, written again: the property `decode_encode` of `onnx_tests::properties`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| onnx_tests::properties::fuzz("decode_encode", bytes));
