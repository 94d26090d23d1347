//! Patterns of names, and new names made of what they match.

/// A part of a pattern.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Part {
    /// `**`: any text.
    Any,
    /// `*`: any text without a slash.
    Segment,
    /// `?`: one character.
    One,
    /// This character.
    Text(char),
}

impl Part {
    const fn is_star(self) -> bool {
        matches!(self, Self::Any | Self::Segment)
    }

    fn takes(self, c: char) -> bool {
        match self {
            Self::Any | Self::One => true,
            Self::Segment => c != '/',
            Self::Text(expected) => expected == c,
        }
    }
}

/// A pattern of names: `*` is any text without a slash, `**` any text, `?` one character.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Pattern(Vec<Part>);

impl Pattern {
    pub(super) fn new(text: &str) -> Self {
        let mut parts = Vec::new();
        let mut characters = text.chars().peekable();
        while let Some(c) = characters.next() {
            parts.push(match c {
                '*' if characters.next_if_eq(&'*').is_some() => Part::Any,
                '*' => Part::Segment,
                '?' => Part::One,
                c => Part::Text(c),
            });
        }
        Self(parts)
    }

    /// Number of parts that match separate text.
    pub(super) fn captures(&self) -> usize {
        self.0.iter().filter(|part| part.is_star() || **part == Part::One).count()
    }

    /// What each wildcard matches; the first ones match as much as possible. It takes the product of the lengths.
    pub(super) fn matches(&self, name: &str) -> Option<Vec<String>> {
        let name: Vec<char> = name.chars().collect();
        let rows = self.suffixes(&name);
        let can =
            |part: usize, at: usize| rows.get(part).and_then(|row| row.get(at)).copied().unwrap_or_default();
        if !can(0, 0) {
            return None;
        }
        let (mut at, mut captures) = (0, Vec::new());
        for (index, part) in self.0.iter().enumerate() {
            let mut end = at;
            if part.is_star() {
                let takes = |&position: &usize| name.get(position).is_some_and(|&c| part.takes(c));
                let furthest = (at..name.len()).take_while(takes).count() + at;
                end = (at..=furthest).rev().find(|&end| can(index + 1, end))?;
            } else {
                end += 1;
            }
            if part.is_star() || *part == Part::One {
                captures.push(name.get(at..end)?.iter().collect());
            }
            at = end;
        }
        Some(captures)
    }

    /// For each number of leading parts, the positions at which the other parts match the rest of the name.
    fn suffixes(&self, name: &[char]) -> Vec<Vec<bool>> {
        let mut row: Vec<bool> = (0..=name.len()).map(|at| at == name.len()).collect();
        let mut rows = vec![row.clone()];
        for part in self.0.iter().rev() {
            let mut next = vec![false; row.len()];
            let mut later = false;
            for (at, slot) in next.iter_mut().enumerate().rev() {
                let after = row.get(at + 1).copied().unwrap_or_default();
                let takes = name.get(at).is_some_and(|&c| part.takes(c));
                *slot = if part.is_star() {
                    row.get(at).copied().unwrap_or_default() || (takes && later)
                } else {
                    takes && after
                };
                later = *slot;
            }
            rows.push(next.clone());
            row = next;
        }
        rows.reverse();
        rows
    }
}

/// A new name with `\1` for what the first wildcard matched, and `\\` for a backslash.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Template(Vec<Piece>);

#[derive(Clone, PartialEq, Eq, Debug)]
enum Piece {
    Text(String),
    /// The wildcard at this index.
    Capture(usize),
}

impl Template {
    /// Parses a template for a number of wildcards.
    pub(super) fn new(text: &str, captures: usize) -> Result<Self, String> {
        let (mut pieces, mut literal) = (Vec::new(), String::new());
        let mut characters = text.chars();
        while let Some(c) = characters.next() {
            if c != '\\' {
                literal.push(c);
                continue;
            }
            match characters.next() {
                Some('\\') => literal.push('\\'),
                Some(digit @ '1'..='9') => {
                    let number = digit.to_digit(10).unwrap_or_default() as usize;
                    if number > captures {
                        return Err(format!("`\\{digit}` has no wildcard: the pattern has {captures}"));
                    }
                    pieces.push(Piece::Text(std::mem::take(&mut literal)));
                    pieces.push(Piece::Capture(number - 1));
                }
                _ => {
                    return Err("a backslash must be followed by a digit from 1 or by a backslash".to_owned());
                }
            }
        }
        pieces.push(Piece::Text(literal));
        Ok(Self(pieces))
    }

    pub(super) fn fill(&self, captures: &[String]) -> String {
        let pieces = self.0.iter().map(|piece| match piece {
            Piece::Text(text) => text.as_str(),
            Piece::Capture(index) => captures.get(*index).map_or("", String::as_str),
        });
        pieces.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wildcards_match_as_much_as_possible() {
        for (pattern, name, expected) in [
            ("/layer.*/**", "/layer.0/attn/a/b", Some(vec!["0", "attn/a/b"])),
            ("/layer.*/b", "/layer.0/a/b", None),
            ("**/b", "/layer.0/a/b", Some(vec!["/layer.0/a"])),
            ("a?c*", "abc", Some(vec!["b", ""])),
            ("*a*", "aab", Some(vec!["a", "b"])),
            ("a?c", "ac", None),
            ("*:0", "é:0", Some(vec!["é"])),
            ("*", "", Some(vec![""])),
            ("a", "a", Some(vec![])),
            ("*a*a*a*b", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", None),
        ] {
            let found = Pattern::new(pattern).matches(name);
            let expected = expected.map(|all| all.into_iter().map(str::to_owned).collect::<Vec<_>>());
            assert_eq!(found, expected, "{pattern} {name}");
        }
    }

    #[test]
    fn templates_refer_to_wildcards() {
        let fill = |text: &str| Template::new(text, 2).map(|new| new.fill(&["x".to_owned(), "y".to_owned()]));
        assert_eq!(fill(r"a\2\\\1"), Ok(r"ay\x".to_owned()));
        assert!(fill(r"\3").is_err() && fill(r"\0").is_err() && fill("a\\").is_err());
    }
}
