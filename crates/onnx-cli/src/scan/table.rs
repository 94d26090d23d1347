//! Where rows go: standard output, or a file that a later run continues.

use std::collections::HashSet;
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::Path;

use serde_json::Value;

use super::row;
use crate::args::{ScanArgs, ScanForm};
use crate::exit::Failure;
use crate::input::{is_stdin, is_stream};
use crate::output::Out;
use crate::table::csv_text;

/// The rows that are written.
pub(super) struct Table {
    form: ScanForm,
    /// The file; `None` for standard output.
    file: Option<(File, String)>,
    /// The names of the files that have rows.
    present: HashSet<String>,
    has_head: bool,
}

impl Table {
    /// Opens the file, and reads the rows that it has.
    pub(super) fn open(args: &ScanArgs) -> Result<Self, Failure> {
        let mut table = Self { form: args.to, file: None, present: HashSet::new(), has_head: false };
        let Some(path) = args.output_file.as_deref().filter(|path| !is_stdin(path)) else {
            if args.resume {
                return Err(
                    Failure::new("standard output has no rows to continue").help("name a file: `-o FILE`")
                );
            }
            return Ok(table);
        };
        let name = path.display().to_string();
        let failed =
            |error: std::io::Error| Failure::not_writable(format_args!("{name}: cannot be written: {error}"));
        let is_stream = is_stream(path);
        if args.force && !is_stream {
            check_replaced(path)?;
        }
        let mut options = OpenOptions::new();
        options.write(true);
        match () {
            () if is_stream => &mut options,
            () if args.resume => options.read(true).create(true),
            () if args.force => options.create(true).truncate(true),
            () => options.create_new(true),
        };
        let mut file = options.open(path).map_err(|error| match error.kind() {
            ErrorKind::AlreadyExists => Failure::not_writable(format_args!("{name}: the file exists"))
                .help("`--resume` continues it, `--force` replaces it"),
            _ => failed(error),
        })?;
        if args.resume {
            table.resume(&mut file, path).map_err(|failure| failure.about(&name))?;
        }
        table.file = Some((file, name));
        Ok(table)
    }

    /// Reads the rows of a file, and cuts off a last one that is incomplete.
    fn resume(&mut self, file: &mut File, path: &Path) -> Result<(), Failure> {
        if is_stream(path) {
            return Err(Failure::new("only a regular file can be continued").help("name a file: `-o FILE`"));
        }
        let broken = |error: std::io::Error| Failure::not_readable(format_args!("cannot be read: {error}"));
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
        let complete = std::str::from_utf8(complete).map_err(|_| other(1))?;
        for (index, line) in complete.lines().enumerate() {
            match self.form {
                ScanForm::Csv if index == 0 => {
                    if line != row::csv_head() {
                        return Err(other(1));
                    }
                    self.has_head = true;
                }
                form => _ = self.present.insert(path_of(form, line).ok_or_else(|| other(index + 1))?),
            }
        }
        file.set_len(end as u64).and_then(|()| file.seek(SeekFrom::End(0))).map_err(broken)?;
        Ok(())
    }

    /// Whether a file has a row.
    pub(super) fn has(&self, name: &str) -> bool {
        self.present.contains(name) || (self.form == ScanForm::Csv && self.present.contains(&csv_text(name)))
    }

    /// Writes a row, which is a line of JSON.
    pub(super) fn add(&mut self, json: &str, out: &mut Out) -> Result<(), Failure> {
        let mut text = String::new();
        match self.form {
            ScanForm::Jsonl => text.extend([json, "\n"]),
            ScanForm::Csv => {
                if !std::mem::replace(&mut self.has_head, true) {
                    text.extend([row::csv_head().as_str(), "\r\n"]);
                }
                text.extend([row::csv(json)?.as_str(), "\r\n"]);
            }
        }
        match &mut self.file {
            None => out.bytes([text.as_bytes()]),
            Some((file, name)) => file
                .write_all(text.as_bytes())
                .map_err(|error| Failure::not_writable(format_args!("{name}: cannot be written: {error}"))),
        }
    }
}

/// Whether text is the beginning of rows.
fn begins(form: ScanForm, text: &[u8]) -> bool {
    let start = match form {
        ScanForm::Csv => row::csv_head(),
        ScanForm::Jsonl => "{\"path\":\"".to_owned(),
    };
    text.starts_with(start.as_bytes()) || start.as_bytes().starts_with(text)
}

/// Refuses to replace a file that has no rows, such as a model.
fn check_replaced(path: &Path) -> Result<(), Failure> {
    let Ok(file) = File::open(path) else { return Ok(()) };
    let mut start = Vec::new();
    let read = file.take(1 << 10).read_to_end(&mut start);
    if read.is_ok() && [ScanForm::Csv, ScanForm::Jsonl].iter().any(|&form| begins(form, &start)) {
        return Ok(());
    }
    let message = format_args!("{}: the file has no rows, and is not replaced", path.display());
    Err(Failure::not_writable(message).help("name another file: `-o FILE`"))
}

/// The path in a row.
fn path_of(form: ScanForm, line: &str) -> Option<String> {
    match form {
        ScanForm::Jsonl => {
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
}
