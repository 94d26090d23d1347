//! Targets: descriptions of runtimes, by name or from files.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::path::Path;

use onnx_compose::{TARGETS, Target, TargetError};
use onnx_rewrite::IdiomSet;
use onnx_types::Interrupt;
use serde_json::{Value, json};

use crate::exit::{Failure, LibraryError};
use crate::format;
use crate::known_names;
use crate::output::{KEY, paint, shown};
use crate::reading::read_text;

/// The greatest length of a file in bytes.
const MAX_BYTES: u64 = 64 << 20;

impl LibraryError for TargetError {
    fn help(&self) -> Option<String> {
        Some("docs/targets.md describes the format".to_owned())
    }
}

/// The failure for a name that no target has.
pub(crate) fn unknown(name: &str, known: &[&str]) -> Failure {
    let help = known_names::advice(name, known, "", |names| format!("write {names} or the file of a target"));
    Failure::new(format_args!("no target is named `{}`", shown(name))).help(help)
}

/// A target by its name, or from its file.
pub(crate) fn load(name: &str, interrupt: &Interrupt) -> Result<Cow<'static, Target>, Failure> {
    if let Some(target) = Target::named(name) {
        return Ok(Cow::Borrowed(target));
    }
    let path = Path::new(name);
    if !path.exists() && !name.contains(['.', '/']) {
        let names: Vec<&str> = TARGETS.iter().map(|(name, _)| *name).collect();
        return Err(unknown(name, &names));
    }
    let text = read_text(path, (MAX_BYTES, "a target"), interrupt)?;
    Target::parse(&text).map(Cow::Owned).map_err(|error| {
        let help = error.help();
        let mut failure =
            format::instead(text.as_bytes(), "a target").unwrap_or_else(|| Failure::from(error));
        failure.help = help;
        failure.about(&shown(name))
    })
}

/// The groups of nodes that a target makes one kernel of.
pub(crate) fn idioms(target: &Target) -> Result<IdiomSet, Failure> {
    target.idiom_set().map_err(|error| {
        let help =
            "`idioms` of a target has patterns in the language of rule files; docs/targets.md describes them";
        Failure::new(format_args!("the idioms of the target `{}`: {error}", shown(&target.name))).help(help)
    })
}

/// All targets of this program.
pub(crate) fn all() -> Vec<&'static Target> {
    TARGETS.iter().filter_map(|(name, _)| Target::named(name)).collect()
}

/// The names of all targets of this program.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    TARGETS.iter().map(|(name, _)| *name)
}

/// The targets, one a line.
pub(crate) fn table(targets: &[&Target]) -> String {
    let mut text = String::new();
    for target in targets {
        let operators = target.operators.len();
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "{}  {}  {}, {operators} operators",
            paint(KEY, &target.name),
            target.version,
            target.summary
        );
    }
    text
}

/// A target, as an item of `targets/1`.
pub(crate) fn item(target: &Target) -> Value {
    json!({
        "name": target.name,
        "version": target.version,
        "summary": target.summary,
        "ir_version": target.ir_version,
        "opset": target.opset,
        "operators": target.operators.len(),
    })
}
