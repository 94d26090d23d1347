//! Any bytes as a model for the checker: the property `check` of `onnx_tests::properties`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| onnx_tests::properties::fuzz("check", bytes));
