//! How a run ends: [`Outcome`] and [`Failure`].

use std::fmt;
use std::io;
use std::process::ExitCode;

use onnx_codec::{EncodeError, ExternalizeError, FileError};

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
}

impl Failure {
    pub(crate) fn new(message: impl fmt::Display) -> Self {
        Self { message: message.to_string(), help: None }
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

failure_from!(FileError, EncodeError, ExternalizeError, fmt::Error);

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::new(format_args!("cannot write to standard output: {error}"))
    }
}
