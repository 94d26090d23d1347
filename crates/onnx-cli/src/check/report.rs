//! What `onnx check` writes for people, with totals of all files.

use std::fmt::Write as _;

use onnx_diag::render::text;
use onnx_diag::{Clean, Counts, Rule, Sink};

use crate::args::CheckArgs;
use crate::exit::Failure;
use crate::output::{BAD, Colours, DIM, GOOD, HEADING, WARN, paint};
use crate::size::plural;

/// What all files have together.
#[derive(Default)]
pub(super) struct Totals {
    /// All files that are named; not all are checked if the time is over.
    all: u64,
    files: u64,
    fine: u64,
    pub(super) failed: u64,
    counts: Counts,
    hidden: u64,
}

impl Totals {
    /// The totals of this number of files.
    pub(super) fn of(all: usize) -> Self {
        Self { all: all as u64, ..Self::default() }
    }

    pub(super) fn add(&mut self, sink: &Sink) {
        self.files += 1;
        self.fine += u64::from(!sink.has_errors());
        let Counts { errors, warnings, notes } = sink.counts();
        self.counts.errors = self.counts.errors.saturating_add(errors);
        self.counts.warnings = self.counts.warnings.saturating_add(warnings);
        self.counts.notes = self.counts.notes.saturating_add(notes);
        self.hidden = self.hidden.saturating_add(sink.hidden());
    }

    /// One line about several files; a single one has said everything already.
    pub(super) fn text(&self) -> Result<String, Failure> {
        let mut text = String::new();
        if self.all < 2 {
            return Ok(text);
        }
        write!(text, "\n{}: ", paint(HEADING, plural(self.all, "model")))?;
        write!(text, "{} without errors", paint(GOOD, self.fine))?;
        if self.files > self.fine {
            write!(text, ", {} with errors", paint(BAD, self.files - self.fine))?;
        }
        if self.failed > 0 {
            write!(text, ", {} could not be read", paint(BAD, self.failed))?;
        }
        let left = self.all.saturating_sub(self.files + self.failed);
        if left > 0 {
            write!(text, ", {} not checked", paint(BAD, left))?;
        }
        let Counts { errors, warnings, notes } = self.counts;
        let notes = notes.saturating_sub(self.hidden);
        let mut separator = "; ";
        for (count, noun, style) in
            [(errors, "error", BAD), (warnings, "warning", WARN), (notes, "note", HEADING)]
        {
            if count > 0 {
                write!(text, "{separator}{}", paint(style, plural(count, noun)))?;
                separator = ", ";
            }
        }
        if self.hidden > 0 {
            let more = plural(self.hidden, "more note");
            write!(text, "{separator}{}", paint(DIM, format_args!("{more} not shown (--notes shows all)")))?;
        }
        text.push('\n');
        Ok(text)
    }
}

/// What is found in one file, for people.
pub(super) fn text(
    args: &CheckArgs,
    name: &str,
    sink: &Sink,
    (source, repairable): (Option<&[u8]>, &[&'static Rule]),
) -> Result<String, Failure> {
    let mut text = String::new();
    if sink.counts().total() == sink.hidden() {
        write!(text, "{}: {}", Clean(name), paint(GOOD, "no findings"))?;
        if sink.hidden() > 0 {
            let more = plural(sink.hidden(), "note");
            write!(text, " {}", paint(DIM, format_args!("({more} not shown: --notes shows all)")))?;
        }
        text.push('\n');
        return Ok(text);
    }
    let source = source.map(String::from_utf8_lossy);
    let options = text::Options::new(name)
        .with_style(&Colours)
        .with_concise(args.concise)
        .with_source(source.as_deref())
        .with_reveal(" (--notes shows all)");
    text::render(&mut text, sink, &options)?;
    if !repairable.is_empty() {
        let rules: Vec<String> = repairable.iter().map(|rule| rule.id().to_string()).collect();
        let help = format!("`onnx check --fix` repairs what is mechanical of {}", rules.join(", "));
        writeln!(text, "   {} {help}", paint(DIM, "= help:"))?;
    }
    Ok(text)
}
