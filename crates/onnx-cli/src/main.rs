//! The `onnx` command as a program.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args_os().collect();
    onnx_cli::main(&arguments).into()
}
