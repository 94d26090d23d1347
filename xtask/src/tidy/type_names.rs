//! Names of public types: one crate has a name, so that users of several crates need no aliases.

use std::collections::BTreeMap;

use super::Violation;
use super::sources::Files;

/// Names that several crates have, with the reason.
const SHARED: [(&str, &str); 7] = [
    ("Cx", "rules of inference and kernels are written against the same interface, each in its own file"),
    ("Stop", "as for `Cx`"),
    ("Param", "as for `Cx`: the parameter of a node, in a rule by what inference knows of it"),
    ("Value", "the glossary: a value of the graph, and the value that it has in a run"),
    ("Rule", "a rule of diagnostics, and a rewrite rule: files of rules have that name"),
    ("Element", "a number or text of a tensor, and what a selector of a model denotes"),
    ("Position", "a source position, and the insertion point of a node"),
];

/// Parts of paths whose names are those of the specification: operators, kinds of attributes, messages.
const OF_SPECIFICATION: [&str; 3] = ["onnx_ops::ops::", "onnx_ops::kind::", "onnx_proto::"];

/// Checks the snapshots of the public API.
pub(super) fn check(files: &Files, violations: &mut Vec<Violation>) {
    let mut owners: BTreeMap<&str, &str> = BTreeMap::new();
    for (path, text) in files.iter().filter(|(path, _)| path.starts_with("docs/api/")) {
        for (line, (crate_name, name)) in
            (1..).zip(text.lines()).filter_map(|(line, item)| Some((line, public_type(item)?)))
        {
            let own = path.trim_start_matches("docs/api/").trim_end_matches(".txt").replace('-', "_");
            if own != crate_name || SHARED.iter().any(|(shared, _)| *shared == name) {
                continue;
            }
            let owner = *owners.entry(name).or_insert(crate_name);
            if owner != crate_name {
                let problem = format!("`{owner}` has a type `{name}`, too: rename one of them");
                violations.push(Violation::new(format!("{path}:{line}"), problem));
            }
        }
    }
}

/// The crate and the name of the type that a line of a snapshot declares, such as `pub enum onnx_ir::Change`.
fn public_type(line: &str) -> Option<(&str, &str)> {
    let (attributes, item) = line.split_once("pub ")?;
    let (kind, path) = item.split_once(' ')?;
    if !matches!(kind, "enum" | "struct" | "trait" | "union") || !attributes.split("#[").all(is_attribute) {
        return None;
    }
    let path =
        path.split(|c: char| !c.is_alphanumeric() && !matches!(c, ':' | '_')).next()?.trim_end_matches(':');
    if OF_SPECIFICATION.iter().any(|part| path.starts_with(part)) {
        return None;
    }
    let (crate_name, _) = path.split_once("::")?;
    let (_, name) = path.rsplit_once("::")?;
    Some((crate_name, name))
}

/// Returns `true` for what is in front of an item: nothing, or the rest of an attribute.
fn is_attribute(text: &str) -> bool {
    text.is_empty() || text.trim_end().ends_with(']')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_found_in_snapshots() {
        for (line, expected) in [
            ("pub enum onnx_a::b::Change", Some(("onnx_a", "Change"))),
            ("#[non_exhaustive] pub struct onnx_a::Change<'a>", Some(("onnx_a", "Change"))),
            ("pub trait onnx_a::Change: core::marker::Sized", Some(("onnx_a", "Change"))),
            ("pub fn onnx_a::change(onnx_a::Change)", None),
            ("pub onnx_a::Change::Added", None),
            ("pub struct onnx_ops::ops::Shape", None),
            ("pub enum onnx_ops::Param<T>", Some(("onnx_ops", "Param"))),
        ] {
            assert_eq!(public_type(line), expected, "{line}");
        }
    }
}
