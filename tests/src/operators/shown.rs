//! Which file test shows an operator best.

use std::fs;
use std::path::{Path, PathBuf};

use onnx_schema::{Schema, SchemaId};

use onnx_filetest::{Example, Range, examples};

/// A file test of inference.
pub(super) struct Source {
    /// Relative to the root of the workspace.
    pub(super) path: String,
    /// The versions that it runs at, where it names some.
    pub(super) range: Option<Range>,
    examples: Vec<Example>,
}

const FILETESTS: &str = "crates/onnx-shape-infer/tests/filetests";

/// All file tests of inference, by path.
///
/// # Errors
///
/// When one cannot be read or has errors.
pub(super) fn sources() -> Result<Vec<Source>, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut folders = vec![root.join(FILETESTS)];
    let mut files: Vec<PathBuf> = Vec::new();
    while let Some(folder) = folders.pop() {
        let entries = folder.read_dir().map_err(|error| format!("{}: {error}", folder.display()))?;
        for path in entries.flatten().map(|entry| entry.path()) {
            if path.is_dir() { folders.push(path) } else { files.push(path) }
        }
    }
    files.sort();
    let source = |file: &PathBuf| {
        let path = file.strip_prefix(&root).unwrap_or(file);
        let path: Vec<_> = path.components().map(|part| part.as_os_str().to_string_lossy()).collect();
        let path = path.join("/");
        let text = fs::read_to_string(file).map_err(|error| format!("{path}: {error}"))?;
        let (range, examples) = examples(&text).map_err(|error| format!("{path}: {error}"))?;
        Ok(Source { path, range, examples })
    };
    files.iter().map(source).collect()
}

impl Source {
    /// The examples of an operator, of which this is a schema.
    pub(super) fn of(&self, schema: &Schema) -> impl Iterator<Item = &Example> {
        let op = (schema.domain(), schema.op());
        self.examples.iter().filter(move |example| {
            let schema = example.schema.schema();
            (schema.domain(), schema.op()) == op
        })
    }

    /// The schemas of nodes whose elements are given.
    pub(super) fn told(&self) -> impl Iterator<Item = SchemaId> {
        self.examples.iter().filter(|example| example.has_content).map(|example| example.schema)
    }

    /// How well the file shows an operator with the home `group/file`: first of all its newest schema, in a file for
    /// the operator rather than in a whole model, which has its name if possible, and often.
    fn merit(&self, newest: &Schema, home: &str) -> (bool, bool, bool, usize) {
        let shown: Vec<&Example> = self.of(newest).collect();
        let is_newest = shown.iter().any(|example| example.schema == newest.id());
        let own = self.path.strip_prefix(FILETESTS).and_then(|path| path.strip_prefix("/ops/"));
        let is_own = own.is_some_and(|path| path.starts_with(home));
        let (_, file) = own.and_then(|path| path.split_once('/')).unwrap_or_default();
        let named = file.replace(['_'], "").starts_with(&newest.name().to_lowercase());
        (is_newest, is_own, named, shown.len().min(MOST))
    }
}

/// Maximum number of nodes of an excerpt, not counting those at fault.
const MOST: usize = 5;
/// The most nodes at fault of an excerpt.
const MOST_FAULTS: usize = 2;
/// The most lines of an excerpt.
const MOST_LINES: usize = 24;

/// The file that shows an operator best, with an excerpt: the first nodes, one whose elements are given, and some that
/// are at fault.
pub(super) fn best<'a>(
    sources: &'a [Source],
    newest: &Schema,
    home: &str,
) -> Option<(&'a Source, Vec<&'a Example>)> {
    let shown = sources.iter().filter(|source| source.of(newest).next().is_some());
    // The last of equal ones would win, so the order is turned round.
    let best = shown.rev().max_by_key(|source| source.merit(newest, home))?;
    let all: Vec<&Example> = best.of(newest).collect();
    let is_fault = |example: &&&Example| example.text.contains("# error:");
    let (faults, plain): (Vec<&Example>, Vec<&Example>) =
        all.iter().copied().partition(|example| is_fault(&example));
    let told = plain.iter().position(|example| example.has_content).filter(|&at| at >= MOST);
    let kept = if told.is_some() { MOST - 1 } else { MOST };
    let mut chosen: Vec<&Example> = plain.iter().copied().take(kept).collect();
    chosen.extend(told.and_then(|at| plain.get(at)));
    chosen.extend(faults.into_iter().take(MOST_FAULTS));
    chosen.sort_by_key(|example| all.iter().position(|other| std::ptr::eq(*other, *example)));
    let mut lines = 0;
    chosen.retain(|example| {
        let is_first = lines == 0;
        lines += example.text.lines().count() + 1;
        is_first || lines <= MOST_LINES
    });
    Some((best, chosen))
}
