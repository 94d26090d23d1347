//! The operators that the extracted facts name.

use std::collections::BTreeMap;
use std::fmt;

use crate::tidy::sources::Files;

/// An operator, with its newest schema.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fact {
    pub(crate) domain: String,
    pub(crate) name: String,
    /// The versions of the schemas, in ascending order.
    pub(crate) versions: Vec<u64>,
    /// The file of facts, relative to the root.
    pub(crate) path: String,
    /// The line of the newest schema, counted from 1.
    pub(crate) line: usize,
}

impl Fact {
    /// Whether onnxruntime adds the operator to those of ONNX.
    pub(crate) fn is_of_runtime(&self) -> bool {
        self.path.contains("/onnxruntime-")
    }
}

impl fmt::Display for Fact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let domain = if self.domain.is_empty() { "ai.onnx" } else { &self.domain };
        let versions: Vec<String> = self.versions.iter().map(u64::to_string).collect();
        let plural = if versions.len() == 1 { "" } else { "s" };
        write!(f, "{} of {domain}, version{plural} {}", self.name, versions.join(", "))
    }
}

/// All operators, by domain and name. A schema begins a line of a file of facts: `{"op": "Abs", "domain": "", "since": 1, …`.
pub(crate) fn facts(files: &Files) -> Vec<Fact> {
    let mut found: BTreeMap<(bool, String, String), Fact> = BTreeMap::new();
    for (path, text) in files.iter().filter(|(path, _)| path.starts_with("crates/onnx-schema/facts/onnx")) {
        for (index, line) in text.lines().enumerate() {
            let Some(rest) = line.trim_start().strip_prefix("{\"op\": \"") else { continue };
            let mut parts = rest.split('"');
            let (Some(name), Some(domain)) = (parts.next(), parts.nth(3)) else { continue };
            let since = rest.split("\"since\": ").nth(1).and_then(|rest| rest.split(',').next());
            let Some(since) = since.and_then(|since| since.parse().ok()) else { continue };
            let place = (path.contains("/onnxruntime-"), domain.to_owned(), name.to_owned());
            let fact = found.entry(place).or_insert_with(|| Fact {
                domain: domain.to_owned(),
                name: name.to_owned(),
                versions: Vec::new(),
                path: path.to_owned(),
                line: 0,
            });
            fact.versions.push(since);
            fact.versions.sort_unstable();
            if fact.versions.last() == Some(&since) {
                fact.line = index + 1;
            }
        }
    }
    found.into_values().collect()
}

/// The operators with a name, whatever its capitals; `domain.Name` is the one of a domain.
///
/// # Errors
///
/// When there is none: with the nearest names.
pub(crate) fn find<'a>(facts: &'a [Fact], name: &str) -> Result<Vec<&'a Fact>, String> {
    let wanted = name.to_lowercase();
    let full = |fact: &Fact| {
        let domain = if fact.domain.is_empty() { "ai.onnx" } else { &fact.domain };
        format!("{domain}.{}", fact.name).to_lowercase()
    };
    let found: Vec<&Fact> =
        facts.iter().filter(|fact| fact.name.to_lowercase() == wanted || full(fact) == wanted).collect();
    if !found.is_empty() {
        return Ok(found);
    }
    let short = wanted.rsplit('.').next().unwrap_or_default();
    let mut near: Vec<(usize, &str)> =
        facts.iter().map(|fact| (distance(short, &fact.name.to_lowercase()), fact.name.as_str())).collect();
    near.sort_unstable();
    near.dedup();
    let limit = (short.len() / 3).max(2);
    let near: Vec<String> = near
        .iter()
        .filter(|(distance, _)| *distance <= limit)
        .take(3)
        .map(|(_, name)| format!("`{name}`"))
        .collect();
    let help = if near.is_empty() { String::new() } else { format!("; near names: {}", near.join(", ")) };
    Err(format!("unknown operator `{name}`{help}"))
}

/// The number of letters to insert, erase or replace (Levenshtein).
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, letter) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, other) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(letter != *other);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Vec<Fact> {
        let text = "{\n  {\"op\": \"Gelu\", \"domain\": \"\", \"since\": 20, \"x\": 1},\n  {\"op\": \"Trilu\", \"domain\": \"\", \"since\": 14, \"x\"";
        let runtime = "  {\"op\": \"Gelu\", \"domain\": \"com.microsoft\", \"since\": 1, \"x\"\n  {\"op\": \"Gelu\", \"domain\": \"com.microsoft\", \"since\": 3, \"x\"";
        facts(&Files::new([
            ("crates/onnx-schema/facts/onnx-1.json".to_owned(), text.to_owned()),
            ("crates/onnx-schema/facts/onnxruntime-1.json".to_owned(), runtime.to_owned()),
        ]))
    }

    #[test]
    fn names_are_found_whatever_their_capitals() {
        let facts = sample();
        let found =
            |name: &str| find(&facts, name).unwrap().iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(found("gelu"), ["Gelu of ai.onnx, version 20", "Gelu of com.microsoft, versions 1, 3"]);
        assert_eq!(found("com.Microsoft.Gelu"), ["Gelu of com.microsoft, versions 1, 3"]);
        assert_eq!(facts[2].line, 2);
    }

    #[test]
    fn near_names_are_suggested() {
        let facts = sample();
        assert_eq!(find(&facts, "Gelo").unwrap_err(), "unknown operator `Gelo`; near names: `Gelu`");
        assert_eq!(find(&facts, "Convolution").unwrap_err(), "unknown operator `Convolution`");
        assert_eq!((distance("", "abc"), distance("kitten", "sitting")), (3, 3));
    }
}
