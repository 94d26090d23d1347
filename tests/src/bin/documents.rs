//! `documents [--check]`: writes the generated documents about rules, or fails when one is stale. Run it with
//! `cargo xtask codegen`.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command-line program talks to its terminal")]

use std::path::Path;
use std::process::ExitCode;

use onnx_tests::documents::{requirement_matrix, rule_index};

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
    let index = rule_index().map_err(|error| error.to_string())?;
    for (name, text) in [("rules.md", index), ("requirements.md", requirement_matrix()?)] {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/generated");
        let path = folder.join(name);
        if std::fs::read_to_string(&path).is_ok_and(|current| current == text) {
            continue;
        }
        if is_check {
            return Err(format!("`docs/generated/{name}` is stale: run `cargo xtask codegen`"));
        }
        let write = || std::fs::create_dir_all(&folder).and_then(|()| std::fs::write(&path, &text));
        write().map_err(|error| format!("{}: {error}", path.display()))?;
        println!("wrote docs/generated/{name}");
    }
    Ok(())
}
