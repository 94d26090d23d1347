//! Names from outside, made safe to print: [`Quoted`], [`Name`] and [`Clean`].
//!
//! A name in a model is arbitrary bytes from an untrusted source. If it is printed unescaped, it can move the cursor,
//! recolor the terminal, reverse the reading direction of a line or fill a screen. All code that prints a name uses
//! this module, so the rules are defined once.

use std::fmt::{self, Write as _};

/// The number of characters of a name that are printed; the rest is counted.
pub(crate) const NAME_CHARS: usize = 96;

/// Returns `true` if `c` acts on the terminal or on the reading order, or is invisible: the Unicode categories Cc, Cf, Zl and
/// Zp, what is ignorable by default, and private use. All writers of text decide with this function what they escape.
#[must_use]
pub fn is_unprintable(c: char) -> bool {
    c.is_control()
        || matches!(
            u32::from(c),
            0x00AD                      // soft hyphen
            | 0x0600..=0x0605 | 0x06DD | 0x070F | 0x0890 | 0x0891 | 0x08E2 | 0x110BD | 0x110CD // prepended marks
            | 0x034F | 0x061C | 0x115F | 0x1160 | 0x17B4 | 0x17B5 | 0x3164 | 0xFFA0 // invisible letters and marks
            | 0x180B..=0x180F
            | 0x200B..=0x200F           // zero width characters, direction marks
            | 0x2028..=0x202E           // line and paragraph separators, direction overrides
            | 0x2060..=0x206F           // invisible operators, direction isolates
            | 0xFE00..=0xFE0F           // variation selectors
            | 0xFEFF                    // byte order mark
            | 0xFFF0..=0xFFFB           // interlinear annotations
            | 0xE000..=0xF8FF           // private use
            | 0x13430..=0x1343F         // format characters of hieroglyphs
            | 0x1BCA0..=0x1BCA3         // format characters of shorthand
            | 0x1D173..=0x1D17A         // musical format characters
            | 0xE0000..=0x10FFFF        // tags, selectors, private use
        )
}

/// Writes one character so that it is visible and cannot act; `quote` is escaped too when given.
fn write_char(f: &mut fmt::Formatter<'_>, c: char, quote: Option<char>) -> fmt::Result {
    match c {
        '\n' => f.write_str("\\n"),
        '\t' => f.write_str("\\t"),
        '\r' => f.write_str("\\r"),
        c if is_unprintable(c) => write!(f, "\\u{{{:x}}}", u32::from(c)),
        c if quote.is_some() && (c == '\\' || Some(c) == quote) => {
            f.write_char('\\')?;
            f.write_char(c)
        }
        c => f.write_char(c),
    }
}

/// The longest prefix of `text` that has at most `chars` characters. Does not scan beyond it.
fn prefix(text: &str, chars: usize) -> &str {
    match text.char_indices().nth(chars) {
        Some((end, _)) => text.get(..end).unwrap_or(text),
        None => text,
    }
}

/// A name inside a message: escaped, cut when very long, between backticks.
///
/// ```
/// use onnx_diag::Quoted;
/// assert_eq!(Quoted("conv1").to_string(), "`conv1`");
/// assert_eq!(Quoted("a\x1b[31m`b").to_string(), r"`a\u{1b}[31m\`b`");
/// assert!(Quoted(&"x".repeat(1_000_000)).to_string().ends_with("x…` (1000000 bytes)"));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Quoted<'a>(pub &'a str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_quoted(f, prefix(self.0, NAME_CHARS), self.0.len(), '`')
    }
}

fn write_quoted(f: &mut fmt::Formatter<'_>, kept: &str, whole_len: usize, quote: char) -> fmt::Result {
    f.write_char(quote)?;
    for c in kept.chars() {
        write_char(f, c, Some(quote))?;
    }
    if kept.len() == whole_len {
        return f.write_char(quote);
    }
    write!(f, "…{quote} ({whole_len} bytes)")
}

/// A name as a [`Locus`](crate::Locus) keeps it: the beginning, and how long it was.
///
/// Bounded on purpose, so that a thousand diagnostics about a name of a megabyte do not keep a gigabyte.
/// [`Display`](fmt::Display) writes it escaped, between double quotes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Name {
    kept: Box<str>,
    len: usize,
}

impl Name {
    /// Consumes the beginning of `text`.
    pub fn new(text: &str) -> Self {
        Self { kept: prefix(text, NAME_CHARS).into(), len: text.len() }
    }

    /// The beginning of the name, unescaped: the whole name unless [`is_cut`](Name::is_cut).
    pub fn as_str(&self) -> &str {
        &self.kept
    }

    /// The length of the whole name in bytes.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether the name is the empty string, which in ONNX often means "absent".
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Whether [`as_str`](Name::as_str) is only the beginning of the name.
    pub fn is_cut(&self) -> bool {
        self.kept.len() != self.len
    }

