//! The command of a release: one static program, which needs nothing of a system but Linux.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use crate::workspace::{self, install_target, output};

/// The largest command that is accepted.
const MAX_BYTES: usize = 20 << 20;

/// How the command is linked, by [`LINKER`], which needs no C compiler and links for all processors.
///
/// Functions with the same code become one, because no code here compares addresses of functions. Relocations are packed, because
/// the table of those of a program that can be loaded anywhere is 3 % of it.
const LINKING: &str = "-Clink-arg=--icf=all\x1f-Clink-arg=--pack-dyn-relocs=relr";

/// The linker of the toolchain.
const LINKER: &str = "rust-lld";

/// Builds the command for a platform, and returns its path.
pub(super) fn build(target: &str) -> Result<PathBuf, String> {
    install_target(target)?;
    let (name, paths) = workspace::without_paths()?;
    let linker = format!("CARGO_TARGET_{}_LINKER", target.to_uppercase().replace('-', "_"));
    let arguments = ["build", "--locked", "--profile", "dist", "--package", "onnx-cli", "--target", target];
    output(
        Command::new("cargo")
            .args(arguments)
            .env(name, format!("{paths}\x1f{LINKING}"))
            .env(linker, LINKER)
            .current_dir(workspace::root()),
    )?;
    let binary = workspace::target().join(target).join("dist/onnx");
    let contents = fs::read(&binary).map_err(|error| format!("{}: {error}", binary.display()))?;
    if contents.len() > MAX_BYTES {
        return Err(format!("the command has {} bytes; at most {MAX_BYTES} are accepted", contents.len()));
    }
    super::libraries::check(&contents)?;
    Ok(binary)
}
