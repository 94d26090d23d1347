//! `documents [--check]`: writes the documents under `docs/generated`, or fails when one is stale. Run it with
//! `cargo xtask codegen`.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command-line program talks to its terminal")]

use std::path::Path;
use std::process::ExitCode;

use onnx_tests::documents::{committed, documents, folder};

fn main() -> ExitCode {
    let is_check = std::env::args().any(|arg| arg == "--check");
    match run(is_check) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn run(is_check: bool) -> Result<(), String> {
    let (wanted, mut present) = (documents()?, committed()?);
    let failed = |path: &Path, error: std::io::Error| format!("{}: {error}", path.display());
    for (name, text) in &wanted {
        if present.remove(name).as_ref() == Some(text) {
            continue;
        }
        if is_check {
            return Err(format!("`docs/generated/{name}` is stale: run `cargo xtask codegen`"));
        }
        let path = folder().join(name);
        let parent = path.parent().map_or(Ok(()), std::fs::create_dir_all);
        parent.and_then(|()| std::fs::write(&path, text)).map_err(|error| failed(&path, error))?;
        println!("wrote docs/generated/{name}");
    }
    for name in present.keys() {
        if is_check {
            return Err(format!("nothing makes `docs/generated/{name}`: run `cargo xtask codegen`"));
        }
        let path = folder().join(name);
        std::fs::remove_file(&path).map_err(|error| failed(&path, error))?;
        println!("removed docs/generated/{name}");
    }
    Ok(())
}
