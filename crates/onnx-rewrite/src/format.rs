//! The canonical layout of rule files.

use onnx_text::{TokenKind, tokens};

use crate::fault::RuleFileError;
use crate::parse::parse;

/// Gives a rule file the canonical layout: a section or a node for each line, one blank line between rules. Comments
/// are kept.
///
/// ```
/// use onnx_rewrite::format_rules;
///
/// let text = "rule neg-neg:exact from(x)=>(y){y=Neg(Neg(x))}  # twice\nto (x) => (x) { }";
/// let formatted = "rule neg-neg: exact\nfrom (x) => (y) {\n    y = Neg (Neg (x))\n}  # twice\nto (x) => (x) {}\n";
/// assert_eq!(format_rules(text)?, formatted);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// Returns every mistake, with its position.
pub fn format_rules(text: &str) -> Result<String, RuleFileError> {
    let (_, layout) = parse(text)?;
    let mut printer =
        Printer { text: String::new(), line: String::new(), depth: 0, section: "", last: "", end: 0 };
    let mut lines = layout.lines.iter().copied().peekable();
    for token in tokens(text) {
        let (at, end) = (token.range.start, token.range.end);
        let found = text.get(token.range).unwrap_or_default();
        let between = text.get(printer.end..at).unwrap_or_default();
        if token.kind == TokenKind::Comment {
            let depth = lines.peek().map_or(0, |(_, depth)| *depth);
            printer.comment(found.trim_end(), between, depth);
            printer.end = end;
            continue;
        }
        while let Some((start, depth)) = lines.next_if(|(start, _)| *start <= at) {
            let closes_empty = found == "}" && printer.last == "{";
            if start == at && !closes_empty {
                printer.begin(found, depth);
            }
        }
        printer.token(found, token.kind, between.is_empty());
        printer.end = end;
    }
    printer.flush();
    Ok(printer.text)
}

struct Printer<'a> {
    text: String,
    line: String,
    depth: usize,
    /// The word that begins the section.
    section: &'a str,
    /// The last token.
    last: &'a str,
    /// The byte after the last token or comment.
    end: usize,
}

impl<'a> Printer<'a> {
    fn flush(&mut self) {
        let line = self.line.trim_end();
        if !line.is_empty() {
            self.text.push_str(&"    ".repeat(self.depth));
            self.text.push_str(line);
            self.text.push('\n');
        }
        self.line.clear();
    }

    fn begin(&mut self, found: &'a str, depth: usize) {
        self.flush();
        self.depth = depth;
        if depth == 0 && found != "}" {
            self.section = found;
        }
        let follows_comment = self.text.lines().next_back().is_some_and(|line| line.starts_with('#'));
        if found == "rule" && !self.text.is_empty() && !follows_comment && !self.text.ends_with("\n\n") {
            self.text.push('\n');
        }
        self.last = "";
    }

    fn comment(&mut self, found: &'a str, between: &str, depth: usize) {
        let is_alone = between.contains('\n') || self.end == 0;
        if !is_alone {
            self.line.push_str("  ");
            self.line.push_str(found);
            self.flush();
            return;
        }
        self.flush();
        let is_first = !self.text.lines().next_back().is_some_and(|line| line.trim_start().starts_with('#'));
        let is_apart =
            between.matches('\n').count() > 1 || (self.section == "to" && self.last == "}" && is_first);
        if is_apart && !self.text.is_empty() && !self.text.ends_with("\n\n") {
            self.text.push('\n');
        }
        self.text.push_str(&"    ".repeat(depth));
        self.text.push_str(found);
        self.text.push('\n');
    }

    fn token(&mut self, found: &'a str, kind: TokenKind, is_adjacent: bool) {
        if !self.line.is_empty() && self.has_space(found, kind, is_adjacent) {
            self.line.push(' ');
        }
        self.line.push_str(found);
        self.last = found;
    }

    fn has_space(&self, found: &str, kind: TokenKind, is_adjacent: bool) -> bool {
        let is_where = self.section == "where";
        match (self.last, found) {
            // An operand that is omitted.
            (",", ",") => true,
            (_, "," | ")" | "]" | "?" | "*") | ("(" | "[" | "@", _) => false,
            ("{", "}") => false,
            // `=>`, `==`, `<=`, `...`, and the parts of names.
            ("=", ">" | "=") | ("<", "=") | (".", ".") => !is_adjacent,
            (last, found) if self.section == "rule" && (last == "-" || found.starts_with('-')) => {
                !is_adjacent
            }
            ("-", _) => !is_adjacent,
            // The name of a granted condition has hyphens.
            (_, found) if is_where && found.starts_with('-') => !is_adjacent,
            (".", _) | (_, ".") if kind == TokenKind::Word || found == "." => {
                !is_adjacent && self.last != "."
                    || (found == "." && matches!(self.last, "," | "<") && self.last == ",")
            }
            ("<", _) if !is_where => false,
            (_, ">") => false,
            (_, ":") => self.section != "rule",
            (last, "(") if is_where => matches!(last, "in" | "not" | ","),
            _ => true,
        }
    }
}
