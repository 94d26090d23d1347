//! The tests that install what users install: `tests/channels/run.py`, with artefacts that other steps of CI have built.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::{TaskResult, python, workspace};

/// What the tests of the hooks and of the action need.
const PACKAGES: &[&str] = &["pre-commit==4.7.0", "PyYAML==6.0.3"];

/// Tests the channels of the command as it is now.
pub(crate) fn run(args: &[String]) -> TaskResult {
    if !args.is_empty() {
        return Err("channels takes no arguments".to_owned());
    }
    workspace::run("cargo", &["build", "--locked", "--package", "onnx-cli"])?;
    commands().map(|remark| println!("{remark}"))
}

/// Tests the channels of the command that the tests have built, with a remark for the summary of CI.
pub(crate) fn commands() -> Result<String, String> {
    let folder = workspace::target().join("channels/venv");
    let python = match python::environment(&folder, PACKAGES) {
        Ok(python) => python,
        Err(problem) => return Ok(format!("not tested, because the environment cannot be made: {problem}")),
    };
    let binary = workspace::target().join("debug/onnx");
    let channels = ["binary", "image", "git", "hooks", "action"];
    test(&python, "--binary", &binary, &channels)?;
    let archive = crate::release::archive(&binary, &workspace::target().join("channels/archive"))?;
    test(&python, "--archive", &archive, &["archive"])?;
    Ok(format!("{}, archive", channels.join(", ")))
}

/// Installs the npm package that `npm/pack.mjs` has made in a folder, and runs the examples of its page.
pub(crate) fn npm(package: &Path) -> TaskResult {
    let python = python::environment(&workspace::target().join("channels/venv"), PACKAGES)?;
    test(&python, "--npm", package, &["npm"])
}

/// Installs the wheel, also as the hooks and the action do.
pub(crate) fn wheel(wheel: &Path) -> TaskResult {
    let python = python::environment(&workspace::target().join("channels/venv"), PACKAGES)?;
    test(&python, "--wheel", wheel, &["wheel", "hooks", "action"])
}

/// Runs the examples with the command that was installed from the packages.
pub(crate) fn crates(command: &Path) -> TaskResult {
    let python = python::environment(&workspace::target().join("channels/venv"), PACKAGES)?;
    test(&python, "--installed", command, &["crates"])
}

/// Tests channels of one artefact.
fn test(python: &Path, option: &str, artefact: &Path, channels: &[&str]) -> TaskResult {
    println!("$ tests/channels/run.py {option} {} {}", artefact.display(), channels.join(" "));
    let status = Command::new(python)
        .arg("tests/channels/run.py")
        .arg(option)
        .arg(artefact)
        .args(channels)
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .current_dir(workspace::root())
        .stdin(Stdio::null())
        .status()
        .map_err(|error| format!("{}: {error}", python.display()))?;
    if status.success() { Ok(()) } else { Err(format!("the channels {} do not work", channels.join(", "))) }
}
