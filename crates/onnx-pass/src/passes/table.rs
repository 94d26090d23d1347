//! The table of passes in `docs/passes.md`.

use std::fmt::Write as _;
use std::path::PathBuf;

use crate::Exactness;
use crate::pass::Pass;

/// The rows of the table: each pass with the functions that it needs.
fn rows() -> String {
    let mut rows = String::new();
    for pass in Pass::standard() {
        let after: Vec<String> = pass.requires().map(|name| format!("`{name}`")).collect();
        let class = if pass.class() == Exactness::Exact { "exact" } else { "rounding" };
        let _ = writeln!(
            rows,
            "| `{}` | `passes::{}` | {class} | {} | {} |",
            pass.name(),
            pass.name().replace('-', "_"),
            after.join(", "),
            pass.summary()
        );
    }
    rows
}

#[test]
fn the_document_lists_all_passes() {
    const HEAD: &str = "| pass | function | class | after | |\n|---|---|---|---|---|\n";
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/passes.md");
    let text = std::fs::read_to_string(&path).unwrap();
    let (before, rest) = text.split_once(HEAD).expect("a table of passes");
    let (_, after) = rest.split_once("\n\n").unwrap_or_default();
    let expected = format!("{before}{HEAD}{}\n{after}", rows());
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, &expected).unwrap();
    } else {
        assert!(text == expected, "docs/passes.md is stale: BLESS=1 cargo test -p onnx-pass the_document");
    }
}

/// A pass has one name: that of its record, of its file and, with underscores, of its function.
#[test]
fn the_function_of_a_pass_has_its_name() {
    let source = include_str!("mod.rs");
    for pass in Pass::standard() {
        let function = pass.name().replace('-', "_");
        for line in [format!("mod {function};"), format!("pub use {function}::{function};")] {
            assert!(source.lines().any(|known| known == line), "`{line}` is missing");
        }
    }
    let exported = source.lines().filter(|line| line.starts_with("pub use ")).count();
    assert_eq!(exported, Pass::standard().len(), "a function of no pass is public");
}
