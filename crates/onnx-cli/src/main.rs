//! The `onnx` command as a program.
#![forbid(unsafe_code)]

use std::process::ExitCode;

/// The allocator of musl takes twice the time for the many small values of a model.
#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: dlmalloc::GlobalDlmalloc = dlmalloc::GlobalDlmalloc;

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args_os().collect();
    onnx_cli::main(&arguments).into()
}
