//! `cargo xtask sanitize`: the tests of crates with unsafe code, under the address sanitizer.
//!
//! Which crates these are is not listed but looked up: those whose root does not forbid unsafe code. The sanitizer needs
//! the nightly toolchain.

use std::fs;
use std::process::Command;

use crate::{TaskResult, workspace};

/// The only platform on which the sanitizer is used here.
const PLATFORM: &str = "x86_64-unknown-linux-gnu";

/// Runs the task; arguments go to the tests.
pub(crate) fn run(args: &[String]) -> TaskResult {
    let crates = with_unsafe_code()?;
    println!("crates with unsafe code: {}", crates.join(", "));
    let mut command = Command::new("cargo");
    command.args(["+nightly", "test", "--locked", "--lib", "--tests", "--target", PLATFORM, "--target-dir"]);
    command.arg(workspace::target().join("sanitize"));
    for name in &crates {
        command.args(["-p", name]);
    }
    let status = command
        .args(args)
        .current_dir(workspace::root())
        .env("RUSTFLAGS", "-Zsanitizer=address")
        // Memory that is reserved for the lifetime of the process is a harmless leak, so only invalid accesses are
        // detected.
        .env("ASAN_OPTIONS", "detect_leaks=0")
        .env_remove("RUSTC")
        .env_remove("RUSTUP_TOOLCHAIN")
        .env_remove("CARGO")
        .status()
        .map_err(|error| format!("`cargo` could not be started: {error}"))?;
    if status.success() { Ok(()) } else { Err("the sanitizer or a test complains".to_owned()) }
}

/// The crates whose root file does not forbid unsafe code.
fn with_unsafe_code() -> Result<Vec<String>, String> {
    let mut crates = Vec::new();
    for name in workspace::crates()? {
        let path = workspace::root().join("crates").join(&name);
        let root = [path.join("src/lib.rs"), path.join("src/main.rs")].into_iter().find(|root| root.exists());
        let Some(root) = root else { continue };
        let text = fs::read_to_string(&root).map_err(|error| format!("{}: {error}", root.display()))?;
        if !text.contains("#![forbid(unsafe_code)]") {
            crates.push(name);
        }
    }
    Ok(crates)
}

#[cfg(test)]
mod tests {
    #[test]
    fn one_crate_has_unsafe_code() {
        assert_eq!(super::with_unsafe_code().unwrap(), ["onnx-codec"]);
    }
}
