//! Any bytes as a model for inference: the property `infer` of `onnx_tests::properties`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| onnx_tests::properties::fuzz("infer", bytes));
