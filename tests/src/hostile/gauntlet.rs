//! Everything that the workspace does with a file, done to one, with little stack and little memory.

use std::fmt::Write as _;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use bytes::Bytes;
use onnx_check::{CheckOptions, check};
use onnx_codec::{DecodeOptions, Decoded, EncodeOptions, decode, encode};
use onnx_diag::Sink;
use onnx_ir::Model;
use onnx_types::tensor::NoData;

use super::memory::{Taken, measure};
use super::{Case, Expect};
use crate::conformance::suites::roundtrip::RoundTrip;

/// The stack that is enough for every file.
pub const STACK: usize = 512 << 10;

/// The stack of the independent readers, which recurse as they like.
const ROOMY: usize = 64 << 20;

/// What each step may take whatever the size of the file: the names of ONNX, small tables.
const BUDGET: usize = 2 << 20;

/// Findings are capped, and each is bounded: this is more than a thousand of them take.
const FINDINGS: usize = 4 << 20;

/// Files up to this size are compared by the independent readers, too, which hold everything many times over.
const COMPARED: usize = 100_000;

/// How long to wait before a file is said to hang. No bound on speed: everything here takes moments.
const PATIENCE: Duration = Duration::from_secs(120);

/// Puts all files through everything and fails with whatever went wrong with any of them.
///
/// # Panics
///
/// When something is not as the cases expect.
#[track_caller]
pub fn run(cases: Vec<Case>) {
    let mut failures = String::new();
    for case in cases {
        let name = case.name.clone();
        if let Err(failure) = on_thread(STACK, move || gauntlet(&case)) {
            let _ = writeln!(failures, "{name}: {failure}");
        }
    }
    assert!(failures.is_empty(), "\n{failures}");
}

/// Does work on a thread with the given stack. It must come back and not panic.
///
/// # Errors
///
/// Those of the work, and that it panics or hangs.
pub fn on_thread<R: Send + 'static>(
    stack: usize,
    work: impl FnOnce() -> Result<R, String> + Send + 'static,
) -> Result<R, String> {
    let (sender, receiver) = mpsc::channel();
    let thread = thread::Builder::new().stack_size(stack).spawn(move || sender.send(work()));
    let thread = thread.map_err(|error| error.to_string())?;
    match receiver.recv_timeout(PATIENCE) {
        Ok(result) => result,
        Err(mpsc::RecvTimeoutError::Timeout) => Err("it hangs".to_owned()),
        Err(mpsc::RecvTimeoutError::Disconnected) => {
            let panic = thread.join().err();
            let text = panic.as_ref().and_then(|panic| panic.downcast_ref::<String>());
            Err(format!("it panics: {}", text.map_or("", String::as_str)))
        }
    }
}

/// The bound on what the steps may take for one file.
struct Bound<'a> {
    case: &'a Case,
}

impl Bound<'_> {
    /// Does a step; it may take memory in proportion to the file, a fixed amount, and `extra`.
    fn step<R>(&self, step: &str, extra: usize, work: impl FnOnce() -> R) -> Result<R, String> {
        let length = self.case.bytes.len();
        let (result, Taken { peak, calls }) = measure(work);
        if peak <= length.saturating_mul(self.case.growth).saturating_add(BUDGET + extra) {
            return Ok(result);
        }
        Err(format!("{step} takes {peak} bytes in {calls} calls for {length} of the file"))
    }
}

/// One file through everything; the error says what is not as expected.
fn gauntlet(case: &Case) -> Result<(), String> {
    let bytes = &case.bytes;
    let bound = Bound { case };
    let decoded = bound.step("decode", FINDINGS, || decode(bytes.clone(), &DecodeOptions::default()))?;
    match (&case.expect, decoded) {
        (Expect::Refused(expected), Err(error)) => {
            let text = error.to_string();
            if text.contains(expected) { Ok(()) } else { Err(format!("refused with {text:?}")) }
        }
        (Expect::Refused(_), Ok(_)) => Err("it is read".to_owned()),
        (Expect::Read { .. }, Err(error)) => Err(error.to_string()),
        (Expect::Read { decode, check }, Ok(decoded)) => {
            let found = slugs(&decoded.findings);
            if found != *decode {
                return Err(format!("decoding finds {found:?}"));
            }
            read(&bound, decoded, check)
        }
    }
}

