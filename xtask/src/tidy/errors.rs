//! Public error types: a name belongs to one crate, and enums can get more variants.

use std::collections::BTreeMap;

use super::Violation;
use super::sources::Files;

/// Checks the snapshots of the public API.
pub(super) fn check(files: &Files, violations: &mut Vec<Violation>) {
    let mut owners: BTreeMap<&str, &str> = BTreeMap::new();
    for (path, text) in files.iter().filter(|(path, _)| path.starts_with("docs/api/")) {
        for (line, error) in
            (1..).zip(text.lines()).filter_map(|(line, item)| Some((line, error_type(item)?)))
        {
            let mut add =
                |problem: String| violations.push(Violation::new(format!("{path}:{line}"), problem));
            if error.is_exhaustive_enum {
                add(format!("`{}` is an enum of reasons: make it `#[non_exhaustive]`", error.name));
            }
            let owner = *owners.entry(error.name).or_insert(error.crate_name);
            if owner != error.crate_name {
                add(format!("`{owner}` has an error type `{}`, too: rename one of them", error.name));
            }
        }
    }
}

/// A public error type.
#[derive(Debug, PartialEq, Eq)]
struct ErrorType<'t> {
    crate_name: &'t str,
    name: &'t str,
    is_exhaustive_enum: bool,
}

/// The error type that a line of a snapshot declares, such as `#[non_exhaustive] pub enum onnx_ir::EditError`.
fn error_type(line: &str) -> Option<ErrorType<'_>> {
    let (attributes, item) = line.split_once("pub ")?;
    let (kind, path) = item.split_once(' ').filter(|(kind, _)| matches!(*kind, "enum" | "struct"))?;
    let path = path.split(|c: char| !c.is_alphanumeric() && !matches!(c, ':' | '_')).next()?;
    let (crate_name, _) = path.split_once("::")?;
    let (_, name) = path.rsplit_once("::")?;
    let is_exhaustive_enum = kind == "enum" && !attributes.contains("non_exhaustive");
    name.ends_with("Error").then_some(ErrorType { crate_name, name, is_exhaustive_enum })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_types_are_found_in_snapshots() {
        let found =
            |line| error_type(line).map(|error| (error.crate_name, error.name, error.is_exhaustive_enum));
        for (line, expected) in [
            ("pub enum onnx_a::b::LoadError", Some(("onnx_a", "LoadError", true))),
            ("#[non_exhaustive] pub enum onnx_a::LoadError", Some(("onnx_a", "LoadError", false))),
            ("pub struct onnx_a::LoadError(_)", Some(("onnx_a", "LoadError", false))),
            ("pub struct onnx_a::LoadError<'a>", Some(("onnx_a", "LoadError", false))),
            ("pub onnx_a::LoadError::Io(std::io::Error)", None),
            ("pub enum onnx_a::Reason", None),
            ("pub fn onnx_a::f() -> onnx_a::LoadError", None),
        ] {
            assert_eq!(found(line), expected, "{line}");
        }
    }

    #[test]
    fn a_name_belongs_to_one_crate() {
        let files = [
            ("docs/api/a.txt", "pub struct a::LoadError\npub struct a::m::LoadError"),
            ("docs/api/b.txt", "pub enum b::LoadError\n"),
        ];
        let files = Files::new(files.map(|(path, text)| (path.to_owned(), text.to_owned())));
        let mut violations = Vec::new();
        check(&files, &mut violations);
        let lines: Vec<String> = violations.iter().map(ToString::to_string).collect();
        assert_eq!(
            lines,
            [
                "docs/api/b.txt:1: `LoadError` is an enum of reasons: make it `#[non_exhaustive]`",
                "docs/api/b.txt:1: `a` has an error type `LoadError`, too: rename one of them",
            ]
        );
    }
}
