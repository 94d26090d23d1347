//! Rust source as words: without comments, strings and tests, so that a check never reports prose.

/// A word, a number, a lifetime, `::`, or a single other character; with its line, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Token<'a> {
    pub(super) text: &'a str,
    pub(super) line: usize,
}

/// The tokens of a file that are not part of `#[cfg(test)]` items, and the modules that are declared as such items.
#[derive(Debug)]
pub(super) struct Code<'a> {
    pub(super) tokens: Vec<Token<'a>>,
    /// The names in `#[cfg(test)] mod name;`: their files are tests.
    pub(super) test_modules: Vec<&'a str>,
}

impl<'a> Code<'a> {
    /// Reads a file.
    pub(super) fn read(text: &'a str) -> Self {
        let all = tokens(text);
        let (mut kept, mut test_modules) = (Vec::new(), Vec::new());
        let mut at = 0;
        while at < all.len() {
            if let Some(attribute) = test_attribute(&all[at..]) {
                let end = at + attribute + item(&all[at + attribute..]);
                for words in all[at..end].windows(3) {
                    if words[0].text == "mod" && words[2].text == ";" {
                        test_modules.push(words[1].text);
                    }
                }
                at = end;
            } else {
                kept.push(all[at]);
                at += 1;
            }
        }
        Self { tokens: kept, test_modules }
    }

    /// The lines in which these words occur consecutively.
    pub(super) fn find<'b>(&'b self, words: &'b [&str]) -> impl Iterator<Item = usize> + 'b {
        self.tokens
            .windows(words.len())
            .filter(move |window| window.iter().zip(words).all(|(token, word)| token.text == *word))
            .map(|window| window[0].line)
    }

    /// What is named directly under a path root, as in `std::fs` or `use std::{fs, io::Write}`.
    pub(super) fn children_of(&self, root: &str) -> Vec<Token<'a>> {
        let mut children = Vec::new();
        for (at, token) in self.tokens.iter().enumerate() {
            let after_path = at > 0 && matches!(self.tokens[at - 1].text, "::" | ".");
            let leading_colons =
                at > 1 && self.tokens[at - 1].text == "::" && !is_word(self.tokens[at - 2].text);
            if token.text != root || (after_path && !leading_colons) || self.text(at + 1) != "::" {
                continue;
            }
            if self.text(at + 2) != "{" {
                children.extend(self.tokens.get(at + 2));
                continue;
            }
            let (mut depth, mut first) = (0, false);
            for token in &self.tokens[at + 2..] {
                match token.text {
                    "{" => (depth, first) = (depth + 1, depth == 0),
                    "}" => depth -= 1,
                    "," => first = depth == 1,
                    _ if first && depth == 1 => {
                        children.push(*token);
                        first = false;
                    }
                    _ => {}
                }
                if depth == 0 {
                    break;
                }
            }
        }
        children
    }

    fn text(&self, at: usize) -> &'a str {
        self.tokens.get(at).map_or("", |token| token.text)
    }
}

fn is_word(text: &str) -> bool {
    text.starts_with(|c: char| c == '_' || c.is_alphanumeric())
}

