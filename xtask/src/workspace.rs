//! Where the workspace is, and running its commands.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::TaskResult;

/// The root folder of the workspace.
pub(crate) fn root() -> PathBuf {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    manifest.parent().unwrap_or(manifest).to_path_buf()
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
