//! `docs/reliability.md` promises nothing that is not tested.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use onnx_hostile::table::SECTIONS;
use onnx_types::LIMITS;

const PAGE: &str = include_str!("../../../docs/reliability.md");

/// The rows of the tables under a heading, without their heads.
fn rows(heading: &str) -> Vec<&'static str> {
    let section = PAGE.split("\n## ").find(|section| section.starts_with(heading)).unwrap();
    section.lines().filter(|line| line.starts_with('|')).skip(2).collect()
}

/// The cells of a row.
fn cells(row: &str) -> Vec<&str> {
    row.trim_matches('|').split('|').map(str::trim).collect()
}

/// The texts between backticks.
fn quoted(text: &str) -> Vec<&str> {
    text.split('`').skip(1).step_by(2).collect()
}

/// The names of all functions with `#[test]` or in `proptest!`, and of the files of tests.
fn tests() -> BTreeSet<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut left: Vec<_> = ["crates", "tests", "xtask"].iter().map(|folder| root.join(folder)).collect();
    let mut names = BTreeSet::new();
    while let Some(path) = left.pop() {
        if path.is_dir() {
            left.extend(path.read_dir().unwrap().map(|entry| entry.unwrap().path()));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path).unwrap();
            let after = text.split("#[test]").skip(1);
            names.extend(after.filter_map(|rest| name(rest.split_once("fn ")?.1)));
            if path.parent().is_some_and(|folder| folder.ends_with("tests/tests/workspace")) {
                names.insert(path.file_stem().unwrap().to_string_lossy().into_owned());
            }
        }
    }
    names.insert("hostile".to_owned());
    names
}

fn name(rest: &str) -> Option<String> {
    rest.split_once('(').map(|(name, _)| name.to_owned())
}

#[test]
fn what_this_page_names_exists() {
    let tests = tests();
    let cases: BTreeSet<String> = SECTIONS
        .iter()
        .flat_map(|section| {
            (section.cases)().into_iter().map(|case| format!("{}/{}", section.name, case.name))
        })
        .collect();
    let promises = rows("Promises").into_iter().map(|row| *cells(row).last().unwrap());
    let hostile = rows("Hostile cases").into_iter().map(|row| *cells(row).last().unwrap());
    let mut missing = Vec::new();
    let mut count = 0;
    for cell in promises.chain(hostile) {
        assert!(!quoted(cell).is_empty(), "{cell}");
        count += quoted(cell).len();
        missing
            .extend(quoted(cell).into_iter().filter(|&name| !tests.contains(name) && !cases.contains(name)));
    }
    assert!(missing.is_empty(), "neither tests nor cases: {missing:#?}");
    assert!(count > 100, "{count}");
    // Every case of the file system has its row.
    for number in 1..=19 {
        assert!(PAGE.contains(&format!("T{number} ")) || PAGE.contains(&format!("(T{number})")), "T{number}");
    }
}

#[test]
fn the_limits_are_those_of_the_code() {
    let expected: Vec<String> = LIMITS
        .iter()
        .map(|limit| {
            let default = limit.default_value().map_or_else(|| "none".to_owned(), |value| value.to_string());
            format!("| `{}` | {default} | {} | {} |", limit.name, limit.unit, limit.guards)
        })
        .collect();
    assert_eq!(rows("Limits"), expected, "the table must be:\n{}", expected.join("\n"));
}