/// The length of an attribute that keeps its item out of everything but tests.
fn test_attribute(tokens: &[Token<'_>]) -> Option<usize> {
    let words: Vec<&str> = tokens.iter().take(7).map(|token| token.text).collect();
    match words.as_slice() {
        ["#", "[", "cfg", "(", "test", ")", "]"] => Some(7),
        ["#", "[", "cfg", "(", "all", "(", "test"] => {
            Some(1 + tokens.iter().position(|token| token.text == "]")?)
        }
        ["#", "[", "test", "]", ..] => Some(4),
        _ => None,
    }
}

/// The length of the item at the start: up to its `;`, or to the end of its braces.
fn item(tokens: &[Token<'_>]) -> usize {
    let (mut depth, mut braces) = (0_usize, 0_usize);
    for (at, token) in tokens.iter().enumerate() {
        match token.text {
            "(" | "[" => depth += 1,
            ")" | "]" => depth = depth.saturating_sub(1),
            "{" => braces += 1,
            "}" => {
                braces = braces.saturating_sub(1);
                if braces == 0 && depth == 0 {
                    let semicolon = tokens.get(at + 1).is_some_and(|next| next.text == ";");
                    return at + 1 + usize::from(semicolon);
                }
            }
            ";" if depth == 0 && braces == 0 => return at + 1,
            _ => {}
        }
    }
    tokens.len()
}

/// Splits a file into tokens without comments, strings and characters.
fn tokens(text: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    let (mut at, mut line) = (0, 1);
    while let Some(c) = text[at..].chars().next() {
        let rest = &text[at..];
        let skipped = blank(rest);
        let length = if skipped > 0 {
            skipped
        } else if is_word(rest) {
            rest.find(|c: char| c != '_' && !c.is_alphanumeric()).unwrap_or(rest.len())
        } else if rest.starts_with("::") {
            2
        } else if c == '\'' {
            1 + rest[1..].find(|c: char| c != '_' && !c.is_alphanumeric()).unwrap_or(rest.len() - 1)
        } else {
            c.len_utf8()
        };
        if skipped == 0 && !c.is_whitespace() {
            tokens.push(Token { text: &rest[..length], line });
        }
        line += rest[..length].matches('\n').count();
        at += length;
    }
    tokens
}

/// The length of the comment, string or character literal at the start; 0 when there is none.
fn blank(rest: &str) -> usize {
    if rest.starts_with("//") {
        return rest.find('\n').unwrap_or(rest.len());
    }
    if rest.starts_with("/*") {
        return block_comment(rest);
    }
    if let Some(inside) = rest.strip_prefix('\'') {
        let mut chars = inside.chars();
        let first = chars.next();
        if first != Some('\\') && chars.next() != Some('\'') {
            return 0;
        }
        return 1 + quoted(inside, '\'');
    }
    let prefix = rest.find(|c: char| !matches!(c, 'b' | 'c' | 'r')).unwrap_or(rest.len());
    if prefix > 2 {
        return 0;
    }
    let after = &rest[prefix..];
    if rest[..prefix].ends_with('r') {
        let hashes = after.len() - after.trim_start_matches('#').len();
        if !after[hashes..].starts_with('"') {
            return 0;
        }
        let body = prefix + hashes + 1;
        let end = format!("\"{}", "#".repeat(hashes));
        return rest[body..].find(&end).map_or(rest.len(), |found| body + found + end.len());
    }
    match after.chars().next() {
        Some(quote @ '"') => prefix + 1 + quoted(&after[1..], quote),
        Some(quote @ '\'') if prefix == 1 && rest.starts_with('b') => prefix + 1 + quoted(&after[1..], quote),
        _ => 0,
    }
}

/// The length of what follows an opening quote, up to and with the closing one.
fn quoted(inside: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in inside.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            c if c == quote => return at + c.len_utf8(),
            _ => {}
        }
    }
    inside.len()
}

/// The length of a block comment; they nest.
fn block_comment(rest: &str) -> usize {
    let (mut depth, mut at) = (0_usize, 0);
    while at < rest.len() {
        if rest[at..].starts_with("/*") {
            (depth, at) = (depth + 1, at + 2);
        } else if rest[at..].starts_with("*/") {
            (depth, at) = (depth - 1, at + 2);
            if depth == 0 {
                return at;
            }
        } else {
            at += rest[at..].chars().next().map_or(1, char::len_utf8);
        }
    }
    rest.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, want: &[&str]) {
        let code = Code::read(text);
        let got: Vec<&str> = code.tokens.iter().map(|token| token.text).collect();
        assert_eq!(got, want, "{text}");
    }

    #[test]
    fn prose_and_strings_are_gone() {
        check("a // std::fs \"\nb", &["a", "b"]);
        check("a /* x /* y */ z */ b", &["a", "b"]);
        check(
            r#"f("unsafe \" x", 'u', '\'', '"', b'\\', b"x", c"y") 'a: 1"#,
            &["f", "(", ",", ",", ",", ",", ",", ",", ")", "'a", ":", "1"],
        );
        check("r#\"a \" b\"# br\"x\" r#type bcd", &["r", "#", "type", "bcd"]);
        check("&'static str; static X", &["&", "'static", "str", ";", "static", "X"]);
        check("'é' 'é: é", &["'é", ":", "é"]);
    }

    #[test]
    fn lines_are_counted_through_what_is_skipped() {
        let code = Code::read("/*\n*/ \"\n\\\n\" // x\n\nunsafe");
        assert_eq!(code.tokens, [Token { text: "unsafe", line: 6 }]);
    }

    #[test]
    fn tests_are_gone() {
        check("a #[cfg(test)] #[allow(x)] mod tests { fn f() { {} } } b", &["a", "b"]);
        check("a #[cfg(test)] use x::{y, z}; b", &["a", "b"]);
        check("#[cfg(not(test))] a", &["#", "[", "cfg", "(", "not", "(", "test", ")", ")", "]", "a"]);
        check("#[test] fn f(x: [u8; 2]) { g({}) } b", &["b"]);
        check("#[cfg(all(test, unix))] fn f() {} b", &["b"]);
        assert_eq!(Code::read("#[cfg(test)]\nmod big;\nmod other;").test_modules, ["big"]);
    }

    #[test]
    fn paths_are_found_in_groups() {
        let children = |text: &str| {
            let code = Code::read(text);
            code.children_of("std").iter().map(|token| token.text.to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(children("use std::{io::{self, fs}, fs, env::args as a};"), ["io", "fs", "env"]);
        assert_eq!(children("let x = ::std::time::Instant::now();"), ["time"]);
        assert_eq!(children("use my::std::fs; x.std::<u8>();"), Vec::<String>::new());
    }
}
