//! Exit statuses: every command with every kind of input, closed pipes and full devices.

use std::process::Stdio;

use crate::models;
use crate::run::{Folder, command, onnx};

/// Commands that read a model; `IN` is the input.
const COMMANDS: [&str; 10] = [
    "check IN",
    "check --data --full IN",
    "info IN",
    "debug verify IN",
    "convert IN -o out.bin --to onnx",
    "convert IN -o out.bin --to json",
    "print IN",
    "infer IN -o out.bin --to onnx",
    "infer IN --unknown",
    "infer IN --format json",
];

/// Files that are not models, with a part of the message that identifies them.
fn not_models() -> Vec<(&'static str, Vec<u8>, &'static str)> {
    vec![
        ("empty", Vec::new(), "the file is empty"),
        ("tensor", b"\x08\x01\x10\x01\x4a\x04\0\0\0\0".to_vec(), "a TensorProto"),
        ("node", b"\x0a\x01x\x12\x01y\x22\x04Relu".to_vec(), "a NodeProto"),
        ("text", b"Dear all,\n\nthe model is attached.\n".to_vec(), "this is a text file"),
        ("png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec(), "a PNG image"),
        ("hdf5", b"\x89HDF\r\n\x1a\n\0\0\0".to_vec(), "an HDF5 file"),
        ("safetensors", b"\x02\0\0\0\0\0\0\0{}".to_vec(), "a safetensors file"),
        ("tflite", b"\x1c\0\0\0TFL3\0\0".to_vec(), "a TensorFlow Lite model"),
        ("zip", b"PK\x03\x04\x14\0\0\0".to_vec(), "a zip archive"),
        ("pickle", b"\x80\x02}q\0.".to_vec(), "a Python pickle"),
        ("lfs", b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n".to_vec(), "a Git LFS pointer"),
        ("html", b"<!DOCTYPE html><title>404</title>".to_vec(), "a web page"),
    ]
}

#[test]
fn what_is_not_a_model_fails_and_writes_nothing() {
    let folder = Folder::new();
    for (name, bytes, what) in not_models() {
        folder.put(name, bytes);
        for from in ["", " --from onnxtxt", " --from textproto", " --from json"] {
            for run in COMMANDS {
                // Plain text may be meant as any of the texts: then the parser tells where it is wrong.
                if name == "text" && !from.is_empty() {
                    continue;
                }
                let run = format!("{}{from}", run.replace("IN", name));
                let mut expected = what;
                if !from.is_empty() && ["tensor", "node", "pickle"].contains(&name) {
                    // A text is wanted, and these are not: that is all that can be said.
                    expected = "";
                }
                onnx(&folder, &run).exits(2).says(expected);
                assert!(!folder.list().contains(&"out.bin".to_owned()), "{run}");
            }
        }
        for run in ["fmt IN", "fmt --check IN", "convert IN -o out.bin --to onnx"] {
            let run = onnx(&folder, &run.replace("IN", name));
            assert!(run.code == 2 || (run.code == 1 && name == "text"), "{name}: {}\n{}", run.code, run.err);
            assert!(!folder.list().contains(&"out.bin".to_owned()));
            // Parts and pickles look like binary models where a text is wanted.
            if !["tensor", "node", "pickle", "text"].contains(&name) {
                assert!(run.err.contains(&format!("{name}: ")) && run.err.contains(what), "{}", run.err);
                assert!(!run.err.contains("binary model"), "{name}: {}", run.err);
            }
        }
    }
}

/// The advice for files that are not models is about what they are.
#[test]
fn advice_is_about_what_the_file_is() {
    let folder = Folder::new();
    for (name, bytes, _) in not_models() {
        folder.put(name, bytes);
    }
    for command in ["check IN", "convert IN -o out.bin --to onnx", "fmt IN"] {
        for (name, advice) in [
            ("png", "only ONNX models can be read"),
            ("lfs", "run `git lfs pull`"),
            ("html", "the download went wrong"),
            ("zip", "unpack it first"),
        ] {
            onnx(&folder, &command.replace("IN", name)).exits(2).says(advice);
        }
    }
    // A part of a model is read where it is said to be one.
    for part in ["tensor", "node"] {
        for command in ["check IN", "info IN"] {
            let advice = format!("`onnx check --as {part}` reads it");
            onnx(&folder, &command.replace("IN", part)).exits(2).says(&advice);
        }
        let run = onnx(&folder, &format!("check {part} --as {part}"));
        assert!(run.code < 2 && !run.out.contains("--as"), "{}\n{}", run.out, run.err);
    }
}

#[test]
fn files_that_are_decoded_in_part_need_to_be_asked_for() {
    let folder = Folder::with("odd.onnx", models::odd());
    // A model without a graph.
    folder.put("none.onnx", b"\x08\x0a");
    for name in ["odd.onnx", "none.onnx"] {
        for run in COMMANDS {
            let run = run.replace("IN", name);
            let found =
                if run.starts_with("info") { "reading the file gave 1 finding" } else { "error[ONNX100" };
            onnx(&folder, &run).exits(1).says(found);
            assert!(!folder.list().contains(&"out.bin".to_owned()), "{run}");
        }
    }
    for run in COMMANDS.iter().skip(4) {
        let run = format!("{} --keep-going", run.replace("IN", "odd.onnx"));
        onnx(&folder, &run).exits(1).says("ONNX1003");
        let wants_output = run.contains("out.bin");
        assert_eq!(folder.list().contains(&"out.bin".to_owned()), wants_output, "{run}");
        let _ = std::fs::remove_file(folder.path().join("out.bin"));
    }
}

#[test]
fn errors_of_the_checker_do_not_prevent_other_commands() {
    let folder = Folder::with("wrong.onnx", models::wrong());
    for (run, status) in COMMANDS.iter().zip([1, 1, 0, 0, 0, 0, 0, 0, 0, 0]) {
        onnx(&folder, &run.replace("IN", "wrong.onnx")).exits(status);
        let _ = std::fs::remove_file(folder.path().join("out.bin"));
    }
    folder.put("good.onnx", models::small());
    for run in COMMANDS {
        onnx(&folder, &run.replace("IN", "good.onnx")).exits(0);
        let _ = std::fs::remove_file(folder.path().join("out.bin"));
        onnx(&folder, &run.replace("IN", "missing.onnx")).exits(2).says("missing.onnx: cannot be read: ");
        onnx(&folder, &format!("{} --limit input_bytes=3", run.replace("IN", "good.onnx")))
            .exits(3)
            .says("`input_bytes`");
    }
    // Limits of the other forms, and of external data.
    onnx(&folder, "convert good.onnx -o good.textproto").exits(0);
    onnx(&folder, "convert good.onnx -o good.json").exits(0);
    onnx(&folder, "convert good.onnx -o good.onnxtxt").exits(0);
    for name in ["good.textproto", "good.json", "good.onnxtxt"] {
        for run in COMMANDS {
            for limit in ["input_bytes", "text_bytes"] {
                let run = format!("{} --limit {limit}=100", run.replace("IN", name));
                if limit == "input_bytes" || name.ends_with("onnxtxt") {
                    onnx(&folder, &run).exits(3).says(&format!("`{limit}`"));
                }
            }
        }
        for limit in ["message_depth=1", "string_bytes=1", "nodes=0"] {
            let is_of_text = name.ends_with("onnxtxt");
            if !(is_of_text && limit != "nodes=0") {
                onnx(&folder, &format!("check {name} --limit {limit}")).exits(3).says("raise the limit");
            }
        }
    }
    onnx(&folder, "convert good.onnx -o out.json --limit message_depth=1").exits(3);
    onnx(&folder, "convert good.onnx -o split.onnx --weights external=w.data --threshold 1").exits(0);
    for limit in ["external_files=0", "external_bytes=1"] {
        let run = format!("convert split.onnx -o out.onnx --weights embed --limit {limit}");
        onnx(&folder, &run).exits(3).says("raise the limit");
    }
    // The worst status of several inputs counts: 0, 1, 3, 2.
    onnx(&folder, "check good.onnx wrong.onnx").exits(1);
    onnx(&folder, "check wrong.onnx good.onnx --limit input_bytes=300").exits(3);
    onnx(&folder, "check wrong.onnx good.onnx missing.onnx --limit input_bytes=300").exits(2);
}

#[cfg(unix)]
#[test]
fn closed_pipes_are_ignored_and_full_devices_are_not() {
    let folder = Folder::with("good.onnx", models::small());
    let commands = [
        "check good.onnx",
        "check good.onnx --format json",
        "check good.onnx --format jsonl",
        "check good.onnx --format sarif",
        "info good.onnx",
        "info --format json good.onnx",
        "debug verify good.onnx",
        "print good.onnx",
        "convert good.onnx -o - --to json",
        "infer good.onnx -o -",
        "ops list",
        "ops list --format json",
        "explain --list limits",
        "explain --list rules",
        "completions bash",
        "--help",
        "check --help",
        "--version",
    ];
    for arguments in commands {
        let mut closed = command(arguments.split(' '));
        let mut child = closed.current_dir(folder.path()).stdout(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let code = child.wait().unwrap().code();
        assert_eq!(code, Some(0), "{arguments}");
        let Ok(full) = std::fs::OpenOptions::new().write(true).open("/dev/full") else { continue };
        let mut full_device = command(arguments.split(' '));
        let output =
            full_device.current_dir(folder.path()).stdout(full).stderr(Stdio::piped()).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments}");
        let message = String::from_utf8_lossy(&output.stderr);
        assert!(message.contains("cannot write to standard output"), "{arguments}: {message}");
    }
}

/// A command whose time is over ends with the status of limits, and writes nothing.
#[test]
fn timeouts_end_commands() {
    let folder = Folder::with("in.onnx", models::small());
    onnx(&folder, "convert in.onnx -o in.onnxtxt").exits(0);
    let others = [
        "check --fix IN",
        "convert IN -o - --to json",
        "convert IN.onnxtxt -o out.bin --to onnx --weights-from IN",
        "print IN -o out.bin",
        "fmt IN.onnxtxt",
        "fmt --check missing.onnxtxt IN.onnxtxt",
        "convert IN.onnxtxt -o out.bin --to onnx",
        "convert IN.onnxtxt -o -",
    ];
    for command in COMMANDS.into_iter().chain(others) {
        let command = command.replace("IN.onnxtxt", "in.onnxtxt").replace("IN", "in.onnx");
        let run = onnx(&folder, &format!("{command} --timeout 0s"));
        run.exits(3).says("the timeout was exceeded");
        assert!(!folder.list().contains(&"out.bin".to_owned()), "{command}");
        let status = if command.contains("missing") { 2 } else { 0 };
        onnx(&folder, &format!("{command} --timeout 1h")).exits(status);
        let _ = std::fs::remove_file(folder.path().join("out.bin"));
    }
    onnx(&folder, "check in.onnx in.onnx in.onnx --timeout 0s")
        .exits(3)
        .says("the timeout was exceeded with 2 files left")
        .says("3 models: 0 without errors, 3 not checked");
    onnx(&folder, "check in.onnx --timeout 5").exits(2).says("write a number with its unit");
}

/// Sizes that need more than one expression.
const STEPS: &str = "<ir_version: 10, opset_import: [\"\": 18]> g (float[a, b, c, d] x) => (int64[N] z)
    { s = Shape (x) t = ReduceSum (s) r = Add (s, t) z = Mul (r, r) }";

/// Weights and a shape.
const DATA: &str = "<ir_version: 10, opset_import: [\"\": 21]> g (float[2] x) => (float[2] y)
    <float[2] w = {1, 2}, int64[1] s = {2}> { a = Add (x, w) y = Reshape (a, s) }";

/// A limit has the same status whether reading, the checker, inference, or a run exceeds it; what was not examined is not negative.
#[test]
fn exceeded_limits_have_one_status() {
    let folder = Folder::with("steps.onnxtxt", STEPS);
    folder.put("data.onnxtxt", DATA);
    onnx(&folder, "convert data.onnxtxt -o data.onnx --weights external=w.data --threshold 1").exits(0);
    for (arguments, limit) in [
        ("check steps.onnxtxt", "expression_steps=1"),
        ("infer steps.onnxtxt", "expression_steps=1"),
        ("infer steps.onnxtxt --unknown --strict", "expression_steps=1"),
        ("infer steps.onnxtxt -o out.onnx", "expression_steps=1"),
        ("check data.onnx", "external_files=0"),
        ("check data.onnx --data", "external_files=0"),
        ("check data.onnx --data --fast", "external_bytes=1"),
        ("check data.onnx", "external_bytes=1"),
        ("check data.onnx --profile reference", "external_files=0"),
        ("infer data.onnx", "external_bytes=1"),
        ("run data.onnx", "external_bytes=1"),
        ("run data.onnx", "external_files=0"),
        ("compare data.onnx data.onnxtxt", "external_bytes=1"),
        ("weights stats data.onnx", "external_bytes=1"),
        ("weights show data.onnx", "external_bytes=1"),
        ("weights export data.onnx -o w.safetensors", "external_bytes=1"),
        ("weights export data.onnx -o w.npz", "external_bytes=1"),
        ("hash data.onnx", "external_bytes=1"),
        ("convert data.onnx -o out.onnx --weights embed", "external_bytes=1"),
        ("convert data.onnx --float16 -o out.onnx", "external_bytes=1"),
    ] {
        let name = limit.split('=').next().unwrap();
        for format in ["", " --format json", " --format jsonl", " --max-findings 1"] {
            // What `infer` reports is made in spite of limits.
            if arguments.starts_with("infer") && !format.is_empty() {
                continue;
            }
            let run = onnx(&folder, &format!("{arguments} --limit {limit}{format}"));
            assert_eq!(run.code, 3, "{arguments} {limit}{format}: {}{}", run.out, run.err);
            assert!(run.told().contains(&format!("`{name}")), "{arguments} {limit}: {}", run.told());
        }
    }
    assert!(!folder.list().iter().any(|name| name.starts_with("out.")), "{:?}", folder.list());
}

/// Rules and documents are inputs, too, and a rule that is not reported or not an error says nothing about the status.
#[test]
fn limits_of_other_inputs_and_severities() {
    let folder = Folder::with("steps.onnxtxt", STEPS);
    folder.put("data.onnxtxt", DATA);
    folder.put(
        "r.onnxrules",
        "rule r: exact\nfrom (x) => (y) { y = Sub (Relu (x), Relu (Neg (x))) }\nto (x) => (x) {}\n",
    );
    onnx(&folder, "ops export --opset 21 -o all.onnxops").exits(0);
    for arguments in [
        "check r.onnxrules",
        "fmt --check r.onnxrules",
        "simplify data.onnxtxt --rules r.onnxrules",
        "rewrite data.onnxtxt --rules r.onnxrules",
        "check all.onnxops",
        "check data.onnxtxt --ops all.onnxops",
        "infer data.onnxtxt --ops all.onnxops",
    ] {
        onnx(&folder, &format!("{arguments} --limit input_bytes=20")).exits(3).says("`input_bytes`");
    }
    // A rule that is not reported, or that is not an error, says nothing about the status.
    onnx(&folder, "check steps.onnxtxt --limit expression_steps=1 --allow ONNX3018").exits(0);
    onnx(&folder, "infer steps.onnxtxt --unknown --limit expression_steps=1")
        .exits(0)
        .says("warning[ONNX3018]");
    // The worst of several inputs counts.
    folder.put("wrong.onnx", models::wrong());
    let run = onnx(&folder, "check wrong.onnx steps.onnxtxt --limit expression_steps=1");
    assert_eq!(run.code, 3, "{}", run.told());
}
