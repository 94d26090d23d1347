//! The row of one file, made in this process. Nothing is an error of the command: what goes wrong is in the row.

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::time::{Duration, Instant};

use onnx_check::CheckOptions;
use onnx_codec::ReadMode;
use onnx_diag::{STOPPED, Severity, Sink};
use onnx_ir::Model;
use onnx_shape_infer::InferOptions;
use onnx_text::ParseOptions;
use onnx_types::tensor::Payload;
use onnx_types::{Execution, Interrupt, Limits, Stopped};

use super::row::Row;
use crate::check::add_contradictions;
use crate::exit::{Failure, Outcome};
use crate::failures::FILE_NOT_READABLE;
use crate::format::Format;
use crate::input::{Loaded, load_part};
use crate::part::Part;

/// Files of this size are read into memory; larger ones are mapped, so that their weights are not read.
const SMALL: u64 = 1 << 20;

/// What is done with each file.
pub(super) struct Work {
    pub(super) limits: Limits,
    /// The time for one file.
    pub(super) time: Duration,
    /// Whether the checker and inference run.
    pub(super) checks: bool,
}

/// Why a row ends early: the name of the error as Python has it, and the message.
struct Ended(&'static str, String);

impl From<Stopped> for Ended {
    fn from(_: Stopped) -> Self {
        Self("Stopped", "the time for a file was exceeded".to_owned())
    }
}

/// The row of a file.
pub(super) fn row(path: &Path, name: String, work: &Work) -> Row {
    let start = Instant::now();
    let mut row = Row::new(name);
    let filled = catch_unwind(AssertUnwindSafe(|| fill(&mut row, path, work, start)));
    row.seconds = start.elapsed().as_secs_f64();
    match filled {
        Ok(Ok(())) => row,
        Ok(Err(Ended(code, message))) => row.failed(code, message),
        Err(panic) => {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("unknown reason");
            row.failed("BugError", format!("a defect of this program: {text}"))
        }
    }
}

fn fill(row: &mut Row, path: &Path, work: &Work, start: Instant) -> Result<(), Ended> {
    let metadata = path.metadata().map_err(|error| Ended(of_system(error.kind()), words(&error)))?;
    if !metadata.is_file() {
        let what = if metadata.is_dir() { "it is a directory" } else { "it is not a regular file" };
        return Err(Ended("NotAFileError", what.to_owned()));
    }
    row.bytes = Some(metadata.len());
    let mode = if metadata.len() > SMALL { ReadMode::Map } else { ReadMode::Memory };
    row.bytes_read = (mode == ReadMode::Memory).then_some(metadata.len());
    let time = work.time;
    let interrupt = Interrupt::when(move || start.elapsed() >= time);
    let execution = Execution::from(work.limits).with_interrupt(interrupt);
    row.stage = "load";
    let options = ParseOptions::default().with_execution(execution);
    let loaded = load_part(path, Format::of(path), mode, Part::Model, &options);
    let loaded = loaded.map_err(|failure| not_loaded(row, &failure))?;
    row.stage = "inspect";
    inspect(row, &loaded.model);
    if work.checks {
        row.stage = "check";
        check(row, &loaded)?;
    }
    row.ok = row.errors.unwrap_or(0) == 0;
    row.stage = "done";
    Ok(())
}

/// The name of the exception that Python has for an error of the system.
const fn of_system(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::NotFound => "FileNotFoundError",
        ErrorKind::PermissionDenied => "PermissionError",
        ErrorKind::NotADirectory => "NotADirectoryError",
        _ => "OSError",
    }
}

/// The words of the system about an error, without its number.
fn words(error: &std::io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error ").next().unwrap_or_default().to_owned()
}

/// Why a model is missing. The name of the file is in another column, so that equal errors of several files are equal.
fn not_loaded(row: &mut Row, failure: &Failure) -> Ended {
    let code = match failure.outcome() {
        _ if *failure.rule == STOPPED => return Stopped.into(),
        Outcome::Limit => "LimitError",
        _ if *failure.rule == FILE_NOT_READABLE => {
            row.stage = "read";
            "OSError"
        }
        _ => "LoadError",
    };
    if let Some(found) = failure.faults.as_ref().and_then(|faults| faults.findings.diagnostics().first()) {
        return Ended(code, format!("{}: {}", found.locus, found.message));
    }
    let name = failure.input.as_ref().and_then(|name| failure.message.strip_prefix(&format!("{name}: ")));
    Ended(code, name.unwrap_or(&failure.message).to_owned())
}

/// What is counted of a model, with nested graphs and functions.
fn inspect(row: &mut Row, model: &Model) {
    let info = model.info();
    let (mut parameters, mut bytes, mut files) = (0_u64, 0_u64, BTreeSet::new());
    model.for_each_tensor(|_, tensor| {
        parameters = parameters.saturating_add(tensor.element_count().unwrap_or(0));
        bytes = bytes.saturating_add(tensor.byte_len().unwrap_or(0));
        if let Payload::External(data) = tensor.payload() {
            files.extend(data.location().ok().map(str::to_owned));
        }
    });
    let mut opsets: Vec<(&str, i64)> =
        info.opset_imports.iter().map(|import| (model.str(import.domain()), import.version())).collect();
    opsets.sort_unstable();
    // Of several imports of a domain, the last one counts, as in a mapping.
    opsets.reverse();
    opsets.dedup_by_key(|(domain, _)| *domain);
    opsets.reverse();
    let opset = |&(domain, version): &(&str, i64)| {
        format!("{}={version}", if domain.is_empty() { "ai.onnx" } else { domain })
    };
    row.ir_version = Some(info.ir_version);
    row.opsets = Some(opsets.iter().map(opset).collect::<Vec<_>>().join(","));
    row.producer = Some(model.str(info.producer_name).to_owned());
    row.nodes = Some(model.node_count() as u64);
    row.functions = Some(model.functions().len() as u64);
    (row.parameters, row.weight_bytes) = (Some(parameters), Some(bytes));
    row.external_files = Some(files.len() as u64);
}

/// Counts what the checker and inference find, and what could not be decoded.
fn check(row: &mut Row, loaded: &Loaded) -> Result<(), Ended> {
    let model = &loaded.model;
    // As `onnx check`: the operators of onnxruntime are known.
    let registry = onnx_shape_infer::contrib::registry();
    let options =
        CheckOptions::default().with_registry(registry.clone()).with_execution(loaded.execution.clone());
    let mut found = onnx_check::check(model, &options);
    loaded.execution.interrupt.check()?;
    found.merge(loaded.findings.clone());
    count(row, &found);
    row.stage = "infer";
    let source = loaded.source().map_err(|failure| Ended("LoadError", failure.message))?;
    let options = InferOptions::default()
        .with_registry(&registry)
        .with_data(&source)
        .with_check_types(true)
        .with_execution(loaded.execution.clone());
    let inference = onnx_shape_infer::infer(model, &options);
    loaded.execution.interrupt.check()?;
    let values = model.graphs_in(model.main_graph()).flat_map(|graph| model.definitions(graph));
    row.unknown_shapes = Some(values.filter(|&value| !inference.gaps(value).is_empty()).count() as u64);
    add_contradictions(&inference, &mut found);
    count(row, &found);
    Ok(())
}

fn count(row: &mut Row, found: &Sink) {
    let of = |severity: Severity| {
        Some(found.diagnostics().iter().filter(|one| one.severity == severity).count() as u64)
    };
    (row.errors, row.warnings) = (of(Severity::Error), of(Severity::Warning));
}
