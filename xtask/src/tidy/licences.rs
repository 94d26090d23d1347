//! The checks of dependencies that `deny.toml` states: licences, banned crates, sources.
//!
//! `cargo deny` checks the same file and more; this check replaces it if it is not installed, so that a forbidden
//! licence cannot slip through a machine that lacks the tool.

use super::Violation;
use super::metadata::{Metadata, Package};

/// The only place dependencies come from.
const CRATES_IO: &str = "registry+https://github.com/rust-lang/crates.io-index";

pub(super) fn check(metadata: &Metadata, deny_toml: &str, violations: &mut Vec<Violation>) {
    let allowed = strings_of(deny_toml, "licenses", "allow");
    let banned = strings_of(deny_toml, "bans", "deny");
    if allowed.is_empty() || banned.is_empty() {
        violations
            .push(Violation::new("deny.toml", "the list of licences or of banned crates was not found"));
        return;
    }
    for package in &metadata.packages {
        one_package(package, &allowed, &banned, violations);
    }
}

fn one_package(package: &Package, allowed: &[&str], banned: &[&str], violations: &mut Vec<Violation>) {
    let place = format!("Cargo.lock: {} {}", package.name, package.version);
    match &package.license {
        None => violations.push(Violation::new(place.as_str(), "states no licence")),
        Some(licence) if satisfied(licence, allowed) => {}
        Some(licence) => {
            let problem = format!("the licence `{licence}` is not allowed by deny.toml");
            violations.push(Violation::new(place.as_str(), problem));
        }
    }
    if banned.contains(&package.name.as_str()) {
        violations.push(Violation::new(place.as_str(), "is banned by deny.toml"));
    }
    if let Some(source) = package.source.as_deref().filter(|&source| source != CRATES_IO) {
        violations.push(Violation::new(place, format!("comes from `{source}`, not from crates.io")));
    }
}

/// The strings in the array `key = [...]` of a section of a TOML file; of inline tables, the value of `crate`.
fn strings_of<'a>(toml: &'a str, section: &str, key: &str) -> Vec<&'a str> {
    let mut found = Vec::new();
    let (mut in_section, mut in_array) = (false, false);
    for line in toml.lines() {
        let line = line.split_once('#').map_or(line, |(before, _)| before).trim();
        if !in_array && line.starts_with('[') {
            in_section = line.trim_matches(['[', ']']) == section;
            continue;
        }
        let opens = in_section
            && line
                .split_once('=')
                .is_some_and(|(name, value)| name.trim() == key && value.trim().starts_with('['));
        if in_array || opens {
            let values = if opens { line.split_once('[').map_or("", |(_, rest)| rest) } else { line };
            // A table names its crate first, so the first string of an element is the one that counts.
            let first_strings = values.split('{').flat_map(|element| {
                let count = if element.contains('}') { 1 } else { usize::MAX };
                element.split('"').skip(1).step_by(2).take(count)
            });
            found.extend(first_strings);
            in_array = !values.ends_with(']');
        }
    }
    found
}

/// Whether an SPDX expression can be satisfied with the allowed licences. `/` is an old spelling of `OR`.
fn satisfied(expression: &str, allowed: &[&str]) -> bool {
    let spaced = expression.replace('(', " ( ").replace(')', " ) ").replace('/', " OR ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let (answer, used) = any_of(&words, allowed);
    answer && used == words.len()
}

/// `term OR term …`: the answer and the number of words it took.
fn any_of(words: &[&str], allowed: &[&str]) -> (bool, usize) {
    let (mut answer, mut at) = all_of(words, allowed);
    while words.get(at) == Some(&"OR") {
        let (term, used) = all_of(&words[at + 1..], allowed);
        answer |= term;
        at += 1 + used;
    }
    (answer, at)
}

/// `licence AND licence …`, which binds tighter than `OR`.
fn all_of(words: &[&str], allowed: &[&str]) -> (bool, usize) {
    let (mut answer, mut at) = one_licence(words, allowed);
    while words.get(at) == Some(&"AND") {
        let (term, used) = one_licence(&words[at + 1..], allowed);
        answer &= term;
        at += 1 + used;
    }
    (answer, at)
}

/// `( expression )`, or a licence with or without an exception.
fn one_licence(words: &[&str], allowed: &[&str]) -> (bool, usize) {
    match words {
        ["(", inside @ ..] => {
            let (answer, used) = any_of(inside, allowed);
            (answer && inside.get(used) == Some(&")"), used + 2)
        }
        [licence, "WITH", exception, ..] => {
            (allowed.contains(&format!("{licence} WITH {exception}").as_str()), 3)
        }
        [licence, ..] => (allowed.contains(licence), 1),
        // Counted as a word, so that the expression does not come out even.
        [] => (false, 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_are_read_as_spdx_does() {
        let allowed = ["MIT", "Apache-2.0", "Unicode-3.0", "Apache-2.0 WITH LLVM-exception"];
        for good in [
            "MIT",
            "MIT OR GPL-3.0-only",
            "MIT/Apache-2.0",
            "Apache-2.0 / MIT",
            "(MIT OR GPL-3.0-only) AND Unicode-3.0",
            "GPL-3.0-only AND MIT OR Apache-2.0",
            "Apache-2.0 WITH LLVM-exception",
        ] {
            assert!(satisfied(good, &allowed), "{good}");
        }
        for bad in [
            "",
            "GPL-3.0-only",
            "MIT AND GPL-3.0-only",
            "(MIT",
            "MIT Apache-2.0",
            "MIT OR",
            "MIT WITH Classpath-exception-2.0",
            "MIT AND (GPL-3.0-only OR LGPL-2.1-only)",
        ] {
            assert!(!satisfied(bad, &allowed), "{bad}");
        }
    }

    #[test]
    fn the_lists_of_deny_toml_are_found() {
        let toml = "[licenses]\n# why\nallow = [\n  \"MIT\", # common\n  \"Zlib\",\n]\n[bans]\nmultiple-versions = \"warn\"\n\
                    deny = [\n  { crate = \"reqwest\", reason = \"network\" },\n  \"curl\",\n]\nallow = [\"x\"]\n";
        assert_eq!(strings_of(toml, "licenses", "allow"), ["MIT", "Zlib"]);
        assert_eq!(strings_of(toml, "bans", "deny"), ["reqwest", "curl"]);
        assert_eq!(strings_of("[licenses]\nallow = [\"A\", \"B\"]\n", "licenses", "allow"), ["A", "B"]);
        let ours = crate::tidy::read("deny.toml").unwrap();
        assert!(strings_of(&ours, "licenses", "allow").contains(&"MIT"));
        assert!(strings_of(&ours, "bans", "deny").contains(&"reqwest"));
    }
}
