//! Python environments with pinned packages, made once.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::workspace::output;

/// Makes an environment with these packages, unless it is there, and returns its interpreter.
///
/// # Errors
///
/// Returns an error if Python is missing or the packages cannot be installed.
pub(crate) fn environment(venv: &Path, packages: &[&str]) -> Result<PathBuf, String> {
    let python = venv.join("bin/python");
    // The marker says that everything was installed, and what.
    let marker = venv.join("installed");
    if fs::read_to_string(&marker).is_ok_and(|text| text == packages.join(" ")) {
        println!("using the environment in {}", venv.display());
        return Ok(python);
    }
    println!("making an environment with {} in {}", packages.join(", "), venv.display());
    output(Command::new("python3").args(["-m", "venv"]).arg(venv))?;
    output(Command::new(&python).args(["-m", "pip", "install", "--quiet"]).args(packages))?;
    fs::write(&marker, packages.join(" ")).map_err(|error| format!("{}: {error}", marker.display()))?;
    Ok(python)
}
