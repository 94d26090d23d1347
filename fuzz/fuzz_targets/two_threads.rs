//! Any bytes as a file and as a text, read by one thread and by two: the property `two_threads` of `onnx_tests::properties`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| onnx_tests::properties::fuzz("two_threads", bytes));
