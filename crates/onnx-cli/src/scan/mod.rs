//! `onnx scan`: a row of facts for each of many files, whatever they are.

#[cfg(feature = "parquet")]
mod parquet;
#[cfg(not(feature = "parquet"))]
#[path = "no_parquet.rs"]
mod parquet;
mod resume;
mod table;
mod worker;

use std::collections::{HashMap, HashSet};
use std::ffi::OsString;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use onnx_codec::FileError;

use serde_json::Value;

use crate::args::ScanArgs;
use crate::exit::{Failure, Outcome};
use crate::input::{display_name, expand, is_stdin};
use crate::interrupt::{self, Reported};
use crate::jobs::{self, Order};
use crate::output::Out;
use crate::progress::Progress;
use crate::size::plural;

use crate::rows::name;
use crate::table::csv_text;
use table::Table;
pub(crate) use worker::program;
use worker::{Work, Workers};

pub(crate) fn run(args: &ScanArgs, out: &mut Out) -> Result<Outcome, Failure> {
    let work = Work { limits: args.limits.limits(), time: args.file_timeout, checks: !args.no_checks };
    if args.worker {
        return worker::serve(&work).map(|()| Outcome::Fine);
    }
    if args.files.iter().any(|path| is_stdin(path)) {
        return Err(Failure::new("a row is about a file, and standard input is none")
            .help("write the model to a file first"));
    }
    let (outcome, summary) = table::written(args, |table| {
        let found = rows(args, &work, table, out)?;
        table.finish(out)?;
        Ok(found)
    })?;
    out.summary(&summary);
    Ok(outcome)
}

/// Adds a row for each file. Returns the outcome, and what the rows tell.
fn rows(
    args: &ScanArgs,
    work: &Work,
    table: &mut Table<'_>,
    out: &mut Out,
) -> Result<(Outcome, String), Failure> {
    let (files, outcome, present) = files_without_rows(args, table, out)?;
    let mut counts = Counts::default();
    let progress = Progress::start("scanning", files.len());
    let workers = Workers::new(work, arguments(args));
    let written = Arc::new(Mutex::new(0_u64));
    let _reported =
        report_of_signals(args, &written, (files.len() as u64, present), (&*table, &*out, &progress));
    let order = if args.in_order || has_shared_names(&files) { Order::OfFiles } else { Order::AsFinished };
    jobs::each(
        files,
        (args.jobs, order),
        |path: &Path| {
            progress.begin(&display_name(path));
            let row = workers.row(path, &name(path));
            progress.end();
            row
        },
        |_, row| {
            let row = row?;
            counts.add(&row);
            // A row that is being written when a signal comes is completed.
            let mut written = written.lock().unwrap_or_else(PoisonError::into_inner);
            progress.aside(|| table.add(&row, out))?;
            *written += 1;
            drop(written);
            if out.is_closed() { Err(closed()) } else { Ok(()) }
        },
    )
    .or_else(|failure| if out.is_closed() { Ok(()) } else { Err(failure) })?;
    drop(progress);
    Ok((outcome, counts.text(present)))
}

/// The files that have no row yet, with the outcome for those that cannot have one, and the number of those that have one.
fn files_without_rows(args: &ScanArgs, table: &mut Table<'_>, out: &mut Out) -> Result<Files, Failure> {
    // A file that is gone later has a row, as every file that was found.
    let mut missing: HashMap<&Path, FileError> = args.files.iter().filter_map(|path| missing(path)).collect();
    let found = expand(&args.files, &["onnx"]);
    let paths: Vec<&Path> = found.iter().flatten().map(PathBuf::as_path).collect();
    let mut has_row = table.present(&paths).into_iter();
    let (mut files, mut outcome, mut present) = (Vec::new(), Outcome::Fine, 0_u64);
    let mut refused = HashSet::new();
    for file in found {
        let file = match file {
            Ok(_) if has_row.next() == Some(true) => {
                present += 1;
                continue;
            }
            Ok(path) if refused.contains(&path) => continue,
            Ok(path) => match missing.remove(path.as_path()) {
                Some(error) => {
                    refused.insert(path);
                    Err(error.into())
                }
                None => Ok(path),
            },
            // A directory has no row.
            Err(failure) => Err(failure),
        };
        match file {
            Ok(path) => files.push(Ok(path)),
            Err(failure) => {
                outcome = outcome.max(failure.outcome());
                out.refused(None, &failure)?;
            }
        }
    }
    Ok((files, outcome, present))
}

