//! The libraries compile for `wasm32-unknown-unknown`: they need no files, threads, clock or environment.

use std::path::PathBuf;
use std::process::Command;

use crate::workspace;

const TARGET: &str = "wasm32-unknown-unknown";

/// Compiles all libraries for WebAssembly, with a remark for the summary of CI.
pub(crate) fn check() -> Result<String, String> {
    if let Err(problem) = workspace::install_target(TARGET) {
        return Ok(format!("not compiled, because the target is not installed: {problem}"));
    }
    // The page leaves out what a browser does not have, such as mapped files; the facade with its features has the rest.
    checked(&["--package", "onnx-wasm"])?;
    // The facade depends on all libraries; with its features, on every one.
    checked(&["--package", "onnxkit", "--no-default-features", "--features", "formats,petgraph,smith"])?;
    Ok(TARGET.to_owned())
}

/// Builds the module of the page and of the npm package.
pub(crate) fn module() -> Result<PathBuf, String> {
    workspace::install_target(TARGET)?;
    let build = ["build", "--locked", "--package", "onnx-wasm", "--target", TARGET, "--profile", "page"];
    workspace::run("cargo", &build)?;
    Ok(workspace::target().join(TARGET).join("page/onnx_wasm.wasm"))
}

/// Compiles packages for WebAssembly.
fn checked(packages: &[&str]) -> Result<(), String> {
    let mut command = Command::new("cargo");
    command.args(["check", "--quiet", "--locked", "--target", TARGET]).args(packages);
    let status = command
        .current_dir(workspace::root())
        .status()
        .map_err(|error| format!("`cargo` could not be started: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("{} does not compile for {TARGET}", packages[1])) }
}
