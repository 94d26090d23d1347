//! `cargo xtask conformance --suite upstream`: the reference's own tests with the Python package in the place of its native module.
//!
//! The package is the wheel of this workspace, which is built and installed in the environment of `cargo xtask python`, or the one
//! of the folder that `--package` names. `python/upstream/run.py` does the rest, in a separate environment.

use std::process::Command;

use crate::{TaskResult, wheel, workspace};

/// The name of the suite.
const SUITE: &str = "upstream";

/// The arguments of the suite, if it is the one that is asked for.
pub(crate) fn arguments(args: &[String]) -> Option<Vec<String>> {
    let at = args
        .windows(2)
        .position(|pair| matches!(pair, [name, suite] if name == "--suite" && suite == SUITE))?;
    let rest = args.iter().take(at).chain(args.iter().skip(at.saturating_add(2)));
    Some(rest.cloned().collect())
}

/// Runs the suite. All arguments are those of the script, whose paths are relative to the folder in which the command was called.
pub(crate) fn run(args: &[String]) -> TaskResult {
    let is_given = |name: &str| args.iter().any(|arg| arg == name || arg.starts_with(&format!("{name}=")));
    let is_help = is_given("--help") || is_given("-h");
    let python = wheel::environment()?;
    if !is_help && !is_given("--package") {
        wheel::install(&python)?;
    }
    let mut command = Command::new(&python);
    command.arg(workspace::root().join("python/upstream/run.py"));
    if !is_given("--work") {
        command.arg("--work").arg(workspace::target().join(SUITE));
    }
    // What is installed is tested, and nothing next to the script or in a folder of the caller.
    command.args(args).env("PYTHONSAFEPATH", "1").env_remove("PYTHONPATH");
    let status = command.status().map_err(|error| format!("{}: {error}", python.display()))?;
    if status.success() { Ok(()) } else { Err("there are differences that nothing explains".to_owned()) }
}
