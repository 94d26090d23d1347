//! What artefacts contain: the crates that are linked into each, with its features and for its platform.
//!
//! The lists of contents of a release and the licences that come with its artefacts have the same crates, because both are made from
//! this list.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::{package, workspace};

/// Artefacts that contain compiled code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Artefact {
    /// The command, in an archive and in the image.
    Command,
    /// The extension module of the Python package.
    Wheel,
    /// The module of WebAssembly in the npm package.
    Npm,
}

impl Artefact {
    pub(crate) const ALL: [Self; 3] = [Self::Command, Self::Wheel, Self::Npm];

    /// The package that is compiled.
    pub(crate) fn package(self) -> &'static str {
        match self {
            Self::Command => "onnx-cli",
            Self::Wheel => "onnx-python",
            Self::Npm => "onnx-wasm",
        }
    }

    /// The platforms of a release, whose artefacts contain the same crates. The command is linked statically.
    pub(crate) fn targets(self) -> &'static [&'static str] {
        match self {
            Self::Command => &["x86_64-unknown-linux-musl", "aarch64-unknown-linux-musl"],
            Self::Wheel => &["x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu"],
            Self::Npm => &["wasm32-unknown-unknown"],
        }
    }

    /// The platform of a release with this processor; that of the npm package has none.
    ///
    /// # Errors
    ///
    /// Returns an error if a release has no artefact for it.
    pub(crate) fn target(self, architecture: &str) -> Result<&'static str, String> {
        let of_processor =
            |target: &&&str| self == Self::Npm || target.split('-').next() == Some(architecture);
        self.targets().iter().find(of_processor).copied().ok_or_else(|| {
            let known: Vec<&str> =
                self.targets().iter().filter_map(|target| target.split('-').next()).collect();
            format!("a release has no {} for `{architecture}`; it has {}", self.name(), known.join(" and "))
        })
    }

    /// The word for it in names of files and in sentences.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Command => "command",
            Self::Wheel => "wheel",
            Self::Npm => "npm",
        }
    }
}

/// The name and the version of a crate.
pub(crate) type Id = (String, String);

/// A crate that is linked into an artefact.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Crate {
    /// The SPDX expression of its manifest.
    pub(crate) license: Option<String>,
    /// Whether it is one of the workspace.
    pub(crate) is_own: bool,
    /// The folder of its sources.
    pub(crate) folder: PathBuf,
    /// The crates that it is linked with.
    pub(crate) depends: BTreeSet<Id>,
}

/// The crates of an artefact by name and version; the first one of the pair is the package itself.
///
/// # Errors
///
/// Returns an error if cargo fails, and if its commands disagree.
pub(crate) fn crates(artefact: Artefact, target: &str) -> Result<(Id, BTreeMap<Id, Crate>), String> {
    let root = workspace::root();
    let tree = workspace::output(
        Command::new("cargo")
            .args([
                "tree",
                "--locked",
                "--edges",
                "normal,no-proc-macro",
                "--prefix",
                "depth",
                "--format",
                " {p}",
            ])
            .args(["--package", artefact.package(), "--target", target])
            .current_dir(&root),
    )?;
    let metadata = workspace::output(
        Command::new("cargo")
            .args(["metadata", "--locked", "--format-version", "1", "--filter-platform", target])
            .current_dir(&root),
    )?;
    let metadata = serde_json::from_str(&metadata).map_err(|error| format!("`cargo metadata`: {error}"))?;
    joined(&tree, &metadata)
}

/// Adds what the metadata state to the crates of a tree.
pub(crate) fn joined(tree: &str, metadata: &Value) -> Result<(Id, BTreeMap<Id, Crate>), String> {
    let (root, edges) = edges(tree)?;
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let packages: BTreeMap<Id, &Value> = metadata["packages"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|package| ((text(&package["name"]), text(&package["version"])), package))
        .collect();
    let mut crates = BTreeMap::new();
    for (id, depends) in edges {
        let package =
            packages.get(&id).ok_or_else(|| format!("`cargo metadata` does not list {} {}", id.0, id.1))?;
        let manifest = text(&package["manifest_path"]);
        let folder = Path::new(&manifest).parent().unwrap_or(Path::new("")).to_path_buf();
        let license = package["license"].as_str().map(str::to_owned);
        crates.insert(id, Crate { license, is_own: package["source"].is_null(), folder, depends });
    }
    Ok((root, crates))
}

