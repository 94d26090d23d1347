//! Reports as workflow commands of GitHub Actions, which shows them as annotations.

use std::fmt::{self, Write};

use super::relative;
use crate::escape::Clean;
use crate::locus::Position;
use crate::report::CommandReport;
use crate::rule::Severity;

/// Writes one command for each diagnostic and failure. Binary files have no lines, so their places are in the message.
///
/// # Errors
///
/// If writing to `out` fails.
pub fn render(out: &mut dyn Write, report: &CommandReport) -> fmt::Result {
    for input in &report.inputs {
        for found in input.findings.diagnostics() {
            let level = match found.severity {
                Severity::Error => "error",
                Severity::Warning => "warning",
                Severity::Note => "notice",
            };
            write!(out, "::{level} file={}", property(&relative(&input.name)))?;
            if let Some(Position::Text { line, column, .. }) = found.locus.position() {
                write!(out, ",line={line},col={column}")?;
            }
            let title = format!("{} {}", found.rule.id(), found.rule.slug);
            write!(out, ",title={}::{}", property(&title), data(&found.message))?;
            if !found.locus.steps().is_empty() {
                write!(out, " ({})", data(&format!("{:#}", found.locus)))?;
            }
            let asides = found
                .help
                .iter()
                .map(|help| ("help", help))
                .chain(found.notes.iter().map(|note| ("note", note)));
            for (word, text) in asides {
                write!(out, "%0A{word}: {}", data(text))?;
            }
            for label in &found.labels {
                write!(out, "%0A{}: {}", data(&label.text), data(&format!("{:#}", label.locus)))?;
            }
            out.write_char('\n')?;
        }
    }
    for failure in &report.failures {
        out.write_str("::error ")?;
        if let Some(input) = failure.input.and_then(|index| report.inputs.get(index)) {
            write!(out, "file={},", property(&relative(&input.name)))?;
        }
        let title = format!("{} {}", failure.rule.id(), failure.rule.slug);
        write!(out, "title={}::{}", property(&title), data(&failure.message))?;
        if let Some(help) = &failure.help {
            write!(out, "%0Ahelp: {}", data(help))?;
        }
        out.write_char('\n')?;
    }
    Ok(())
}

/// The text of a message: `%` is escaped, and so are characters that act.
fn data(text: &str) -> String {
    Clean(text).to_string().replace('%', "%25")
}

/// The value of a property, in which `:` and `,` are escaped, too.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}
