//! Lines that are too long for the terminal, continued under the column in which their text begins.

use std::borrow::Cow;

use anstream::adapter::strip_str;
use terminal_size::{Width, terminal_size_of};

/// Text for people, with its lines wrapped between words if standard output is a terminal. Files and pipes get whole lines.
pub(crate) fn for_terminal(text: &str) -> Cow<'_, str> {
    match terminal_size_of(std::io::stdout()) {
        Some((Width(width), _)) if width > 0 => Cow::Owned(wrapped(text, width.into())),
        _ => Cow::Borrowed(text),
    }
}

/// Text with its lines wrapped between words. A word that is wider than the terminal stays whole, so that it can be copied.
fn wrapped(text: &str, width: usize) -> String {
    let mut out = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let content = line.trim_end_matches('\n');
        if visible(content) <= width {
            out.push_str(line);
            continue;
        }
        wrap(content, width, &mut out);
        out.push_str(line.get(content.len()..).unwrap_or_default());
    }
    out
}

/// Adds one line in pieces.
fn wrap(line: &str, width: usize, out: &mut String) {
    let indent = hanging(line, width);
    let mut column = 0_usize;
    let mut is_continued = false;
    for word in line.split_inclusive(' ') {
        let size = visible(word.trim_end_matches(' '));
        if size == 0 && is_continued && column == indent {
            // The spaces of a table before a cell that begins a line.
            continue;
        }
        if size > 0 && column > indent && column.saturating_add(size) > width {
            out.truncate(out.trim_end_matches(' ').len());
            out.push('\n');
            out.extend(std::iter::repeat_n(' ', indent));
            (column, is_continued) = (indent, true);
        }
        out.push_str(word);
        column = column.saturating_add(visible(word));
    }
}

/// The column of what follows the first gap of two spaces in a line, which is its key or name; without a gap, or if it is
/// beyond the middle, four columns more than where the line begins.
fn hanging(line: &str, width: usize) -> usize {
    let visible = || strip_str(line).flat_map(str::chars);
    let start = visible().take_while(|&c| c == ' ').count();
    let mut spaces = 0_usize;
    for (column, c) in visible().enumerate().skip(start) {
        if c == ' ' {
            spaces = spaces.saturating_add(1);
        } else if spaces >= 2 && column <= width / 2 {
            return column;
        } else {
            spaces = 0;
        }
    }
    start.saturating_add(4).min(width / 2)
}

/// The number of columns that a text takes.
fn visible(text: &str) -> usize {
    strip_str(text).map(|part| part.chars().count()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_continued_under_their_text() {
        let text =
            "Inputs  1\n  \u{1b}[36mname\u{1b}[0m   float[first, second, third]\n  a line without any gap\n";
        let expected = "Inputs  1\n  \u{1b}[36mname\u{1b}[0m   float[first,\n         second,\n         third]\n  \
                        a line without any\n      gap\n";
        assert_eq!(wrapped(text, 22), expected);
        assert_eq!(wrapped(text, 80), text);
        // Without room for anything, there is one word in a line.
        assert_eq!(wrapped("one two\n", 1), "one\ntwo\n");
        assert_eq!(wrapped("one    two", 4), "one\n  two");
        assert_eq!(wrapped("", 1), "");
        let wide = "x".repeat(50);
        assert_eq!(wrapped(&format!("  {wide} y"), 20), format!("  {wide}\n      y"));
    }
}
