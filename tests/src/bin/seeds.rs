//! `seeds DIRECTORY`: writes the inputs that fuzzers start from, a folder for each property. `cargo xtask fuzz` runs it.
#![allow(clippy::print_stderr, reason = "a command-line program talks to its terminal")]

use std::path::Path;
use std::process::ExitCode;

use onnx_tests::properties::{ALL, regressions};

fn main() -> ExitCode {
    let Some(directory) = std::env::args().nth(1) else {
        eprintln!("seeds: name the directory to write to");
        return ExitCode::FAILURE;
    };
    match write(Path::new(&directory)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("seeds: {problem}");
            ExitCode::FAILURE
        }
    }
}

fn write(directory: &Path) -> Result<(), String> {
    for property in ALL {
        let folder = directory.join(property.name);
        let problem = |error: std::io::Error| format!("{}: {error}", folder.display());
        std::fs::create_dir_all(&folder).map_err(problem)?;
        for (index, seed) in (property.seeds)().iter().enumerate() {
            std::fs::write(folder.join(format!("seed-{index}")), seed).map_err(problem)?;
        }
        for (name, bytes) in regressions::all(property.name)? {
            std::fs::write(folder.join(name), bytes).map_err(problem)?;
        }
    }
    Ok(())
}
