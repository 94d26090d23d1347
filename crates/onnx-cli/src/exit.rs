//! How a command ends: [`Outcome`] and [`Failure`].

use std::fmt;
use std::io;
use std::path::Path;

use bytes::Bytes;
use onnx_codec::file::ReplaceRefusal;
use onnx_codec::{DecodeError, EncodeError, ExternalizeError, FileError, SaveError};
use onnx_diag::{Rule, STOPPED, Sink, Status};
use onnx_formats::ConvertError;
use onnx_text::PrintError;
use onnx_types::tensor::DataError;
use onnx_types::{Execution, Limits, Stopped};

use crate::{failures, limits, writing};

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
                "give the format with `--from`, or get the file again if it is truncated".to_owned()
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
        if self.source.kind() == io::ErrorKind::NotFound
            && let Some(help) = not_a_path(&self.path)
        {
            return Some(help.to_owned());
        }
        if self.operation == "read" && self.source.kind() == io::ErrorKind::NotFound {
            let name = self.path.to_string_lossy();
            if name.contains(['*', '?', '[']) {
                let help = "no file has this pattern as its name: leave out quotes around it, so that the shell finds the \
                            files that match, or name their directory";
                return Some(help.to_owned());
            }
            return similar_file(&self.path).map(|name| format!("did you mean `{name}`?"));
        }
        if has_too_many_files(&self.source) {
            return Some("allow the process more open files: `ulimit -n`".to_owned());
        }
        if self.operation == "read" && self.source.kind() == io::ErrorKind::IsADirectory {
            return Some("the command takes one model: name a file in the directory".to_owned());
        }
        let help = match self.refusal()? {
            refusal if refusal.yields_to_force() => "`--force` replaces it anyway",
            ReplaceRefusal::WouldLoseElements => {
                "`--full` writes a text with all elements; `-o` names another file"
            }
            _ => "name another file: no file that is read or needed is replaced",
        };
        Some(help.to_owned())
    }
}

/// The help for a path that is text of a shell, or an address.
fn not_a_path(path: &Path) -> Option<&'static str> {
    let name = path.to_str()?;
    let is_scheme = |scheme: &str| {
        !scheme.is_empty()
            && scheme.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'))
    };
    if name.starts_with('~') {
        return Some(
            "the shell replaces `~` only at the beginning of a word and outside quotes: `$HOME` is the same",
        );
    }
    let is_address = name.split_once("://").is_some_and(|(scheme, _)| is_scheme(scheme));
    is_address.then_some("nothing is downloaded: get the file first, such as with `curl -LO URL`")
}

/// Whether the process or the system has as many open files as it may have.
fn has_too_many_files(error: &io::Error) -> bool {
    cfg!(unix) && matches!(error.raw_os_error(), Some(23 | 24))
}

/// The file next to one that does not exist whose name is most probably meant.
fn similar_file(path: &Path) -> Option<String> {
    /// More files are not compared.
    const MOST_FILES: usize = 10_000;
    let name = path.file_name()?.to_str()?;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let files = std::fs::read_dir(folder.unwrap_or(Path::new("."))).ok()?.take(MOST_FILES);
    let names = files.filter_map(|file| file.ok()?.file_name().into_string().ok());
    // What a name says must not depend on the order of the directory.
    let mut names: Vec<String> = names.collect();
    names.sort_unstable();
    let with_extension = names.iter().find(|other| other.strip_suffix(".onnx") == Some(name));
    let found = match with_extension {
        Some(found) => found.as_str(),
        // Names of models share an extension, which says nothing.
        None => onnx_schema::nearest(
            name,
            names.iter().map(String::as_str).filter(|other| has_similar_stem(name, other)),
        )?,
    };
    Some(crate::output::shown(&path.with_file_name(found).to_string_lossy()))
}

/// Whether the names of two files are similar without their extensions.
fn has_similar_stem(name: &str, other: &str) -> bool {
    let stem = |name: &str| name.rsplit_once('.').map_or(name, |(stem, _)| stem).to_ascii_lowercase();
    let (name, other) = (stem(name), stem(other));
    name == other || onnx_schema::nearest(&name, std::iter::once(other.as_str())).is_some()
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
        Self::new(format_args!("cannot write to standard output: {error}"))
            .with(&failures::FILE_NOT_WRITABLE, limit)
    }
}
