//! Renderers: a [`Sink`](crate::Sink) as text, and a [`CommandReport`](crate::CommandReport) as JSON, SARIF or annotations.
//!
//! They write into any [`fmt::Write`] and do not depend on terminals or files: color is a [`Style`] that the caller
//! brings, and the name of the file and the source text are arguments.

pub mod github;
pub mod json;
pub mod sarif;
pub mod text;

use std::fmt::{self, Write};

use crate::rule::Severity;

/// The role of a piece of rendered text, for a [`Style`] that colors it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Role {
    /// The severity and code of a diagnostic, the carets under its source, and counts of it.
    Severity(Severity),
    /// The message of a diagnostic.
    Message,
    /// Arrows, bars and line numbers next to the source text.
    Gutter,
    /// The carets under a second place.
    Secondary,
    /// The word `help`.
    Help,
    /// The word `note`.
    Note,
}

/// A path as code hosts name the file: without `./` and doubled slashes, which keep an annotation from its file. `..` stays, because
/// it does not undo a name that is a link.
fn relative(path: &str) -> String {
    let is_separator = |c: char| c == '/' || (cfg!(windows) && c == '\\');
    let root = if path.starts_with(is_separator) { "/" } else { "" };
    let parts: Vec<&str> = path.split(is_separator).filter(|part| !matches!(*part, "" | ".")).collect();
    match parts.as_slice() {
        [] => path.to_owned(),
        parts => format!("{root}{}", parts.join("/")),
    }
}

/// Colours: what to write before and after a piece of text. The default is to write nothing.
pub trait Style {
    /// Begins a piece.
    ///
    /// # Errors
    ///
    /// Returns an error if writing to `out` fails.
    fn begin(&self, role: Role, out: &mut dyn Write) -> fmt::Result {
        let _ = (role, out);
        Ok(())
    }

    /// Ends a piece. Pieces do not nest.
    ///
    /// # Errors
    ///
    /// Returns an error if writing to `out` fails.
    fn end(&self, role: Role, out: &mut dyn Write) -> fmt::Result {
        let _ = (role, out);
        Ok(())
    }
}

/// No colors.
#[derive(Clone, Copy, Debug, Default)]
pub struct Plain;

impl Style for Plain {}

/// Writes `text` as a JSON string, quotes included.
///
/// In addition to what JSON requires, every character that could act on a terminal is escaped, so that a JSON file can
/// be displayed safely; a parser reads the original string.
fn json_string(out: &mut dyn Write, text: &str) -> fmt::Result {
    out.write_char('"')?;
    for c in text.chars() {
        match c {
            '"' => out.write_str("\\\"")?,
            '\\' => out.write_str("\\\\")?,
            '\n' => out.write_str("\\n")?,
            '\r' => out.write_str("\\r")?,
            '\t' => out.write_str("\\t")?,
            c if crate::escape::is_unprintable(c) => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    write!(out, "\\u{unit:04x}")?;
                }
            }
            c => out.write_char(c)?,
        }
    }
    out.write_char('"')
}

/// JSON with every character that could act on a terminal escaped; a parser reads the same values.
///
/// Such characters are in strings only, apart from line breaks, so the text is treated as a whole.
///
/// ```
/// assert_eq!(onnx_diag::render::safe_json("{\"a\u{202e}\": 1}\n"), "{\"a\\u202e\": 1}\n");
/// ```
#[must_use]
pub fn safe_json(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        if matches!(c, '\n' | '\t') || !crate::escape::is_unprintable(c) {
            safe.push(c);
            continue;
        }
        for unit in c.encode_utf16(&mut [0; 2]) {
            // Writing to a string cannot fail.
            let _ = write!(safe, "\\u{unit:04x}");
        }
    }
    safe
}

/// Writes a JSON string or `null`.
fn optional_string(out: &mut dyn Write, text: Option<&str>) -> fmt::Result {
    match text {
        Some(text) => json_string(out, text),
        None => out.write_str("null"),
    }
}

#[cfg(test)]
mod tests;
