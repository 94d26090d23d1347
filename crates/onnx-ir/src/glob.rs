//! Patterns of names: `*` is any text without a slash, `**` any text, `?` one character.

use std::cell::Cell;

/// A pattern of names: `*` is any text without a slash, `**` any text, `?` one character; others are themselves.
///
/// ```
/// use onnx_ir::Glob;
///
/// let glob = Glob::new("/layer.*/**");
/// assert!(glob.matches("/layer.0/attention/Softmax"));
/// assert!(!glob.matches("/layer.0"));
/// assert!(!Glob::new("/layer.*").matches("/layer.0/Add"));
/// ```
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Glob {
    pattern: String,
}

impl Glob {
    /// The pattern that a text denotes.
    pub fn new(text: impl Into<String>) -> Self {
        Self { pattern: text.into() }
    }

    /// Returns `true` if a text has characters with a meaning in patterns.
    #[must_use]
    pub fn is_pattern(text: &str) -> bool {
        text.contains(['*', '?'])
    }

    /// The text of the pattern.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.pattern
    }

    /// Returns `true` if the pattern matches a complete name. The time is at most proportional to the product of the lengths; for
    /// most patterns it is linear.
    #[must_use]
    pub fn matches(&self, name: &str) -> bool {
        self.matches_within(name, &Cell::new(u64::MAX))
    }

    /// Like [`matches`](Self::matches), but takes steps from a budget. If it is used up, nothing matches.
    pub fn matches_within(&self, name: &str, steps: &Cell<u64>) -> bool {
        let is_meant = |c: char| matches!(c, '*' | '?');
        let literal = self.pattern.find(is_meant).unwrap_or(self.pattern.len());
        let (prefix, pattern) = self.pattern.split_at(literal);
        let Some(left) = steps.get().checked_sub(1) else { return false };
        steps.set(left);
        // Most names differ from the beginning.
        let Some(rest) = name.strip_prefix(prefix) else { return false };
        if pattern.is_empty() { rest.is_empty() } else { matches_parts(&parts(pattern), rest, steps) }
    }
}

/// A part of a pattern.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    /// `**`
    Any,
    /// `*`
    Segment,
    /// `?`
    One,
    Letter(char),
}

fn parts(pattern: &str) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut letters = pattern.chars().peekable();
    while let Some(letter) = letters.next() {
        parts.push(match letter {
            '*' if letters.next_if_eq(&'*').is_some() => Part::Any,
            '*' => Part::Segment,
            '?' => Part::One,
            letter => Part::Letter(letter),
        });
    }
    parts
}

/// The numbers of parts that can match what was read so far, each once.
struct Reached {
    list: Vec<usize>,
    /// For each number, the last character for which it was added.
    stamps: Vec<usize>,
}

impl Reached {
    /// Adds a number, and those after stars, which match nothing as well.
    fn add(&mut self, parts: &[Part], mut count: usize, stamp: usize) {
        loop {
            match self.stamps.get_mut(count) {
                Some(known) if *known != stamp => *known = stamp,
                _ => return,
            }
            self.list.push(count);
            if !matches!(parts.get(count), Some(Part::Any | Part::Segment)) {
                return;
            }
            count = count.saturating_add(1);
        }
    }
}

fn matches_parts(parts: &[Part], name: &str, steps: &Cell<u64>) -> bool {
    let mut reached = Reached { list: Vec::new(), stamps: vec![0; parts.len().saturating_add(1)] };
    reached.add(parts, 0, 1);
    let mut before = Vec::new();
    for (at, letter) in name.chars().enumerate() {
        let stamp = at.saturating_add(2);
        std::mem::swap(&mut before, &mut reached.list);
        let Some(left) = steps.get().checked_sub(before.len() as u64) else {
            steps.set(0);
            return false;
        };
        steps.set(left);
        for count in before.drain(..) {
            let after = count.saturating_add(1);
            match parts.get(count) {
                Some(Part::Any) => reached.add(parts, count, stamp),
                Some(Part::Segment) if letter != '/' => reached.add(parts, count, stamp),
                Some(Part::One) => reached.add(parts, after, stamp),
                Some(Part::Letter(wanted)) if *wanted == letter => reached.add(parts, after, stamp),
                _ => {}
            }
        }
        if reached.list.is_empty() {
            return false;
        }
    }
    reached.list.contains(&parts.len())
}

#[cfg(test)]
mod tests {
    use super::Glob;

    #[test]
    fn patterns_of_names() {
        for (pattern, name, expected) in [
            ("/layer.*/attn/**", "/layer.0/attn/a/b", true),
            ("/layer.*/b", "/layer.0/a/b", false),
            ("**/b", "/layer.0/a/b", true),
            ("**/a*/c", "/a/ab/c", true),
            ("**a*bc", "a/abc", true),
            ("a?c*", "abc", true),
            ("a?c", "ac", false),
            ("?", "é", true),
            ("??", "é", false),
            ("*", "", true),
            ("", "", true),
            ("", "a", false),
            ("*", "a/b", false),
            ("***", "a/b", true),
            ("*a*a*a*b", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", false),
        ] {
            assert_eq!(Glob::new(pattern).matches(name), expected, "{pattern} {name}");
        }
    }

    /// The definition, by recursion over the pattern.
    fn by_definition(pattern: &[u8], name: &[u8]) -> bool {
        match pattern {
            [] => name.is_empty(),
            [b'*', b'*', rest @ ..] => (0..=name.len()).any(|taken| by_definition(rest, &name[taken..])),
            [b'*', rest @ ..] => (0..=name.len())
                .take_while(|&taken| !name[..taken].contains(&b'/'))
                .any(|taken| by_definition(rest, &name[taken..])),
            [b'?', rest @ ..] => !name.is_empty() && by_definition(rest, &name[1..]),
            [byte, rest @ ..] => name.first() == Some(byte) && by_definition(rest, &name[1..]),
        }
    }

    #[test]
    fn short_patterns_match_what_the_definition_says() {
        let texts = |alphabet: &[u8], longest: u32| {
            let mut texts = Vec::new();
            for length in 0..=longest {
                for number in 0..alphabet.len().pow(length) {
                    let mut rest = number;
                    let mut text = Vec::new();
                    for _ in 0..length {
                        text.push(alphabet[rest % alphabet.len()]);
                        rest /= alphabet.len();
                    }
                    texts.push(String::from_utf8(text).unwrap());
                }
            }
            texts
        };
        let names = texts(b"ab/", 5);
        for pattern in texts(b"a/*?", 4) {
            for name in &names {
                let expected = by_definition(pattern.as_bytes(), name.as_bytes());
                assert_eq!(Glob::new(&*pattern).matches(name), expected, "{pattern} {name}");
            }
        }
    }
}
