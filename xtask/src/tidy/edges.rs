//! The check of layers: which crate may depend on which. Arrows point down only.

use std::collections::BTreeSet;

use super::Violation;
use super::metadata::{Metadata, Package};
use super::sources::Files;

/// Every crate under `crates/`, in an order in which each depends only on crates above it, with exactly the crates of
/// this workspace that it depends on. `docs/architecture.md` shows the same list and says what each crate is.
const EDGES: &[(&str, &[&str])] = &[
    ("onnx-types", &[]),
    ("onnx-diag", &[]),
    ("onnx-proto", &[]),
    ("onnx-schema", &["onnx-types"]),
    ("onnx-ir", &["onnx-types", "onnx-schema", "onnx-diag"]),
    ("onnx-ops", &["onnx-types", "onnx-schema", "onnx-ir"]),
    ("onnx-eval", &["onnx-types", "onnx-schema", "onnx-diag", "onnx-ir", "onnx-ops"]),
    ("onnx-formats", &["onnx-types", "onnx-schema", "onnx-diag", "onnx-proto"]),
    ("onnx-codec", &["onnx-types", "onnx-schema", "onnx-diag", "onnx-ir", "onnx-proto"]),
    ("onnx-text", &["onnx-types", "onnx-schema", "onnx-diag", "onnx-ir"]),
    ("onnx-check", &["onnx-types", "onnx-schema", "onnx-diag", "onnx-ir"]),
    ("onnx-shape-infer", &["onnx-types", "onnx-schema", "onnx-diag", "onnx-ir"]),
    ("onnx-functions", &["onnx-types", "onnx-schema", "onnx-diag", "onnx-ir"]),
    (
        "onnx-pass",
        &[
            "onnx-types",
            "onnx-schema",
            "onnx-diag",
            "onnx-ir",
            "onnx-ops",
            "onnx-text",
            "onnx-check",
            "onnx-shape-infer",
            "onnx-eval",
            "onnx-functions",
        ],
    ),
    (
        "onnx-rewrite",
        &[
            "onnx-types",
            "onnx-diag",
            "onnx-schema",
            "onnx-ir",
            "onnx-ops",
            "onnx-text",
            "onnx-shape-infer",
            "onnx-eval",
            "onnx-pass",
        ],
    ),
    (
        "onnx-version",
        &[
            "onnx-types",
            "onnx-schema",
            "onnx-diag",
            "onnx-ir",
            "onnx-check",
            "onnx-shape-infer",
            "onnx-functions",
        ],
    ),
    (
        "onnx-select",
        &[
            "onnx-types",
            "onnx-schema",
            "onnx-diag",
            "onnx-ir",
            "onnx-check",
            "onnx-shape-infer",
            "onnx-rewrite",
        ],
    ),
    (
        "onnx-cost",
        &[
            "onnx-types",
            "onnx-schema",
            "onnx-diag",
            "onnx-ir",
            "onnx-ops",
            "onnx-eval",
            "onnx-shape-infer",
            "onnx-functions",
        ],
    ),
    ("onnx-diff", &["onnx-types", "onnx-schema", "onnx-diag", "onnx-ir", "onnx-eval"]),
    ("onnx-weights", &["onnx-types", "onnx-schema", "onnx-diag", "onnx-ir", "onnx-eval"]),
    (
        "onnx-compose",
        &[
            "onnx-types",
            "onnx-schema",
            "onnx-diag",
            "onnx-ir",
            "onnx-ops",
            "onnx-eval",
            "onnx-shape-infer",
            "onnx-functions",
            "onnx-version",
            "onnx-check",
            "onnx-pass",
            "onnx-rewrite",
        ],
    ),
    (
        "onnx-quantize",
        &[
            "onnx-types",
            "onnx-schema",
            "onnx-diag",
            "onnx-ir",
            "onnx-check",
            "onnx-shape-infer",
            "onnx-eval",
            "onnx-pass",
            "onnx-select",
            "onnx-compose",
        ],
    ),
    ("onnx-smith", &["onnx-types", "onnx-schema", "onnx-ir", "onnx-check", "onnx-shape-infer"]),
    ("onnx-draw", &["onnx-types", "onnx-schema", "onnx-diag", "onnx-ir", "onnx-shape-infer"]),
    (
        "onnx-page",
        &[
            "onnx-types",
            "onnx-schema",
            "onnx-diag",
            "onnx-ir",
            "onnx-codec",
            "onnx-formats",
            "onnx-text",
            "onnx-check",
            "onnx-eval",
            "onnx-shape-infer",
            "onnx-functions",
            "onnx-pass",
            "onnx-rewrite",
            "onnx-version",
            "onnx-select",
            "onnx-cost",
            "onnx-diff",
            "onnx-weights",
            "onnx-compose",
            "onnx-draw",
        ],
    ),
    (
        "onnxkit",
        &[
            "onnx-types",
            "onnx-schema",
            "onnx-diag",
            "onnx-proto",
            "onnx-ir",
            "onnx-ops",
            "onnx-codec",
            "onnx-formats",
            "onnx-text",
            "onnx-check",
            "onnx-shape-infer",
            "onnx-eval",
            "onnx-functions",
            "onnx-pass",
            "onnx-rewrite",
            "onnx-version",
            "onnx-select",
            "onnx-cost",
            "onnx-diff",
            "onnx-weights",
            "onnx-compose",
            "onnx-quantize",
            "onnx-smith",
        ],
    ),
    (
        "onnx-cli",
        &[
            "onnx-types",
            "onnx-schema",
            "onnx-diag",
            "onnx-ir",
            "onnx-codec",
            "onnx-formats",
            "onnx-text",
            "onnx-check",
            "onnx-eval",
            "onnx-shape-infer",
            "onnx-functions",
            "onnx-pass",
            "onnx-rewrite",
            "onnx-version",
            "onnx-select",
            "onnx-cost",
            "onnx-diff",
            "onnx-weights",
            "onnx-compose",
            "onnx-quantize",
            "onnx-smith",
            "onnx-draw",
            "onnx-page",
        ],
    ),
    ("onnx-python", &["onnxkit", "onnx-cli"]),
    ("onnx-wasm", &["onnx-types", "onnx-page"]),
];

