//! Any bytes as a rule file, whose rules apply to models: the property `rules` of `onnx_tests::properties`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| onnx_tests::properties::fuzz("rules", bytes));
