//! Where rows go: standard output, a file that a later run continues, or a file that is there when it is complete.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind, Read as _, Seek as _, SeekFrom, Write};
use std::path::Path;

use onnx_codec::WriteOptions;
use onnx_codec::file::{FileKind, write_file};
use serde_json::Value;

use super::parquet::Columns;
use super::resume::Present;
use crate::args::{ScanArgs, ScanForm};
use crate::exit::Failure;
use crate::input::{display_name, is_stdin, is_stream};
use crate::output::Out;
use crate::{interrupt, rows, store};

/// The rows that are written.
pub(super) struct Table<'a> {
    form: ScanForm,
    to: Destination<'a>,
    /// The rows of a file that is continued.
    present: Present,
    has_head: bool,
    /// Set if the form is [`ScanForm::Parquet`].
    columns: Option<Columns>,
}

/// Where the bytes go, with the name for messages.
enum Destination<'a> {
    Standard,
    File(File, String),
    /// A file that gets its name when it is complete.
    Staged(&'a mut dyn Write, String),
}

/// Opens the output of a scan, and has `fill` write the rows and finish the table.
pub(super) fn written<T>(
    args: &ScanArgs,
    fill: impl FnOnce(&mut Table<'_>) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let mut table = Table::new(args.form()?);
    if table.form == ScanForm::Parquet {
        let columns = Columns::new()?;
        check_columns(args)?;
        if let Some(path) = args.output_file.as_deref().filter(|path| !is_stream(path)) {
            return staged(args, path, columns, fill);
        }
        table.columns = Some(columns);
    }
    table.open(args)?;
    fill(&mut table)
}

/// Refuses what a file of Parquet cannot be.
fn check_columns(args: &ScanArgs) -> Result<(), Failure> {
    if args.resume {
        let failure =
            Failure::new("a file of Parquet cannot be continued: a run that ended early leaves none");
        return Err(failure
            .help("write `--to jsonl`, which `--resume` continues; DuckDB, Polars and pandas convert it"));
    }
    let path = args.output_file.as_deref().unwrap_or(Path::new("-"));
    store::refuse_binary_on_terminal(path, "name a file: `-o FILE`, or write `--to jsonl`")
}

/// Writes a file that has its name when it is complete.
fn staged<T>(
    args: &ScanArgs,
    path: &Path,
    columns: Columns,
    fill: impl FnOnce(&mut Table<'_>) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let name = display_name(path);
    let check = || match !args.force && path.exists() {
        true => {
            Err(Failure::not_writable(format_args!("{name}: the file exists")).help("`--force` replaces it"))
        }
        false => Ok(()),
    };
    check()?;
    let options = WriteOptions::default().with_temporaries(interrupt::temporaries());
    let mut result = None;
    let written = write_file(path, FileKind::Rows, &options, |file| {
        let to = Destination::Staged(file, name.clone());
        let mut table = Table { to, columns: Some(columns), ..Table::new(ScanForm::Parquet) };
        // Another scan may have written the file meanwhile.
        let filled = fill(&mut table).and_then(|filled| check().map(|()| filled));
        let is_filled = filled.is_ok();
        result = Some(filled);
        if is_filled { Ok(()) } else { Err(ErrorKind::Other.into()) }
    });
    let other_help = "name another file: `-o FILE`";
    match (result, written) {
        (Some(Err(failure)), _) => Err(failure),
        (_, Err(error)) if error.refusal().is_some() => Err(Failure::from(error).help(other_help)),
        (_, Err(error)) => Err(error.into()),
        (filled, Ok(())) => filled.unwrap_or_else(|| Err(Failure::defect("no row was written"))),
    }
}

impl Table<'_> {
    fn new(form: ScanForm) -> Self {
        Self { form, to: Destination::Standard, present: Present::new(form), has_head: false, columns: None }
    }

    /// Opens a file, and reads the rows that it has.
    fn open(&mut self, args: &ScanArgs) -> Result<(), Failure> {
        let Some(path) = args.output_file.as_deref().filter(|path| !is_stdin(path)) else {
            if args.resume {
                return Err(
                    Failure::new("standard output has no rows to continue").help("name a file: `-o FILE`")
                );
            }
            return Ok(());
        };
        let name = display_name(path);
        let failed = |error: io::Error| Failure::cannot_write(path, error);
        let is_stream = is_stream(path);
        if args.force && !is_stream {
            check_replaced(path, &name)?;
        }
        let mut options = OpenOptions::new();
        options.write(true);
        match () {
            () if is_stream => &mut options,
            () if args.resume => options.read(true).create(true),
            // It may be a file that another scan writes, and is not changed yet.
            () if args.force => options.create(true).truncate(false),
            () => options.create_new(true),
        };
        let mut file = options.open(path).map_err(|error| match error.kind() {
            ErrorKind::AlreadyExists => Failure::not_writable(format_args!("{name}: the file exists"))
                .help("`--resume` continues it, `--force` replaces it"),
            _ => failed(error),
        })?;
        if !is_stream {
            lock(&file, &name)?;
        }
        if args.resume {
            self.resume(&mut file, path).map_err(|failure| failure.about(&name))?;
        } else if args.force && !is_stream {
            file.set_len(0).map_err(failed)?;
        }
        self.to = Destination::File(file, name);
        Ok(())
    }

    /// Reads the rows of a file, and cuts off a last one that is incomplete.
    fn resume(&mut self, file: &mut File, path: &Path) -> Result<(), Failure> {
        if is_stream(path) {
            return Err(Failure::new("only a regular file can be continued").help("name a file: `-o FILE`"));
        }
        let broken = |error: io::Error| Failure::not_readable(format_args!("cannot be read: {error}"));
        let mut text = Vec::new();
        file.read_to_end(&mut text).map_err(broken)?;
        let end = text.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
        let complete = text.get(..end).unwrap_or_default();
        let other = |line: usize| {
            Failure::new(format_args!(
                "line {line} is not a row of this command with `--to {}`",
                self.form.name()
            ))
            .help("name the file of an earlier run, and its `--to`")
        };
        // A file without a line that is complete may be anything.
        if end == 0 && !begins(self.form, &text) {
            return Err(other(1));
        }
        let complete = std::str::from_utf8(complete).map_err(|error| {
            let before = complete.get(..error.valid_up_to()).unwrap_or_default();
            other(before.iter().filter(|&&byte| byte == b'\n').count() + 1)
        })?;
        for (index, line) in complete.lines().enumerate() {
            match self.form {
                ScanForm::Csv if index == 0 => {
                    if line != rows::csv_head() {
                        return Err(other(1));
                    }
                    self.has_head = true;
                }
                form => {
                    let name = path_of(form, line).ok_or_else(|| other(index + 1))?;
                    self.present.add(name);
                }
            }
        }
        file.set_len(end as u64).and_then(|()| file.seek(SeekFrom::End(0))).map_err(broken)?;
        Ok(())
    }

    /// Which of the files have rows.
    pub(super) fn present(&mut self, files: &[&Path]) -> Vec<bool> {
        self.present.take(files)
    }

    /// What there is of the rows if the scan ends early, and how it is continued.
    pub(super) fn left(&self, args: &ScanArgs) -> (String, &'static str) {
        match &self.to {
            _ if self.columns.is_some() => (
                "and nothing can be read of the output, because a file of Parquet is complete or not there"
                    .to_owned(),
                "write `--to jsonl`, which `--resume` continues",
            ),
            Destination::File(_, name)
                if args.output_file.as_deref().is_some_and(|path| !is_stream(path)) =>
            {
                let help = match (args.resume, args.force) {
                    (true, _) => "run the same command again: `--resume` continues it",
                    (_, true) => "`--resume` in the place of `--force` continues it",
                    _ => "the same command with `--resume` continues it",
                };
                (format!("and their rows are in {name}"), help)
            }
            _ => (
                "and their rows were written".to_owned(),
                "write the rows to a file, `-o rows.jsonl`, which `--resume` continues",
            ),
        }
    }

    /// Writes a row, which is a line of JSON.
    pub(super) fn add(&mut self, json: &str, out: &mut Out) -> Result<(), Failure> {
        let mut text = String::new();
        match (self.form, &mut self.columns) {
            (_, Some(columns)) => {
                let bytes = columns.add(json)?;
                return self.write(&bytes, out);
            }
            (ScanForm::Csv, None) => {
                if !std::mem::replace(&mut self.has_head, true) {
                    text.extend([rows::csv_head().as_str(), "\r\n"]);
                }
                text.extend([rows::csv(json)?.as_str(), "\r\n"]);
            }
            (_, None) => text.extend([json, "\n"]),
        }
        self.write(text.as_bytes(), out)
    }

    /// Writes what follows the last row.
    pub(super) fn finish(&mut self, out: &mut Out) -> Result<(), Failure> {
        match &mut self.columns {
            None => Ok(()),
            Some(columns) => {
                let bytes = columns.finish()?;
                self.write(&bytes, out)
            }
        }
    }

    fn write(&mut self, bytes: &[u8], out: &mut Out) -> Result<(), Failure> {
        let (written, name) = match &mut self.to {
            Destination::Standard => return out.bytes([bytes]),
            Destination::File(file, name) => (file.write_all(bytes), name),
            Destination::Staged(file, name) => (file.write_all(bytes), name),
        };
        written.map_err(|error| Failure::cannot_write(Path::new(name.as_str()), error))
    }
}

/// Keeps other scans from writing the file, where the system can do that.
fn lock(file: &File, name: &str) -> Result<(), Failure> {
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => {
            Err(Failure::not_writable(format_args!("{name}: another process writes the file"))
                .help("wait for its end, or name another file: `-o FILE`"))
        }
        Ok(()) | Err(TryLockError::Error(_)) => Ok(()),
    }
}

