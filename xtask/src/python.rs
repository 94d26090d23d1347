//! Python environments with pinned packages, made once.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::workspace::output;

/// The release of the reference that is asked.
pub(crate) const REFERENCE: &str = "onnx==1.23.2";
/// The release of onnxruntime that is asked.
pub(crate) const RUNTIME: &str = "onnxruntime==1.32.0";

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
    make(venv, &python)?;
    output(Command::new(&python).args(["-m", "pip", "install", "--quiet"]).args(packages))?;
    fs::write(&marker, packages.join(" ")).map_err(|error| format!("{}: {error}", marker.display()))?;
    Ok(python)
}

/// Makes an environment with pip. Where Python is packaged without `ensurepip`, as by Debian without `python3-venv`, the pip of
/// the system installs one.
fn make(venv: &Path, python: &Path) -> Result<(), String> {
    let interpreter = interpreter();
    let Err(first) = output(Command::new(&interpreter).args(["-m", "venv", "--clear"]).arg(venv)) else {
        return Ok(());
    };
    output(Command::new(&interpreter).args(["-m", "venv", "--clear", "--without-pip"]).arg(venv)).map_err(
        |_| format!("{first}; install Python with its module `venv` (on Debian: apt install python3-venv)"),
    )?;
    let pip = ["-m", "pip", "--python"];
    output(Command::new(&interpreter).args(pip).arg(python).args(["install", "--quiet", "pip"]))
        .map(drop)
        .map_err(|second| {
            format!("{first}; and {second}; install pip (on Debian: apt install python3-venv python3-pip)")
        })
}

/// The interpreter that environments are made with: `python3`, or a newer one if that is older than what the Python package
/// needs.
fn interpreter() -> String {
    let is_new = "import sys; sys.exit(sys.version_info < (3, 11))";
    let names = ["python3", "python3.14", "python3.13", "python3.12", "python3.11"];
    let found = names.into_iter().find(|name| output(Command::new(name).args(["-c", is_new])).is_ok());
    found.unwrap_or("python3").to_owned()
}
