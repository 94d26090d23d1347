//! Expectations: comments that say what is found where.
//!
//! `# error: ONNX2303` at the end of a line expects that diagnostic on that line; `"text"` after it must be part of the
//! message, and `at 7` before the text is the column. If the line cannot contain a comment, `# error@+1:` in the line
//! before expects it one line further down. `# error@file:` expects a diagnostic without a line. Other severities are
//! `# warning:` and `# note:`. A line may contain several expectations.

use std::fmt;

use onnx_diag::{Diagnostic, Position, Severity};

/// Something that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Line and column, counted from 1, if the finding has them.
    pub position: Option<(u32, u32)>,
    /// How bad it is.
    pub severity: Severity,
    /// The code of the rule.
    pub code: String,
    /// The message.
    pub message: String,
    /// Whether expectations that are written for it say the column.
    pub by_column: bool,
}

impl Finding {
    /// A finding of the library.
    pub fn new(found: &Diagnostic) -> Self {
        let position = match found.locus.position() {
            Some(Position::Text { line, column, .. }) => Some((line, column)),
            _ => None,
        };
        Self {
            position,
            severity: found.severity,
            code: found.rule.id().to_string(),
            message: found.message.clone(),
            by_column: false,
        }
    }

    fn line(&self) -> Option<u32> {
        self.position.map(|(line, _)| line)
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { position, severity, code, message, .. } = self;
        match position {
            Some((line, column)) => write!(f, "line {line}: {severity}: {code} at {column} \"{message}\""),
            None => write!(f, "without a line: {severity}: {code} \"{message}\""),
        }
    }
}

/// A finding that a comment expects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expectation {
    /// The line of the comment, counted from 1.
    pub written: u32,
    /// The line of the finding; none for a finding without.
    pub line: Option<u32>,
    severity: Severity,
    code: String,
    column: Option<u32>,
    text: Option<String>,
}

impl fmt::Display for Expectation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "line {line}: ")?,
            None => f.write_str("without a line: ")?,
        }
        write!(f, "{}: {}", self.severity, self.code)?;
        if let Some(column) = self.column {
            write!(f, " at {column}")?;
        }
        self.text.iter().try_for_each(|text| write!(f, " \"{text}\""))
    }
}

/// How exactly findings are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strictness {
    /// Everything that an expectation says counts.
    Full,
    /// Any severity goes, and findings without a line may be expected on any: for examples in documentation.
    Loose,
}

const MARKS: [(&str, Severity); 3] =
    [("# error", Severity::Error), ("# warning", Severity::Warning), ("# note", Severity::Note)];

/// Where the first expectation of a line begins.
fn first_mark(line: &str) -> Option<(usize, &'static str, Severity)> {
    let at = |(mark, severity): (&'static str, Severity)| {
        let mut places = line.match_indices(mark);
        places.find_map(|(at, _)| {
            let rest = line.get(at + mark.len()..)?;
            (rest.starts_with(':') || rest.starts_with('@')).then_some((at, mark, severity))
        })
    };
    MARKS.into_iter().filter_map(at).min_by_key(|&(at, ..)| at)
}

/// The expectations of a text.
///
/// # Errors
///
/// When one is malformed.
pub fn expectations(text: &str) -> Result<Vec<Expectation>, String> {
    let mut found = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let mut rest = line;
        while let Some((at, mark, severity)) = first_mark(rest) {
            rest = rest.get(at + mark.len()..).unwrap_or_default();
            let end = first_mark(rest).map_or(rest.len(), |(at, ..)| at);
            let expectation = rest.get(..end).unwrap_or_default();
            let parsed = parse(expectation, number, severity);
            found.push(
                parsed.ok_or_else(|| format!("line {number}: `{}` is not an expectation", line.trim()))?,
            );
        }
    }
    Ok(found)
}

