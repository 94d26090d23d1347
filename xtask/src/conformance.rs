//! `cargo xtask conformance`: builds the runner of the package `onnx-tests` with optimization and runs it.
//!
//! Arguments are those of the runner, `cargo xtask conformance --help` lists them; paths in them are relative to the
//! folder in which the command was called.

use std::process::Command;

use crate::TaskResult;

pub(crate) fn run(args: &[String]) -> TaskResult {
    let manifest = crate::workspace::root().join("Cargo.toml");
    let status = Command::new("cargo")
        .args(["run", "--quiet", "--release", "--locked", "--package", "onnx-tests", "--bin", "conformance"])
        .arg("--manifest-path")
        .arg(manifest)
        .arg("--")
        .args(args)
        .status()
        .map_err(|error| format!("`cargo` could not be started: {error}"))?;
    if status.success() { Ok(()) } else { Err("there are failures that nothing explains".to_owned()) }
}
