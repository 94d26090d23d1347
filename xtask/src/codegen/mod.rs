//! `cargo xtask codegen`: writes the committed generated files, or checks with `--check` that they are current.

mod fields;
mod formats;
mod messages;
mod operators;
pub(crate) mod readmes;

use std::process::Command;

use crate::TaskResult;

/// What to do with a generated file.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Rewrite stale files.
    Write,
    /// Fail when a file is stale.
    Check,
}

/// Runs the generators.
///
/// `--check` compares instead of writing; `--extract` first reads the operator facts from the installed `onnx` package.
pub(crate) fn run(args: &[String]) -> TaskResult {
    let mode = if args.iter().any(|arg| arg == "--check") { Mode::Check } else { Mode::Write };
    if args.iter().any(|arg| arg == "--extract") {
        operators::extract()?;
    }
    sources(mode)?;
    documents(mode)
}

/// The files that are generated from the definitions of messages, from the operator facts, from documentation comments,
/// and from the licences of dependencies.
pub(crate) fn sources(mode: Mode) -> TaskResult {
    messages::generate(mode)?;
    operators::generate(mode)?;
    readmes::generate(mode)?;
    crate::notices::generate(mode)
}

/// The documents about rules and operators, which the package `onnx-tests` makes: it sees the crates that have rules.
fn documents(mode: Mode) -> TaskResult {
    let mut command = Command::new("cargo");
    command
        .args(["run", "--quiet", "--package", "onnx-tests", "--bin", "documents", "--"])
        .current_dir(crate::workspace::root());
    if mode == Mode::Check {
        command.arg("--check");
    }
    let status = command.status().map_err(|error| format!("`cargo` could not be started: {error}"))?;
    if status.success() {
        Ok(())
    } else {
        Err("the generated documents are not as they should be".to_owned())
    }
}

/// Writes `contents` to `path` (relative to the workspace root), or in check mode fails when the file differs.
pub(crate) fn ensure(mode: Mode, path: &str, contents: &(impl AsRef<[u8]> + ?Sized)) -> TaskResult {
    let full = crate::workspace::root().join(path);
    let current = std::fs::read(&full).unwrap_or_default();
    if current == contents.as_ref() {
        return Ok(());
    }
    if mode == Mode::Check {
        return Err(format!("`{path}` is stale: run `cargo xtask codegen`"));
    }
    if let Some(parent) = full.parent() {
        std::fs::create_dir_all(parent).map_err(|error| format!("{}: {error}", parent.display()))?;
    }
    std::fs::write(&full, contents).map_err(|error| format!("{}: {error}", full.display()))?;
    println!("wrote {path}");
    Ok(())
}
