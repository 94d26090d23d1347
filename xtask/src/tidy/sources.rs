//! The checks of source text: what a library crate may touch, how long files are, what they are called.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::Violation;
use super::code::Code;

/// The modules that may contain `unsafe`, each with the reason. Their crates deny it everywhere else.
pub(super) const UNSAFE_MODULES: &[(&str, &str)] = &[
    (
        "crates/onnx-codec/src/mmap.rs",
        "another process can change a mapped file; the type system cannot see it",
    ),
    ("crates/onnx-python/src/arrow.rs", "tables are handed over through an interface of C"),
    ("crates/onnx-python/src/buffer.rs", "Python and the library share memory through an interface of C"),
    ("crates/onnx-python/src/reserve.rs", "an allocator is an unsafe trait; it calls that of the system"),
    ("crates/onnx-wasm/src/exports.rs", "a page passes addresses that it got from the library"),
    (
        "crates/onnx-wasm/src/host.rs",
        "a page gives ranges of external data through functions that the module imports",
    ),
    ("crates/onnx-python/src/tensor.rs", "the method of the buffer protocol is unsafe; it calls `buffer.rs`"),
];

/// Global state that is allowed, as file and reason.
const ALLOWED_STATE: &[(&str, &str)] = &[
    ("crates/onnx-cli/src/interrupt.rs", "signals are those of the process, and one thread waits for them"),
    (
        "crates/onnx-cli/src/writing.rs",
        "the locks of the streams of the process, which a thread that waits for a reader may hold",
    ),
    (
        "crates/onnx-codec/src/mmap.rs",
        "the maps of the process, so that no pages of other memory are given back",
    ),
    ("crates/onnx-compose/src/target.rs", "what the targets of the crate say, read once and never changed"),
    ("crates/onnx-python/src/reserve.rs", "the allocator of the process"),
    ("crates/onnx-rewrite/src/rule_set.rs", "the rules of the crate, read once and never changed"),
    ("crates/onnx-schema/src/lib.rs", "the names that ONNX knows, of which every interner is a copy"),
];

/// The command and the Python package: they talk to the clock and the environment, and the command to the terminal.
const PROGRAMS: &[&str] = &["crates/onnx-cli/", "crates/onnx-python/"];

/// The one library crate that opens files.
const OPENS_FILES: &str = "crates/onnx-codec/";

/// The crates that may name prost types.
const KNOWS_PROST: &[&str] =
    &["crates/onnx-proto/", "crates/onnx-formats/", "crates/onnx-codec/", "crates/onnxkit/"];

const MAX_LINES: usize = 600;

/// Names that do not state what the file contains.
const EMPTY_NAMES: &[&str] = &[
    "util", "utils", "helper", "helpers", "common", "misc", "ahead", "alone", "as_read", "beside", "lent",
    "plain", "usual",
];

/// Words of the places where the text was written, which mean nothing to a reader. Split so that this file has none.
const LEAKS: &[&str] = &[
    concat!("/wo", "rk/"),
    concat!("/ro", "ot/"),
    concat!("../sha", "red"),
    concat!("sub", "agent"),
    concat!("sub-", "agent"),
    concat!("anth", "ropic"),
    concat!("cla", "ude"),
    concat!("chat", "gpt"),
    concat!("target-", "diag"),
];

/// Extensions of the files that are read.
const TEXT: &[&str] =
    &["rs", "md", "toml", "proto", "py", "json", "onnxtxt", "yml", "yaml", "txt", "sh", "snap", "tsv", "mjs"];

/// The text files of the repository by path relative to the root, with `/` between names.
#[derive(Debug, Default)]
pub(crate) struct Files(BTreeMap<String, String>);

impl Files {
    /// A tree of these files: path and text.
    #[cfg(test)]
    pub(crate) fn new(files: impl IntoIterator<Item = (String, String)>) -> Self {
        Self(files.into_iter().collect())
    }

    /// The text of a file; empty when there is none.
    pub(crate) fn text(&self, path: &str) -> &str {
        self.0.get(path).map_or("", String::as_str)
    }

    /// All files: path and text.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(path, text)| (path.as_str(), text.as_str()))
    }

    /// Whether there is such a file.
    pub(crate) fn has(&self, path: &str) -> bool {
        self.0.contains_key(path)
    }
}

