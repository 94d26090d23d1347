//! The files that contain the inference rules of an operator, and their module documentation.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// The file with the rows of an operator.
pub(super) struct Home {
    /// Relative to the root of the workspace.
    pub(super) path: String,
    /// The group and the name of the file: `tensor/reshape`.
    pub(super) short: String,
    /// The documentation of the module, as Markdown.
    pub(super) about: String,
}

const OPS: &str = "crates/onnx-shape-infer/src/ops";

/// An operator's name without what its constant writes differently: `DEPTH_TO_SPACE` and `DepthToSpace` are the same.
pub(super) fn key(name: &str) -> String {
    name.replace('_', "").to_uppercase()
}

/// The homes of all operators, by [`key`].
///
/// # Errors
///
/// When a file cannot be read, says nothing of itself, or an operator has two homes.
pub(super) fn homes() -> Result<BTreeMap<String, Home>, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut homes = BTreeMap::new();
    for group in entries(&root.join(OPS))?.iter().filter(|path| path.is_dir()) {
        for file in entries(group)? {
            let text = fs::read_to_string(&file).map_err(|error| format!("{}: {error}", file.display()))?;
            let name = |path: &Path| path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            let short = format!("{}/{}", name(group), name(&file));
            let about: Vec<&str> = text.lines().map_while(|line| line.strip_prefix("//!")).collect();
            let about: Vec<&str> =
                about.into_iter().map(|line| line.strip_prefix(' ').unwrap_or(line)).collect();
            for op in operators(&text) {
                let home =
                    Home { path: format!("{OPS}/{short}.rs"), short: short.clone(), about: about.join("\n") };
                if home.about.is_empty() {
                    return Err(format!("{} says nothing of itself", home.path));
                }
                if let Some(other) = homes.insert(key(op), home) {
                    return Err(format!("{op} has a home in {short} and in {}", other.short));
                }
            }
        }
    }
    Ok(homes)
}

fn entries(folder: &Path) -> Result<Vec<std::path::PathBuf>, String> {
    let entries = folder.read_dir().map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    Ok(paths)
}

/// The constants of the operators that have rows in a file: what follows on `infer(op::`.
fn operators(text: &str) -> impl Iterator<Item = &str> {
    text.split("infer(").skip(1).filter_map(|rest| {
        let rest = rest.trim_start().strip_prefix("op::")?;
        rest.split(|letter: char| !(letter.is_ascii_alphanumeric() || letter == '_')).next()
    })
}
