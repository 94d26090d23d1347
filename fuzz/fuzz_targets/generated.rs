//! Any bytes as the choices of a valid model: the property `generated` of `onnx_tests::properties`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| onnx_tests::properties::fuzz("generated", bytes));
