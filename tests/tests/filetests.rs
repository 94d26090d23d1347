//! Runs the file tests in `filetests/`; `BLESS=1` rewrites what they expect.
#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use std::path::{Path, PathBuf};
use std::{env, fs};

use onnx_tests::filetests::{bless, run};

/// The files under a directory, in the order of their names.
fn files(root: &Path) -> Vec<PathBuf> {
    let (mut files, mut left) = (Vec::new(), vec![root.to_owned()]);
    while let Some(path) = left.pop() {
        if path.is_dir() {
            left.extend(path.read_dir().unwrap().map(|entry| entry.unwrap().path()));
        } else {
            files.push(path);
        }
    }
    files.sort();
    files
}

#[test]
fn files_hold_what_they_expect() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("filetests");
    let files = files(&root);
    assert!(files.len() > 30, "{} files", files.len());
    let is_blessing = env::var_os("BLESS").is_some();
    let mut failures = String::new();
    for path in files {
        let name = path.strip_prefix(&root).unwrap().display();
        assert_eq!(path.extension().unwrap(), "onnxtxt", "{name}");
        let text = fs::read_to_string(&path).unwrap();
        let result = if is_blessing {
            bless(&text).map(|blessed| {
                if blessed != text {
                    fs::write(&path, blessed).unwrap();
                }
            })
        } else {
            run(&text)
        };
        if let Err(report) = result {
            failures.push_str(&format!("{name}\n{report}\n"));
        }
    }
    assert!(failures.is_empty(), "\n{failures}BLESS=1 rewrites the expectations");
}
