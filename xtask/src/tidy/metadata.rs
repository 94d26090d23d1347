//! What `cargo metadata` says about packages, reduced to what the checks need.

use std::process::Command;

use serde::Deserialize;

/// The packages that cargo knows.
#[derive(Debug, Deserialize)]
pub(super) struct Metadata {
    pub(super) packages: Vec<Package>,
}

/// A package of the workspace, or one it depends on.
#[derive(Debug, Deserialize)]
pub(super) struct Package {
    pub(super) name: String,
    pub(super) version: String,
    pub(super) license: Option<String>,
    /// Where it comes from; `None` for packages of the workspace.
    pub(super) source: Option<String>,
    pub(super) manifest_path: String,
    pub(super) dependencies: Vec<Dependency>,
    pub(super) targets: Vec<Target>,
}

/// One entry of a dependency table.
#[derive(Debug, Deserialize)]
pub(super) struct Dependency {
    pub(super) name: String,
    /// `None`, `"dev"` or `"build"`.
    pub(super) kind: Option<String>,
}

/// Something that cargo can build.
#[derive(Debug, Deserialize)]
pub(super) struct Target {
    pub(super) kind: Vec<String>,
}

impl Metadata {
    /// The packages of the workspace only. Needs no network, whatever cargo has downloaded so far.
    pub(super) fn of_workspace() -> Result<Self, String> {
        Self::load(&["--no-deps"])
    }

    /// All packages on all platforms; cargo downloads those that it does not have.
    pub(super) fn with_dependencies() -> Result<Self, String> {
        Self::load(&["--locked"])
    }

    fn load(args: &[&str]) -> Result<Self, String> {
        let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
        let output = Command::new(cargo)
            .args(["metadata", "--format-version", "1"])
            .args(args)
            .current_dir(crate::workspace::root())
            .output()
            .map_err(|error| format!("`cargo metadata` could not be started: {error}"))?;
        if !output.status.success() {
            return Err(format!("`cargo metadata` failed: {}", String::from_utf8_lossy(&output.stderr)));
        }
        serde_json::from_slice(&output.stdout)
            .map_err(|error| format!("`cargo metadata` is not readable: {error}"))
    }
}

impl Package {
    /// The folder of the package relative to the root of the workspace, with `/` between names.
    pub(super) fn folder(&self) -> String {
        let root = crate::workspace::root();
        let manifest = std::path::Path::new(&self.manifest_path);
        let folder = manifest.parent().unwrap_or(manifest);
        folder.strip_prefix(&root).unwrap_or(folder).to_string_lossy().replace('\\', "/")
    }

    /// Whether it is one of the crates under `crates/`.
    pub(super) fn is_crate(&self) -> bool {
        self.folder().starts_with("crates/")
    }
}
