//! Everything that the workspace does with a file, done to one, with little stack and little memory.

use std::fmt::Write as _;
use std::sync::mpsc;
use std::time::Duration;
use std::{io, thread};

use bytes::Bytes;
use onnx_check::{CheckOptions, check};
use onnx_codec::{DecodeOptions, Decoded, EncodeOptions, decode, encode};
use onnx_diag::{Clean, Sink};
use onnx_formats::{ConvertError, MessageType, read_json, read_text, write_json, write_text};
use onnx_ir::Model;
use onnx_shape_infer::{InferOptions, Inference, Limits, infer};
use onnx_text::{ParseOptions, PrintOptions, parse_model, print_model};
use onnx_types::Execution;
use onnx_types::tensor::NoData;

use super::memory::{Taken, measure};
use super::{Case, Expect, TEXT_GROWTH};

/// The stack that is enough for every file.
pub const STACK: usize = 512 << 10;

/// The stack of the independent readers, which recurse as they like.
const ROOMY: usize = 64 << 20;

/// What each step may take whatever the size of the file: the names of ONNX, small tables.
const BUDGET: usize = 2 << 20;

/// Findings are capped, and each is bounded: this is more than a thousand of them take.
const FINDINGS: usize = 4 << 20;

/// What inference may take whatever the size of the file: tables of names, facts and expressions.
const INFERENCE: usize = 8 << 20;

/// Number of steps that every file may take in addition: interning the ONNX names already takes some.
const FREE_STEPS: u64 = 1_000_000;

/// How many bytes of memory reading a form of protobuf takes for each byte of the text: the encoded model, in a buffer
/// that doubles when it is full.
const READING: usize = 4;

/// What reading a form of protobuf may take whatever the size of the text.
const READING_BUDGET: usize = 64 << 10;

/// What writing a form of protobuf may take whatever the size of the model: a buffer of 512 KiB, and what nesting takes.
const WRITING: usize = 640 << 10;

/// Files up to this size are compared by the independent readers, too, which hold everything many times over.
const COMPARED: usize = 100_000;

/// Files up to this size are printed and parsed, too; without optimization, that takes long for large ones.
const PRINTED: usize = if cfg!(debug_assertions) { 200_000 } else { 4 << 20 };

/// How long to wait before a file is said to hang. No bound on speed: everything here takes moments.
const PATIENCE: Duration = Duration::from_secs(120);

/// Compares a file with what the codec writes for it, by independent readers.
pub type Compare = fn(&Bytes) -> Result<(), String>;

/// Returns the number of branches that the program has executed; 0 if they are not counted.
pub type Steps = fn() -> u64;

/// What everything that was done with a file took, and what it may take.
#[derive(Clone, Debug, Default)]
pub struct Measured {
    /// What a reader made of it, in a few words.
    pub outcome: String,
    /// The stage that took the most of the memory that it may take.
    pub stage: &'static str,
    /// The most bytes that this stage held at once, and how many it may hold.
    pub peak: usize,
    /// How many bytes that stage may hold.
    pub peak_bound: usize,
    /// The steps of all stages together; 0 if they are not counted.
    pub steps: u64,
    /// How many steps all stages together may take.
    pub step_bound: u64,
}

/// Runs every stage on all files, and fails with all failures of any of them.
///
/// # Panics
///
/// When something is not as the cases expect.
#[track_caller]
pub fn run(cases: Vec<Case>, compare: Compare) {
    let mut failures = String::new();
    for case in cases {
        let name = case.name.clone();
        if let Err(failure) = measured(case, || 0, compare) {
            let _ = writeln!(failures, "{name}: {failure}");
        }
    }
    assert!(failures.is_empty(), "\n{failures}");
}

/// Puts one file through everything, on a thread with little stack, and says what that took.
///
/// # Errors
///
/// What is not as expected, or beyond its bound.
pub fn measured(case: Case, steps: Steps, compare: Compare) -> Result<Measured, String> {
    on_thread(STACK, move || {
        let mut bound = Bound { case: &case, steps, compare, measured: Measured::default() };
        let outcome = gauntlet(&mut bound)?;
        let mut measured = bound.measured;
        measured.outcome = outcome;
        measured.step_bound = FREE_STEPS + case.bytes.len() as u64 * case.steps;
        if measured.steps > measured.step_bound {
            return Err(format!("{} steps for {} bytes", measured.steps, case.bytes.len()));
        }
        Ok(measured)
    })
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

/// The bound on what the stages may take for one file, and what they took.
struct Bound<'a> {
    case: &'a Case,
    steps: Steps,
    compare: Compare,
    measured: Measured,
}

