//! Any bytes as the choices of a valid model: the property `smith` of `onnx_tests::properties`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| onnx_tests::properties::fuzz("smith", bytes));