    /// The name without quotes, still escaped and cut; for operator types, which are identifiers in sane models.
    pub(crate) fn bare(&self) -> impl fmt::Display {
        fmt::from_fn(move |f| {
            for c in self.kept.chars() {
                write_char(f, c, Some('\\'))?;
            }
            if self.is_cut() { write!(f, "… ({} bytes)", self.len) } else { Ok(()) }
        })
    }
}

impl From<&str> for Name {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

impl From<&String> for Name {
    fn from(text: &String) -> Self {
        Self::new(text)
    }
}

impl From<String> for Name {
    fn from(text: String) -> Self {
        Self::new(&text)
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_quoted(f, &self.kept, self.len, '"')
    }
}

/// Text that was composed by code (a message, a file name) on its way to a terminal: characters that act are escaped,
/// everything else stays, so that what [`Quoted`] already escaped is not escaped again. Two colons at the beginning are escaped, too:
/// `::error::` at the beginning of a line is a command in the logs of GitHub Actions.
///
/// ```
/// use onnx_diag::Clean;
/// assert_eq!(Clean("value `a\\n` is\x1b[2J").to_string(), "value `a\\n` is\\u{1b}[2J");
/// assert_eq!(Clean("::error::x").to_string(), "\\u{3a}:error::x");
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Clean<'a>(pub &'a str);

impl fmt::Display for Clean<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let command = self.0.trim_start();
        let start = self.0.len().saturating_sub(command.len());
        for (at, c) in self.0.char_indices() {
            match at == start && command.starts_with("::") {
                true => f.write_str("\\u{3a}")?,
                false => write_char(f, c, None)?,
            }
        }
        Ok(())
    }
}

/// Truncates `text` to `max` bytes at a character boundary, with a mark; for messages and hints kept by a diagnostic.
pub(crate) fn bounded(mut text: String, max: usize) -> String {
    if text.len() > max {
        let whole = text.len();
        text.truncate(text.floor_char_boundary(max));
        text.shrink_to_fit();
        let _ = write!(text, "… ({whole} bytes)");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_that_acts_is_escaped() {
        let hostile = "\u{202e}evil\u{2066}\u{200b}\0\x07\x1b]0;title\x07\u{9b}31m\u{feff}\u{e0041}";
        for text in [
            Quoted(hostile).to_string(),
            Name::new(hostile).to_string(),
            Name::new(hostile).bare().to_string(),
            Clean(hostile).to_string(),
        ] {
            assert!(!text.chars().any(is_unprintable), "{text:?}");
            assert!(text.contains(r"\u{202e}evil\u{2066}"), "{text}");
        }
    }

    /// The Unicode categories Cc, Cf, Zl and Zp, and the property `Default_Ignorable_Code_Point`, of Unicode 16.
    const UNSAFE: &[(u32, u32)] = &[
        (0, 0x1F),
        (0x7F, 0x9F),
        (0xAD, 0xAD),
        (0x34F, 0x34F),
        (0x600, 0x605),
        (0x61C, 0x61C),
        (0x6DD, 0x6DD),
        (0x70F, 0x70F),
        (0x890, 0x891),
        (0x8E2, 0x8E2),
        (0x115F, 0x1160),
        (0x17B4, 0x17B5),
        (0x180B, 0x180F),
        (0x200B, 0x200F),
        (0x2028, 0x202E),
        (0x2060, 0x206F),
        (0x3164, 0x3164),
        (0xFE00, 0xFE0F),
        (0xFEFF, 0xFEFF),
        (0xFFA0, 0xFFA0),
        (0xFFF0, 0xFFFB),
        (0x110BD, 0x110BD),
        (0x110CD, 0x110CD),
        (0x13430, 0x1343F),
        (0x1BCA0, 0x1BCA3),
        (0x1D173, 0x1D17A),
        (0xE0000, 0xE0FFF),
    ];

    #[test]
    fn all_characters_that_act_or_are_invisible_are_known() {
        for c in UNSAFE.iter().flat_map(|&(first, last)| first..=last).filter_map(char::from_u32) {
            assert!(is_unprintable(c), "{c:?}");
            let shown = Clean(c.encode_utf8(&mut [0; 4])).to_string();
            assert!(shown.starts_with('\\') && shown.is_ascii(), "{c:?}");
        }
    }

    #[test]
    fn ordinary_names_stay_readable() {
        for name in ["conv/W:0", "ça", "层", "a b", "x'y", ""] {
            assert_eq!(Quoted(name).to_string(), format!("`{name}`"));
            assert_eq!(Name::new(name).to_string(), format!("\"{name}\""));
        }
    }

    #[test]
    fn names_are_cut_at_character_boundaries() {
        let name = Name::new(&"é".repeat(500_000));
        assert!(name.is_cut());
        assert_eq!(name.as_str().chars().count(), NAME_CHARS);
        assert_eq!(name.len(), 1_000_000);
        assert!(name.to_string().ends_with("é…\" (1000000 bytes)"));
        assert_eq!(bounded("éé".into(), 3), "é… (4 bytes)");
        assert_eq!(bounded("éé".into(), 4), "éé");
    }
}