impl Bound<'_> {
    /// Does a stage; it may take memory in proportion to the file, a fixed amount, and `extra`.
    fn stage<R>(&mut self, stage: &'static str, extra: usize, work: impl FnOnce() -> R) -> Result<R, String> {
        let bound = self.case.bytes.len().saturating_mul(self.case.growth).saturating_add(BUDGET + extra);
        self.within(stage, bound, work)
    }

    /// Does a stage, which may hold at most `bound` bytes at once.
    fn within<R>(
        &mut self,
        stage: &'static str,
        bound: usize,
        work: impl FnOnce() -> R,
    ) -> Result<R, String> {
        let length = self.case.bytes.len();
        let before = (self.steps)();
        let (result, Taken { peak, calls, .. }) = measure(work);
        let sum = &mut self.measured;
        sum.steps += (self.steps)() - before;
        if peak > bound {
            return Err(format!("{stage} takes {peak} bytes in {calls} calls for {length} of the file"));
        }
        if peak as u128 * sum.peak_bound as u128 >= sum.peak as u128 * bound as u128 {
            (sum.stage, sum.peak, sum.peak_bound) = (stage, peak, bound);
        }
        Ok(result)
    }
}

/// One file through everything; what came of it, or what is not as expected.
fn gauntlet(bound: &mut Bound<'_>) -> Result<String, String> {
    let case = bound.case;
    let bytes = &case.bytes;
    match &case.expect {
        Expect::Refused(expected) => {
            let decoded =
                bound.stage("decode", FINDINGS, || decode(bytes.clone(), &DecodeOptions::default()))?;
            let Err(error) = decoded else { return Err("it is read".to_owned()) };
            let text = error.to_string();
            if text.contains(expected) {
                Ok(format!("refused: {text}"))
            } else {
                Err(format!("refused with {text:?}"))
            }
        }
        Expect::Read { decode: findings, check } => {
            let decoded =
                bound.stage("decode", FINDINGS, || decode(bytes.clone(), &DecodeOptions::default()))?;
            let decoded = decoded.map_err(|error| error.to_string())?;
            let found = slugs(&decoded.findings);
            if found != *findings {
                return Err(format!("decoding finds {found:?}"));
            }
            read(bound, decoded, check)
        }
        Expect::Text { refused, infer } => text(bound, refused.as_deref(), infer),
        Expect::Form { is_json, refused } => form(bound, *is_json, refused.as_deref()),
    }
}

/// A file that was read through everything else.
fn read(bound: &mut Bound<'_>, decoded: Decoded, check_findings: &[&'static str]) -> Result<String, String> {
    let model = &decoded.model;
    bound
        .stage("verify", 0, || model.verify())?
        .map_err(|faults| faults.first().map(ToString::to_string).unwrap_or_default())?;
    let written = bound.stage("encode", 0, || write(model))??;
    let checked = bound.stage("check", FINDINGS, || check(model, &CheckOptions::default()))?;
    let found = slugs(&checked);
    if let Some(missing) = check_findings.iter().find(|&slug| !found.contains(slug)) {
        return Err(format!("checking does not find {missing}, but {found:?}"));
    }
    printable(&decoded.findings)?;
    printable(&checked)?;
    bound.stage("walking", 0, || walk(&decoded))?;
    let clone = bound.stage("clone", FINDINGS, || decoded.clone())?;
    drop(decoded);
    let rewritten = write(&clone.model)?;
    if written != rewritten {
        return Err("the clone is written differently".to_owned());
    }
    let inference = bound.stage("infer", INFERENCE, || infer(&clone.model, &InferOptions::default()))?;
    printable(inference.findings())?;
    report(bound, &clone.model, &inference)?;
    drop(inference);
    if bound.case.bytes.len() <= PRINTED {
        print_and_parse(bound, &clone.model)?;
    }
    bound.stage("drop", 0, || drop(clone))?;
    reread(&bound.case.bytes, &written, bound.compare)?;
    let first = found.first().map_or_else(|| "no findings".to_owned(), |slug| (*slug).to_owned());
    let more = found.len().saturating_sub(1);
    Ok(if more == 0 { format!("read: {first}") } else { format!("read: {first} and {more} more") })
}

/// What inference left unknown is reported, and explained for the last values of the main graph. Both agree.
fn report(bound: &mut Bound<'_>, model: &Model, inference: &Inference) -> Result<(), String> {
    const EXPLAINED: usize = 10;
    let limits = Limits::default();
    let report = bound.stage("report", INFERENCE, || inference.report(model, &limits))?;
    if report.unknown.len() > limits.report_entries {
        return Err(format!("the report has {} entries", report.unknown.len()));
    }
    let mut last: Vec<_> = model.nodes(model.main_graph()).collect();
    last.drain(..last.len().saturating_sub(EXPLAINED));
    let values: Vec<_> = last.iter().filter_map(|&node| model.node(node).output(0)).collect();
    let explained = bound.stage("explain", INFERENCE, || inference.explain(model, &values, &limits))?;
    for explanation in explained {
        let known = report.unknown.iter().find(|unknown| {
            unknown.value == explanation.unknown.value && unknown.missing == explanation.unknown.missing
        });
        if known.is_some_and(|unknown| unknown.missing_at_origin != explanation.unknown.missing_at_origin) {
            return Err("the report and the explanation differ".to_owned());
        }
        if explanation.chain.last() != Some(&explanation.unknown.origin) {
            return Err("an explanation does not end at the origin".to_owned());
        }
    }
    Ok(())
}

