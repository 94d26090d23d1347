//! `onnx reduce`, and the commands that it runs.

use crate::run::{Folder, onnx};

/// A chain of nodes with one of another kind.
fn chain() -> String {
    let mut text = String::from(
        "<ir_version: 10, opset_import: [\"\": 21]> g (float[N] x) => (float[N] y) {\nv0 = Relu (x)\n",
    );
    for index in 1..40 {
        let op = if index == 23 { "Erf" } else { "Relu" };
        text.push_str(&format!("v{index} = {op} (v{})\n", index - 1));
    }
    text.push_str("y = Neg (v39) }");
    text
}

#[cfg(unix)]
#[test]
fn the_smallest_model_for_which_a_command_fails() {
    let folder = Folder::with("in.onnxtxt", chain());
    // The command fails for a file that contains the name of the operator.
    folder.put("fails.sh", "if grep -q Erf \"$1\"; then echo 'bad operator' >&2; exit 3; fi");
    let run =
        onnx(&folder, "reduce in.onnxtxt -o tiny.onnx -- sh fails.sh {}").exits(0).says("41 -> 1 nodes");
    assert!(run.out.is_empty());
    let text = onnx(&folder, "print tiny.onnx").exits(0).out;
    assert!(text.contains("= Erf ("), "{text}");
    onnx(&folder, "check tiny.onnx").exits(0);
    // The failure must be the same.
    onnx(&folder, "reduce in.onnxtxt --match bad.operator -- sh fails.sh {}").exits(0).says("41 -> 1 nodes");
    let missed = onnx(&folder, "reduce in.onnxtxt --match other -- sh fails.sh {}").exits(2);
    missed.says("does not match `--match`").says("status 3; the last line of its output is `bad operator`");
    onnx(&folder, "reduce in.onnxtxt --match ( -- sh fails.sh {}").exits(2);
    onnx(&folder, "reduce in.onnxtxt --limit reduce_attempts=3 -- sh fails.sh {}")
        .exits(0)
        .says("ended after 3 trials");
}

#[cfg(unix)]
#[test]
fn the_status_of_the_command_decides() {
    let folder = Folder::with("in.onnxtxt", chain());
    onnx(&folder, "reduce in.onnxtxt -- true").exits(2).says("does not fail");
    for (status, says) in [(125, "cannot try the model"), (126, "status 126"), (127, "status 127")] {
        folder.put("status.sh", format!("exit {status}"));
        onnx(&folder, "reduce in.onnxtxt -o out.onnx -- sh status.sh").exits(2).says(says);
    }
    onnx(&folder, "reduce in.onnxtxt -- ./absent {}").exits(2).says("cannot be run");
    onnx(&folder, "reduce in.onnxtxt -- false").exits(0).says("models that were tried, however small");
    // A command that hangs has failed; it is ended.
    folder.put("hangs.sh", "grep -q Erf \"$1\" && sleep 60; exit 0");
    onnx(&folder, "reduce in.onnxtxt --run-timeout 200ms --limit reduce_attempts=4 -- sh hangs.sh {}")
        .exits(0);
    assert!(!folder.path().join("out.onnx").exists());
}
