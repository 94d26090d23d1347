//! Commands that change models write nothing without an output, and `--dry-run` does all the work.

use serde_json::Value;

use crate::models;
use crate::run::{Folder, Run, onnx, onnx_with};

/// A model, and one with external data in another directory.
fn folder() -> Folder {
    let folder = Folder::with("in.onnx", models::small());
    folder.put("sub/split.onnx", models::external("deep/w.data"));
    folder.put("sub/deep/w.data", [0; 4096]);
    folder.put("notes.txt", "notes");
    std::fs::create_dir(folder.path().join("out")).unwrap();
    folder
}

/// Runs a command twice: with `--dry-run`, which must change nothing, and without.
#[track_caller]
fn check(folder: &Folder, command: &str) -> Run {
    let before = contents(folder);
    let dry = onnx(folder, &format!("{command} --dry-run"));
    assert_eq!(contents(folder), before, "{command}");
    let done = onnx(folder, command);
    assert_eq!(
        (dry.code, format!("{}{}", dry.out, dry.err).replace("would write", "wrote")),
        (done.code, done.err.clone()),
        "{command}"
    );
    done
}

/// All files under the directory, with their contents.
fn contents(folder: &Folder) -> Vec<(String, Option<Vec<u8>>)> {
    let (mut left, mut found) = (vec![folder.path().to_owned()], Vec::new());
    while let Some(path) = left.pop() {
        let is_folder = path.is_dir();
        if is_folder {
            left.extend(std::fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        }
        let bytes = (!is_folder).then(|| std::fs::read(&path).unwrap());
        found.push((path.display().to_string(), bytes));
    }
    found.sort();
    found
}

#[test]
fn a_dry_run_ends_as_the_command() {
    let folder = folder();
    for (command, code) in [
        ("convert in.onnx -o a.onnx", 0),
        ("convert in.onnx -o a.json", 0),
        ("convert in.onnx -o a.textproto", 0),
        ("convert in.onnx -o b.onnx --weights external=b.data --threshold 1", 0),
        ("convert sub/split.onnx -o out/split.onnx", 0),
        ("convert sub/split.onnx -o one.onnx --weights embed", 0),
        ("infer in.onnx -o typed.onnx", 0),
        ("infer in.onnx --in-place", 0),
        ("convert in.onnx --in-place --weights external --threshold 1", 0),
        ("smith --seed 7 -o made.onnx", 0),
        ("smith --seed 7 -o made.onnxtxt", 0),
        ("convert in.onnx -o notes.txt --to onnx", 2),
        ("convert in.onnx -o sub/deep/w.data --to onnx", 2),
        ("convert in.onnx -o nowhere/a.onnx", 2),
        ("convert missing.onnx -o a.onnx", 2),
        ("convert in.onnx -o c.onnx --weights external=notes.txt --threshold 1", 2),
        ("convert in.onnx -o c.onnx --limit nodes=0", 3),
    ] {
        let run = check(&folder, command).exits(code);
        assert_eq!(run.err.starts_with("wrote "), code == 0, "{}", run.err);
    }
    assert!(folder.path().join("out/deep/w.data").exists());
}

#[test]
fn the_report_of_a_dry_run_lists_what_would_be_written() {
    let folder = folder();
    let command = "convert in.onnx -o a.onnx --weights external=a.data --threshold 1 --format json";
    let dry = onnx(&folder, &format!("{command} --dry-run")).exits(0).json();
    let done = onnx(&folder, command).exits(0).json();
    let sizes = |report: &Value, written: bool| -> Vec<(String, u64)> {
        let outputs = report["outputs"].as_array().unwrap();
        assert!(outputs.iter().all(|output| output["written"] == written), "{report}");
        outputs
            .iter()
            .map(|output| (output["name"].as_str().unwrap().to_owned(), output["bytes"].as_u64().unwrap()))
            .collect()
    };
    assert_eq!(sizes(&dry, false), sizes(&done, true));
    let expected = ["a.onnx", "a.data"].map(|name| (name.to_owned(), folder.get(name).len() as u64));
    assert_eq!(sizes(&done, true), expected);
}

#[test]
fn without_an_output_nothing_is_written() {
    let folder = folder();
    let before = contents(&folder);
    for (command, summary) in [
        ("convert in.onnx", "would write 2 nodes, "),
        ("convert in.onnx --to json", "would write 2 nodes, "),
        ("convert in.onnx --weights external --threshold 1", " in in.onnx.data (`-o OUT` writes it)\n"),
        ("infer in.onnx", "would write 2 nodes, "),
        ("infer in.onnx --unknown --dry-run", "would write 2 nodes, "),
        ("smith --seed 7", "would write "),
    ] {
        let run = onnx(&folder, command).exits(0).says(summary);
        assert!(run.out.ends_with("(`-o OUT` writes it)\n"), "{}", run.out);
        assert!(run.err.is_empty(), "{}", run.err);
    }
    let json = onnx(&folder, "convert in.onnx --to json").out;
    let binary = onnx(&folder, "convert in.onnx").out;
    assert_ne!(json, binary);
    onnx_with(&folder, "convert -", &folder.get("in.onnx")).exits(0).says("would write 2 nodes, ");
    onnx(&folder, "convert in.onnx --limit nodes=0").exits(3);
    // A report is not a change.
    let run = onnx(&folder, "infer in.onnx --unknown").exits(0);
    assert!(run.err.is_empty(), "{}", run.err);
    assert_eq!(contents(&folder), before);
    let run = onnx(&folder, "convert in.onnx -o - --dry-run").exits(0).says("would write -: 2 nodes, ");
    assert!(run.err.is_empty() && run.out.lines().count() == 1, "{}", run.out);
    assert_eq!(contents(&folder), before);
}

#[test]
fn in_place_replaces_the_input() {
    let folder = folder();
    let before = folder.get("in.onnx");
    onnx(&folder, "infer in.onnx --in-place").exits(0).says("wrote in.onnx: 2 nodes, ");
    assert_ne!(folder.get("in.onnx"), before);
    onnx(&folder, "convert sub/split.onnx --in-place --weights embed").exits(0);
    assert!(folder.get("sub/split.onnx").len() > 1000);
    onnx(&folder, "convert in.onnx --in-place -o out.onnx")
        .exits(2)
        .says("`--in-place` and `--output` exclude each other");
    onnx_with(&folder, "convert - --in-place", &before).exits(2).says("needs a regular file");
    onnx(&folder, "convert in.onnx -o in.onnxtxt").exits(0);
    onnx(&folder, "infer in.onnxtxt --in-place").exits(2).says("comments would be lost");
}

#[test]
fn formatting_can_be_tried() {
    let folder = Folder::with("tidy.onnxtxt", "");
    onnx(&folder, "smith --seed 7 --nodes 2 -o tidy.onnxtxt --force").exits(0);
    onnx(&folder, "fmt tidy.onnxtxt").exits(0);
    let tidy = String::from_utf8(folder.get("tidy.onnxtxt")).unwrap();
    folder.put("untidy.onnxtxt", tidy.replacen('\n', " ", 2));
    let before = contents(&folder);
    let run = onnx(&folder, "fmt tidy.onnxtxt untidy.onnxtxt --dry-run").exits(0);
    assert_eq!((run.out.as_str(), run.err.as_str()), ("", "would format untidy.onnxtxt\n"));
    let report = onnx(&folder, "fmt tidy.onnxtxt untidy.onnxtxt --dry-run --format json").exits(0).json();
    let formatted = report["result"]["files"].as_array().unwrap().iter().map(|file| &file["formatted"]);
    assert_eq!(formatted.collect::<Vec<_>>(), [true, false]);
    assert_eq!(report["outputs"][0]["written"], false);
    let report = onnx(&folder, "fmt tidy.onnxtxt untidy.onnxtxt --check --format json").exits(1).json();
    assert_eq!((&report["status"], &report["outputs"]), (&"findings".into(), &serde_json::json!([])));
    assert_eq!(contents(&folder), before);
    onnx(&folder, "fmt - --format json").exits(2).says("cannot both be written to standard output");
    onnx(&folder, "fmt tidy.onnxtxt untidy.onnxtxt").exits(0).says("formatted untidy.onnxtxt\n");
    assert_eq!(folder.get("untidy.onnxtxt"), folder.get("tidy.onnxtxt"));
}

/// Every command that writes files lists them in its report.
#[test]
fn outputs_of_all_commands_are_in_the_report() {
    let folder = folder();
    onnx(&folder, "print in.onnx --at node(0) -o node.onnxtxt").exits(0);
    for (command, names) in [
        ("convert node.onnxtxt --as node -o node.pb", vec!["node.pb"]),
        ("run in.onnx -o values --to npy", vec!["values/y.npy"]),
        ("run in.onnx -o values.npz", vec!["values.npz"]),
        ("ops export --domain ai.onnx.ml --opset 3 -o ml.onnxops", vec!["ml.onnxops", "ml.signatures.json"]),
    ] {
        let report = onnx(&folder, &format!("{command} --format json")).exits(0).json();
        let outputs = report["outputs"].as_array().unwrap();
        let found: Vec<&str> = outputs.iter().map(|output| output["name"].as_str().unwrap()).collect();
        assert_eq!(found, names, "{command}");
        for output in outputs {
            let bytes = folder.get(output["name"].as_str().unwrap()).len();
            assert_eq!((&output["bytes"], &output["written"]), (&bytes.into(), &true.into()), "{command}");
        }
    }
    onnx(&folder, "convert in.onnx -o - --to json --report r.json").exits(0);
    let report: Value = serde_json::from_slice(&folder.get("r.json")).unwrap();
    assert_eq!(report["outputs"][0]["name"], "<stdout>");
    assert!(report["outputs"][0]["bytes"].as_u64().unwrap() > 100);
}

/// A run makes the directory of its outputs, so a dry run does not need it.
#[test]
fn dry_runs_need_no_directory() {
    let folder = folder();
    folder.put("models/a.onnx", models::small());
    folder.put("models/deep/b.onnx", models::small());
    for command in [
        "convert --opset 18",
        "quantize --to int8 --weights-only",
        "simplify",
        "rewrite --pass no-identities",
        "edit --metadata a=b",
        "extract --outputs sum",
        "extract --parts 1",
        "infer",
        "inline",
        "outline",
    ] {
        for (input, output) in [("in.onnx", "new/"), ("models", "new/"), ("in.onnx", "new/sub/")] {
            let line = format!("{command} {input} -o {output}");
            let before = contents(&folder);
            let dry = onnx(&folder, &format!("{line} --dry-run"));
            assert_eq!(contents(&folder), before, "{line}");
            let report = onnx(&folder, &format!("{line} --dry-run --format json")).json();
            assert_eq!(contents(&folder), before, "{line}");
            let done = onnx(&folder, &line);
            let told = |run: &Run| format!("{}{}", run.out, run.err).replace("would write", "wrote");
            let told_dry = told(&dry);
            let is_same =
                told(&done).lines().all(|said| told_dry.contains(said) || said.starts_with("to join"));
            assert!(dry.code == done.code && is_same, "{line}\n{told_dry}\n{}", told(&done));
            let outputs = report["outputs"].as_array().unwrap();
            assert!(!outputs.is_empty(), "{line}");
            for output in outputs {
                assert!(output["written"] == false, "{line}: {output}");
                let path = folder.path().join(output["name"].as_str().unwrap());
                assert_eq!(output["bytes"], std::fs::metadata(path).unwrap().len(), "{line}");
            }
            std::fs::remove_dir_all(folder.path().join("new")).unwrap();
        }
        // What is not a directory cannot become one.
        onnx(&folder, &format!("{command} in.onnx -o notes.txt/ --dry-run")).exits(2).says("notes.txt");
    }
}
