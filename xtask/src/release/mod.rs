//! `cargo xtask release VERSION --dry-run`: whether everything states one version, and all artefacts in one folder.
//!
//! Nothing is published, and nothing is changed outside of `target`: `docs/release.md` has what follows by hand.

mod artefacts;
mod command;
mod libraries;
mod licenses;
mod sbom;
mod sdist;
mod versions;

use std::fs;
use std::path::{Path, PathBuf};

use crate::codegen::Mode;
use crate::{TaskResult, workspace};

/// What artefacts are built for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Purpose {
    /// What is in them is compiled, installed and used, too.
    Release,
    /// Their bytes are compared with those of a release, which another machine has tested.
    Comparison,
}

/// Checks what states a version, then builds the artefacts for the processor of this machine, and for those that are named.
/// `--check` leaves them out, and `--again` leaves out what does not change their bytes.
pub(crate) fn run(args: &[String]) -> TaskResult {
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args[..] {
        [version, "--check"] => check(version),
        [version, "--dry-run", ref others @ ..] => {
            let processors = artefacts::processors(others)?;
            check(version)?;
            // The snapshots are those of the code: an API that changed without a line here is not reviewed.
            println!("public API: {}", crate::api::snapshots(Mode::Check)?);
            artefacts::build(version, &processors, Purpose::Release)
        }
        [version, "--again", ref others @ ..] => {
            let processors = artefacts::processors(others)?;
            check(version)?;
            artefacts::build(version, &processors, Purpose::Comparison)
        }
        _ => {
            Err("release takes a version, and `--check`, or `--dry-run` or `--again` with more processors; \
                  it never publishes"
                .to_owned())
        }
    }
}

/// Packs a command that was built for tests as the one of a release, and returns the path of the archive.
pub(crate) fn archive(binary: &Path, folder: &Path) -> Result<PathBuf, String> {
    let (version, name) = (env!("CARGO_PKG_VERSION"), "onnxkit-test");
    let file = folder.join(format!("{name}.tar.gz"));
    artefacts::archive(binary, binary, version, name, &folder.join("tree"), &file)?;
    Ok(file)
}

fn check(version: &str) -> TaskResult {
    let read = |path: &str| fs::read_to_string(workspace::root().join(path)).unwrap_or_default();
    let crates = workspace::crates()?;
    let problems = versions::problems(version, &crates, read);
    if problems.is_empty() {
        println!("version {version} everywhere");
        return Ok(());
    }
    Err(problems.join("\n"))
}
