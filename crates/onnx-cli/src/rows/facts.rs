//! The row of one file, made in this process. Nothing is an error of the command: what goes wrong is in the row.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::time::Instant;

use bytes::Bytes;
use onnx_codec::ReadMode;
use onnx_diag::{Diagnostic, STOPPED, Severity, Sink};
use onnx_ir::Model;
use onnx_shape_infer::fault::LIMIT;
use onnx_types::tensor::Payload;
use onnx_types::{Execution, Stopped};

use super::ranges::{FileRanges, ReadError, ReadRanges};
use super::row::Row;
use super::structure::{self, Blocks, Missing, SMALL_ELEMENTS};
use crate::check::ModelChecks;
use crate::exit::{Failure, Outcome};
use crate::failures::FILE_NOT_READABLE;
use crate::format::Format;
use crate::input::{Contents, DataPlace, Loaded, load_contents, reading, require_length};
use crate::ops::documents;
use crate::part::Part;
use crate::rules;

/// How a row is made.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RowOptions {
    /// Bounds on work and memory, and what ends the work: reading, decoding, the checker and inference together.
    pub execution: Execution,
    /// Whether the checker and inference run.
    pub checks: bool,
    /// Whether this process does nothing else, so that the limit of its address space may be raised while a map of a large file,
    /// which takes no memory, exists.
    pub is_alone: bool,
}

impl Default for RowOptions {
    fn default() -> Self {
        Self { execution: Execution::default(), checks: true, is_alone: false }
    }
}

impl RowOptions {
    /// Sets the bounds on work and memory, and what ends the work.
    #[must_use]
    pub fn with_execution(self, execution: Execution) -> Self {
        Self { execution, ..self }
    }

    /// Sets whether the checker and inference run.
    #[must_use]
    pub fn with_checks(self, checks: bool) -> Self {
        Self { checks, ..self }
    }

    /// Sets whether this process does nothing else.
    #[must_use]
    pub fn with_alone(self, is_alone: bool) -> Self {
        Self { is_alone, ..self }
    }
}

/// Why a row ends early: the name of the error as Python has it, and the message.
struct Ended(String, String);

impl Ended {
    fn new(code: &str, message: impl Into<String>) -> Self {
        Self(code.to_owned(), message.into())
    }
}

impl From<Stopped> for Ended {
    fn from(_: Stopped) -> Self {
        Self::new("Stopped", "the time for the file was exceeded")
    }
}

impl From<ReadError> for Ended {
    fn from(error: ReadError) -> Self {
        Self(error.code, error.message)
    }
}

impl From<Missing> for Ended {
    fn from(missing: Missing) -> Self {
        match missing {
            Missing::Read(error) => error.into(),
            Missing::Limit(most) => {
                Self::new("LimitError", format!("more than {most} bytes of the file are not weights"))
            }
            Missing::Stopped => Stopped.into(),
        }
    }
}

/// The row of a file, under this name. External data are in the directory of the file; their elements are not read.
pub fn of_file(path: &Path, name: String, options: &RowOptions) -> Row {
    made(name, |row| {
        // Before the model is read, so that it is noticed if another one takes its place.
        let place = DataPlace::new(path);
        let mut ranges = FileRanges::open(path)?;
        fill(row, &mut ranges, (Blocks::FILE, place, Format::of(path)), options)
    })
}

/// The row of an object, under this name, whose extension is that of its format. It has no external data.
pub fn of_source(source: &mut dyn ReadRanges, name: String, options: &RowOptions) -> Row {
    let format = Format::of(Path::new(&name));
    made(name, |row| fill(row, source, (Blocks::OBJECT, DataPlace::default(), format), options))
}

fn made(name: String, fill: impl FnOnce(&mut Row) -> Result<(), Ended>) -> Row {
    let start = Instant::now();
    let mut row = Row::new(name);
    let filled = catch_unwind(AssertUnwindSafe(|| fill(&mut row)));
    row.seconds = start.elapsed().as_secs_f64();
    match filled {
        Ok(Ok(())) => row,
        Ok(Err(Ended(code, message))) => row.failed(&code, message),
        Err(panic) => {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("unknown reason");
            row.failed("BugError", format!("a defect of onnxkit, please report it: {text}"))
        }
    }
}

