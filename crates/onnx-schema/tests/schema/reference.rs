//! Compares the committed facts with the `onnx` package, where it is installed.
//!
//! Set `ONNX_PYTHON` to an interpreter that has the pinned version; without one the tests say so and pass.
#![allow(
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a test that cannot read its expectations has failed"
)]

use std::path::{Path, PathBuf};
use std::process::Command;

use onnx_schema::{ONNX_VERSION, lookup_by_name};

/// The interpreter, if it has the pinned version of the package.
fn python() -> Option<String> {
    let python = std::env::var("ONNX_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let output = Command::new(&python).args(["-c", "import onnx; print(onnx.__version__)"]).output();
    let version =
        output.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned()).unwrap_or_default();
    if version != ONNX_VERSION {
        println!("skipped: `{python}` has no onnx {ONNX_VERSION}; name one that has in ONNX_PYTHON");
        return None;
    }
    Some(python)
}

fn run(python: &str, script: &str, args: &[&Path]) -> String {
    let output = Command::new(python).args(["-c", script]).args(args).output().expect("the interpreter runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("the script prints text")
}

#[test]
fn facts_are_those_of_the_package() {
    let Some(python) = python() else { return };
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let script =
        std::fs::read_to_string(here.join("../../xtask/src/codegen/extract_facts.py")).expect("the script");
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    run(&python, &script, &[Path::new(ONNX_VERSION), &folder]);
    for file in [format!("onnx-{ONNX_VERSION}.json"), format!("functions-{ONNX_VERSION}.json")] {
        let committed = std::fs::read_to_string(here.join("facts").join(&file)).expect("the committed facts");
        let extracted = std::fs::read_to_string(folder.join(&file)).expect("the extracted facts");
        assert!(committed == extracted, "{file} is stale: run `cargo xtask codegen --extract`");
    }
}

/// Prints domain, operator, version and the version that the package selects, for all operators and versions.
const SELECTION: &str = "
from onnx import defs, onnx_cpp2py_export as c
names = sorted({(s.domain, s.name) for s in defs.get_all_schemas_with_history()})
for domain, name in names:
    for version in range(1, c.defs.schema_version_map()[domain][1] + 1):
        try:
            since = defs.get_schema(name, version, domain).since_version
        except defs.SchemaError:
            since = 0
        print(domain, name, version, since, sep='\\t')
";

#[test]
fn the_package_selects_the_same_schemas() {
    let Some(python) = python() else { return };
    let mut count = 0;
    for line in run(&python, SELECTION, &[]).lines() {
        let fields: Vec<&str> = line.split('\t').collect();
        let &[domain, op, version, since] = fields.as_slice() else { panic!("{line}") };
        let found = lookup_by_name(domain, op, version.parse().expect("a version"));
        assert_eq!(found.map_or(0, onnx_schema::Schema::since_version).to_string(), since, "{line}");
        count += 1;
    }
    assert!(count > 5000, "only {count} lookups were compared");
}
