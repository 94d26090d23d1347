//! Runs the file tests in `tests/filetests`; `BLESS=1` rewrites what they expect.
#![forbid(unsafe_code)]

use std::path::Path;

use onnx_filetest::run_directory;

#[test]
fn files_hold_what_they_expect() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/filetests");
    match run_directory(&root) {
        Ok(count) => assert!(count >= 8, "{count} files"),
        Err(report) => panic!("\n{report}"),
    }
}
