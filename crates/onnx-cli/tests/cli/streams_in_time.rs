//! Reads and writes that wait for another program end at the timeout.

use std::process::{Child, Output, Stdio};
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
    refused(waiting(folder, arguments), arguments);
}

/// What a command that ends in time gives.
#[track_caller]
fn finished(mut child: Child, arguments: &str) -> Output {
    let start = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if start.elapsed() > Duration::from_secs(20) {
            child.kill().unwrap();
            panic!("{arguments}: it does not end");
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    child.wait_with_output().unwrap()
}

/// The command ends with the status of a limit, and says why.
#[track_caller]
fn refused(child: Child, arguments: &str) -> Output {
    let output = finished(child, arguments);
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{arguments}: {text}");
    assert!(text.contains("the timeout was exceeded"), "{arguments}: {text}");
    output
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

/// Starts the command with outputs.
fn started(folder: &Folder, arguments: &str, out: impl Into<Stdio>, err: impl Into<Stdio>) -> Child {
    let mut child = command(arguments.split_whitespace());
    let child = child.current_dir(folder.path()).stdin(Stdio::null());
    child.stdout(out).stderr(err).spawn().unwrap()
}

/// A pipe that takes nothing more, and its reader, which does not read.
#[cfg(target_os = "linux")]
fn full_pipe() -> (std::io::PipeWriter, std::io::PipeReader) {
    use std::io::Write as _;
    let (reader, mut writer) = std::io::pipe().unwrap();
    // What the system keeps of a pipe.
    writer.write_all(&vec![b' '; 64 << 10]).unwrap();
    (writer, reader)
}

#[test]
#[cfg(unix)]
fn pipes_that_nothing_reads() {
    let folder = Folder::with("m.onnx", models::small());
    onnx(&folder, "convert m.onnx -o m.onnxtxt").exits(0);
    let made = std::process::Command::new("mkfifo").arg(folder.path().join("pipe")).status().unwrap();
    assert!(made.success());
    for arguments in [
        "convert m.onnx -o pipe",
        "convert m.onnx -o pipe --to json",
        "print m.onnx -o pipe",
        "print m.onnx -o pipe --full",
        "infer m.onnx -o pipe",
        "simplify m.onnx -o pipe",
        "rewrite m.onnx --pass no-identities -o pipe",
        "edit m.onnx --prefix a/ -o pipe",
        "quantize m.onnx --to int8 --weights-only -o pipe",
        "extract m.onnx --outputs y -o pipe",
        "merge m.onnx m.onnx -o pipe",
        "inline m.onnx -o pipe",
        "outline m.onnx --repeated -o pipe",
        "weights strip m.onnx -o pipe",
    ] {
        let arguments = &format!("{arguments} --timeout 300ms");
        let output = refused(started(&folder, arguments, Stdio::piped(), Stdio::piped()), arguments);
        assert!(output.stdout.is_empty(), "{arguments}");
        let report = &format!("{arguments} --report report.json");
        refused(started(&folder, report, Stdio::piped(), Stdio::piped()), report);
        let report: serde_json::Value = serde_json::from_slice(&folder.get("report.json")).unwrap();
        assert_eq!((&report["status"], &report["exit"]), (&"limit".into(), &3.into()), "{arguments}");
        assert_eq!(report["failures"][0]["code"], "ONNX8005", "{arguments}");
    }
    assert_eq!(folder.list(), ["m.onnx", "m.onnxtxt", "pipe", "report.json"]);
}

#[test]
#[cfg(target_os = "linux")]
fn standard_output_that_nothing_reads() {
    let folder = Folder::with("m.onnx", models::small());
    onnx(&folder, "convert m.onnx -o m.onnxtxt").exits(0);
    onnx(&folder, "convert m.onnx -o n.onnx").exits(0);
    for arguments in [
        "check m.onnx",
        "check m.onnx --format json",
        "check m.onnx --format jsonl",
        "check m.onnx --format sarif",
        "check m.onnx --format table",
        "check m.onnx n.onnx",
        "info m.onnx",
        "info m.onnx --format csv",
        "print m.onnx",
        "print m.onnx --to dot",
        "cost m.onnx",
        "hash m.onnx",
        "find m.onnx all()",
        "run m.onnx",
        "compare m.onnx n.onnx",
        "diff m.onnx n.onnx",
        "infer m.onnx --unknown",
        "infer m.onnx -o -",
        "convert m.onnx -o -",
        "convert m.onnx -o /dev/stdout --to json",
        "convert m.onnx -o out.onnx --format json",
        "simplify m.onnx",
        "edit m.onnx --prefix a/ -o -",
        "draw m.onnx",
        "weights list m.onnx",
        "weights stats m.onnx",
        "weights strip m.onnx -o -",
        "debug verify m.onnx",
        "view m.onnx --no-browser",
    ] {
        let arguments = &format!("{arguments} --timeout 300ms");
        let (writer, reader) = full_pipe();
        refused(started(&folder, arguments, writer, Stdio::piped()), arguments);
        drop(reader);
    }
}

#[test]
#[cfg(target_os = "linux")]
fn standard_error_that_nothing_reads() {
    let folder = Folder::with("m.onnx", models::small());
    for (arguments, status) in [
        ("convert m.onnx -o out.onnx", 0),
        ("convert absent.onnx -o out.onnx", 2),
        ("merge m.onnx m.onnx -o -", 3),
        ("check m.onnx --format json", 0),
        ("check absent.onnx", 2),
    ] {
        let arguments = &format!("{arguments} --timeout 300ms");
        let (writer, reader) = full_pipe();
        let output = finished(started(&folder, arguments, Stdio::piped(), writer), arguments);
        assert_eq!(output.status.code(), Some(status), "{arguments}");
        drop(reader);
    }
}

#[test]
fn pages_end_with_the_timeout() {
    let folder = Folder::with("m.onnx", models::small());
    for arguments in ["view m.onnx --no-browser", "view m.onnx m.onnx --no-browser --stay"] {
        let arguments = &format!("{arguments} --timeout 300ms");
        let output = refused(started(&folder, arguments, Stdio::piped(), Stdio::piped()), arguments);
        assert!(output.stdout.starts_with(b"http://127.0.0.1:"), "{arguments}");
    }
}

#[test]
#[cfg(unix)]
fn other_engines_end_with_the_timeout() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = Folder::with("m.onnx", models::small());
    let script = folder.put("engine", "#!/bin/sh\nexec sleep 600\n");
    std::fs::set_permissions(script, std::fs::Permissions::from_mode(0o755)).unwrap();
    let arguments = "compare m.onnx --with onnxruntime --python ./engine --timeout 300ms";
    refused(started(&folder, arguments, Stdio::null(), Stdio::piped()), arguments);
}