/// The edges in what `cargo tree` prints: lines of a depth, a name and a version. The dependencies of a crate follow it once.
fn edges(tree: &str) -> Result<(Id, BTreeMap<Id, BTreeSet<Id>>), String> {
    let mut edges: BTreeMap<Id, BTreeSet<Id>> = BTreeMap::new();
    let mut path: Vec<Id> = Vec::new();
    for line in tree.lines().filter(|line| !line.is_empty()) {
        let mut words = line.split(' ');
        let depth = words.next().and_then(|word| word.parse::<usize>().ok());
        let version = |word: &str| word.strip_prefix('v').map(str::to_owned);
        let (Some(depth), Some(name), Some(version)) = (depth, words.next(), words.next().and_then(version))
        else {
            return Err(format!("`cargo tree` printed a line that is not understood: {line}"));
        };
        let id = (name.to_owned(), version);
        path.truncate(depth);
        if let Some(parent) = path.last() {
            edges.entry(parent.clone()).or_default().insert(id.clone());
        }
        edges.entry(id.clone()).or_default();
        path.push(id);
    }
    // A path that was truncated still begins with the root.
    let root = path.first().cloned().ok_or("`cargo tree` printed nothing")?;
    Ok((root, edges))
}

/// The name of a crate in the registry, where a crate of the workspace may have the name of another one.
pub(crate) fn published(name: &str, found: &Crate) -> String {
    if found.is_own { package::published(name) } else { name.to_owned() }
}

/// The expression of a manifest; old ones separate alternatives by a slash.
pub(crate) fn expression(license: &str) -> String {
    license.split('/').map(str::trim).collect::<Vec<_>>().join(" OR ")
}

#[cfg(test)]
pub(crate) mod tests {
    use serde_json::json;

    use super::*;

    pub(crate) const TREE: &str =
        "0 onnx-a v1.0.0 (/x/crates/onnx-a)\n1 b v1.0.0\n2 d v0.2.0\n3 c v1.0.0\n1 d v0.2.0 (*)\n";

    pub(crate) fn metadata() -> Value {
        let package = |name: &str, version: &str, source: Option<&str>| {
            json!({
                "name": name,
                "version": version,
                "license": "MIT/Apache-2.0",
                "source": source,
                "manifest_path": format!("/x/{name}/Cargo.toml"),
            })
        };
        json!({ "packages": [
            package("onnx-a", "1.0.0", None),
            package("b", "1.0.0", Some("r")),
            package("c", "1.0.0", Some("r")),
            package("d", "0.2.0", Some("r")),
            package("e", "1.0.0", Some("r")),
        ] })
    }

    fn id(name: &str, version: &str) -> Id {
        (name.to_owned(), version.to_owned())
    }

    #[test]
    fn crates_of_the_tree_have_their_edges() {
        let (root, crates) = joined(TREE, &metadata()).unwrap();
        assert_eq!(root, id("onnx-a", "1.0.0"));
        let edges: Vec<(&str, Vec<&str>)> = crates
            .iter()
            .map(|(id, found)| (id.0.as_str(), found.depends.iter().map(|id| id.0.as_str()).collect()))
            .collect();
        assert_eq!(edges, [("b", vec!["d"]), ("c", vec![]), ("d", vec!["c"]), ("onnx-a", vec!["b", "d"])]);
        assert_eq!(crates[&id("b", "1.0.0")].folder, Path::new("/x/b"));
        assert!(crates[&root].is_own && !crates[&id("b", "1.0.0")].is_own);
    }

    #[test]
    fn lists_that_disagree_are_refused() {
        let problem = joined("0 f v1.0.0\n", &metadata()).unwrap_err();
        assert_eq!(problem, "`cargo metadata` does not list f 1.0.0");
        let problem = joined("├── f v1.0.0\n", &metadata()).unwrap_err();
        assert_eq!(problem, "`cargo tree` printed a line that is not understood: ├── f v1.0.0");
        assert_eq!(joined("", &metadata()).unwrap_err(), "`cargo tree` printed nothing");
    }

    #[test]
    fn processors_name_platforms() {
        assert_eq!(Artefact::Command.target("aarch64").unwrap(), "aarch64-unknown-linux-musl");
        assert_eq!(Artefact::Wheel.target("x86_64").unwrap(), "x86_64-unknown-linux-gnu");
        assert_eq!(Artefact::Npm.target("aarch64").unwrap(), "wasm32-unknown-unknown");
        let problem = Artefact::Wheel.target("riscv64").unwrap_err();
        assert_eq!(problem, "a release has no wheel for `riscv64`; it has x86_64 and aarch64");
    }

    #[test]
    fn old_expressions_are_read() {
        assert_eq!(expression("MIT/Apache-2.0"), "MIT OR Apache-2.0");
        assert_eq!(expression("MIT / Apache-2.0"), "MIT OR Apache-2.0");
        assert_eq!(expression("(MIT OR Apache-2.0) AND Unicode-3.0"), "(MIT OR Apache-2.0) AND Unicode-3.0");
    }
}
