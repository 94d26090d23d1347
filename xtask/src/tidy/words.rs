//! The words of comments, messages and documents: phrases that `docs/style.md` replaces become fewer.
//!
//! `words.tsv` has one row for each phrase: the number of matches, the pattern, what must not follow a match, and what to
//! write instead. A number that rises is a violation. `BLESS=1 cargo xtask tidy` writes numbers that have fallen.

use std::collections::BTreeMap;

use regex::RegexBuilder;

use super::Violation;
use super::sources::Files;

const TABLE: &str = "xtask/src/tidy/words.tsv";

/// The page that quotes the phrases.
const EXEMPT: &str = "docs/style.md";

/// A row of the table.
struct Phrase<'a> {
    most: usize,
    pattern: &'a str,
    not_followed_by: &'a str,
    instead: &'a str,
}

impl<'a> Phrase<'a> {
    fn parse(line: &'a str) -> Option<Self> {
        let mut columns = line.split('\t');
        let most = columns.next()?.parse().ok()?;
        Some(Self {
            most,
            pattern: columns.next()?,
            not_followed_by: columns.next()?,
            instead: columns.next()?,
        })
    }
}

pub(super) fn check(files: &Files, violations: &mut Vec<Violation>) {
    let prose: BTreeMap<&str, String> = files
        .iter()
        .filter(|(path, _)| is_checked(path))
        .map(|(path, text)| (path, prose(path, text)))
        .collect();
    let mut blessed = String::new();
    for (number, line) in files.text(TABLE).lines().enumerate() {
        let place = format!("{TABLE}:{}", number + 1);
        if line.starts_with('#') {
            blessed.push_str(&format!("{line}\n"));
            continue;
        }
        let Some(phrase) = Phrase::parse(line) else {
            violations.push(Violation::new(place, "a row has a number, two patterns and a replacement"));
            continue;
        };
        match matches(&phrase, &prose) {
            Ok(found) => {
                let count = found.values().sum::<usize>();
                if count > phrase.most {
                    violations.push(Violation::new(place, rise(&phrase, count, &found)));
                }
                let Phrase { most, pattern, not_followed_by, instead } = phrase;
                blessed.push_str(&format!("{}\t{pattern}\t{not_followed_by}\t{instead}\n", count.min(most)));
            }
            Err(error) => violations.push(Violation::new(place, error.to_string())),
        }
    }
    if std::env::var_os("BLESS").is_some()
        && blessed != files.text(TABLE)
        && let Err(error) = std::fs::write(crate::workspace::root().join(TABLE), blessed)
    {
        violations.push(Violation::new(TABLE, error.to_string()));
    }
}

/// The message about a phrase that has become more frequent.
fn rise(phrase: &Phrase<'_>, count: usize, found: &BTreeMap<&str, usize>) -> String {
    let places: Vec<String> = found.iter().map(|(path, count)| format!("{path} ({count})")).collect();
    let Phrase { most, pattern, instead, .. } = phrase;
    format!(
        "`{pattern}` occurs {count} times, at most {most} are allowed; write {instead}: {}",
        places.join(", ")
    )
}

fn is_checked(path: &str) -> bool {
    let extension = path.rsplit_once('.').map_or("", |(_, extension)| extension);
    matches!(extension, "rs" | "md" | "toml" | "py") && !path.contains("/generated/") && path != EXEMPT
}

/// The number of matches in each file that has any.
fn matches<'a>(
    phrase: &Phrase<'_>,
    prose: &BTreeMap<&'a str, String>,
) -> Result<BTreeMap<&'a str, usize>, regex::Error> {
    let pattern = RegexBuilder::new(phrase.pattern).case_insensitive(true).build()?;
    let unless = match phrase.not_followed_by {
        "" => None,
        text => Some(RegexBuilder::new(&format!("^(?:{text})")).case_insensitive(true).build()?),
    };
    let count = |text: &str| {
        let found = pattern.find_iter(text);
        let follows = |end: usize| text.get(end..).unwrap_or_default();
        found
            .filter(|found| unless.as_ref().is_none_or(|unless| !unless.is_match(follows(found.end()))))
            .count()
    };
    Ok(prose.iter().map(|(&path, text)| (path, count(text))).filter(|&(_, count)| count > 0).collect())
}

/// Comments and strings of a source file, or a document without its code. Lines of one comment or paragraph are joined.
fn prose(path: &str, text: &str) -> String {
    let is_document = path.ends_with(".md");
    let marker = if path.ends_with(".rs") { "//" } else { "#" };
    let mut prose = String::new();
    let mut is_fenced = false;
    for line in text.lines().map(str::trim) {
        let comment = match line.strip_prefix(marker) {
            _ if is_document => Some(line),
            Some(comment) => Some(comment.trim_start_matches(['/', '!', '#']).trim()),
            None => None,
        };
        match comment {
            Some(comment) if comment.starts_with("```") => is_fenced = !is_fenced,
            Some(_) if is_fenced => {}
            Some(comment) => {
                prose.push_str(comment);
                prose.push(' ');
            }
            None => {
                is_fenced = false;
                prose.push('\n');
                strings(line, &mut prose);
            }
        }
    }
    without_code(&prose)
}

/// Adds the string literals of a line that consist of several words.
fn strings(line: &str, prose: &mut String) {
    let mut rest = line;
    while let Some((_, behind)) = rest.split_once('"') {
        let mut escaped = false;
        let end = behind.find(|c| {
            let ends = c == '"' && !escaped;
            escaped = c == '\\' && !escaped;
            ends
        });
        let (literal, after) = behind.split_at(end.unwrap_or(behind.len()));
        if literal.contains(' ') {
            prose.push_str(literal);
            prose.push('\n');
        }
        rest = after.strip_prefix('"').unwrap_or_default();
    }
}

/// Replaces code between backticks by nothing.
fn without_code(text: &str) -> String {
    text.split('`').step_by(2).collect::<Vec<_>>().join("")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_strings_and_documents_are_prose() {
        let source = "//! It stands\n//! alone, `who ever`.\nlet besides = \"stands\"; f(\"it stands\");\n/// ```\n/// stands\n/// ```\n";
        assert_eq!(prose("a.rs", source).trim(), "It stands alone, . \nit stands");
        assert_eq!(prose("a.md", "One `x`\nline.\n```\nstands\n```\n").trim(), "One  line.");
    }

    #[test]
    fn what_may_follow_is_no_match() {
        let prose = BTreeMap::from([("a.rs", "it stands for x, and stands there".to_owned())]);
        let phrase = Phrase { most: 0, pattern: r"\bstands?\b", not_followed_by: " for", instead: "is" };
        assert_eq!(matches(&phrase, &prose).unwrap(), BTreeMap::from([("a.rs", 1)]));
        let found = matches(&phrase, &prose).unwrap();
        assert!(rise(&phrase, 1, &found).contains("a.rs (1)"));
    }
}
