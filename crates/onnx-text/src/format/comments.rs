//! Comments, taken over from a text into another layout of it.
//!
//! Both texts are cut into tokens and aligned; a comment keeps its place between the tokens around it. Where the new text
//! says something in other words, its comments go to the nearest place that is common to both. None is dropped.

use crate::tokens::{Token, TokenKind, tokens};

/// Maximum distance of the search for the next common run of two texts.
const REACH: usize = 64;
/// Number of equal tokens of a common run.
const RUN: usize = 3;

/// A comment of the old text.
struct Comment<'a> {
    text: &'a str,
    /// The number of tokens before it.
    after: usize,
    /// Whether a token precedes it on the same line.
    trails: bool,
    /// Whether a blank line separates it from what is before, and from what is after.
    blank: [bool; 2],
}

/// The new text with the comments of the old one.
pub(super) fn reattach(old: &str, new: &str) -> String {
    let (old_tokens, comments) = split(old);
    if comments.is_empty() {
        return new.to_owned();
    }
    let (new_tokens, _) = split(new);
    let places = align((old, &old_tokens), (new, &new_tokens));
    let end = new_tokens.len();
    let mut trailing: Vec<Vec<&str>> = vec![Vec::new(); end.saturating_add(1)];
    let mut leading: Vec<Vec<&Comment<'_>>> = vec![Vec::new(); end.saturating_add(1)];
    for comment in &comments {
        let place = places.get(comment.after).copied().unwrap_or(end);
        match comment.after.checked_sub(1).filter(|_| comment.trails) {
            Some(before) => {
                // The new index of the token before it.
                let place = places.get(before).copied().unwrap_or(end).min(end.saturating_sub(1));
                if let Some(list) = trailing.get_mut(place) {
                    list.push(comment.text);
                }
            }
            None => {
                if let Some(list) = leading.get_mut(place) {
                    list.push(comment);
                }
            }
        }
    }
    Writer { new, tokens: &new_tokens, trailing, leading, out: String::new() }.write()
}

/// Whether two texts differ in comments and white space only.
pub(super) fn says_the_same(one: &str, other: &str) -> bool {
    words(one).eq(words(other))
}

/// The tokens of a text, without its comments.
fn words(text: &str) -> impl Iterator<Item = Option<&str>> {
    let kept = tokens(text).filter(|token| token.kind != TokenKind::Comment);
    kept.map(|token| text.get(token.range))
}

/// The tokens of a text, and its comments.
fn split(text: &str) -> (Vec<Token>, Vec<Comment<'_>>) {
    let (mut kept, mut comments) = (Vec::new(), Vec::new());
    let mut end = 0;
    for token in tokens(text) {
        let gap = text.get(end..token.range.start).unwrap_or_default();
        end = token.range.end;
        if token.kind != TokenKind::Comment {
            kept.push(token);
            continue;
        }
        let after = text.get(end..).unwrap_or_default();
        let after = after.split_once(|c: char| !c.is_ascii_whitespace()).map_or("", |(gap, _)| gap);
        let blank = [gap, after].map(|gap| gap.matches('\n').count() > 1);
        let content = text.get(token.range.clone()).unwrap_or_default().trim_end();
        let trails = !gap.contains('\n') && token.range.start > 0;
        comments.push(Comment { text: content, after: kept.len(), trails, blank });
    }
    (kept, comments)
}

/// For each token of the old text and its end, the first token of the new text that does not come before it.
#[cfg_attr(
    not(test),
    expect(clippy::arithmetic_side_effects, reason = "places among tokens, and a few more")
)]
fn align((old, a): (&str, &[Token]), (new, b): (&str, &[Token])) -> Vec<usize> {
    let same = |i: usize, j: usize| match (a.get(i), b.get(j)) {
        (Some(x), Some(y)) if x.kind == TokenKind::Number && y.kind == TokenKind::Number => true,
        // A name may have quotes in one of them only.
        (Some(x), Some(y)) => bare(old, x) == bare(new, y),
        (None, None) => true,
        _ => false,
    };
    let mut places = Vec::with_capacity(a.len() + 1);
    let (mut i, mut j) = (0, 0);
    while i < a.len() {
        if same(i, j) {
            places.push(j);
            (i, j) = (i + 1, j + 1);
            continue;
        }
        let is_common = |skip_a: usize, skip_b: usize| (0..RUN).all(|k| same(i + skip_a + k, j + skip_b + k));
        let jump = (1..=REACH).find_map(|distance| {
            (0..=distance).map(|skip| (skip, distance - skip)).find(|&(skip, rest)| is_common(skip, rest))
        });
        let (skip_a, skip_b) = jump.unwrap_or((1, 1));
        j = (j + skip_b).min(b.len());
        for _ in 0..skip_a.min(a.len() - i) {
            places.push(j);
        }
        i += skip_a;
    }
    places.push(b.len());
    places
}

