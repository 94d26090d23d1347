//! Any bytes as a script of edits: the property `incremental_check` of `onnx_tests::properties`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| onnx_tests::properties::fuzz("incremental_check", bytes));
