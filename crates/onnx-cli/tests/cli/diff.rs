//! `onnx diff`, also as git's external diff driver.

use std::path::Path;
use std::process::Command;

use crate::run::{Folder, onnx};

fn model(body: &str) -> String {
    format!(
        "<ir_version: 10, opset_import: [\"\": 21]>\ng (float[2] x) => (float[2] y) <float[2] w = {{1, 2}}> {{ {body} }}"
    )
}

#[test]
fn edits_are_listed_with_their_places() {
    let folder = Folder::with("a.onnxtxt", model("a = Exp (x) b = Elu <alpha = 0.5> (a) y = Mul (b, w)"));
    folder.put("b.onnxtxt", model("p = Exp (x) q = Elu <alpha = 0.25> (p) y = Mul (q, w)"));
    folder.put("same.onnxtxt", model("p = Exp (x) q = Elu <alpha = 0.5> (p) y = Mul (q, w)"));
    folder.put(
        "weights.onnxtxt",
        model("p = Exp (x) q = Elu <alpha = 0.5> (p) y = Mul (q, w)").replace("2}", "2.5}"),
    );
    let out = onnx(&folder, "diff a.onnxtxt b.onnxtxt").exits(1).out;
    assert_eq!(
        out,
        "~ node Elu(p) -> q  graph \"g\" / node #1 Elu\n    attribute alpha: 0.5 -> 0.25\n\
         1 difference: 3 nodes and 1 initializer correspond\n"
    );
    let out = onnx(&folder, "diff a.onnxtxt same.onnxtxt").exits(0).out;
    assert_eq!(out, "no difference: 3 nodes and 1 initializer correspond\n");
    let run = onnx(&folder, "diff a.onnxtxt weights.onnxtxt").exits(1);
    assert!(run.out.contains("elements: 1 of 2 elements differ: at most 0.5"), "{}", run.out);
    let run = onnx(&folder, "diff a.onnxtxt weights.onnxtxt --structure").exits(0);
    assert!(run.out.ends_with("correspond\nelements were not compared: 1 tensor\n"), "{}", run.out);
    onnx(&folder, "diff a.onnxtxt weights.onnxtxt --atol 0.5").exits(0);
    onnx(&folder, "diff a.onnxtxt weights.onnxtxt --weights --rtol 0.01").exits(1);
    onnx(&folder, "diff a.onnxtxt b.onnxtxt --weights").exits(0);
    onnx(&folder, "diff a.onnxtxt").exits(2).says("two models");
    let json = onnx(&folder, "diff a.onnxtxt b.onnxtxt --format json").exits(1).out;
    let report: serde_json::Value = serde_json::from_str(&json).unwrap();
    let change = &report["result"]["changes"][0];
    assert_eq!((&change["kind"], &change["aspects"][0]["label"]), (&"changed".into(), &"alpha".into()));
    assert_eq!(change["before"]["selector"], "node(1)");
    assert_eq!(change["after"]["selector"], "node(1)");
}

#[test]
fn notes_can_be_left_out() {
    let folder = Folder::with("a.onnxtxt", model("y = Mul (x, w)"));
    folder.put("b.onnxtxt", model("y = Mul (x, w)").replace("21]", "21], producer_name: \"other\""));
    onnx(&folder, "diff a.onnxtxt b.onnxtxt").exits(1);
    onnx(&folder, "diff a.onnxtxt b.onnxtxt --no-metadata").exits(0);
    let hash = |file: &str| {
        onnx(&folder, &format!("hash {file}")).exits(0).out.split(' ').next().unwrap().to_owned()
    };
    assert_eq!(hash("a.onnxtxt"), hash("b.onnxtxt"));
}

#[test]
fn weights_that_cannot_be_read_are_no_agreement() {
    let folder = Folder::with("a.onnxtxt", model("y = Mul (x, w)"));
    onnx(&folder, "convert a.onnxtxt -o b.onnx --weights external=b.data --threshold 0").exits(0);
    onnx(&folder, "diff a.onnxtxt b.onnx").exits(0);
    std::fs::remove_file(folder.path().join("b.data")).unwrap();
    let run = onnx(&folder, "diff a.onnxtxt b.onnx").exits(2).says("1 tensor could not be compared");
    assert!(!run.out.contains("no difference:"), "{}", run.out);
    onnx(&folder, "diff a.onnxtxt b.onnx --weights").exits(2).says("no difference found, but 1 tensor");
    onnx(&folder, "diff a.onnxtxt b.onnx --structure").exits(0);
    folder.put("other.onnxtxt", model("y = Div (x, w)"));
    let run = onnx(&folder, "diff other.onnxtxt b.onnx").exits(1);
    assert!(run.out.contains("elements could not be compared: 1 tensor, such as"), "{}", run.out);
}

/// Runs git in a folder; `None` if git is not installed.
fn git(folder: &Path, arguments: &[&str]) -> Option<String> {
    let mut command = Command::new("git");
    command.current_dir(folder).args(arguments);
    for (name, value) in [("GIT_CONFIG_GLOBAL", "/dev/null"), ("GIT_CONFIG_SYSTEM", "/dev/null")] {
        command.env(name, value);
    }
    for name in ["GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL"] {
        command.env(name, "a@example.com");
    }
    let output = command.output().ok()?;
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "git {arguments:?}: {errors}");
    Some(String::from_utf8(output.stdout).unwrap())
}

#[test]
fn git_shows_edits_of_models() {
    let folder = Folder::with("m.onnxtxt", model("a = Exp (x) b = Elu <alpha = 0.5> (a) y = Mul (b, w)"));
    let path = folder.path();
    if git(path, &["init", "-q"]).is_none() {
        println!("git is not installed, so its driver is not tested");
        return;
    }
    let run = |arguments: &[&str]| git(path, arguments).unwrap();
    let program = env!("CARGO_BIN_EXE_onnx");
    run(&["config", "diff.onnx.command", &format!("'{program}' diff --git")]);
    folder.put(".gitattributes", "*.onnx diff=onnx\n*.onnxtxt diff=onnx\n");
    onnx(&folder, "convert m.onnxtxt -o m.onnx").exits(0);
    folder.put("broken.onnx", "nothing");
    run(&["add", "."]);
    run(&["commit", "-qm", "one"]);
    folder.put("m.onnxtxt", model("a = Exp (x) b = Elu <alpha = 0.25> (a) y = Mul (b, w)"));
    onnx(&folder, "convert m.onnxtxt -o m.onnx").exits(0);
    folder.put("broken.onnx", "nothing else");
    let out = run(&["diff", "m.onnx"]);
    assert!(out.starts_with("onnx diff m.onnx\n~ node Elu(a) -> b"), "{out}");
    assert!(out.contains("attribute alpha: 0.5 -> 0.25"), "{out}");
    let out = run(&["diff", "broken.onnx"]);
    assert!(out.contains("cannot be compared as models"), "{out}");
    run(&["add", "."]);
    run(&["commit", "-qm", "two"]);
    let out = run(&["log", "-p", "--ext-diff", "-1", "--", "m.onnx"]);
    assert!(out.contains("attribute alpha: 0.5 -> 0.25"), "{out}");
    run(&["mv", "m.onnx", "renamed.onnx"]);
    onnx(&folder, "convert m.onnxtxt -o new.onnx").exits(0);
    run(&["add", "."]);
    let out = run(&["diff", "--cached", "-M"]);
    assert!(out.contains("+ model with 3 nodes"), "{out}");
    assert!(!out.contains("- model"), "{out}");
}
