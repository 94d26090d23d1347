//! Findings as text for people, in the layout that Rust's own compiler made familiar.
//!
//! ```text
//! error[ONNX2101]: value `x` is defined twice
//!   --> model.onnx: graph "main" / node #12 Conv "c1" / output 0 "x" (byte 4096)
//!   ::: first defined here: graph "main" / initializer "x" (byte 99)
//!    = help: rename one of them
//!    = note: names are unique within a graph
//! ```
//!
//! If the locus has a line and the source is given, the line is shown with carets under the span.

use std::fmt::{self, Write};

use super::{Plain, Role, Style};
use crate::diagnostic::Diagnostic;
use crate::escape::{Clean, is_unprintable};
use crate::locus::{Locus, Position};
use crate::rule::Severity;
use crate::sink::Sink;

/// The number of characters of a source line that are shown.
const LINE_CHARS: usize = 120;

/// Options for rendering.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct Options<'a> {
    /// The name of the file of the diagnostics, as the user gave it.
    pub file: &'a str,
    /// The text of that file, when it is a text file.
    pub source: Option<&'a str>,
    /// The colors.
    pub style: &'a dyn Style,
    /// One line per diagnostic: `file: severity[code]: message (place)`.
    pub concise: bool,
    /// Text after the number of diagnostics that are only counted, such as ` (--notes shows them)`.
    pub reveal: &'a str,
}

impl<'a> Options<'a> {
    /// Full layout without source and colors.
    pub const fn new(file: &'a str) -> Self {
        Self { file, source: None, style: &Plain, concise: false, reveal: "" }
    }

    /// Sets the text of the file.
    #[must_use]
    pub fn with_source(self, source: impl Into<Option<&'a str>>) -> Self {
        Self { source: source.into(), ..self }
    }

    /// Sets the colors.
    #[must_use]
    pub const fn with_style(self, style: &'a dyn Style) -> Self {
        Self { style, ..self }
    }

    /// Sets whether each diagnostic is one line.
    #[must_use]
    pub const fn with_concise(self, concise: bool) -> Self {
        Self { concise, ..self }
    }

    /// Sets the text after the number of diagnostics that are only counted.
    #[must_use]
    pub const fn with_reveal(self, reveal: &'a str) -> Self {
        Self { reveal, ..self }
    }
}

impl fmt::Debug for Options<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("file", &self.file)
            .field("source", &self.source.map(str::len))
            .field("concise", &self.concise)
            .finish_non_exhaustive()
    }
}

/// Writes everything a sink collected, and a summary when there is anything to sum up.
///
/// # Errors
///
/// Returns an error if writing to `out` fails.
pub fn render(out: &mut dyn Write, sink: &Sink, options: &Options<'_>) -> fmt::Result {
    // Most sinks are empty, and most sources are not small.
    let source = options.source.filter(|_| !sink.is_empty()).map(Source::new);
    let mut p = Printer { out, options, source };
    for diagnostic in sink.diagnostics() {
        p.diagnostic(diagnostic)?;
    }
    p.dropped(sink)?;
    p.summary(sink)
}

/// Writes one diagnostic, without a summary.
///
/// # Errors
///
/// Returns an error if writing to `out` fails.
pub fn diagnostic(out: &mut dyn Write, diagnostic: &Diagnostic, options: &Options<'_>) -> fmt::Result {
    Printer { out, options, source: options.source.map(Source::new) }.diagnostic(diagnostic)
}

/// The lines of the source, found once so that many diagnostics in a large file stay cheap.
struct Source<'a> {
    lines: Vec<&'a str>,
}

impl<'a> Source<'a> {
    fn new(text: &'a str) -> Self {
        Self { lines: text.lines().collect() }
    }

    fn line(&self, number: u32) -> Option<&'a str> {
        let index = usize::try_from(number).ok()?.checked_sub(1)?;
        self.lines.get(index).copied()
    }
}

struct Printer<'a> {
    out: &'a mut dyn Write,
    options: &'a Options<'a>,
    source: Option<Source<'a>>,
}

