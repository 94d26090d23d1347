//! Reads a file with onnx-std, which has no function for bytes.

use std::process::ExitCode;

use onnx_rust_peers::{main as measure, unknown};

fn main() -> ExitCode {
    measure(|way, job| match way {
        "file" => job.file(|path| onnx_std::load_model(path)),
        other => unknown(other),
    })
}