type Files = (Vec<Result<PathBuf, Failure>>, Outcome, u64);

/// Why a file that the user names does not exist. A link that leads nowhere does.
fn missing(path: &Path) -> Option<(&Path, FileError)> {
    let source = path.symlink_metadata().err()?;
    let is_missing = matches!(source.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory);
    is_missing.then(|| (path, FileError { operation: "read", path: path.to_owned(), source }))
}

/// Has a signal that ends the scan report what was done, and how to continue.
fn report_of_signals(
    args: &ScanArgs,
    written: &Arc<Mutex<u64>>,
    (files, present): (u64, u64),
    (table, out, progress): (&Table<'_>, &Out, &Progress),
) -> Reported {
    let (rows, help) = table.left(args);
    let (warn, clear, written) = (out.warner(), progress.ending(), Arc::clone(written));
    interrupt::reported(move |signal| {
        let written = written.lock().unwrap_or_else(PoisonError::into_inner);
        clear();
        let mut message =
            format!("{signal} ended the scan: {written} of {} done, {rows}", plural(files, "file"));
        if present > 0 {
            message.push_str(&format!("; {} present before", plural(present, "row")));
        }
        warn(&message, help);
        // No row is written after the report.
        std::mem::forget(written);
    })
}

/// Whether different files have the same name in their rows, because one has bytes that are not UTF-8, or characters that tables
/// escape, and another one their escapes: only the order tells whose row it is when a scan is continued.
fn has_shared_names(files: &[Result<PathBuf, Failure>]) -> bool {
    let mut paths = HashMap::new();
    files.iter().flatten().any(|path| *paths.entry(csv_text(&name(path))).or_insert(path) != path)
}

/// Ends the work when nothing reads the rows; it is not reported.
fn closed() -> Failure {
    Failure::new("nothing reads the rows")
}

/// The arguments of separate processes.
fn arguments(args: &ScanArgs) -> Vec<OsString> {
    let mut words = vec![format!("--file-timeout={}ms", args.file_timeout.as_millis()).into()];
    words.extend(args.limits.changed().map(|(name, value)| format!("--limit={name}={value}").into()));
    words.extend(args.no_checks.then(|| "--no-checks".into()));
    words
}

/// What the rows tell.
#[derive(Default)]
struct Counts {
    files: u64,
    ok: u64,
    faulty: u64,
}

impl Counts {
    /// Counts a row, which is a line of JSON.
    fn add(&mut self, row: &str) {
        self.files += 1;
        let row: Value = serde_json::from_str(row).unwrap_or_default();
        let is_done = row.get("stage").and_then(Value::as_str) == Some("done");
        match row.get("ok").and_then(Value::as_bool) {
            Some(true) => self.ok += 1,
            Some(false) if is_done => self.faulty += 1,
            _ => {}
        }
    }

    fn text(&self, present: u64) -> String {
        let Self { files, ok, faulty } = *self;
        let others = files - ok - faulty;
        let mut text = format!("{}: {ok} without errors", plural(files, "row"));
        for (count, what) in [(faulty, "with errors"), (others, "that ended early")] {
            if count > 0 {
                text.push_str(&format!(", {count} {what}"));
            }
        }
        if present > 0 {
            text.push_str(&format!("; {} present before", plural(present, "row")));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_shared_if_a_table_writes_them_alike() {
        let files = |names: &[&str]| -> Vec<Result<PathBuf, Failure>> {
            names.iter().map(|name| Ok(PathBuf::from(name))).collect()
        };
        assert!(has_shared_names(&files(&["a\u{1}.onnx", "a\\u{1}.onnx"])));
        assert!(!has_shared_names(&files(&["a.onnx", "b.onnx", "a.onnx"])));
    }
}
