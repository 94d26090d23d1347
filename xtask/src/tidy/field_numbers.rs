//! Field numbers of protobuf are written as the constants of `onnx_proto::field` or `onnx_types::field`, not as literals.

use super::Violation;
use super::code::{Code, Token};
use super::sources::Files;

/// The crates that read and write fields.
const CRATES: &[&str] = &["crates/onnx-codec/src/", "crates/onnx-formats/src/"];

/// Other crates that read and write the forms of fields.
const IR_CRATES: &[&str] = &["crates/onnx-ir/src/", "crates/onnx-text/src/", "crates/onnx-check/src/"];

/// The folders where a tuple that begins with a literal is a field number and what belongs to the field.
const CODERS: &[&str] = &["crates/onnx-codec/src/decode/", "crates/onnx-codec/src/encode/"];

/// Methods whose first argument is a field number: of the encoder, of the decoder, and of `onnx_types::FieldForms`.
const METHODS: &[&str] = &["has", "note", "is_explicit", "set_explicit", "is_packed", "set_packed"];

pub(super) fn check(files: &Files, violations: &mut Vec<Violation>) {
    for (path, text) in files.iter() {
        if !path.ends_with(".rs") || path.contains("/generated/") {
            continue;
        }
        let is_in = |folders: &[&str]| folders.iter().any(|folder| path.starts_with(folder));
        let mut lines = if is_in(CRATES) {
            literals(&Code::read(text).tokens, is_in(CODERS))
        } else if is_in(IR_CRATES) {
            arguments(&Code::read(text).tokens)
        } else {
            continue;
        };
        lines.dedup();
        violations.extend(lines.into_iter().map(|line| {
            let problem = "a literal is used as a field number: use a constant of `onnx_proto::field` or `onnx_types::field`";
            Violation::new(format!("{path}:{line}"), problem)
        }));
    }
}

/// The lines with field numbers that are literals, in ascending order.
fn literals(tokens: &[Token<'_>], tuples: bool) -> Vec<usize> {
    let text = |at: usize| tokens.get(at).map_or("", |token| token.text);
    let mut found = Vec::new();
    for (at, token) in tokens.iter().enumerate().filter(|(_, token)| is_number(token.text)) {
        let before = |steps: usize| at.checked_sub(steps).map_or("", text);
        let opens = before(1) == "(" && matches!(text(at + 1), "," | "|" | ".");
        // `writer.int64(1, x)` and `self.text(writer, 1, x)`.
        let is_written = before(1) == "(" && before(3) == "." && before(4) == "writer"
            || before(1) == "," && before(2) == "writer";
        // A tuple, not the arguments of a call.
        let is_tuple = tuples && opens && !is_word(before(2));
        let is_compared = matches!(before(1), "=" | "<" | ">") && compares_number(tokens, at)
            || before(1) == "," && before(2) == "number" && before(3) != "{";
        if is_written && !is_capacity(before(2)) || is_tuple || is_compared {
            found.push(token.line);
        }
    }
    found.extend(arms(tokens));
    found.extend(arguments(tokens));
    found.sort_unstable();
    found
}

/// Literals that are the first argument of [`METHODS`].
fn arguments(tokens: &[Token<'_>]) -> Vec<usize> {
    let calls = tokens.windows(4).filter(|words| {
        words[0].text == "."
            && METHODS.contains(&words[1].text)
            && words[2].text == "("
            && is_number(words[3].text)
    });
    calls.map(|words| words[3].line).collect()
}

/// Literals in the patterns of `match number` and `match field.number`.
fn arms(tokens: &[Token<'_>]) -> Vec<usize> {
    let mut found = Vec::new();
    for (at, words) in tokens.windows(2).enumerate() {
        if words[0].text != "number" || words[1].text != "{" {
            continue;
        }
        let start = tokens[..at].iter().rposition(|token| !matches!(token.text, "field" | "."));
        if start.is_none_or(|start| tokens[start].text != "match") {
            continue;
        }
        let mut depth = 0_usize;
        for pair in tokens[at + 1..].windows(2) {
            match pair[0].text {
                "{" | "(" | "[" => depth += 1,
                "}" | ")" | "]" => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                break;
            }
            if depth == 1 && matches!(pair[0].text, "{" | "}" | "," | "|") && is_number(pair[1].text) {
                found.push(pair[1].line);
            }
        }
    }
    found
}

/// Returns `true` if the tokens before the literal at `at` are `number` and a comparison, as in `field.number <= 4`.
fn compares_number(tokens: &[Token<'_>], at: usize) -> bool {
    let operator = tokens[..at].iter().rev().take_while(|token| matches!(token.text, "=" | "<" | ">" | "!"));
    let length = operator.count();
    let is_assignment = length == 1 && tokens[at - 1].text == "=";
    // `=> 4` after a binding.
    let is_arm = length == 2 && tokens[at - 2].text == "=" && tokens[at - 1].text == ">";
    !is_assignment
        && !is_arm
        && at.checked_sub(length + 1).is_some_and(|before| tokens[before].text == "number")
}

/// A literal other than 0, which no field has as its number.
fn is_number(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_digit()) && text.bytes().any(|byte| matches!(byte, b'1'..=b'9'))
}

/// Methods of a writer whose argument is a length.
fn is_capacity(method: &str) -> bool {
    matches!(method, "with_capacity" | "reserve")
}

fn is_word(text: &str) -> bool {
    text.starts_with(|c: char| c == '_' || c.is_alphanumeric()) && !matches!(text, "in" | "let" | "return")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<usize> {
        literals(&Code::read(text).tokens, true)
    }

    #[test]
    fn literals_as_field_numbers_are_found() {
        for text in [
            "match (field.number, len(field.value)) { (1, Some(text)) => {} }",
            "match (number, value) { (1 | 2, Some(text)) => {} }",
            "match (number, value) { (1..=2, Some(text)) => {} }",
            "match field.number { 1 => {} _ => {} }",
            "match number { A => { f(x) } 1..=2 => {} }",
            "match number { A | 2 => {} }",
            "if let Some((1, key)) = fields.next_short_len() {}",
            "if let (7, Some(graph)) = x {}",
            "for (number, symbol) in [(2, a)] {}",
            "writer.int64(1, value);",
            "self.text(writer, 3, name);",
            "if window.has(3) {}",
            "form.note(10, true);",
            "self.keep(field, number <= 4);",
            "if field.number == 13 {}",
            "matches!(number, 1..=4)",
            "matches!(field.number, 6)",
        ] {
            assert_eq!(lines(text), [1], "{text}");
        }
    }

    #[test]
    fn other_literals_are_not() {
        for text in [
            "match (field.number, len(field.value)) { (graph::NODE, Some(text)) => f(1) }",
            "match number { node::NAME => 1, _ => 2 }",
            "match code { 1 => {} _ => {} }",
            "writer.int64(graph::NODE, 1);",
            "Writer::with_capacity(64)",
            "self.graph(writer, main, 1)",
            "if number == 0 {}",
            "let number = 3;",
            "bytes.get(1, x); head.map_or((0, 0), f);",
            "let x = match y { number => 4 };",
        ] {
            assert_eq!(lines(text), Vec::<usize>::new(), "{text}");
        }
    }
}
