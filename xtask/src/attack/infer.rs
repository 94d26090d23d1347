//! `cargo xtask attack infer`: builds the program `attack` of the package `onnx-tests` and runs it.
//!
//! onnxruntime and the reference are asked in a Python process: of the interpreter that `ONNX_PYTHON` names, or of an
//! environment under `target/attack` with pinned releases, which is made once.

use std::process::Command;

use crate::python::{self, REFERENCE, RUNTIME};
use crate::{TaskResult, workspace};

/// The releases that are asked.
const PACKAGES: &[&str] = &[REFERENCE, RUNTIME, "numpy"];

/// Runs the task; all arguments are those of the program.
pub(crate) fn run(args: &[String]) -> TaskResult {
    let folder = workspace::target().join("attack");
    let is_help = args.iter().any(|arg| matches!(arg.as_str(), "--help" | "-h" | "--print"));
    let python = match std::env::var_os("ONNX_PYTHON") {
        Some(python) => Some(python),
        None if is_help => None,
        None => {
            std::fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
            Some(python::environment(&folder.join("python"), PACKAGES)?.into_os_string())
        }
    };
    let mut program = Command::new("cargo");
    if let Some(python) = python {
        program.env("ONNX_PYTHON", python);
    }
    let status = program
        .args(["run", "--quiet", "--release", "--locked", "--package", "onnx-tests", "--bin", "attack"])
        .arg("--manifest-path")
        .arg(workspace::root().join("Cargo.toml"))
        .args(["--", "infer", "--folder"])
        .arg(&folder)
        .args(args)
        .status()
        .map_err(|error| format!("`cargo` could not be started: {error}"))?;
    if status.success() { Ok(()) } else { Err("there are results that nothing explains".to_owned()) }
}
