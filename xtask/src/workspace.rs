//! Where the workspace is, and running its commands.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::TaskResult;

/// The root folder of the workspace.
pub(crate) fn root() -> PathBuf {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    manifest.parent().unwrap_or(manifest).to_path_buf()
}

/// The folder that `cargo` builds in.
pub(crate) fn target() -> PathBuf {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| "target".into(), PathBuf::from);
    root().join(target)
}

/// The name of the Python package and of the facade in registries, and the prefix of the names of the other crates there.
pub(crate) const DISTRIBUTION: &str = "onnxkit";

/// The names of the crates that are for users of Rust, which are those of their folders. A crate that says `publish = false`
/// is a part of a package of another language.
pub(crate) fn crates() -> Result<Vec<String>, String> {
    let folder = root().join("crates");
    let entries = std::fs::read_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let is_for_rust = |entry: &std::fs::DirEntry| {
        let manifest = std::fs::read_to_string(entry.path().join("Cargo.toml")).unwrap_or_default();
        !manifest.lines().any(|line| line == "publish = false")
    };
    let mut names: Vec<String> = entries
        .flatten()
        .filter(is_for_rust)
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    Ok(names)
}

/// Runs a command in the root folder and fails when it does.
pub(crate) fn run(program: &str, args: &[&str]) -> TaskResult {
    let status = Command::new(program)
        .args(args)
        .current_dir(root())
        .status()
        .map_err(|error| format!("`{program}` could not be started: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("`{program} {}` failed: {status}", args.join(" "))) }
}

/// Runs a command and returns what it prints.
pub(crate) fn output(command: &mut Command) -> Result<String, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|error| format!("`{name}` could not be started: {error}"))?;
    if !output.status.success() {
        return Err(format!("`{name}` failed: {}", String::from_utf8_lossy(&output.stderr).trim()));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
