//! The part of the conformance suites that is committed: no disagreement without a written reason, no stale reason.

use std::process::Command;

/// The program is run as `cargo xtask conformance --offline` runs it, except that it is not optimized.
#[test]
fn committed_cases_have_no_unexplained_disagreement() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_conformance"));
    let output = command.arg("--offline").output().expect("the program starts");
    let (report, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{report}\n{errors}");
    let table = report.lines().filter(|line| line.contains(" bundled "));
    assert!(table.count() >= 10, "suites are missing: {report}");
}

/// A run that compares nothing does not succeed, and the error says what to do.
#[test]
fn a_run_without_cases_or_peers_fails() {
    for (arguments, wanted) in [
        ("--suite quantize --count 1", "pip install onnx==1.23.2 onnxruntime` installs what is needed"),
        ("--suite eval --count 1", "`--offline` compares only with what is committed"),
        ("--suite bodies --case no-such-case", "pip install onnx==1.23.2` installs what is needed"),
        ("--suite eval --offline", "it needs a peer"),
        ("--suite inline --offline", "no case was visited: it needs `--corpus PATH`"),
        ("--suite runtime", "no case was visited: it needs `--models DIR`"),
        ("--suite contrib --case no-such-case", "no case contains `no-such-case`"),
    ] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_conformance"));
        let command = command.args(arguments.split(' ')).env("ONNX_PYTHON", "/bin/false");
        let output = command.output().expect("the program starts");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && errors.contains(wanted), "{arguments}: {errors}");
    }
}
