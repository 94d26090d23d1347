//! Earlier failing inputs of fuzzers: files in `tests/regressions/<property>/`, for which each property must hold.

use std::path::{Path, PathBuf};

/// The folder of a property's findings.
#[must_use]
pub fn folder(property: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("regressions").join(property)
}

/// The findings of a property in the order of their names, which say what was wrong.
///
/// # Errors
///
/// When the folder is there and cannot be read.
pub fn all(property: &str) -> Result<Vec<(String, Vec<u8>)>, String> {
    let folder = folder(property);
    if !folder.exists() {
        return Ok(Vec::new());
    }
    let mut found = Vec::new();
    let problem = |error: std::io::Error| format!("{}: {error}", folder.display());
    for entry in folder.read_dir().map_err(problem)? {
        let path = entry.map_err(problem)?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        found.push((name, std::fs::read(&path).map_err(problem)?));
    }
    found.sort();
    Ok(found)
}
