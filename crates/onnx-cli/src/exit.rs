//! How a command ends: [`Outcome`] and [`Failure`].

use std::fmt;
use std::io;
use std::path::Path;

use bytes::Bytes;
use onnx_codec::{DecodeError, EncodeError, ExternalizeError, FileError, SaveError};
use onnx_diag::{Rule, STOPPED, Sink, Status};
use onnx_formats::ConvertError;
use onnx_text::PrintError;
use onnx_types::tensor::DataError;
use onnx_types::{Execution, Limits, Stopped};

use crate::{failures, file_help, limits, writing};

/// How a command ended, which determines the exit status. Worse outcomes are greater: several files give the greatest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Outcome {
    /// Success: exit status 0.
    Fine,
    /// Completed with a negative result, such as a diagnostic of severity error: exit status 1.
    Findings,
    /// A limit was exceeded: exit status 3.
    Limit,
    /// The command failed: exit status 2.
    CouldNotRun,
}

impl Outcome {
    pub(crate) const fn status(self) -> Status {
        match self {
            Self::Fine => Status::Ok,
            Self::Findings => Status::Findings,
            Self::Limit => Status::Limit,
            Self::CouldNotRun => Status::Failed,
        }
    }
}

/// Why something could not be done, and how to proceed.
#[derive(Debug)]
pub(crate) struct Failure {
    /// Its code and name.
    pub(crate) rule: &'static Rule,
    pub(crate) message: String,
    pub(crate) help: Option<String>,
    /// The limit that was exceeded: one of [`Limits`], or the memory of the system.
    pub(crate) limit: Option<&'static str>,
    /// Set if the reason is that a text has errors; these are shown instead of the message.
    pub(crate) faults: Option<Box<Faults>>,
    /// Whether the diagnostics of the input are the reason. They are reported; the message adds what follows from them.
    is_consequence: bool,
    /// The name of the input that could not be read.
    pub(crate) input: Option<String>,
    /// Set if standard output is connected to a file of the input: nothing is written to it, not even the report.
    pub(crate) closes_output: bool,
}

/// Everything that is wrong with a text.
#[derive(Debug)]
pub(crate) struct Faults {
    /// The name of the file.
    pub(crate) name: String,
    pub(crate) findings: Sink,
    pub(crate) source: Bytes,
}

impl Failure {
    pub(crate) fn new(message: impl fmt::Display) -> Self {
        Self {
            rule: &failures::COMMAND_FAILED,
            message: without_os_errors(&message.to_string()),
            help: None,
            limit: None,
            faults: None,
            is_consequence: false,
            input: None,
            closes_output: false,
        }
    }

    /// A text that cannot be parsed.
    pub(crate) fn of_text(name: &str, findings: Sink, source: Bytes) -> Self {
        let faults = Faults { name: name.to_owned(), findings, source };
        Self { faults: Some(Box::new(faults)), ..Self::new(format_args!("{name}: the text has errors")) }
    }

    /// A file that cannot be read.
    pub(crate) fn not_readable(message: impl fmt::Display) -> Self {
        Self { rule: &failures::FILE_NOT_READABLE, ..Self::new(message) }
    }

    /// A file that cannot be written.
    pub(crate) fn not_writable(message: impl fmt::Display) -> Self {
        Self { rule: &failures::FILE_NOT_WRITABLE, ..Self::new(message) }
    }

    /// A file or directory that cannot be read, for this reason of the system.
    pub(crate) fn cannot_read(path: &Path, source: io::Error) -> Self {
        FileError { operation: "read", path: path.to_owned(), source }.into()
    }

    /// A file or directory that cannot be written, for this reason of the system.
    pub(crate) fn cannot_write(path: &Path, source: io::Error) -> Self {
        FileError { operation: "write", path: path.to_owned(), source }.into()
    }

    /// A failure that only a defect of this program explains.
    pub(crate) fn defect(message: impl fmt::Display) -> Self {
        Self::new(message)
            .help("this is a defect of this program: please report it, with the file if you can")
    }

    /// A file whose bytes are not a model.
    pub(crate) fn not_a_model(message: impl fmt::Display) -> Self {
        Self { rule: &failures::NOT_A_MODEL, ..Self::new(message) }
    }

