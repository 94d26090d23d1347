//! The page about the operators that onnxruntime adds: where their rules are, and how they were verified.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use onnx_ir::Origin;
use onnx_schema::onnxruntime::{self, RuntimeOp};
use onnx_text::{ParseOptions, parse_model};
use serde_json::Value;

use super::Document;
use super::homes::key;
use crate::conformance::suites::contrib::recorded;
use crate::documents::HEADER;

const RULES: &str = "crates/onnx-shape-infer/src/contrib";
const FILETESTS: &str = "crates/onnx-shape-infer/tests/filetests/contrib";

/// The operators of onnxruntime that no file test below `contrib` shows the outputs of.
///
/// # Errors
///
/// When a file test cannot be read.
pub fn runtime_without_filetest() -> Result<Vec<String>, String> {
    let mut shown = BTreeSet::new();
    for path in files(FILETESTS)? {
        shown.extend(shown_by(&path)?);
    }
    let missing = onnxruntime::operators().filter(|op| !shown.contains(op));
    Ok(missing.filter_map(|op| op.schemas().first()).map(ToString::to_string).collect())
}

fn shown_by(path: &Path) -> Result<BTreeSet<RuntimeOp>, String> {
    let text = fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let lines: Vec<&str> = text.lines().collect();
    let model = parse_model(&text, &ParseOptions::default())
        .map_err(|error| format!("{}: {error}", path.display()))?;
    let mut shown = BTreeSet::new();
    for id in model.nodes(model.main_graph()) {
        let Origin::Text { line, .. } = model.node_origin(id) else { continue };
        let line = (line as usize).checked_sub(1).and_then(|at| lines.get(at));
        let node = model.node(id);
        let version = model.opset_version(node.domain()).unwrap_or(0);
        let schema = onnxruntime::lookup(model.str(node.domain()), model.str(node.op()), version);
        if line.is_some_and(|line| line.contains("# is: ")) {
            shown.extend(schema.map(onnxruntime::RuntimeSchema::op));
        }
    }
    Ok(shown)
}

/// All files below a folder of the workspace.
fn files(folder: &str) -> Result<Vec<PathBuf>, String> {
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(folder)];
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        let entries = folder.read_dir().map_err(|error| format!("{}: {error}", folder.display()))?;
        for path in entries.flatten().map(|entry| entry.path()) {
            if path.is_dir() { folders.push(path) } else { files.push(path) }
        }
    }
    files.sort();
    Ok(files)
}

/// How the rule of an operator was verified.
#[derive(Clone, Copy, Default)]
struct Verified {
    runs: usize,
    declared: usize,
}

/// The page, which lists all operators.
///
/// # Errors
///
/// When an operator has no rule, or what was recorded cannot be read.
pub(super) fn runtime_page() -> Result<Document, String> {
    let (homes, verified) = (homes()?, verified()?);
    let mut text = format!("{HEADER}# Operators of onnxruntime\n\n");
    let _ = writeln!(
        text,
        "The {} operators ({} schemas) that onnxruntime {} adds to those of ONNX. *runs*: how many runs of its CPU kernels \
         were recorded for the rule, sizes 0 and 1 among them; *declared*: how many times onnxruntime was asked what it \
         infers itself on loading, where it has no such kernel; neither: only the schema is known. The recorded results \
         are replayed by `cargo test -p onnx-tests --test workspace onnxruntime`.",
        RuntimeOp::COUNT,
        onnxruntime::RuntimeSchema::COUNT,
        onnxruntime::RUNTIME_VERSION
    );
    let mut domain = None;
    for op in onnxruntime::operators() {
        let Some(newest) = op.schemas().last() else { continue };
        if domain.replace(newest.domain()) != Some(newest.domain()) {
            let name = if newest.domain().is_empty() { "ai.onnx" } else { newest.domain() };
            let _ = write!(
                text,
                "\n## {name}\n\n| operator | versions | runs | declared | rules |\n|---|---|---|---|---|\n"
            );
        }
        let home = homes.get(&(newest.domain(), key(newest.name())));
        let home = home.ok_or_else(|| format!("no file has the rules of {newest}"))?;
        let versions: Vec<String> =
            op.schemas().iter().map(|schema| schema.since_version().to_string()).collect();
        let counts = verified.get(&op).copied().unwrap_or_default();
        let count = |count: usize| if count == 0 { "–".to_owned() } else { count.to_string() };
        let deprecated = if newest.is_deprecated() { ", deprecated" } else { "" };
        let _ = writeln!(
            text,
            "| {} | {}{deprecated} | {} | {} | [{home}](../../{RULES}/{home}.rs) |",
            newest.name(),
            versions.join(", "),
            count(counts.runs),
            count(counts.declared)
        );
    }
    Ok(("onnxruntime.md".to_owned(), text))
}

/// The file with the rows of each operator, by domain and [`key`]: what follows on `infer(`.
fn homes() -> Result<BTreeMap<(&'static str, String), String>, String> {
    const MODULES: [(&str, &str); 4] = [
        ("default::", ""),
        ("microsoft::", "com.microsoft"),
        ("nchwc::", "com.microsoft.nchwc"),
        ("nhwc::", "com.ms.internal.nhwc"),
    ];
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(RULES);
    let mut homes = BTreeMap::new();
    for path in files(RULES)? {
        let text = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        let home = path.strip_prefix(&root).unwrap_or(&path).with_extension("");
        let home = home.to_string_lossy().replace('\\', "/");
        for rest in text.split("infer(").skip(1).map(str::trim_start) {
            let found =
                MODULES.iter().find_map(|&(module, domain)| Some((domain, rest.strip_prefix(module)?)));
            let Some((domain, rest)) = found else { continue };
            let name = rest.split(|letter: char| !(letter.is_ascii_alphanumeric() || letter == '_')).next();
            homes.insert((domain, key(name.unwrap_or_default())), home.clone());
        }
    }
    Ok(homes)
}

fn verified() -> Result<BTreeMap<RuntimeOp, Verified>, String> {
    let mut verified: BTreeMap<RuntimeOp, Verified> = BTreeMap::new();
    recorded(&mut |name, _, truth| {
        let mut parts = name.split('/');
        let (Some(domain), Some(op)) = (parts.next(), parts.next()) else { return Ok(()) };
        let Some(schema) = onnxruntime::lookup(domain, op, i64::MAX) else {
            return Err(format!("`{name}` is of no operator of onnxruntime"));
        };
        let counts = verified.entry(schema.op()).or_default();
        let runs = truth.get("runs").and_then(Value::as_array).map_or(0, Vec::len);
        match truth.get("how").and_then(Value::as_str) {
            Some("run") => counts.runs += runs,
            Some("declared") => counts.declared += runs,
            _ => {}
        }
        Ok(())
    })?;
    Ok(verified)
}