impl Printer<'_> {
    fn styled(&mut self, role: Role, text: impl fmt::Display) -> fmt::Result {
        self.options.style.begin(role, self.out)?;
        write!(self.out, "{text}")?;
        self.options.style.end(role, self.out)
    }

    fn diagnostic(&mut self, found: &Diagnostic) -> fmt::Result {
        if self.options.concise {
            return self.one_line(found);
        }
        self.headline(found)?;
        self.place("  --> ", &found.locus, None)?;
        self.snippet(&found.locus, Role::Severity(found.severity))?;
        for label in &found.labels {
            self.place("  ::: ", &label.locus, Some(&label.text))?;
            self.snippet(&label.locus, Role::Secondary)?;
        }
        if let Some(help) = &found.help {
            self.aside(Role::Help, "help", help)?;
        }
        for note in &found.notes {
            self.aside(Role::Note, "note", note)?;
        }
        self.out.write_char('\n')
    }

    fn headline(&mut self, found: &Diagnostic) -> fmt::Result {
        let id = found.rule.id();
        self.styled(Role::Severity(found.severity), format_args!("{}[{id}]", found.severity))?;
        self.styled(Role::Message, format_args!(": {}", Clean(&found.message)))?;
        self.out.write_char('\n')
    }

    fn one_line(&mut self, found: &Diagnostic) -> fmt::Result {
        write!(self.out, "{}", Clean(self.options.file))?;
        if let Some(position @ Position::Text { .. }) = found.locus.position() {
            write!(self.out, ":{position}")?;
        }
        self.out.write_str(": ")?;
        let id = found.rule.id();
        self.styled(Role::Severity(found.severity), format_args!("{}[{id}]", found.severity))?;
        self.styled(Role::Message, format_args!(": {}", Clean(&found.message)))?;
        // The file is named at the beginning of the line.
        if found.locus.steps().is_empty() {
            return writeln!(self.out);
        }
        writeln!(self.out, " ({:#})", found.locus)
    }

    /// The line of a locus: its subject (the file, or the label), line and column, path, byte offset.
    fn place(&mut self, arrow: &str, locus: &Locus, label: Option<&str>) -> fmt::Result {
        self.styled(Role::Gutter, arrow)?;
        // Editors follow `file:line:column`.
        let (head, colon) = match label {
            Some(text) => (Clean(text), ": "),
            None => (Clean(self.options.file), ":"),
        };
        match locus.position() {
            None => writeln!(self.out, "{head}: {locus:#}"),
            Some(at @ Position::Byte(_)) => writeln!(self.out, "{head}: {locus:#} ({at})"),
            Some(at @ Position::Text { .. }) if is_only_text(locus) => {
                writeln!(self.out, "{head}{colon}{at}")
            }
            Some(at @ Position::Text { .. }) => writeln!(self.out, "{head}{colon}{at}: {locus:#}"),
        }
    }

    /// The source line of a place with carets under its span, when there is one.
    fn snippet(&mut self, locus: &Locus, role: Role) -> fmt::Result {
        let Some(Position::Text { line, column, length }) = locus.position() else { return Ok(()) };
        let Some(text) = self.source.as_ref().and_then(|source| source.line(line)) else { return Ok(()) };
        let Some(window) = Window::new(text, column, length) else { return Ok(()) };
        let number = line.to_string();
        let width = number.len().max(2);
        let blank = format_args!("{:width$} |", "").to_string();
        self.styled(Role::Gutter, &blank)?;
        self.out.write_char('\n')?;
        self.styled(Role::Gutter, format_args!("{number:>width$} |"))?;
        writeln!(self.out, " {}", window.text)?;
        self.styled(Role::Gutter, &blank)?;
        write!(self.out, " {:1$}", "", window.before)?;
        let mark = if role == Role::Secondary { '-' } else { '^' };
        self.styled(role, fmt::from_fn(|f| (0..window.marked).try_for_each(|_| f.write_char(mark))))?;
        self.out.write_char('\n')
    }

    fn aside(&mut self, role: Role, word: &str, text: &str) -> fmt::Result {
        self.styled(Role::Gutter, "   = ")?;
        self.styled(role, word)?;
        writeln!(self.out, ": {}", Clean(text))
    }

    fn dropped(&mut self, sink: &Sink) -> fmt::Result {
        for count in sink.rule_counts().filter(|count| count.dropped() > 0) {
            let (id, slug) = (count.rule.id(), count.rule.slug);
            writeln!(self.out, "… and {} more of {id} ({slug})", count.dropped())?;
        }
        Ok(())
    }

    fn summary(&mut self, sink: &Sink) -> fmt::Result {
        let (counts, hidden) = (sink.counts(), sink.hidden());
        let mut parts = [
            (Severity::Error, counts.errors),
            (Severity::Warning, counts.warnings),
            (Severity::Note, counts.notes.saturating_sub(hidden)),
        ]
        .into_iter()
        .filter(|&(_, n)| n > 0)
        .peekable();
        if parts.peek().is_none() && hidden == 0 {
            return Ok(());
        }
        write!(self.out, "{}: ", Clean(self.options.file))?;
        let mut separator = "";
        for (severity, n) in parts {
            self.out.write_str(separator)?;
            separator = ", ";
            let plural = if n == 1 { "" } else { "s" };
            self.styled(Role::Severity(severity), format_args!("{n} {severity}{plural}"))?;
        }
        if hidden > 0 {
            let (more, plural) =
                (if separator.is_empty() { "" } else { "more " }, if hidden == 1 { "" } else { "s" });
            write!(self.out, "{separator}{hidden} {more}note{plural} not shown{}", self.options.reveal)?;
        }
        self.out.write_char('\n')
    }
}

/// The part of a source line that is shown: everything, or what surrounds the span in a very long line.
struct Window {
    text: String,
    /// The number of characters before the marked ones.
    before: usize,
    marked: usize,
}

/// Returns `true` if a locus is a position in a text, and not an element of a model: the text may be one of rules or of settings.
fn is_only_text(locus: &Locus) -> bool {
    locus.steps().is_empty() && matches!(locus.position(), Some(Position::Text { .. }))
}

impl Window {
    /// `None` when the column is not on the line.
    fn new(line: &str, column: u32, length: u32) -> Option<Self> {
        let start = usize::try_from(column).ok()?.checked_sub(1)?;
        // A span may end at the end of the line, so one past the last character is still a place.
        let skip = start.saturating_sub(LINE_CHARS / 2);
        let mut rest = line.chars().skip(skip);
        let mut text = String::new();
        let mut shown = 0;
        if skip > 0 {
            text.push('…');
        }
        for c in rest.by_ref().take(LINE_CHARS) {
            // Every character takes one cell, so that the carets are aligned.
            text.push(if c == '\t' {
                ' '
            } else if is_unprintable(c) {
                '\u{fffd}'
            } else {
                c
            });
            shown += 1;
        }
        if start - skip > shown {
            return None;
        }
        if rest.next().is_some() {
            text.push('…');
        }
        let room = (shown + skip).saturating_sub(start).max(1);
        let marked = usize::try_from(length).unwrap_or(usize::MAX).clamp(1, room);
        let before = start - skip + usize::from(skip > 0);
        Some(Self { text, before, marked })
    }
}