fn bare<'a>(text: &'a str, token: &Token) -> &'a str {
    text.get(token.range.clone()).unwrap_or_default().trim_matches('"')
}

struct Writer<'a> {
    new: &'a str,
    tokens: &'a [Token],
    /// By token: the comments at the end of its line.
    trailing: Vec<Vec<&'a str>>,
    /// By token, and for the end of the text: the comments on separate lines before its line.
    leading: Vec<Vec<&'a Comment<'a>>>,
    out: String,
}

impl<'a> Writer<'a> {
    fn write(mut self) -> String {
        let mut first = 0;
        let mut end = 0;
        while first < self.tokens.len() {
            let last = self.last_of_line(first);
            let start = self.tokens.get(first).map_or(end, |token| token.range.start);
            let gap = self.new.get(end..start).unwrap_or_default();
            let (breaks, indent) =
                gap.rsplit_once('\n').map_or(("", gap), |(breaks, indent)| (breaks, indent));
            self.out.push_str(breaks);
            if !self.out.is_empty() {
                self.out.push('\n');
            }
            self.line(first, last, indent);
            end = self.tokens.get(last).map_or(start, |token| token.range.end);
            first = last.saturating_add(1);
        }
        self.out.push('\n');
        let rest = std::mem::take(&mut self.leading);
        self.own_lines(rest.last().map_or(&[][..], Vec::as_slice), "");
        self.out
    }

    /// The last token on the line of a token; strings may continue over several lines.
    fn last_of_line(&self, first: usize) -> usize {
        let mut pairs = self.tokens.get(first..).unwrap_or_default().windows(2);
        let breaks = pairs.position(|pair| match pair {
            [a, b] => self.new.get(a.range.end..b.range.start).is_some_and(|gap| gap.contains('\n')),
            _ => false,
        });
        breaks.map_or(self.tokens.len().saturating_sub(1), |length| first.saturating_add(length))
    }

    /// Writes the tokens of a line with the comments before and behind them.
    fn line(&mut self, first: usize, last: usize, indent: &str) {
        let leading: Vec<_> =
            (first..=last).flat_map(|at| self.leading.get(at).cloned().unwrap_or_default()).collect();
        let mut behind: Vec<&str> =
            (first..=last).flat_map(|at| self.trailing.get(at).cloned().unwrap_or_default()).collect();
        // A line has room for one comment; those before it go above.
        let comment = behind.pop();
        // Before the brace that closes a body, comments belong into the body.
        let closes = self.tokens.get(first).and_then(|token| self.new.get(token.range.clone())) == Some("}");
        let inner = if closes { format!("{indent}   ") } else { indent.to_owned() };
        self.own_lines(&leading, &inner);
        for comment in behind {
            self.out.push_str(&inner);
            self.out.push_str(comment);
            self.out.push('\n');
        }
        self.out.push_str(indent);
        if let (Some(a), Some(b)) = (self.tokens.get(first), self.tokens.get(last)) {
            self.out.push_str(self.new.get(a.range.start..b.range.end).unwrap_or_default());
        }
        if let Some(comment) = comment {
            self.out.push_str("  ");
            self.out.push_str(comment);
        }
    }

    fn own_lines(&mut self, comments: &[&Comment<'_>], indent: &str) {
        for (index, comment) in comments.iter().enumerate() {
            let [before, after] = comment.blank;
            if before && !self.out.is_empty() && !self.out.ends_with("\n\n") {
                self.out.push('\n');
            }
            self.out.push_str(indent);
            self.out.push_str(comment.text);
            self.out.push('\n');
            if after && comments.len().checked_sub(1) == Some(index) {
                self.out.push('\n');
            }
        }
    }
}