/// The runner of file tests, which is built on the crates that it tests: only their integration tests use it, and these link
/// the same build of the crate as the runner does.
const RUNNER: &str = "onnx-filetest";

const LIST: &str = "EDGES in xtask/src/tidy/edges.rs";

/// The document with a table of the crates: name, dependencies without the prefix `onnx-`, description.
const CODE_MAP: &str = "docs/architecture.md";

pub(super) fn check(metadata: &Metadata, files: &Files, violations: &mut Vec<Violation>) {
    let members: BTreeSet<&str> = metadata.packages.iter().map(|package| package.name.as_str()).collect();
    for package in metadata.packages.iter().filter(|package| package.is_crate()) {
        crate_edges(package, &members, violations);
        if let Some((name, below)) = EDGES.iter().find(|(row, _)| *row == package.name) {
            code_map(name, below, files.text(CODE_MAP), violations);
        }
    }
}

/// Compares the list with the crate's row in the table of the code map.
fn code_map(name: &str, below: &[&str], document: &str, violations: &mut Vec<Violation>) {
    let start = format!("| `{name}` |");
    let Some((number, row)) = document.lines().enumerate().find(|(_, line)| line.starts_with(&start)) else {
        violations.push(Violation::new(CODE_MAP, format!("describe `{name}` in the table of the crates")));
        return;
    };
    let cell = row[start.len()..].split('|').next().unwrap_or_default();
    let listed: BTreeSet<&str> = cell.split(',').map(str::trim).filter(|word| *word != "–").collect();
    let expected: BTreeSet<&str> = below.iter().map(|target| target.trim_start_matches("onnx-")).collect();
    if listed != expected {
        let problem = format!("the dependencies of `{name}` are not those of {LIST}");
        violations.push(Violation::new(format!("{CODE_MAP}:{}", number + 1), problem));
    }
}

fn crate_edges(package: &Package, members: &BTreeSet<&str>, violations: &mut Vec<Violation>) {
    let place = format!("{}/Cargo.toml", package.folder());
    let name = package.name.as_str();
    let Some((_, allowed)) = EDGES.iter().find(|(row, _)| *row == name) else {
        violations.push(Violation::new(place, format!("add `{name}` and its edges to {LIST}")));
        return;
    };
    let mut actual = BTreeSet::new();
    for dependency in package.dependencies.iter().filter(|dep| members.contains(dep.name.as_str())) {
        let target = dependency.name.as_str();
        if dependency.kind.as_deref() == Some("dev") {
            // A test may reach over, but never to something that is built on the crate itself.
            if target != name && target != RUNNER && reaches(target, name) {
                violations.push(Violation::new(
                    place.as_str(),
                    format!("the dev-dependency `{target}` is built on `{name}`: move the test to `tests/`"),
                ));
            }
            continue;
        }
        actual.insert(target);
    }
    for &target in actual.iter().filter(|target| !allowed.contains(target)) {
        violations.push(Violation::new(
            place.as_str(),
            format!("`{name}` may not depend on `{target}`: the layers are {LIST}"),
        ));
    }
    for &target in allowed.iter().filter(|target| !actual.contains(*target)) {
        violations.push(Violation::new(
            place.as_str(),
            format!("`{name}` does not depend on `{target}`, which {LIST} promises: correct the list"),
        ));
    }
}