/// Reads the text files of the repository.
pub(crate) fn read_tree() -> Result<Files, String> {
    let root = crate::workspace::root();
    let mut files = Files::default();
    let mut open = vec![root.clone()];
    while let Some(folder) = open.pop() {
        let entries = std::fs::read_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        for entry in entries {
            let entry = entry.map_err(|error| format!("{}: {error}", folder.display()))?;
            let (path, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
            let kind = entry.file_type().map_err(|error| format!("{}: {error}", path.display()))?;
            if kind.is_dir() {
                // Build output, packages of npm, and the version store, which is a file in a linked worktree, are not sources.
                let is_output = name == "target" || name == "node_modules" || name.starts_with("target-");
                if name != ".git" && !is_output {
                    open.push(path);
                }
            } else if kind.is_file() && name != ".git" && is_text(&path) {
                // A file that vanishes or is not text is not a source either.
                if let Ok(text) = std::fs::read_to_string(&path) {
                    let relative = path.strip_prefix(&root).unwrap_or(&path);
                    files.0.insert(relative.to_string_lossy().replace('\\', "/"), text);
                }
            }
        }
    }
    Ok(files)
}

fn is_text(path: &Path) -> bool {
    match path.extension().and_then(|extension| extension.to_str()) {
        Some(extension) => TEXT.contains(&extension),
        None => true,
    }
}

pub(super) fn check(files: &Files, violations: &mut Vec<Violation>) {
    let code: BTreeMap<&str, Code<'_>> = files
        .0
        .iter()
        .filter(|(path, _)| path.ends_with(".rs"))
        .map(|(path, text)| (path.as_str(), Code::read(text)))
        .collect();
    let tests = test_files(&code);
    for (path, text) in &files.0 {
        leaks(path, text, violations);
        if let Some(code) = code.get(path.as_str()) {
            shape(path, text, code, violations);
        }
    }
    for (path, code) in &code {
        if path.starts_with("crates/") && path.contains("/src/") {
            no_unsafe(path, code, violations);
            if !tests.iter().any(|test| path.strip_prefix(test.as_str()).is_some_and(is_below)) {
                no_prost(path, code, violations);
                no_global_state(path, code, violations);
                no_outside_world(path, code, violations);
            }
        }
    }
}

/// The modules that are only compiled for tests, as paths without `.rs`.
fn test_files(code: &BTreeMap<&str, Code<'_>>) -> BTreeSet<String> {
    let mut tests = BTreeSet::new();
    for (path, code) in code {
        let folder = match path.strip_suffix(".rs").and_then(|stem| stem.rsplit_once('/')) {
            Some((folder, "lib" | "main" | "mod")) => folder.to_owned(),
            Some((folder, name)) => format!("{folder}/{name}"),
            None => continue,
        };
        tests.extend(code.test_modules.iter().map(|name| format!("{folder}/{name}")));
    }
    tests
}

/// Whether what is left of a path after a module's own path makes it that module's file, or one below it.
fn is_below(rest: &str) -> bool {
    rest == ".rs" || rest.starts_with('/')
}

fn leaks(path: &str, text: &str, violations: &mut Vec<Violation>) {
    for (number, line) in text.lines().enumerate() {
        let lower = line.to_ascii_lowercase();
        for word in LEAKS.iter().filter(|word| lower.contains(**word)) {
            let place = format!("{path}:{}", number + 1);
            violations
                .push(Violation::new(place, format!("`{word}` means nothing to a reader of this project")));
        }
    }
}

/// The checks of every Rust file, tests included.
fn shape(path: &str, text: &str, code: &Code<'_>, violations: &mut Vec<Violation>) {
    let mut add = |place: String, problem: String| violations.push(Violation::new(place, problem));
    let segments: Vec<&str> = path.trim_end_matches(".rs").split('/').collect();
    for name in segments.iter().filter(|name| EMPTY_NAMES.contains(name)) {
        add(path.to_owned(), format!("`{name}` says nothing: name the module after what it holds"));
    }
    for name in EMPTY_NAMES {
        for line in code.find(&["mod", name]) {
            add(
                format!("{path}:{line}"),
                format!("`{name}` says nothing: name the module after what it holds"),
            );
        }
    }
    let documented = text.lines().take(3).any(|line| line.starts_with("//!"));
    // A folder of that name, not a file: modules about generated code are written by hand.
    let (&file, folders) = segments.split_last().unwrap_or((&"", &[]));
    if folders.contains(&"generated") && file != "mod" {
        if !text.lines().take(5).any(|line| line.contains("enerated by `cargo xtask ")) {
            add(path.to_owned(), "a generated file begins with the command that made it".to_owned());
        }
        return;
    }
    if !documented {
        add(path.to_owned(), "begin the file with `//!` and say what it is for".to_owned());
    }
    let lines = text.lines().count();
    if lines > MAX_LINES {
        add(path.to_owned(), format!("{lines} lines: split the file, the limit is {MAX_LINES}"));
    }
}

fn no_unsafe(path: &str, code: &Code<'_>, violations: &mut Vec<Violation>) {
    if UNSAFE_MODULES.iter().any(|(module, _)| *module == path) {
        return;
    }
    for line in code.find(&["unsafe"]) {
        let problem = "`unsafe` is allowed only in UNSAFE_MODULES of xtask/src/tidy/sources.rs";
        violations.push(Violation::new(format!("{path}:{line}"), problem));
    }
}

fn no_prost(path: &str, code: &Code<'_>, violations: &mut Vec<Violation>) {
    if KNOWS_PROST.iter().any(|folder| path.starts_with(folder)) {
        return;
    }
    for word in ["prost", "prost_types", "prost_reflect", "onnx_proto"] {
        for line in code.find(&[word]) {
            let problem =
                format!("`{word}`: protobuf messages stay in onnx-proto, onnx-formats and onnx-codec");
            violations.push(Violation::new(format!("{path}:{line}"), problem));
        }
    }
}

fn no_global_state(path: &str, code: &Code<'_>, violations: &mut Vec<Violation>) {
    if ALLOWED_STATE.iter().any(|(file, _)| *file == path) {
        return;
    }
    let mut add = |line: usize, what: &str| {
        let problem = format!("`{what}` is global state: pass it as an argument");
        violations.push(Violation::new(format!("{path}:{line}"), problem));
    };
    for word in ["thread_local", "lazy_static"] {
        for line in code.find(&[word, "!"]) {
            add(line, word);
        }
    }
    for (at, token) in code.tokens.iter().enumerate().filter(|(_, token)| token.text == "static") {
        let mut declaration = code.tokens[at + 1..].iter().take_while(|next| !matches!(next.text, "=" | ";"));
        if let Some(found) = declaration.find(|next| is_mutable_type(next.text)) {
            add(token.line, &format!("static {}", found.text));
        }
    }
}

fn is_mutable_type(word: &str) -> bool {
    let cells = [
        "mut",
        "Mutex",
        "RwLock",
        "OnceLock",
        "LazyLock",
        "OnceCell",
        "LazyCell",
        "Cell",
        "RefCell",
        "UnsafeCell",
    ];
    cells.contains(&word) || word.starts_with("Atomic")
}

fn no_outside_world(path: &str, code: &Code<'_>, violations: &mut Vec<Violation>) {
    if PROGRAMS.iter().any(|program| path.starts_with(program)) {
        return;
    }
    let mut add = |line: usize, what: &str| {
        let problem = format!("`{what}`: a library crate takes what it needs as an argument");
        violations.push(Violation::new(format!("{path}:{line}"), problem));
    };
    for child in code.children_of("std") {
        let banned = match child.text {
            "env" | "net" | "process" => true,
            // A file has a time of modification; that is not the clock, which is looked for below.
            "fs" | "time" => !path.starts_with(OPENS_FILES),
            _ => false,
        };
        if banned {
            add(child.line, &format!("std::{}", child.text));
        }
    }
    for clock in ["Instant", "SystemTime"] {
        for line in code.find(&[clock, "::", "now"]) {
            add(line, &format!("{clock}::now"));
        }
    }
    for word in ["stdin", "stdout", "stderr"] {
        for line in code.find(&[word, "("]) {
            add(line, word);
        }
    }
    for word in ["print", "println", "eprint", "eprintln"] {
        for line in code.find(&[word, "!"]) {
            add(line, &format!("{word}!"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks a tree of one or more files and compares the places of the violations.
    fn check_tree(files: &[(&str, &str)], want: &[&str]) {
        let files =
            Files(files.iter().map(|&(path, text)| (path.to_owned(), format!("//! x\n{text}"))).collect());
        let mut violations = Vec::new();
        check(&files, &mut violations);
        let places: Vec<&str> = violations.iter().map(|violation| violation.place.as_str()).collect();
        assert_eq!(places, want, "{violations:?}");
    }

    fn check_library(text: &str, want: &[&str]) {
        check_tree(&[("crates/x/src/a.rs", text)], want);
    }

    #[test]
    fn library_crates_touch_nothing_outside() {
        check_library("use std::{io, fs};", &["crates/x/src/a.rs:2"]);
        check_library("\nlet t: std::time::Duration;", &["crates/x/src/a.rs:3"]);
        check_library("println!(\"x\"); std::io::stdout();", &["crates/x/src/a.rs:2", "crates/x/src/a.rs:2"]);
        check_library("/// std::fs and println!\nfn f() -> &'static str { \"std::env\" }", &[]);
        check_library("#[cfg(test)] mod tests { use std::fs; }", &[]);
        check_tree(&[("crates/onnx-codec/src/a.rs", "use std::{fs, time::SystemTime};")], &[]);
        check_tree(
            &[("crates/onnx-codec/src/a.rs", "\nSystemTime::now()")],
            &["crates/onnx-codec/src/a.rs:3"],
        );
        check_tree(&[("crates/onnx-codec/src/a.rs", "use std::env;")], &["crates/onnx-codec/src/a.rs:2"]);
        check_tree(&[("crates/onnx-cli/src/a.rs", "use std::env;"), ("tests/src/a.rs", "use std::fs;")], &[]);
    }

    #[test]
    fn test_modules_in_their_own_files_are_tests() {
        let test = "use std::fs;";
        let parent = "#[cfg(test)] mod tests;";
        check_tree(&[("crates/x/src/a/mod.rs", parent), ("crates/x/src/a/tests.rs", test)], &[]);
        check_tree(&[("crates/x/src/a.rs", parent), ("crates/x/src/a/tests/deep.rs", test)], &[]);
        check_tree(
            &[("crates/x/src/a.rs", "mod tests;"), ("crates/x/src/a/tests.rs", test)],
            &["crates/x/src/a/tests.rs:2"],
        );
    }

    #[test]
    fn there_is_no_global_state() {
        check_library("static mut X: u8 = 0;", &["crates/x/src/a.rs:2"]);
        check_library("static X: Mutex<u8> = y;", &["crates/x/src/a.rs:2"]);
        check_library("static X: [AtomicUsize; 2] = y;", &["crates/x/src/a.rs:2"]);
        check_library("thread_local! { }", &["crates/x/src/a.rs:2"]);
        check_library("static X: &[Rule] = &[]; struct S { cached: OnceLock<u8>, name: &'static str }", &[]);
    }

    #[test]
    fn prost_and_unsafe_stay_where_they_belong() {
        check_library("use prost::Message;", &["crates/x/src/a.rs:2"]);
        check_tree(&[("crates/onnx-proto/src/a.rs", "use prost::Message;")], &[]);
        check_library("#[cfg(test)] mod tests { use prost::Message; }", &[]);
        check_library("fn f() { unsafe { g() } }", &["crates/x/src/a.rs:2"]);
        check_tree(&[(UNSAFE_MODULES[0].0, "unsafe {}")], &[]);
    }

    #[test]
    fn files_are_short_and_named_and_introduced() {
        let long = "\n".repeat(MAX_LINES);
        check_library(&long, &["crates/x/src/a.rs"]);
        check_tree(
            &[("crates/x/src/generated/a.rs", &format!("// Generated by `cargo xtask codegen`\n{long}"))],
            &[],
        );
        check_tree(&[("crates/x/src/generated/a.rs", "")], &["crates/x/src/generated/a.rs"]);
        check_tree(
            &[("crates/x/src/utils.rs", ""), ("crates/x/src/misc/a.rs", "")],
            &["crates/x/src/misc/a.rs", "crates/x/src/utils.rs"],
        );
        check_library("mod helpers { }", &["crates/x/src/a.rs:2"]);
        check_tree(&[("docs/a.md", concat!("see /wo", "rk/x"))], &["docs/a.md:2"]);
    }
}
