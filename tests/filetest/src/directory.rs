//! All file tests of a directory.

use std::path::{Path, PathBuf};
use std::{env, fs};

use crate::{bless, run};

/// Runs the file tests below a directory and returns their number; with `BLESS=1` in the environment, rewrites what they
/// expect.
///
/// # Errors
///
/// When a test fails, a file is not a file test, or it cannot be read or written; with the reports of all files.
pub fn run_directory(root: &Path) -> Result<usize, String> {
    let files = files(root)?;
    let is_blessing = env::var_os("BLESS").is_some();
    let mut failures = String::new();
    for path in &files {
        if let Err(report) = run_file(path, is_blessing) {
            let name = path.strip_prefix(root).unwrap_or(path).display();
            failures.push_str(&format!("{name}\n{report}\n"));
        }
    }
    if failures.is_empty() {
        return Ok(files.len());
    }
    Err(format!("{failures}BLESS=1 rewrites the expectations"))
}

fn run_file(path: &Path, is_blessing: bool) -> Result<(), String> {
    if path.extension().is_none_or(|extension| extension != "onnxtxt") {
        return Err("a file test has the extension `onnxtxt`".to_owned());
    }
    let text = fs::read_to_string(path).map_err(|error| error.to_string())?;
    if !is_blessing {
        return run(&text);
    }
    let blessed = bless(&text)?;
    if blessed == text { Ok(()) } else { fs::write(path, blessed).map_err(|error| error.to_string()) }
}

/// The files below a directory, in the order of their names.
///
/// # Errors
///
/// When a directory cannot be read.
pub fn files(root: &Path) -> Result<Vec<PathBuf>, String> {
    let (mut files, mut left) = (Vec::new(), vec![root.to_owned()]);
    while let Some(path) = left.pop() {
        let failed = |error| format!("{}: {error}", path.display());
        if path.is_dir() {
            for entry in path.read_dir().map_err(failed)? {
                left.push(entry.map_err(failed)?.path());
            }
        } else {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}
