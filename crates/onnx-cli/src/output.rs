//! The terminal: where text goes, and in which colours.
//!
//! Text is always composed with colors; the stream removes them for files and pipes, if `NO_COLOR` is set, or if the
//! user disables them. Standard output that is closed early (`onnx info … | head`) is not an error: further output is
//! dropped.

mod warnings;

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::fmt::{self, Write as _};
use std::io::{self, ErrorKind, IsTerminal as _, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

use anstream::{AutoStream, ColorChoice};
use anstyle::{AnsiColor, Style};
use onnx_diag::render::{self, Role, text};
use onnx_diag::{Caps, Clean, Diagnostic, Severity, Sink};
use onnx_types::Interrupt;

use crate::args::Color;
use crate::cost::SharedSizes;
use crate::exit::{Failure, Outcome};
use crate::report::{Collected, ReportFormat};
use crate::writing::{self, Stream};

/// Headings and names of files.
pub(crate) const HEADING: Style = Style::new().bold();
/// What is there to guide the eye only.
pub(crate) const DIM: Style = Style::new().dimmed();
/// Numbers and names that the reader looks for.
pub(crate) const KEY: Style = AnsiColor::Cyan.on_default();
/// What went well.
pub(crate) const GOOD: Style = AnsiColor::Green.on_default();
/// What deserves a look.
pub(crate) const WARN: Style = AnsiColor::Yellow.on_default().bold();
/// What is wrong.
pub(crate) const BAD: Style = AnsiColor::Red.on_default().bold();

/// A piece of text in a style.
pub(crate) fn paint(style: Style, text: impl fmt::Display) -> impl fmt::Display {
    fmt::from_fn(move |f| write!(f, "{style}{text}{style:#}"))
}

/// The colours of findings.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Colours;

impl Colours {
    const fn of(role: Role) -> Style {
        match role {
            Role::Severity(Severity::Error) => BAD,
            Role::Severity(Severity::Warning) => WARN,
            Role::Severity(Severity::Note) | Role::Help | Role::Note => AnsiColor::Cyan.on_default().bold(),
            Role::Message => HEADING,
            _ => AnsiColor::Blue.on_default().bold(),
        }
    }
}

impl render::Style for Colours {
    fn begin(&self, role: Role, out: &mut dyn fmt::Write) -> fmt::Result {
        write!(out, "{}", Self::of(role))
    }

    fn end(&self, role: Role, out: &mut dyn fmt::Write) -> fmt::Result {
        write!(out, "{:#}", Self::of(role))
    }
}

/// Standard output and standard error.
#[derive(Debug)]
pub(crate) struct Out {
    choice: ColorChoice,
    /// Standard output has been closed by its reader.
    closed: bool,
    /// Only errors go to standard error.
    quiet: bool,
    /// Only one line of the summary goes to standard error.
    brief: bool,
    /// Whether the summary is the result of the command, because nothing is written.
    is_result: bool,
    /// The summary of a change whose result is not written yet.
    held: RefCell<Option<String>>,
    /// The model that the next text is about, until it is named: one of several.
    heading: RefCell<Option<String>>,
    /// Why the summary could not be written to standard output.
    unwritten: RefCell<Option<io::Error>>,
    /// How much goes to standard error in addition to the summary.
    verbose: u8,
    /// When the command began.
    start: Instant,
    /// When it ends.
    timeout: Option<Interrupt>,
    /// How many diagnostics are reported, if the user gives that.
    caps: Option<Caps>,
    /// The severity of warnings; none if the user allows them.
    of_warnings: Option<Severity>,
    /// There was one.
    is_denied: Cell<bool>,
    /// Warnings about the model that the command works on, for a report that does not have it yet.
    pub(crate) pending: RefCell<Vec<Diagnostic>>,
    /// The sizes for all models, if the command is about several.
    pub(crate) shared_sizes: Option<SharedSizes>,
    /// The directory that a dry run does not make, and a run would.
    unmade: Option<PathBuf>,
    /// What the command reports.
    pub(crate) collected: Collected,
}

impl Out {
    pub(crate) fn new(color: Color, command: &str, format: ReportFormat) -> Self {
        let choice = match color {
            Color::Auto => ColorChoice::Auto,
            Color::Always => ColorChoice::Always,
            Color::Never => ColorChoice::Never,
        };
        Self {
            choice,
            closed: false,
            quiet: false,
            brief: false,
            is_result: false,
            held: RefCell::new(None),
            heading: RefCell::new(None),
            unwritten: RefCell::new(None),
            verbose: 0,
            start: Instant::now(),
            timeout: None,
            caps: None,
            of_warnings: Some(Severity::Warning),
            is_denied: Cell::new(false),
            pending: RefCell::default(),
            shared_sizes: None,
            unmade: None,
            collected: Collected::new(command, format),
        }
    }

    /// The same, with less or more on standard error.
    pub(crate) fn with_verbosity(self, quiet: bool, verbose: u8) -> Self {
        Self { quiet, verbose, ..self }
    }

    /// The same, with summaries of one line.
    pub(crate) fn with_brief(self, brief: bool) -> Self {
        Self { brief, ..self }
    }

    /// The same, with the timeout of the command.
    pub(crate) fn with_timeout(self, timeout: Option<Interrupt>) -> Self {
        Self { timeout, ..self }
    }

    /// The failure by the timeout in the place of another one, if it was exceeded: what the libraries say about work that was
    /// stopped tells nothing about a model.
    pub(crate) fn expired(&self, failure: &Failure) -> Option<Failure> {
        let stopped = self.timeout.as_ref()?.check().err()?;
        let is_other = failure.outcome() != Outcome::Limit;
        is_other.then(|| failure.stopped(stopped))
    }

    /// The same, with the lines of a table sorted by a column.
    pub(crate) fn sorted_by(mut self, column: Option<String>) -> Self {
        self.collected.sort = column;
        self
    }

    /// Whether a line for each input says everything.
    const fn is_table(&self) -> bool {
        self.collected.format.is_table()
    }

    /// Begins the report of one of several models, with its name before the first line.
    pub(crate) fn begin(&mut self, name: &str) {
        *self.heading.get_mut() = (!self.is_table()).then(|| name.to_owned());
    }

    /// Leaves the name of the model out, because the next line has it.
    pub(crate) fn omit_name(&self) {
        *self.heading.borrow_mut() = None;
    }

    /// The text, with the name of the model that it is about if it is the first of that.
    fn headed<'a>(&self, text: &'a str) -> Cow<'a, str> {
        match self.heading.borrow_mut().take() {
            Some(name) => format!("{}\n{text}", paint(HEADING, format_args!("{}:", shown(&name)))).into(),
            None => text.into(),
        }
    }

    /// Makes the summary the result of the command: nothing is written, and the user asks what would be.
    pub(crate) const fn summary_is_result(&mut self) {
        self.is_result = true;
    }

    /// Leaves out the tables of summaries, because the result goes to another command.
    pub(crate) const fn be_brief(&mut self) {
        self.brief = true;
    }

    /// Whether only errors are wanted.
    pub(crate) const fn is_quiet(&self) -> bool {
        self.quiet
    }

    /// Notes the directory that a run would make for its outputs, unless that is impossible.
    pub(crate) fn would_make(&mut self, directory: Option<&Path>) -> Result<(), Failure> {
        let Some(directory) = directory else { return Ok(()) };
        let existing = directory.ancestors().find(|path| path.symlink_metadata().is_ok());
        if let Some(file) = existing.filter(|path| !path.is_dir()) {
            return Err(Failure::cannot_write(file, ErrorKind::NotADirectory.into()));
        }
        self.unmade = Some(directory.to_owned());
        Ok(())
    }

    /// Whether a file would be in a directory that is only made by a run, so that nothing is replaced.
    pub(crate) fn is_unmade(&self, path: &Path) -> bool {
        let is_missing = || path.parent().is_some_and(|parent| !parent.exists());
        self.unmade.as_ref().is_some_and(|directory| path.starts_with(directory)) && is_missing()
    }

    /// Why a summary that is the result could not be written.
    pub(crate) fn take_unwritten(&mut self) -> Result<(), Failure> {
        let error = self.unwritten.get_mut().take();
        self.heed(error.map_or(Ok(()), Err))
    }

    /// Holds summaries back until the result is written: "merged 2 models" above an error would be false.
    pub(crate) fn hold_summaries(&mut self) {
        *self.held.get_mut() = Some(String::new());
    }

    /// Writes the summaries that were held back, because the result is written.
    pub(crate) fn release_summaries(&mut self) {
        if let Some(held) = self.held.get_mut().take().filter(|held| !held.is_empty()) {
            self.summarize(&held);
        }
    }

    /// Ends a command: summaries that are still held back are of a result that was not written, unless all is well.
    pub(crate) fn settle_summaries(&mut self, is_fine: bool) {
        if is_fine {
            self.release_summaries();
        }
        *self.held.get_mut() = None;
    }

    /// Writes the summary: to standard output if it is the result, and that is not a report for programs.
    fn summarize(&self, text: &str) {
        if let Some(held) = self.held.borrow_mut().as_mut() {
            return held.push_str(text);
        }
        if !self.is_result || !self.is_for_people() {
            return self.aside(text);
        }
        if let Err(error) = self.write_text(&self.headed(text)) {
            self.unwritten.borrow_mut().get_or_insert(error);
        }
    }

    /// Applies `--max-findings` to all diagnostics that follow.
    pub(crate) const fn limit_findings(&mut self, caps: Option<Caps>) {
        self.caps = caps;
    }

    /// The diagnostics within `--max-findings`, in text and in reports alike.
    pub(crate) fn within_caps(&self, mut findings: Sink) -> Sink {
        if let Some(caps) = self.caps {
            findings.limit(caps);
        }
        findings
    }

    /// Writes text for people to standard output.
    pub(crate) fn text(&mut self, text: &str) -> Result<(), Failure> {
        if self.closed {
            return Ok(());
        }
        let result = self.write_text(text);
        self.heed(result)
    }

    fn write_text(&self, text: &str) -> io::Result<()> {
        let choice = self.choice;
        let open = move || Ok(AutoStream::new(io::stdout().lock(), choice));
        let timeout = self.timeout.as_ref();
        writing::write(Stream::Stdout, timeout, open, |stream| stream.write_all(text.as_bytes()))
    }

    /// Writes bytes to standard output as they are.
    pub(crate) fn bytes<'a>(&mut self, pieces: impl IntoIterator<Item = &'a [u8]>) -> Result<(), Failure> {
        if self.closed {
            return Ok(());
        }
        self.stream(|stream| pieces.into_iter().try_for_each(|piece| stream.write_all(piece)))
    }

    /// Writes what a function produces to standard output.
    pub(crate) fn stream(
        &mut self,
        contents: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<(), Failure> {
        let open = || Ok(io::stdout().lock());
        let result = writing::write(Stream::Stdout, self.timeout.as_ref(), open, contents);
        self.heed(result)
    }

    /// Whether writing to standard output is useless by now.
    pub(crate) const fn is_closed(&self) -> bool {
        self.closed
    }

    /// Ends writing to standard output.
    pub(crate) const fn close_if(&mut self, is_refused: bool) {
        self.closed |= is_refused;
    }

    fn heed(&mut self, result: io::Result<()>) -> Result<(), Failure> {
        match result {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => {
                self.closed = true;
                Ok(())
            }
            Err(error) if writing::is_stopped(&error) => {
                self.closed = true;
                Err(error.into())
            }
            other => Ok(other?),
        }
    }

    /// Writes text for people to standard error; there is nowhere to report a failure to.
    pub(crate) fn aside(&self, text: &str) {
        write_aside(self.choice, self.timeout.as_ref(), &self.headed(text));
    }

    /// The timeout of the command.
    pub(crate) const fn timeout(&self) -> Option<&Interrupt> {
        self.timeout.as_ref()
    }

    /// Whether text on standard output keeps its colours.
    pub(crate) fn is_coloured(&self) -> bool {
        let choice = match self.choice {
            ColorChoice::Auto => AutoStream::choice(&io::stdout()),
            choice => choice,
        };
        choice != ColorChoice::Never
    }

    /// Says on standard error why something could not be done.
    pub(crate) fn failure(&self, failure: &Failure) {
        if let Some(faults) = &failure.faults {
            let source = String::from_utf8_lossy(&faults.source);
            let name = &faults.name;
            let options = text::Options::new(name).with_style(&Colours).with_source(&*source);
            self.findings(&faults.findings, &options);
            return;
        }
        let advice = failure.advice(self.collected.command());
        let word = format!("error[{}]", failure.rule.id());
        // The message names the model.
        write_aside(self.choice, self.timeout.as_ref(), &remark(BAD, &word, &failure.message, Some(&advice)));
    }

    /// Writes findings to standard error.
    pub(crate) fn findings(&self, findings: &Sink, options: &text::Options<'_>) {
        if self.is_table() || (self.quiet && !findings.has_errors()) {
            return;
        }
        let mut rendered = String::new();
        let mut shown = Cow::Borrowed(findings);
        if self.quiet {
            shown.to_mut().retain_errors();
        }
        if self.caps.is_some() {
            shown = Cow::Owned(self.within_caps(shown.into_owned()));
        }
        // Writing to a string cannot fail.
        let _ = text::render(&mut rendered, &shown, options);
        self.aside(&rendered);
    }

    /// Says on standard error what follows from what the user asked for.
    pub(crate) fn note(&self, message: &str, help: &str) {
        if !self.quiet && !self.is_table() {
            let style = Colours::of(Role::Severity(Severity::Note));
            self.aside(&remark(style, "note", message, Some(help)));
        }
    }

    /// Says as [`note`](Self::note), next to a table, too.
    pub(crate) fn remark(&self, message: &str) {
        if !self.quiet {
            let style = Colours::of(Role::Severity(Severity::Note));
            self.aside(&remark(style, "note", message, None));
        }
    }

    /// Tells on standard error that a file was written, whatever becomes of the result.
    pub(crate) fn written(&mut self, text: &str) {
        let held = self.held.get_mut().take();
        self.summary(text);
        *self.held.get_mut() = held;
    }

    /// Tells on standard error what was done, and with `-v` in which time: without, the same input gives the same text.
    pub(crate) fn summary(&self, text: &str) {
        if self.quiet || (self.is_table() && self.verbose == 0) {
            return;
        }
        let mut line = Clean(text).to_string();
        if self.verbose > 0 {
            let _ = write!(line, ", {} ms", self.start.elapsed().as_millis());
        }
        self.summarize(&format!("{line}\n"));
    }

    /// Tells on standard error what belongs to the summary, in lines.
    pub(crate) fn details_of_summary(&self, lines: &str) {
        if !self.quiet && !self.is_table() && (!self.brief || self.verbose > 0) {
            self.summarize(lines);
        }
    }

    /// Tells on standard error what `-v` (1) or `-vv` (2) asks for.
    pub(crate) fn detail(&self, level: u8, text: &str) {
        if self.verbose >= level {
            self.aside(&format!("{}\n", Clean(text)));
        }
    }

    /// Tells on standard error what helps, after diagnostics that are shown without their help.
    pub(crate) fn help(&self, text: &str) {
        if !self.quiet && !self.is_table() {
            let word = paint(Colours::of(Role::Help), "help");
            self.aside(&format!("   {} {word}: {}\n", paint(DIM, "="), Clean(text)));
        }
    }
}