/// Fills the row in, stage by stage.
fn fill(
    row: &mut Row,
    source: &mut dyn ReadRanges,
    (blocks, place, format): (Blocks, DataPlace, Option<Format>),
    options: &RowOptions,
) -> Result<(), Ended> {
    let size = source.size();
    row.bytes = Some(size);
    let execution = &options.execution;
    // Nothing is read of what is too large.
    require_length(size, &execution.limits).map_err(|failure| not_loaded(row, &failure))?;
    let bytes = structure_of(row, source, blocks, options)?;
    row.stage = "load";
    let contents = Contents { name: row.path.clone(), bytes, place, format, mode: ReadMode::Memory };
    let loaded = load_contents(contents, Part::Model, &reading(execution.clone()));
    let mut loaded = loaded.map_err(|failure| not_loaded(row, &failure))?;
    row.stage = "inspect";
    inspect(row, &loaded.model);
    if options.checks {
        row.stage = "check";
        check(row, &mut loaded)?;
    }
    row.ok = row.errors.unwrap_or(0) == 0;
    row.stage = "done";
    Ok(())
}

/// The contents of a source, without the elements of large tensors.
fn structure_of(
    row: &mut Row,
    source: &mut dyn ReadRanges,
    blocks: Blocks,
    options: &RowOptions,
) -> Result<Bytes, Ended> {
    let Execution { limits, interrupt, .. } = &options.execution;
    let small = SMALL_ELEMENTS.max(16_u64.saturating_mul(limits.followed_elements as u64));
    let (bytes, read) = structure::read(source, (blocks, small), (interrupt, options.is_alone))?;
    row.bytes_read = Some(read);
    Ok(bytes)
}

/// Why a model is missing. The name of the file is in another column, so that equal errors of several files are equal.
fn not_loaded(row: &mut Row, failure: &Failure) -> Ended {
    let code = match failure.outcome() {
        _ if *failure.rule == STOPPED => return Stopped.into(),
        Outcome::Limit => "LimitError",
        _ if *failure.rule == FILE_NOT_READABLE => "OSError",
        _ => "LoadError",
    };
    row.stage = "load";
    if let Some(found) = failure.faults.as_ref().and_then(|faults| faults.findings.diagnostics().first()) {
        if code != "LimitError" {
            name_finding(row, found);
        }
        return Ended(code.to_owned(), format!("{}: {}", found.locus, found.message));
    }
    let message = failure.message.strip_prefix(&row.path).and_then(|rest| rest.strip_prefix(": "));
    Ended::new(code, message.unwrap_or(&failure.message))
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

/// Counts what `onnx check` finds.
fn check(row: &mut Row, loaded: &mut Loaded) -> Result<(), Ended> {
    let registry = documents::registry_with_onnxruntime(&[], &loaded.execution)
        .map_err(|failure| Ended::new("BugError", failure.message))?;
    let checks = ModelChecks::new(&registry, &loaded.execution.limits);
    let mut found = checks.sink();
    checks.add_read(loaded, &mut found);
    if !rules::verify(&loaded.model, &mut found) {
        count(row, &found);
        return Ok(());
    }
    let failed = |failure: Failure| match failure.outcome() {
        _ if *failure.rule == STOPPED => Ended::from(Stopped),
        Outcome::Limit => Ended::new("LimitError", failure.message),
        _ => Ended::new("OSError", failure.message),
    };
    checks.check(loaded, &mut found).map_err(failed)?;
    require_within_limits(&found)?;
    count(row, &found);
    row.stage = "infer";
    let inference = checks.infer(loaded, None, &mut found).map_err(failed)?;
    count(row, &found);
    require_within_limits(inference.findings())?;
    let model = &loaded.model;
    let values = model.graphs_in(model.main_graph()).flat_map(|graph| model.definitions(graph));
    row.unknown_shapes = Some(values.filter(|&value| !inference.gaps(value).is_empty()).count() as u64);
    Ok(())
}

/// Ends the stage if a limit is the reason for a finding.
fn require_within_limits(found: &Sink) -> Result<(), Ended> {
    match found.iter().find(|found| found.limit.is_some()) {
        Some(limit) => Err(Ended::new("LimitError", format!("{}: {}", limit.locus, limit.message))),
        None => Ok(()),
    }
}

/// Counts all findings, also those that are not kept, and names the first one. An exceeded limit is not a defect of the model.
fn count(row: &mut Row, found: &Sink) {
    let counts = found.counts();
    let limits = found.rule_counts().find(|count| *count.rule == LIMIT).map_or(0, |count| count.found);
    (row.errors, row.warnings) = (Some(counts.errors.saturating_sub(limits)), Some(counts.warnings));
    let first =
        |severity: Severity| found.iter().find(|found| found.severity == severity && *found.rule != LIMIT);
    if let Some(found) = first(Severity::Error).or_else(|| first(Severity::Warning)) {
        name_finding(row, found);
    }
}

fn name_finding(row: &mut Row, found: &Diagnostic) {
    row.finding_code = Some(found.rule.id().to_string());
    row.finding = Some(format!("{}: {}", found.locus, found.message));
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