/// Parses the text after `# error`.
fn parse(text: &str, written: u32, severity: Severity) -> Option<Expectation> {
    let (place, rest) = text.split_once(':')?;
    let line = match place.strip_prefix('@') {
        None => Some(written),
        Some("file") => None,
        Some(offset) => Some(written.checked_add_signed(offset.parse().ok()?)?),
    };
    let (head, text) = match rest.trim().split_once('"') {
        Some((head, text)) => (head, Some(text.strip_suffix('"')?.to_owned())),
        None => (rest, None),
    };
    let mut words = head.split_whitespace();
    let code = words.next()?.to_owned();
    let column = match words.next() {
        Some("at") => Some(words.next()?.parse().ok()?),
        Some(_) => return None,
        None => None,
    };
    words.next().is_none().then_some(Expectation { written, line, severity, code, column, text })
}

impl Expectation {
    fn fits(&self, finding: &Finding, strictness: Strictness) -> bool {
        let loose = strictness == Strictness::Loose;
        let place = finding.line() == self.line || (loose && finding.position.is_none());
        place
            && (loose || finding.severity == self.severity)
            && finding.code == self.code
            && self.column.is_none_or(|column| finding.position.is_some_and(|(_, found)| found == column))
            && self.text.as_ref().is_none_or(|text| finding.message.contains(text))
    }
}

/// Compares expectations and findings as sets.
///
/// # Errors
///
/// When they differ: what is expected and not found, and what is found and not expected.
pub fn compare(expected: &[Expectation], found: &[Finding], strictness: Strictness) -> Result<(), String> {
    let mut left: Vec<&Finding> = found.iter().collect();
    let mut report = String::new();
    for expectation in expected {
        match left.iter().position(|finding| expectation.fits(finding, strictness)) {
            Some(at) => drop(left.remove(at)),
            None => report.push_str(&format!("not found:    {expectation}\n")),
        }
    }
    for finding in left {
        report.push_str(&format!("not expected: {finding}\n"));
    }
    if report.is_empty() { Ok(()) } else { Err(report) }
}

/// The text with expectations of what was found, and of nothing else. Lines keep their numbers: a finding goes to the end
/// of its line, or to where a comment with an offset expected one in that line already.
///
/// # Errors
///
/// When an old expectation is malformed.
pub fn rewrite(text: &str, found: &[Finding]) -> Result<String, String> {
    let old = expectations(text)?;
    let count = text.lines().count();
    let last = u32::try_from(count).unwrap_or(u32::MAX);
    let mut comments: Vec<Vec<String>> = vec![Vec::new(); count + 1];
    let mut sorted: Vec<&Finding> = found.iter().collect();
    sorted.sort_by_key(|finding| finding.position);
    for finding in sorted {
        let line = finding.line();
        // The end of the text may be on a separate line, which holds no comment.
        let own = line.unwrap_or(1).min(last);
        let written = old.iter().find(|old| old.line == line).map_or(own, |old| old.written);
        let place = match line {
            None => "@file".to_owned(),
            Some(line) if line == written => String::new(),
            Some(line) => format!("@{:+}", i64::from(line) - i64::from(written)),
        };
        let column = finding.position.filter(|_| finding.by_column);
        let column = column.map_or(String::new(), |(_, column)| format!(" at {column}"));
        let Finding { severity, code, message, .. } = finding;
        if let Some(list) = comments.get_mut(written as usize) {
            list.push(format!("# {severity}{place}: {code}{column} \"{message}\""));
        }
    }
    let mut out = String::new();
    for (line, comments) in text.lines().zip(comments.iter().skip(1)) {
        let bare = line.get(..first_mark(line).map_or(line.len(), |(at, ..)| at)).unwrap_or_default();
        // A comment that loses its expectation stays as a comment, so that no line goes away.
        let bare = if bare.trim().is_empty() && !line.trim().is_empty() && comments.is_empty() {
            format!("{bare}#")
        } else {
            bare.trim_end().to_owned()
        };
        out.push_str(&bare);
        for (index, comment) in comments.iter().enumerate() {
            out.push_str(if index > 0 {
                " "
            } else if bare.is_empty() {
                ""
            } else {
                "  "
            });
            out.push_str(comment);
        }
        out.push('\n');
    }
    Ok(out)
}
