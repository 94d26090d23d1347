//! What `onnx check` writes: text for people, one JSON document, or SARIF, with totals of all files.

use std::fmt::Write as _;

use onnx_diag::render::{json, sarif, text};
use onnx_diag::{Clean, Counts, Sink};

use crate::args::CheckArgs;
use crate::exit::{Failure, Outcome};
use crate::output::{BAD, Colours, GOOD, HEADING, WARN, paint, terminal_safe};
use crate::size::plural;

/// What all files have together.
#[derive(Default)]
pub(super) struct Totals {
    files: u64,
    fine: u64,
    pub(super) failed: u64,
    counts: Counts,
    dropped: u64,
}

impl Totals {
    pub(super) fn add(&mut self, sink: &Sink) {
        self.files += 1;
        self.fine += u64::from(!sink.has_errors());
        let Counts { errors, warnings, notes } = sink.counts();
        self.counts.errors = self.counts.errors.saturating_add(errors);
        self.counts.warnings = self.counts.warnings.saturating_add(warnings);
        self.counts.notes = self.counts.notes.saturating_add(notes);
        self.dropped = self.dropped.saturating_add(sink.dropped());
    }

    pub(super) fn outcome(&self) -> Outcome {
        if self.failed > 0 {
            Outcome::CouldNotRun
        } else if self.counts.errors > 0 {
            Outcome::Findings
        } else {
            Outcome::Fine
        }
    }

    /// One line about several files; a single one has said everything already.
    pub(super) fn text(&self) -> Result<String, Failure> {
        let mut text = String::new();
        if self.files + self.failed < 2 {
            return Ok(text);
        }
        write!(text, "\n{}: ", paint(HEADING, plural(self.files + self.failed, "model")))?;
        write!(text, "{} without errors", paint(GOOD, self.fine))?;
        if self.files > self.fine {
            write!(text, ", {} with errors", paint(BAD, self.files - self.fine))?;
        }
        if self.failed > 0 {
            write!(text, ", {} could not be read", paint(BAD, self.failed))?;
        }
        let Counts { errors, warnings, notes } = self.counts;
        let mut separator = "; ";
        for (count, noun, style) in
            [(errors, "error", BAD), (warnings, "warning", WARN), (notes, "note", HEADING)]
        {
            if count > 0 {
                write!(text, "{separator}{}", paint(style, plural(count, noun)))?;
                separator = ", ";
            }
        }
        text.push('\n');
        Ok(text)
    }
}

/// What is said about the files.
pub(super) struct Report<'a> {
    pub(super) args: &'a CheckArgs,
    pub(super) checked: Vec<(String, Sink)>,
    pub(super) failures: Vec<(String, Failure)>,
}

impl Report<'_> {
    pub(super) fn text(&self, name: &str, sink: &Sink, source: Option<&[u8]>) -> Result<String, Failure> {
        let mut text = String::new();
        if sink.is_empty() {
            writeln!(text, "{}: {}", Clean(name), paint(GOOD, "no findings"))?;
            return Ok(text);
        }
        let source = source.map(String::from_utf8_lossy);
        let options = text::Options {
            style: &Colours,
            concise: self.args.concise,
            source: source.as_deref(),
            ..text::Options::new(name)
        };
        text::render(&mut text, sink, &options)?;
        Ok(text)
    }

    /// One document for all files: the findings with their files, then the totals, the counts of each file, and what
    /// could not be read.
    pub(super) fn json(&self, totals: &Totals) -> Result<String, Failure> {
        let mut text = String::from("{\"diagnostics\":[");
        let mut separator = "\n";
        for (name, sink) in &self.checked {
            let file = json_string(name);
            for found in sink.diagnostics() {
                let mut object = String::new();
                json::diagnostic(&mut object, found)?;
                let rest = object.strip_prefix('{').unwrap_or(&object);
                write!(text, "{separator}{{\"file\":{file},{rest}")?;
                separator = ",\n";
            }
        }
        let Counts { errors, warnings, notes } = totals.counts;
        write!(text, "\n],\"summary\":{{\"errors\":{errors},\"warnings\":{warnings},\"notes\":{notes}")?;
        write!(text, ",\"dropped\":{},\"files\":[", totals.dropped)?;
        let mut separator = "\n";
        for (name, sink) in &self.checked {
            text.push_str(separator);
            json::summary(&mut text, sink, name)?;
            separator = ",\n";
        }
        text.push_str("\n],\"failures\":[");
        let mut separator = "\n";
        for (name, failure) in &self.failures {
            let (name, message) = (json_string(name), json_string(&failure.message));
            let help = failure.help.as_deref().map_or_else(|| "null".to_owned(), json_string);
            write!(text, "{separator}{{\"file\":{name},\"message\":{message},\"help\":{help}}}")?;
            separator = ",\n";
        }
        text.push_str("\n]}}\n");
        Ok(text)
    }

    pub(super) fn sarif(&self) -> Result<String, Failure> {
        let mut text = String::new();
        let tool = sarif::Tool { name: "onnx", version: env!("CARGO_PKG_VERSION") };
        let files: Vec<(&str, &Sink)> =
            self.checked.iter().map(|(name, sink)| (name.as_str(), sink)).collect();
        sarif::render(&mut text, tool, &files)?;
        Ok(text)
    }
}

fn json_string(text: &str) -> String {
    terminal_safe(&serde_json::Value::from(text).to_string())
}
