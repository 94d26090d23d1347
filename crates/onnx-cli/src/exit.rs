//! How a run ends: [`Outcome`] and [`Failure`].

use std::fmt;
use std::io;
use std::process::ExitCode;

use bytes::Bytes;
use onnx_codec::{EncodeError, ExternalizeError, FileError, SaveError};
use onnx_diag::Sink;
use onnx_text::PrintError;

/// How a run ended, and so the exit code. Worse outcomes are greater, so that several files give the greatest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Outcome {
    /// Everything asked for was done, and nothing is wrong: exit code 0.
    Fine,
    /// The models were looked at, and at least one has an error: exit code 1.
    Findings,
    /// Something could not be done: exit code 2.
    CouldNotRun,
}

impl From<Outcome> for ExitCode {
    fn from(outcome: Outcome) -> Self {
        Self::from(match outcome {
            Outcome::Fine => 0,
            Outcome::Findings => 1,
            Outcome::CouldNotRun => 2,
        })
    }
}

/// Why something could not be done, and what to do about it.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) message: String,
    pub(crate) help: Option<String>,
    /// Set where the reason is that a text has faults; these are shown instead of the message.
    pub(crate) faults: Option<Box<Faults>>,
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
        Self { message: message.to_string(), help: None, faults: None }
    }

    /// A text that cannot be parsed.
    pub(crate) fn of_text(name: &str, findings: Sink, source: Bytes) -> Self {
        let faults = Faults { name: name.to_owned(), findings, source };
        Self { faults: Some(Box::new(faults)), ..Self::new(format_args!("{name}: the text has errors")) }
    }

    /// How a run ends that fails so: text with errors was looked at, as other models with errors are.
    pub(crate) const fn outcome(&self) -> Outcome {
        if self.faults.is_some() { Outcome::Findings } else { Outcome::CouldNotRun }
    }

    /// The same with the file it is about.
    pub(crate) fn about(self, file: &str) -> Self {
        Self { message: format!("{file}: {}", self.message), ..self }
    }

    /// The same with advice.
    pub(crate) fn help(self, help: impl Into<String>) -> Self {
        Self { help: Some(help.into()), ..self }
    }
}

macro_rules! failure_from {
    ($($error:ty),*) => {$(
        impl From<$error> for Failure {
            fn from(error: $error) -> Self {
                Self::new(error)
            }
        }
    )*};
}

failure_from!(EncodeError, ExternalizeError, PrintError, fmt::Error);

impl From<FileError> for Failure {
    fn from(error: FileError) -> Self {
        let failure = Self::new(&error);
        match error.refusal() {
            Some(refusal) if refusal.yields_to_force() => failure.help("`--force` replaces it all the same"),
            _ => failure,
        }
    }
}

impl From<SaveError> for Failure {
    fn from(error: SaveError) -> Self {
        match error {
            SaveError::File(error) => error.into(),
            error => Self::new(error),
        }
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::new(format_args!("cannot write to standard output: {error}"))
    }
}
