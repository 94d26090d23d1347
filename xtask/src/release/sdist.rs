//! The source distribution of the Python package, with the sources of all crates that it needs: it builds without a registry.

use std::path::Path;
use std::process::Command;

use super::Purpose;
use crate::workspace::{self, only_entry, output, pack, reset, write};
use crate::{TaskResult, wheel};

/// Builds the archive into a folder. For a release, it compiles what the archive contains as a machine does that has no registry.
pub(super) fn build(artefacts: &Path, folder: &Path, purpose: Purpose) -> TaskResult {
    let (made, tree) = (artefacts.join("sdist"), artefacts.join("sdist-tree"));
    reset(&made)?;
    reset(&tree)?;
    wheel::sdist(&made)?;
    let archive = only_entry(&made)?;
    output(Command::new("tar").arg("-xf").arg(&archive).arg("-C").arg(&tree))?;
    let content = only_entry(&tree)?;
    // What it prints is the configuration. The lock file is that of the workspace: packages of the parts that are not here are removed
    // from it, and nothing else changes.
    let sources = output(Command::new("cargo").args(["vendor", "vendor"]).current_dir(&content))?;
    write(&content.join(".cargo/config.toml"), &sources)?;
    let name = content.file_name().ok_or("the source distribution has no folder")?.to_string_lossy();
    pack(&tree, &name, &folder.join(format!("{name}.tar.gz")))?;
    match purpose {
        Purpose::Release => compile(&content, &artefacts.join("sdist-check")),
        Purpose::Comparison => Ok(()),
    }
}

/// Compiles the extension with an empty home of cargo.
fn compile(content: &Path, scratch: &Path) -> TaskResult {
    reset(scratch)?;
    output(
        Command::new("cargo")
            .args(["check", "--quiet", "--offline", "--locked", "--package", "onnx-python"])
            .env("CARGO_HOME", scratch.join("home"))
            .env("CARGO_TARGET_DIR", scratch.join("target"))
            .current_dir(content),
    )
    .map(drop)
    .map_err(|error| format!("the source distribution does not build without a registry: {error}"))?;
    workspace::remove(scratch)
}
