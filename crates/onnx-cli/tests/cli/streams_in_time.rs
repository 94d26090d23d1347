//! Reads that wait for another program end at the timeout.

use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use crate::models;
use crate::run::{Folder, command, onnx};

/// Starts the command with standard input open and without data.
fn waiting(folder: &Folder, arguments: &str) -> Child {
    let words = arguments.split_whitespace();
    let mut child = command(words);
    let child = child.current_dir(folder.path()).stdin(Stdio::piped());
    child.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
}

/// The command ends with the status of a limit, and says why, while its input is open.
#[track_caller]
fn ends(folder: &Folder, arguments: &str) {
    let start = Instant::now();
    let mut child = waiting(folder, arguments);
    let status = loop {
        match child.try_wait().unwrap() {
            Some(status) => break status,
            None if start.elapsed() > Duration::from_secs(20) => {
                child.kill().unwrap();
                panic!("{arguments}: it does not end");
            }
            None => std::thread::sleep(Duration::from_millis(10)),
        }
    };
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(status.code(), Some(3), "{arguments}: {text}");
    assert!(text.contains("the timeout was exceeded"), "{arguments}: {text}");
}

#[test]
fn standard_input_that_stays_open() {
    let folder = Folder::with("m.onnx", models::small());
    for arguments in [
        "check -",
        "info -",
        "hash -",
        "cost -",
        "print -",
        "find - all()",
        "run -",
        "infer -",
        "simplify -",
        "convert - -o out.onnx",
        "edit - --prefix a/ -o out.onnx",
        "quantize - --to int8 --weights-only -o out.onnx",
        "extract - --outputs y -o out.onnx",
        "inline - -o out.onnx",
        "outline - -o out.onnx",
        "rewrite - --pass no-identities -o out.onnx",
        "weights list -",
        "weights strip - -o out.onnx",
        "draw - -o out.svg",
        "merge m.onnx - -o out.onnx",
        "diff m.onnx -",
        "compare m.onnx -",
        "fmt - --check",
        "reduce - -o out.onnx -- true",
    ] {
        let (before, after) = arguments.split_once(" -- ").map_or((arguments, ""), |(a, b)| (a, b));
        let rest = if after.is_empty() { String::new() } else { format!(" -- {after}") };
        ends(&folder, &format!("{before} --timeout 200ms{rest}"));
    }
    assert_eq!(folder.list(), ["m.onnx"]);
}

#[test]
#[cfg(unix)]
fn pipes_that_nothing_writes_to() {
    let folder = Folder::with("m.onnx", models::small());
    for name in ["pipe", "x.npy", "rules.onnxrules", "acme.onnxops", "w.safetensors", "target.json"] {
        let made = std::process::Command::new("mkfifo").arg(folder.path().join(name)).status().unwrap();
        assert!(made.success());
    }
    let input = onnx(&folder, "info m.onnx --format json").exits(0).json();
    let name = input["result"]["models"][0]["inputs"][0]["name"].as_str().unwrap().to_owned();
    for arguments in [
        "info pipe",
        &format!("run m.onnx --feed {name}=x.npy"),
        "check rules.onnxrules",
        "simplify m.onnx --rules rules.onnxrules",
        "check m.onnx --ops acme.onnxops",
        "infer m.onnx --ops acme.onnxops",
        "check m.onnx --target ./target.json",
        "weights import m.onnx w.safetensors",
    ] {
        ends(&folder, &format!("{arguments} --timeout 200ms"));
    }
}