/// A file that was read through everything else.
fn read(bound: &Bound<'_>, decoded: Decoded, check_findings: &[&'static str]) -> Result<(), String> {
    let model = &decoded.model;
    bound
        .step("verify", 0, || model.verify())?
        .map_err(|faults| faults.first().map(ToString::to_string).unwrap_or_default())?;
    let written = bound.step("encode", 0, || write(model))??;
    let checked = bound.step("check", FINDINGS, || check(model, &CheckOptions::default()))?;
    let found = slugs(&checked);
    if let Some(missing) = check_findings.iter().find(|&slug| !found.contains(slug)) {
        return Err(format!("checking does not find {missing}, but {found:?}"));
    }
    printable(&decoded.findings)?;
    printable(&checked)?;
    bound.step("walking", 0, || walk(&decoded))?;
    let clone = bound.step("clone", FINDINGS, || decoded.clone())?;
    drop(decoded);
    let rewritten = write(&clone.model)?;
    bound.step("drop", 0, || drop(clone))?;
    if written != rewritten {
        return Err("the clone is written differently".to_owned());
    }
    reread(&bound.case.bytes, &written)
}

/// What was written says the same and stays as it is.
fn reread(bytes: &Bytes, written: &Bytes) -> Result<(), String> {
    let again = decode(written.clone(), &DecodeOptions::default()).map_err(|error| error.to_string())?;
    if write(&again.model)? != *written {
        return Err("reading and writing what was written gives something else".to_owned());
    }
    drop(again);
    if bytes.len() > COMPARED {
        // The large ones are of the same kinds as smaller ones.
        return Ok(());
    }
    let bytes = bytes.clone();
    on_thread(ROOMY, move || {
        let suite = RoundTrip::new()?;
        suite.file(&bytes, &mut Vec::new()).map_err(|failure| format!("{}: {}", failure.kind, failure.detail))
    })
    .map(drop)
}

fn write(model: &Model) -> Result<Bytes, String> {
    encode(model, &EncodeOptions::default())
        .map(|segments| segments.into_bytes())
        .map_err(|error| error.to_string())
}

/// The rules that were broken, in the order of their codes.
fn slugs(findings: &Sink) -> Vec<&'static str> {
    findings.rule_counts().map(|count| count.rule.slug).collect()
}

/// No finding is long or acts on a terminal, and there are not too many of them.
///
/// # Errors
///
/// The first finding that is not fit to be shown.
pub fn printable(findings: &Sink) -> Result<(), String> {
    if findings.diagnostics().len() > 1000 {
        return Err(format!("{} findings are kept", findings.diagnostics().len()));
    }
    for finding in findings.diagnostics() {
        let mut texts = vec![finding.message.clone(), finding.locus.to_string()];
        texts.extend(finding.help.clone());
        texts.extend(finding.notes.iter().cloned());
        texts.extend(finding.labels.iter().map(|label| label.locus.to_string()));
        for text in texts {
            if text.len() > 8192 || text.chars().any(|c| c.is_control() || c == '\u{202e}') {
                let start: String = text.chars().take(200).collect();
                return Err(format!("{} says {} bytes: {start:?}", finding.rule.slug, text.len()));
            }
        }
    }
    Ok(())
}

/// What a tool does that tells about a model: everything is visited, no data is there to be read.
fn walk(decoded: &Decoded) {
    let model = &decoded.model;
    let mut visited = 0_usize;
    for graph in model.all_graphs() {
        visited += 1 + model.graph(graph).inputs().len() + model.value_info(graph).count();
        visited += model.nodes(graph).map(|node| model.node(node).outputs().len()).sum::<usize>();
    }
    model.for_each_tensor(|_, tensor| {
        visited += tensor.faults().len();
        visited += usize::from(tensor.bytes(&NoData).is_ok());
        visited += usize::from(tensor.to_vec::<f32>(&NoData).is_ok());
        visited += usize::from(tensor.get_i64s(&NoData, 16).is_ok());
    });
    std::hint::black_box(visited);
}