/// Whether `from` is built on `to`, directly or not. What is not in the list (`tests`, `benches`) is built on everything.
fn reaches(from: &str, to: &str) -> bool {
    let mut open = vec![from];
    while let Some(name) = open.pop() {
        let Some((_, below)) = EDGES.iter().find(|(row, _)| *row == name) else { return true };
        if below.contains(&to) {
            return true;
        }
        open.extend(below.iter().copied());
    }
    false
}

#[cfg(test)]
mod tests {
    use super::super::metadata::Dependency;
    use super::*;

    fn package(name: &str, dependencies: &[(&str, Option<&str>)]) -> Package {
        let root = crate::workspace::root();
        Package {
            name: name.to_owned(),
            version: String::new(),
            license: None,
            source: None,
            manifest_path: root.join(format!("crates/{name}/Cargo.toml")).to_string_lossy().into_owned(),
            dependencies: dependencies
                .iter()
                .map(|&(name, kind)| Dependency { name: name.to_owned(), kind: kind.map(str::to_owned) })
                .collect(),
            targets: Vec::new(),
        }
    }

    fn check_one(name: &str, dependencies: &[(&str, Option<&str>)], want: &[&str]) {
        let members =
            BTreeSet::from(["onnx-types", "onnx-schema", "onnx-ir", "onnx-codec", "onnx-tests", RUNNER]);
        let mut violations = Vec::new();
        crate_edges(&package(name, dependencies), &members, &mut violations);
        let got: Vec<String> = violations.iter().map(ToString::to_string).collect();
        assert_eq!(got.len(), want.len(), "{got:?}");
        for (got, want) in got.iter().zip(want) {
            assert!(got.contains(want), "{got}");
        }
    }

    #[test]
    fn the_list_points_down_only() {
        for (row, (name, below)) in EDGES.iter().enumerate() {
            for target in *below {
                assert!(EDGES[..row].iter().any(|(above, _)| above == target), "{name} -> {target}");
            }
        }
    }

    #[test]
    fn edges_are_exact() {
        check_one("onnx-schema", &[("onnx-types", None), ("serde", None)], &[]);
        check_one(
            "onnx-schema",
            &[("onnx-types", None), ("onnx-ir", None)],
            &["may not depend on `onnx-ir`"],
        );
        check_one("onnx-schema", &[], &["does not depend on `onnx-types`"]);
        check_one("onnx-new", &[], &["add `onnx-new`"]);
        check_one("onnx-types", &[("onnx-schema", Some("build"))], &["may not depend"]);
    }

    #[test]
    fn the_code_map_shows_the_list() {
        let problems = |document: &str| {
            let mut violations = Vec::new();
            code_map("onnx-ir", &["onnx-types", "onnx-diag"], document, &mut violations);
            violations.into_iter().map(|violation| violation.place).collect::<Vec<_>>()
        };
        assert_eq!(problems("x\n| `onnx-ir` | diag, types | the model |"), Vec::<String>::new());
        assert_eq!(problems("x\n| `onnx-ir` | types | the model |"), ["docs/architecture.md:2"]);
        assert_eq!(problems("the crate `onnx-ir`"), ["docs/architecture.md"]);
        let mut violations = Vec::new();
        code_map("onnx-types", &[], "| `onnx-types` | – | words |", &mut violations);
        assert_eq!(violations, []);
    }

    #[test]
    fn tests_do_not_reach_up() {
        check_one("onnx-types", &[("onnx-codec", Some("dev"))], &["is built on `onnx-types`"]);
        check_one("onnx-types", &[("onnx-tests", Some("dev"))], &["is built on `onnx-types`"]);
        check_one("onnx-schema", &[("onnx-types", None), ("onnx-types", Some("dev"))], &[]);
        check_one("onnx-types", &[(RUNNER, Some("dev"))], &[]);
        check_one("onnx-types", &[(RUNNER, None)], &["may not depend"]);
    }
}