    /// Something that exceeds a limit.
    pub(crate) fn exceeding(limit: &'static str, message: impl fmt::Display) -> Self {
        Self::new(message).with(&failures::LIMIT_EXCEEDED, Some(limit))
    }

    /// What follows from diagnostics of severity error: the command ends with the exit status of these.
    pub(crate) fn because_of_findings(message: impl fmt::Display) -> Self {
        Self { is_consequence: true, ..Self::new(message) }
    }

    /// How a command ends that fails so: text with errors is a negative result, as other models with errors are.
    pub(crate) fn outcome(&self) -> Outcome {
        let is_limit =
            |sink: &Sink| sink.diagnostics().iter().any(|found| *found.rule == onnx_text::rules::TEXT_LIMIT);
        match &self.faults {
            _ if self.limit.is_some() || *self.rule == STOPPED => Outcome::Limit,
            Some(faults) if is_limit(&faults.findings) => Outcome::Limit,
            Some(_) => Outcome::Findings,
            None if self.is_consequence => Outcome::Findings,
            None => Outcome::CouldNotRun,
        }
    }

    /// The failure of work within this context: the timeout if it was exceeded, because the error of stopped work tells
    /// nothing about a model.
    pub(crate) fn or_timeout(self, execution: &Execution) -> Self {
        match execution.interrupt.check() {
            Ok(()) => self,
            Err(stopped) => self.stopped(stopped),
        }
    }

    /// The timeout in the place of this failure.
    pub(crate) fn stopped(&self, stopped: Stopped) -> Self {
        Self { closes_output: self.closes_output, ..Self::from(stopped) }
    }

    /// The same with the file it is about.
    pub(crate) fn about(self, file: &str) -> Self {
        Self { message: format!("{file}: {}", self.message), ..self }
    }

    /// The same as the reason why an input could not be read.
    pub(crate) fn of_input(self, name: String) -> Self {
        Self { input: Some(name), ..self }
    }

    /// The same with advice.
    pub(crate) fn help(self, help: impl Into<String>) -> Self {
        Self { help: Some(help.into()), ..self }
    }

    /// How to proceed: the advice, or that of failures of this kind.
    pub(crate) fn advice(&self, command: &str) -> String {
        if let Some(help) = &self.help {
            return help.clone();
        }
        match self.limit {
            Some(Limits::MEMORY) => {
                "allow the process more memory, or give it less to do: smaller sizes, fewer threads"
                    .to_owned()
            }
            Some(limit) => limits::advice(limit),
            None if *self.rule == failures::FILE_NOT_READABLE => {
                "check the name and the permissions of the file".to_owned()
            }
            None if *self.rule == failures::FILE_NOT_WRITABLE => {
                "check the path, the permissions and the free space".to_owned()
            }
            None if *self.rule == failures::NOT_A_MODEL => {
                "if it is a model in another format, give it with `--from`; if not, write or get the file again"
                    .to_owned()
            }
            None if command.is_empty() => "`onnx --help` lists the commands".to_owned(),
            None => format!("`onnx {command} --help` describes the arguments"),
        }
    }

    /// The same, and nothing is written to standard output any more.
    pub(crate) fn and_closes_output(self) -> Self {
        Self { closes_output: true, ..self }
    }

    fn with(self, rule: &'static Rule, limit: Option<&'static str>) -> Self {
        let rule = if limit.is_some() { &failures::LIMIT_EXCEEDED } else { rule };
        Self { rule, limit, ..self }
    }
}

/// The message without the numbers that the standard library adds to the system's own words: `(os error 2)`.
fn without_os_errors(message: &str) -> String {
    const START: &str = " (os error ";
    let mut parts = message.split(START);
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let digits = part.bytes().take_while(u8::is_ascii_digit).count();
        match part.get(digits..).and_then(|rest| rest.strip_prefix(')')) {
            Some(rest) if digits > 0 => text.push_str(rest),
            _ => text.extend([START, part]),
        }
    }
    text
}

/// An error of a library as the command reports it. Every error becomes a [`Failure`] through this trait, so that an
/// exceeded limit gives the same exit status wherever it is found.
pub(crate) trait LibraryError: fmt::Display {
    /// The message, which follows the name of the file.
    fn message(&self) -> String {
        self.to_string()
    }

