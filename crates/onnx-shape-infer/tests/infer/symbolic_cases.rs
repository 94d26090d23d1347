//! The file tests in `filetests/symbolic` cover all cases on which engines of symbolic inference were compared, and
//! expect the ideal answer; blessing cannot weaken them.

use std::collections::BTreeMap;
use std::path::Path;

/// The names of the cases.
const CASES: &str = include_str!("symbolic_cases.txt");

#[test]
fn all_symbolic_cases_are_there_and_expect_the_ideal() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/filetests/symbolic");
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        let header = |key: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(key));
            line.unwrap_or_else(|| panic!("{}: `{key}` is missing", path.display())).trim()
        };
        let expected: Vec<&str> =
            text.lines().filter_map(|line| line.split_once("# is:")).map(|(_, is)| is.trim()).collect();
        assert_eq!(expected, [header("# ideal:")], "{}", path.display());
        found.insert(header("# case:").to_owned(), path.clone());
    }
    let missing: Vec<&str> = CASES.lines().filter(|case| !found.contains_key(*case)).collect();
    assert!(missing.is_empty(), "cases without a test: {missing:?}");
    assert_eq!(found.len(), CASES.lines().count());
}
