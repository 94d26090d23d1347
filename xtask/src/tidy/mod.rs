//! `cargo xtask tidy`: the checks of `docs/architecture.md` that no compiler and no linter has.
//!
//! Every check is a function that takes what was read from the disk and adds a [`Violation`] for each place that violates
//! it; all of them are reported. The lists that a check uses are at the top of its file, with a reason for each
//! exception.

mod code;
mod edges;
mod errors;
mod field_numbers;
mod layout;
mod licences;
mod manifests;
mod metadata;
mod operator_lists;
mod screens;
pub(crate) mod sources;
mod type_names;
mod words;

use std::fmt;

use crate::TaskResult;
use metadata::Metadata;

/// One place that violates a check.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Violation {
    /// The file, relative to the root, and the line when there is one: `crates/onnx-ir/src/lib.rs:12`.
    place: String,
    /// What is wrong and what to do.
    problem: String,
}

impl Violation {
    fn new(place: impl Into<String>, problem: impl Into<String>) -> Self {
        Self { place: place.into(), problem: problem.into() }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.problem)
    }
}

/// Runs all checks; fails with one line for each violation.
pub(crate) fn run(args: &[String]) -> TaskResult {
    if let Some(unknown) = args.first() {
        return Err(format!("tidy takes no argument `{unknown}`"));
    }
    let mut violations = workspace_checks()?;
    licences::check(&Metadata::with_dependencies()?, &read("deny.toml")?, &mut violations);
    finish(violations)
}

/// The checks that need the workspace only, not its dependencies.
fn workspace_checks() -> Result<Vec<Violation>, String> {
    let metadata = Metadata::of_workspace()?;
    let files = sources::read_tree()?;
    let mut violations = Vec::new();
    edges::check(&metadata, &files, &mut violations);
    manifests::check(&metadata, &files, &mut violations);
    sources::check(&files, &mut violations);
    field_numbers::check(&files, &mut violations);
    errors::check(&files, &mut violations);
    layout::check(&files, &mut violations);
    operator_lists::check(&files, &mut violations);
    type_names::check(&files, &mut violations);
    words::check(&files, &mut violations);
    screens::check(&files, &screens::pictures()?, &mut violations);
    Ok(violations)
}

fn finish(mut violations: Vec<Violation>) -> TaskResult {
    if violations.is_empty() {
        println!("tidy: no violations");
        return Ok(());
    }
    violations.sort();
    let lines: Vec<String> = violations.iter().map(|violation| format!("  {violation}")).collect();
    let plural = if lines.len() == 1 { "" } else { "s" };
    Err(format!("{} violation{plural}\n{}", lines.len(), lines.join("\n")))
}

/// A file of the workspace as text; `path` is relative to the root.
fn read(path: &str) -> Result<String, String> {
    std::fs::read_to_string(crate::workspace::root().join(path)).map_err(|error| format!("{path}: {error}"))
}

#[cfg(test)]
mod tests {
    /// Needs no network: it reads only files of the repository.
    #[test]
    fn the_workspace_is_tidy() {
        let violations = super::workspace_checks().unwrap();
        if let Err(problem) = super::finish(violations) {
            panic!("{problem}");
        }
    }
}