    /// The limit that was exceeded, if that is the reason.
    fn limit(&self) -> Option<&'static str> {
        None
    }

    /// The failure if it is not a limit.
    fn rule(&self) -> &'static Rule {
        &failures::COMMAND_FAILED
    }

    /// How to proceed.
    fn help(&self) -> Option<String> {
        None
    }
}

impl From<Stopped> for Failure {
    /// Only the timeout stops the work of a command without ending the process.
    fn from(_: Stopped) -> Self {
        let failure = Self::new("the timeout was exceeded").with(&STOPPED, None);
        failure.help("allow more time: `--timeout TIME`")
    }
}

impl<E: LibraryError> From<E> for Failure {
    fn from(error: E) -> Self {
        let failure = Self::new(error.message()).with(error.rule(), error.limit());
        Self { help: error.help(), ..failure }
    }
}

impl LibraryError for PrintError {}
impl LibraryError for fmt::Error {}

impl LibraryError for DecodeError {
    fn message(&self) -> String {
        format!("cannot be read: {}", self.wire())
    }

    fn limit(&self) -> Option<&'static str> {
        self.limit()
    }

    fn rule(&self) -> &'static Rule {
        &failures::NOT_A_MODEL
    }

    fn help(&self) -> Option<String> {
        self.is_truncated().then(|| {
            "write or get the file again: a copy or a download that ended early leaves a part of it"
                .to_owned()
        })
    }
}

impl LibraryError for ConvertError {
    fn limit(&self) -> Option<&'static str> {
        self.limit()
    }

    fn rule(&self) -> &'static Rule {
        &failures::NOT_A_MODEL
    }
}

impl LibraryError for EncodeError {
    fn limit(&self) -> Option<&'static str> {
        (*self).limit()
    }
}

impl LibraryError for ExternalizeError {
    fn limit(&self) -> Option<&'static str> {
        self.limit()
    }

    fn help(&self) -> Option<String> {
        let help = match self {
            Self::Location { .. } => {
                "name a file in the directory of the output: `--weights external=NAME.data`; `-o DIR/NEW.onnx` chooses the directory"
            }
            Self::InUse { .. } => "name another file: `--weights external=NAME.data`",
            Self::Alignment { .. } => "write a power of two: `--align 4096`",
            _ => return None,
        };
        Some(help.to_owned())
    }
}

impl LibraryError for DataError {
    fn limit(&self) -> Option<&'static str> {
        self.limit()
    }

    fn rule(&self) -> &'static Rule {
        &failures::FILE_NOT_READABLE
    }
}

impl LibraryError for FileError {
    fn limit(&self) -> Option<&'static str> {
        of_contents(&self.source)
    }

    fn rule(&self) -> &'static Rule {
        if self.operation == "read" { &failures::FILE_NOT_READABLE } else { &failures::FILE_NOT_WRITABLE }
    }

    fn help(&self) -> Option<String> {
        file_help::of(self)
    }
}

impl LibraryError for SaveError {
    fn limit(&self) -> Option<&'static str> {
        match self {
            Self::Encode(error) => error.limit(),
            Self::File(error) => LibraryError::limit(error),
            _ => None,
        }
    }

    fn rule(&self) -> &'static Rule {
        match self {
            Self::File(error) => error.rule(),
            _ => &failures::COMMAND_FAILED,
        }
    }

    fn help(&self) -> Option<String> {
        match self {
            Self::File(error) => error.help(),
            _ => None,
        }
    }
}

/// The limit that the contents of a file exceed, which were produced while it was written, or the memory that reading it takes.
fn of_contents(error: &io::Error) -> Option<&'static str> {
    if error.kind() == io::ErrorKind::OutOfMemory {
        return Some(Limits::MEMORY);
    }
    let error = error.get_ref()?;
    let of_form = error.downcast_ref().and_then(ConvertError::limit);
    of_form.or_else(|| error.downcast_ref().copied().and_then(EncodeError::limit))
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        if writing::is_stopped(&error) {
            return Self::from(Stopped);
        }
        let limit = of_contents(&error);
        let failure = Self::new(format_args!("cannot write to standard output: {error}"))
            .with(&failures::FILE_NOT_WRITABLE, limit);
        Self { help: file_help::of_writing(&error), ..failure }
    }
}
