//! The commands that the documents show, run in order as printed, in a directory with the files of the repository that they
//! name.
#![cfg(unix)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::run::Folder;

/// The documents with blocks of commands.
const DOCUMENTS: [&str; 9] = [
    "README.md",
    "docs/functions.md",
    "docs/number-formats.md",
    "docs/operator-sets.md",
    "docs/running-models.md",
    "docs/selectors.md",
    "docs/targets.md",
    "docs/tour.md",
    "docs/write-a-rewrite-rule.md",
];

/// The files of the repository that commands may name, in addition to those of `tests/readme`.
const FILES: [&str; 1] = ["tests/models/tf_keras_lstm_op15.onnx"];

/// A command and what it prints, by its line.
struct Step {
    line: usize,
    command: String,
    output: String,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The commands in the blocks of a document that begin with ```` ```console ````.
fn steps(document: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    let mut is_inside = false;
    for (line, text) in (1..).zip(document.lines()) {
        if text.starts_with("```") {
            is_inside = text == "```console";
        } else if let Some(command) = text.strip_prefix("$ ").filter(|_| is_inside) {
            steps.push(Step { line, command: command.to_owned(), output: String::new() });
        } else if let Some(step) = steps.last_mut().filter(|_| is_inside) {
            step.output.push_str(text);
            step.output.push('\n');
        }
    }
    steps
}

/// A directory with the files that commands may name.
fn repository() -> Folder {
    let folder = Folder::new();
    let mut names: Vec<String> = FILES.map(str::to_owned).into();
    for directory in ["tests/readme", "tests/readme/tour"] {
        let entries = fs::read_dir(root().join(directory)).unwrap().map(|entry| entry.unwrap().path());
        let files = entries.filter(|path| path.is_file());
        names
            .extend(files.map(|path| format!("{directory}/{}", path.file_name().unwrap().to_str().unwrap())));
    }
    for name in names {
        folder.put(&name, fs::read(root().join(&name)).unwrap());
    }
    folder
}

/// What a command prints on both streams.
fn run(folder: &Folder, command: &str) -> String {
    let onnx = Path::new(env!("CARGO_BIN_EXE_onnx"));
    let old = std::env::var_os("PATH").unwrap_or_default();
    let paths = [onnx.parent().unwrap().to_owned()].into_iter().chain(std::env::split_paths(&old));
    let output = Command::new("sh")
        .args(["-c", &format!("exec 2>&1\n{command}")])
        .env("PATH", std::env::join_paths(paths).unwrap())
        .env_remove("CLICOLOR_FORCE")
        .current_dir(folder.path())
        .output()
        .unwrap();
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn commands_of_documents_print_what_is_shown() {
    for name in DOCUMENTS {
        let steps = steps(&fs::read_to_string(root().join(name)).unwrap());
        assert!(steps.len() >= 3, "{name} has {} commands", steps.len());
        let folder = repository();
        for step in &steps {
            let found = run(&folder, &step.command);
            assert_eq!(found, step.output, "{name}:{}: {}", step.line, step.command);
        }
    }
}

#[test]
fn all_documents_with_commands_are_run() {
    let mut found = Vec::new();
    let documents = fs::read_dir(root().join("docs")).unwrap().map(|entry| entry.unwrap().path());
    for path in [root().join("README.md"), root().join("CONTRIBUTING.md")].into_iter().chain(documents) {
        if path.is_file() && fs::read_to_string(&path).unwrap().contains("```console") {
            found.push(path.strip_prefix(root()).unwrap().display().to_string());
        }
    }
    found.sort();
    assert_eq!(found, DOCUMENTS);
}
