//! `cargo xtask conformance`: builds the runner of the package `onnx-tests` with optimization and runs it.
//!
//! Pinned releases of the reference and of onnxruntime are installed in an environment under `target/`. Without `--corpus` and
//! `--models`, the reference is asked first: it makes its official models and its answers about them, which are kept there. Where
//! that is not possible, it is an error: `--offline` does with what is committed. The suites that ask a peer while they run ask the
//! same ones, unless `ONNX_PYTHON` names an interpreter with others.
//!
//! The suite `upstream` is a program in Python: see [`crate::upstream`].
//!
//! All other arguments are those of the runner, `cargo xtask conformance --help` lists them; paths in them are relative to
//! the folder in which the command was called.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::python::{self, REFERENCE, RUNTIME};
use crate::{TaskResult, workspace};

pub(crate) fn run(args: &[String]) -> TaskResult {
    if let Some(args) = crate::upstream::arguments(args) {
        return crate::upstream::run(&args);
    }
    let is_given = |names: &[&str]| args.iter().any(|arg| names.contains(&arg.as_str()));
    let mut args: Vec<String> = args.to_vec();
    let mut python = std::env::var_os("ONNX_PYTHON");
    let is_help = is_given(&["--help", "-h"]);
    let asks = !(is_help || is_given(&["--bundle", "--offline"]));
    let has_cases = asks && !is_given(&["--corpus", "--models"]);
    let wants_program = has_cases || is_given(&["--cli"]);
    args.retain(|arg| arg != "--cli");
    let absent = |problem: String| {
        format!(
            "the reference cannot be asked: {problem}; `--offline` compares only with its committed answers"
        )
    };
    if has_cases {
        let Reference { cases, python: own } = reference().map_err(absent)?;
        args.extend(["--reference".to_owned(), cases.to_string_lossy().into_owned()]);
        if !is_given(&["--backend"]) {
            let backend = backend(&own)?;
            args.extend(["--backend".to_owned(), backend.to_string_lossy().into_owned()]);
        }
        python = python.or(Some(own.into_os_string()));
    } else if asks && python.is_none() {
        python = Some(environment().map_err(absent)?.into_os_string());
    }
    if wants_program {
        let package = ["build", "--quiet", "--release", "--locked", "--package", "onnx-cli"];
        workspace::run("cargo", &package)?;
        let program = workspace::target().join("release/onnx");
        args.extend(["--program".to_owned(), program.to_string_lossy().into_owned()]);
    }
    let manifest = workspace::root().join("Cargo.toml");
    let mut runner = Command::new("cargo");
    if let Some(python) = python {
        runner.env("ONNX_PYTHON", python);
    }
    let status = runner
        .args(["run", "--quiet", "--release", "--locked", "--package", "onnx-tests", "--bin", "conformance"])
        .arg("--manifest-path")
        .arg(manifest)
        .arg("--")
        .args(args)
        .status()
        .map_err(|error| format!("`cargo` could not be started: {error}"))?;
    if status.success() { Ok(()) } else { Err("there are failures that nothing explains".to_owned()) }
}

/// The interpreter with the reference and onnxruntime, which are installed if they are not there.
fn environment() -> Result<PathBuf, String> {
    let folder = workspace::root().join("target/conformance");
    std::fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    python::environment(&folder.join("python"), &[REFERENCE, RUNTIME])
}

/// The available reference.
struct Reference {
    /// The folder with its official models and its answers.
    cases: PathBuf,
    /// An interpreter that has it, for the suites that ask while they run.
    python: PathBuf,
}

/// The folder of the official backend tests with their data, which are made if they are not there.
fn backend(python: &Path) -> Result<PathBuf, String> {
    let folder = workspace::root().join("target/conformance/backend");
    let script = workspace::root().join("tests/conformance/backend.py");
    let text = std::fs::read_to_string(&script).map_err(|error| format!("{}: {error}", script.display()))?;
    let (wanted, marker) = (format!("{REFERENCE}\n{text}"), folder.join("made"));
    if std::fs::read_to_string(&marker).is_ok_and(|made| made == wanted) {
        return Ok(folder);
    }
    // It is fine if there are none.
    let _ = std::fs::remove_dir_all(&folder);
    println!("making the official backend tests of {REFERENCE}");
    let status = Command::new(python)
        .arg(&script)
        .arg(&folder)
        .stdin(std::process::Stdio::null())
        .env("PYTHONWARNINGS", "ignore")
        .status()
        .map_err(|error| format!("`{}` could not be started: {error}", python.display()))?;
    if !status.success() {
        return Err("the reference failed to make its backend tests".to_owned());
    }
    std::fs::write(&marker, wanted).map_err(|error| format!("{}: {error}", marker.display()))?;
    Ok(folder)
}

/// The reference and its answers, which are made if they are not there.
fn reference() -> Result<Reference, String> {
    let folder = workspace::root().join("target/conformance");
    let python = environment()?;
    let script = workspace::root().join("tests/conformance/reference.py");
    let text = std::fs::read_to_string(&script).map_err(|error| format!("{}: {error}", script.display()))?;
    // Answers of another release, or to other questions, would mislead.
    let wanted = format!("{REFERENCE}\n{text}");
    let (cases, marker) = (folder.join("reference"), folder.join("reference/asked"));
    if std::fs::read_to_string(&marker).is_ok_and(|asked| asked == wanted) {
        println!("using the answers of {REFERENCE} in {}", cases.display());
        return Ok(Reference { cases, python });
    }
    // It is fine when there are none.
    let _ = std::fs::remove_dir_all(&cases);
    println!("asking {REFERENCE}");
    let status = Command::new(&python)
        .arg(&script)
        .arg("cases")
        .arg(&cases)
        .stdin(std::process::Stdio::null())
        .env("PYTHONWARNINGS", "ignore")
        .status()
        .map_err(|error| format!("`{}` could not be started: {error}", python.display()))?;
    if !status.success() {
        return Err("the reference failed to make its models".to_owned());
    }
    std::fs::write(&marker, wanted).map_err(|error| format!("{}: {error}", marker.display()))?;
    Ok(Reference { cases, python })
}