/// Whether text is the beginning of rows, or all of it.
fn begins(form: ScanForm, text: &[u8]) -> bool {
    let is = |start: &[u8], text: &[u8]| text.starts_with(start) || start.starts_with(text);
    match form {
        ScanForm::Csv => is(rows::csv_head().as_bytes(), text),
        ScanForm::Jsonl => {
            let Some(path) = text.strip_prefix(ROW_START) else { return ROW_START.starts_with(text) };
            let mut is_escaped = false;
            let end = path.iter().position(|&byte| {
                let is_end = byte == b'"' && !is_escaped;
                is_escaped = byte == b'\\' && !is_escaped;
                is_end
            });
            // Other programs have objects with a path, too.
            end.and_then(|end| path.get(end..)).is_none_or(|rest| is(AFTER_PATH, rest))
        }
        // It is never continued, and `write_file` recognizes it.
        ScanForm::Parquet => false,
    }
}

/// How a row in JSON begins.
const ROW_START: &[u8] = b"{\"path\":\"";
/// What is between the path of a row and what may differ.
const AFTER_PATH: &[u8] = b"\",\"ok\":";

/// Refuses to replace a file that has no rows, such as a model.
fn check_replaced(path: &Path, name: &str) -> Result<(), Failure> {
    let Ok(file) = File::open(path) else { return Ok(()) };
    let mut start = Vec::new();
    let read = file.take(1 << 10).read_to_end(&mut start);
    if read.is_ok() && [ScanForm::Csv, ScanForm::Jsonl].iter().any(|&form| begins(form, &start)) {
        return Ok(());
    }
    let message = format_args!("{name}: the file has no rows, and is not replaced");
    Err(Failure::not_writable(message).help("name another file: `-o FILE`"))
}