/// A message with its help, in lines.
fn remark(style: Style, word: &str, message: &str, help: Option<&str>) -> String {
    let mut text = format!("{}: {}\n", paint(style, word), Clean(message));
    if let Some(help) = help {
        let word = paint(Colours::of(Role::Help), "help");
        let _ = writeln!(text, "   {} {word}: {}", paint(DIM, "="), Clean(help));
    }
    text
}

/// Writes to standard error; there is nowhere to report a failure to.
fn write_aside(choice: ColorChoice, timeout: Option<&Interrupt>, text: &str) {
    let open = move || Ok(AutoStream::new(io::stderr().lock(), choice));
    let _ = writing::write(Stream::Stderr, timeout, open, |stream| stream.write_all(text.as_bytes()));
}

/// A name from a model as tables show it: escaped, and cut when it is long, on a terminal at 72 characters. Nothing shows as
/// `""`. What is cut can be given to a selector as it is shown: see [`pasted`](crate::selection::pasted).
pub(crate) fn shown(name: &str) -> String {
    /// More of a name would break every table.
    const MOST_ON_TERMINAL: usize = 72;
    /// Longer than names of real models, and a bound for output that repeats a name.
    const MOST_CHARS: usize = 4096;
    if name.is_empty() {
        return "\"\"".to_owned();
    }
    let most = if is_terminal() { MOST_ON_TERMINAL } else { MOST_CHARS };
    match name.char_indices().nth(most) {
        None => Clean(name).to_string(),
        Some((end, _)) => format!("{}…", Clean(name.get(..end).unwrap_or_default())),
    }
}

