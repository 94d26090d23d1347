//! Any bytes as a script of edits: the property `edit_scripts` of `onnx_tests::properties`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| onnx_tests::properties::fuzz("edit_scripts", bytes));
