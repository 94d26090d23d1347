//! Why text could not be parsed, or a model not printed.

use std::fmt;

use onnx_diag::{Diagnostic, Locus, STOPPED, Sink};
use onnx_types::Stopped;

/// Why a model could not be printed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PrintError {
    /// Graphs or types are nested more deeply than any file can hold.
    #[error("graphs or types are nested more than {limit} levels deep")]
    TooDeep {
        /// The greatest number of levels.
        limit: u32,
    },
}

/// Why a model could not be printed into a stream.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WriteError {
    /// The model has no text.
    #[error(transparent)]
    Print(#[from] PrintError),
    /// The stream failed.
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

/// Why a text could not be laid out.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FormatError {
    /// The text is not a model, or parsing was [stopped](ParseError::stopped).
    #[error(transparent)]
    Parse(#[from] ParseError),
    /// The model has no text.
    #[error(transparent)]
    Print(#[from] PrintError),
    /// The new layout would stand for another model: a defect of this crate.
    #[error("the model would not survive the formatting, so the text stays as it is")]
    Changed,
}

/// Why text could not be parsed: everything that is wrong with it.
#[derive(Clone, Debug)]
pub struct ParseError {
    findings: Box<Sink>,
    stopped: Option<Stopped>,
}

impl ParseError {
    pub(crate) fn new(findings: Sink) -> Self {
        Self { findings: Box::new(findings), stopped: None }
    }

    /// The error of work that was stopped. Whatever else was found is dropped.
    pub(crate) fn stopped_by(stopped: Stopped) -> Self {
        let mut findings = Sink::new();
        findings.report(Diagnostic::new(&STOPPED, Locus::model(), format!("parsing was stopped: {stopped}")));
        Self { findings: Box::new(findings), stopped: Some(stopped) }
    }

    /// Returns `Some` if the caller stopped the work, `None` if the text is the reason.
    #[must_use]
    pub const fn stopped(&self) -> Option<Stopped> {
        self.stopped
    }

    /// Everything that is wrong, in the order of the text.
    #[must_use]
    pub fn findings(&self) -> &Sink {
        &self.findings
    }

    /// Everything that is wrong, to be merged with other diagnostics.
    #[must_use]
    pub fn into_findings(self) -> Sink {
        *self.findings
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.findings.summary().fmt(f)
    }
}

impl std::error::Error for ParseError {}