/// Whether standard output is a terminal, where some characters act instead of being seen.
pub(crate) fn is_terminal() -> bool {
    io::stdout().is_terminal()
}

/// Text of several lines in which the characters that act on a terminal are escaped. A colon at the beginning of a line is escaped,
/// too: `::error::` is a command in the logs of GitHub Actions.
pub(crate) fn clean_lines(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    push_clean(&mut clean, text, true);
    clean
}

/// Append the text as [`clean_lines`] shows it, if a line begins with it; returns whether one begins behind it.
fn push_clean(clean: &mut String, text: &str, mut begins_line: bool) -> bool {
    for c in text.chars() {
        let is_command = begins_line && c == ':';
        begins_line = c == '\n' || (begins_line && c.is_whitespace());
        if is_command {
            clean.push_str("\\u{3a}");
        } else if matches!(c, '\n' | '\t') || (c.is_ascii() && !c.is_ascii_control()) {
            clean.push(c);
        } else {
            let _ = write!(clean, "{}", Clean(c.encode_utf8(&mut [0; 4])));
        }
    }
    begins_line
}

/// Text with styles in which all other characters that act are escaped as by [`clean_lines`]. A style is not text of its line.
pub(crate) fn clean_styled(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut begins_line = true;
    let mut rest = text;
    while let Some(start) = rest.find("\u{1b}[") {
        let (before, sequence) = rest.split_at(start);
        begins_line = push_clean(&mut clean, before, begins_line);
        // Styles consist of numbers, and end with `m`.
        let end = sequence.get(2..).and_then(|s| s.find(|c: char| !(c.is_ascii_digit() || c == ';')));
        let style = end.and_then(|end| sequence.get(..end + 3)).filter(|style| style.ends_with('m'));
        let taken = style.unwrap_or("\u{1b}");
        match style {
            Some(style) => clean.push_str(style),
            None => begins_line = push_clean(&mut clean, taken, begins_line),
        }
        rest = sequence.get(taken.len()..).unwrap_or_default();
    }
    push_clean(&mut clean, rest, begins_line);
    clean
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_names_do_nothing() {
        assert_eq!(shown("conv/W:0"), "conv/W:0");
        assert_eq!(shown(""), "\"\"");
        assert_eq!(shown("a\x1b[2Jb\u{202e}"), "a\\u{1b}[2Jb\\u{202e}");
        // Tests write to a pipe or a file.
        assert_eq!(shown(&"x".repeat(4096)), "x".repeat(4096));
        assert_eq!(shown(&"x".repeat(5000)), format!("{}…", "x".repeat(4096)));
        assert_eq!(clean_lines("a: b\n  ::error::\n\x07"), "a: b\n  \\u{3a}:error::\n\\u{7}");
        assert_eq!(clean_styled("- \x1b[1mname\x1b[0m: text"), "- \x1b[1mname\x1b[0m: text");
        assert_eq!(clean_styled("a\n \x1b[1m::error\x1b[2J"), "a\n \x1b[1m\\u{3a}:error\\u{1b}[2J");
    }
}
