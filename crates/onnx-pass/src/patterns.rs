//! Strings that a regular expression matches, and strings that it nearly matches.

use regex_syntax::hir::{Class, Hir, HirKind};

/// Longer strings are data rather than words.
const MAX_BYTES: usize = 96;

/// Numbers of repetitions above this are not written out.
const MAX_REPEATED: u32 = 80;

/// Numbers of variants of a pattern.
const VARIANTS: usize = 12;

/// Strings that a pattern matches, each with some that differ from it in one place. Every alternative, the ends of every range, and
/// the least and the greatest number of repetitions occur in one of them.
pub(crate) fn near(pattern: &str) -> Vec<String> {
    let Ok(hir) = regex_syntax::Parser::new().parse(pattern) else { return Vec::new() };
    let mut found: Vec<String> = Vec::new();
    for variant in 0..VARIANTS {
        let mut text = String::new();
        let mut turn = variant;
        write(&hir, variant, &mut turn, &mut text);
        if text.len() > MAX_BYTES {
            continue;
        }
        let is_new = |text: &String, found: &[String]| !found.contains(text);
        if is_new(&text, &found) {
            for changed in changes(&text) {
                if is_new(&changed, &found) {
                    found.push(changed);
                }
            }
            found.push(text);
        }
    }
    // Matches come first: those that differ are of interest only next to them.
    found.reverse();
    found
}

/// Strings that differ from one by a letter.
fn changes(text: &str) -> Vec<String> {
    let letters: Vec<char> = text.chars().collect();
    let without = |index: usize| -> String {
        letters.iter().enumerate().filter(|&(other, _)| other != index).map(|(_, letter)| *letter).collect()
    };
    // A dot does not match the end of a line, and a class of all letters but some does.
    let with_line = |index: usize| -> String {
        letters
            .iter()
            .enumerate()
            .map(|(other, letter)| if other == index { '\n' } else { *letter })
            .collect()
    };
    let last = letters.len().saturating_sub(1);
    let mut found = vec![format!("{text}\n"), format!("{text}a"), format!("a{text}"), format!("\n{text}")];
    if !letters.is_empty() {
        found.extend([without(0), without(last), without(last / 2), with_line(last / 2)]);
    }
    found
}

/// Appends what a part of a pattern matches. Each choice is the next one of the variant.
fn write(hir: &Hir, variant: usize, turn: &mut usize, text: &mut String) {
    if text.len() > MAX_BYTES {
        return;
    }
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => {}
        HirKind::Literal(literal) => text.push_str(&String::from_utf8_lossy(&literal.0)),
        HirKind::Class(class) => text.extend(letter(class, next(variant, turn))),
        HirKind::Capture(capture) => write(&capture.sub, variant, turn, text),
        HirKind::Concat(parts) => parts.iter().for_each(|part| write(part, variant, turn, text)),
        HirKind::Alternation(parts) => {
            let chosen = next(variant, turn).checked_rem(parts.len()).and_then(|index| parts.get(index));
            chosen.into_iter().for_each(|part| write(part, variant, turn, text));
        }
        HirKind::Repetition(repetition) => {
            let (least, most) = (repetition.min, repetition.max);
            // One more than allowed is not matched.
            let count = match (next(variant, turn) % 4, most) {
                (0, _) => least,
                (1, Some(most)) => most,
                (2, Some(most)) => most.saturating_add(1),
                (1, None) => least.saturating_add(3),
                (_, None) => least.saturating_add(1),
                (_, Some(most)) => least.saturating_add(1).min(most),
            };
            // A variant has letters of one place of their ranges in a row, or different ones.
            let first = *turn;
            for _ in 0..count.min(MAX_REPEATED) {
                if variant % 3 < 2 {
                    *turn = first;
                }
                write(&repetition.sub, variant, turn, text);
            }
        }
    }
}

/// The number of the next choice: 0 throughout in the first variant, 1 in the second, then mixed.
fn next(variant: usize, turn: &mut usize) -> usize {
    *turn = turn.wrapping_add(variant / 4);
    *turn
}

/// A letter of a class: the first or the last of one of its ranges, or one between.
fn letter(class: &Class, choice: usize) -> Option<char> {
    let (start, end) = match class {
        Class::Unicode(class) => {
            let ranges = class.ranges();
            let range = ranges.get((choice / 3).checked_rem(ranges.len())?)?;
            (range.start(), range.end())
        }
        Class::Bytes(class) => {
            let ranges = class.ranges();
            let range = ranges.get((choice / 3).checked_rem(ranges.len())?)?;
            (char::from(range.start()), char::from(range.end()))
        }
    };
    let middle = char::from_u32((start as u32).midpoint(end as u32));
    match choice % 3 {
        0 if start < ' ' && end >= 'a' => Some('a'),
        0 => Some(start),
        1 => Some(end),
        _ => middle.or(Some(start)),
    }
}

#[cfg(test)]
mod tests {
    use super::near;

    #[test]
    fn every_part_of_a_pattern_occurs() {
        let has = |pattern: &str, text: &str| {
            let all = near(pattern);
            assert!(all.iter().any(|other| other == text), "{pattern}: {text} is not among {all:?}");
        };
        has("https?://x", "http://x");
        has("https?://x", "https://x");
        has("[0-9]{4}-[0-9]{2}", "0000-00");
        has("[0-9]{4}-[0-9]{2}", "9999-99");
        has("a{2,40}", &"a".repeat(41));
        has("a{2,40}", &"a".repeat(40));
        has("cat|dog|cow", "cow");
        has("x*", "\n");
        has("a.c", "a\nc");
        has("(ab)+", "abab");
        assert!(near("(").is_empty());
        // A pattern of patterns stays short.
        assert!(near("((a{50}){50}){50}").iter().all(|text| text.len() < 200));
    }
}
