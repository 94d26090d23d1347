//! The part of the conformance suites that is committed: no disagreement without a written reason, no stale reason.

use std::process::Command;

/// The program is run as `cargo xtask conformance --offline` runs it, except that it is not optimized.
#[test]
fn committed_cases_have_no_unexplained_disagreement() {
    let output = Command::new(env!("CARGO_BIN_EXE_conformance")).output().expect("the program starts");
    let (report, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{report}\n{errors}");
    let table = report.lines().filter(|line| line.contains(" bundled "));
    assert!(table.count() >= 10, "suites are missing: {report}");
}
