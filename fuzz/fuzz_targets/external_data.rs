//! Any bytes as a directory of external data: the property `external_data` of `onnx_tests::properties`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| onnx_tests::properties::fuzz("external_data", bytes));
