//! Any bytes as a file, compared with independent readers: the property `decode_prost` of `onnx_tests::properties`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| onnx_tests::properties::fuzz("decode_prost", bytes));