/// The path in a row.
fn path_of(form: ScanForm, line: &str) -> Option<String> {
    match form {
        ScanForm::Jsonl | ScanForm::Parquet => {
            let row: Value = serde_json::from_str(line).ok()?;
            row.get("stage")?;
            row.get("path")?.as_str().map(str::to_owned)
        }
        ScanForm::Csv => {
            let quoted = line.strip_prefix('"');
            let Some(rest) = quoted else { return line.split_once(',').map(|(path, _)| path.to_owned()) };
            let mut path = String::new();
            let mut pieces = rest.split('"').peekable();
            while let Some(piece) = pieces.next() {
                path.push_str(piece);
                // Two quotes are one in the text; one ends it.
                if pieces.peek() != Some(&"") {
                    return pieces.next().filter(|rest| rest.starts_with(',')).map(|_| path);
                }
                pieces.next();
                path.push('"');
            }
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_read_from_rows() {
        let csv = |line: &str| path_of(ScanForm::Csv, line);
        assert_eq!(csv("a.onnx,true,done"), Some("a.onnx".to_owned()));
        assert_eq!(csv("\"a,\"\"b\"\".onnx\",true"), Some("a,\"b\".onnx".to_owned()));
        assert_eq!(csv("\"\"\"\",true"), Some("\"".to_owned()));
        assert_eq!(csv("\"a"), None);
        assert_eq!(csv("a"), None);
        let json = |line: &str| path_of(ScanForm::Jsonl, line);
        assert_eq!(json("{\"path\":\"a\\n\",\"ok\":true,\"stage\":\"done\"}"), Some("a\n".to_owned()));
        assert_eq!(json("{\"path\":1,\"stage\":\"\"}"), None);
        assert_eq!(json("[]"), None);
    }

    #[test]
    fn beginnings_of_rows_are_told_from_other_files() {
        let row = rows::Row::new("a\"\\\n".to_owned()).json().unwrap();
        for end in 0..=row.len() {
            assert!(begins(ScanForm::Jsonl, &row.as_bytes()[..end]), "{end}");
        }
        for other in ["{\"path\":\"a\",\"size\":1}", "{\"path\":\"a\"}", "{\"path\":1}", "{\"paths", "x"] {
            assert!(!begins(ScanForm::Jsonl, other.as_bytes()), "{other}");
        }
        let head = rows::csv_head();
        assert!(begins(ScanForm::Csv, head.as_bytes()) && begins(ScanForm::Csv, &head.as_bytes()[..9]));
        assert!(!begins(ScanForm::Csv, b"path,size\n"));
    }
}