/// The text of a model parses.
fn print_and_parse(bound: &mut Bound<'_>, model: &Model) -> Result<(), String> {
    let printed = bound.stage("print", FINDINGS, || print_model(model, &PrintOptions::full()))?;
    let printed = printed.map_err(|error| error.to_string())?.text;
    // The text is longer than the file: what it is made of has names and words instead of bits.
    let extra = FINDINGS + printed.len().saturating_mul(TEXT_GROWTH);
    let parsed = bound.stage("parse", extra, || parse_model(&printed, &ParseOptions::default()))?;
    parsed.map(drop).map_err(|error| format!("its text is refused: {error}"))
}

/// A text through parsing, checking and inference, which find exactly these.
fn text(bound: &mut Bound<'_>, refused: Option<&str>, expected: &[&'static str]) -> Result<String, String> {
    let bytes = &bound.case.bytes;
    let parsed = bound.stage("parse", FINDINGS, || parse_model(bytes, &ParseOptions::default()))?;
    let model = match (parsed, refused) {
        (Err(error), Some(expected)) => {
            printable(error.findings())?;
            let text = error.to_string();
            let is_expected = text.contains(expected);
            return if is_expected {
                Ok(format!("refused: {text}"))
            } else {
                Err(format!("refused with {text:?}"))
            };
        }
        (Err(error), None) => return Err(format!("refused with {:?}", error.to_string())),
        (Ok(_), Some(_)) => return Err("it is read".to_owned()),
        (Ok(model), None) => model,
    };
    let checked = bound.stage("check", FINDINGS, || check(&model, &CheckOptions::default()))?;
    printable(&checked)?;
    let inference = bound.stage("infer", INFERENCE, || infer(&model, &InferOptions::default()))?;
    printable(inference.findings())?;
    let found = slugs(inference.findings());
    if found != expected {
        return Err(format!("inference finds {found:?}"));
    }
    report(bound, &model, &inference)?;
    print_and_parse(bound, &model)?;
    bound.stage("drop", 0, || drop((model, inference)))?;
    Ok(if found.is_empty() {
        "inferred: no findings".to_owned()
    } else {
        format!("inferred: {}", found.join(", "))
    })
}

/// A model in a form of protobuf through reading and writing, which then stays as it is.
fn form(bound: &mut Bound<'_>, is_json: bool, refused: Option<&str>) -> Result<String, String> {
    type Read = fn(MessageType, &[u8], &Execution) -> Result<Bytes, ConvertError>;
    let (read, execution) = (if is_json { read_json as Read } else { read_text }, Execution::DEFAULT);
    let text = bound.case.bytes.clone();
    let most = text.len().saturating_mul(READING).saturating_add(READING_BUDGET);
    let outcome = bound.within("read", most, || read(MessageType::MODEL, &text, &execution))?;
    let encoded = match (outcome, refused) {
        (Err(error), Some(expected)) => {
            let text = error.to_string();
            let is_clean = text == Clean(&text).to_string();
            return match text.contains(expected) && is_clean {
                true => Ok(format!("refused: {text}")),
                false => Err(format!("refused with {text:?}")),
            };
        }
        (Err(error), None) => return Err(format!("refused with {:?}", error.to_string())),
        (Ok(_), Some(_)) => return Err("it is read".to_owned()),
        (Ok(encoded), None) => encoded,
    };
    for write in [write_text, write_json] {
        let pieces = [&encoded[..]];
        bound
            .within("write", WRITING, || write(MessageType::MODEL, pieces, &execution, &mut io::sink()))?
            .map_err(|error| error.to_string())?;
        let mut written = Vec::new();
        write(MessageType::MODEL, pieces, &execution, &mut written).map_err(|error| error.to_string())?;
        let read = if written.starts_with(b"{") { read_json as Read } else { read_text };
        let again = read(MessageType::MODEL, &written, &execution).map_err(|error| error.to_string())?;
        if again != encoded {
            return Err("what was read is written otherwise".to_owned());
        }
    }
    let most = encoded.len().saturating_mul(bound.case.growth).saturating_add(BUDGET);
    bound.within("decode", most, || decode(encoded, &DecodeOptions::default()).map(drop))?.ok();
    Ok("read".to_owned())
}

/// What was written says the same and stays as it is.
fn reread(bytes: &Bytes, written: &Bytes, compare: Compare) -> Result<(), String> {
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
    on_thread(ROOMY, move || compare(&bytes))
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
