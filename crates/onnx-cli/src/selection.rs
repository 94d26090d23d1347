//! Nodes and values that arguments denote: selectors, lists of them, scopes, patterns of names, and operators.

use std::collections::HashSet;

use onnx_functions::FunctionPattern;
use onnx_ir::{Element, Model, NodeId, Selectors, ValueId};

use crate::exit::Failure;
use crate::output::shown;

/// The nodes that selectors denote, each once.
pub(crate) fn nodes(model: &Model, texts: &[String]) -> Result<Vec<NodeId>, Failure> {
    let selectors = Selectors::new(model);
    let found = each("node", texts, |text| matching(model, &selectors, text))?;
    let mut seen = HashSet::new();
    Ok(found.into_iter().filter(|&node| seen.insert(node)).collect())
}

/// The values that selectors denote, in the order of the arguments.
pub(crate) fn values(model: &Model, texts: &[String]) -> Result<Vec<ValueId>, Failure> {
    let selectors = Selectors::new(model);
    each("value", texts, |text| match selectors.parse(text) {
        Ok(parsed) => Ok(selectors.values(&parsed)),
        Err(error) => Err(not_a_selector(text, &error)),
    })
}

/// What texts denote; a text that denotes nothing is a list of selectors, because a name can contain a comma.
fn each<T>(
    what: &str,
    texts: &[String],
    mut find: impl FnMut(&str) -> Result<Vec<T>, Failure>,
) -> Result<Vec<T>, Failure> {
    let mut all = Vec::new();
    for text in texts {
        match find(text) {
            Ok(found) if !found.is_empty() => all.extend(found),
            whole => {
                let parts = parts(text);
                if parts.len() < 2 {
                    whole?;
                    return Err(unmatched(what, text));
                }
                for part in parts {
                    let found = find(part)?;
                    if found.is_empty() {
                        return Err(unmatched(what, part));
                    }
                    all.extend(found);
                }
            }
        }
    }
    Ok(all)
}

fn unmatched(what: &str, text: &str) -> Failure {
    Failure::new(format_args!("no {what} of the model matches `{}`", shown(text))).help(
        "a selector is a name, a scope such as `/layer.0`, a pattern such as `/layer.*/**`, an operator such as `Conv()`, \
         `node(K)` or `near(SELECTOR, N)`",
    )
}

fn not_a_selector(text: &str, error: &impl std::fmt::Display) -> Failure {
    Failure::new(format!("`{}` is not a selector: {error}", shown(text)))
        .help("write a name, `node(K)` or `near(SELECTOR, N)`; quote other names: `\"a name\"`")
}

/// The nodes that a selector denotes, those of a graph included, or those whose names or operators match.
fn matching(model: &Model, selectors: &Selectors<'_>, text: &str) -> Result<Vec<NodeId>, Failure> {
    let others = || {
        let mut found = in_scope(model, text);
        if found.is_empty() {
            found = by_pattern(model, text);
        }
        found
    };
    let parsed = match selectors.parse(text) {
        Ok(parsed) => parsed,
        Err(error) => {
            let found = others();
            let is_pattern = text.ends_with("()") || !text.contains(['(', ',']);
            return if found.is_empty() && !is_pattern {
                Err(not_a_selector(text, &error))
            } else {
                Ok(found)
            };
        }
    };
    let mut nodes = selectors.nodes(&parsed);
    if let (true, Some(&Element::Graph(graph))) = (nodes.is_empty(), selectors.elements(&parsed).first()) {
        nodes.extend(model.nodes(graph));
    }
    Ok(if nodes.is_empty() { others() } else { nodes })
}

/// The nodes of the main graph whose names are in a scope: `/layer.0`, `/layer.0/` or `/layer.0/*`.
fn in_scope(model: &Model, text: &str) -> Vec<NodeId> {
    let scope = text.strip_suffix("/*").unwrap_or(text);
    let scope = scope.strip_suffix('/').unwrap_or(scope);
    if scope.is_empty() {
        return Vec::new();
    }
    let is_in = |&node: &NodeId| {
        let rest = model.str(model.node(node).name()).strip_prefix(scope);
        rest.is_some_and(|rest| rest.starts_with('/'))
    };
    model.nodes(model.main_graph()).filter(is_in).collect()
}

/// The nodes of the main graph with an operator, `Conv()`, or with a name or an output of which a pattern is given.
fn by_pattern(model: &Model, text: &str) -> Vec<NodeId> {
    let nodes = model.nodes(model.main_graph());
    if text.ends_with("()") {
        let pattern = FunctionPattern::new(text);
        let is_op = |&node: &NodeId| {
            let record = model.node(node);
            let [domain, op, overload] =
                [record.domain(), record.op(), record.overload()].map(|part| model.str(part));
            pattern.matches_identity(domain, op, overload)
        };
        return nodes.filter(is_op).collect();
    }
    if !text.contains(['*', '?']) {
        return Vec::new();
    }
    let matches = |name| is_match(text.as_bytes(), model.str(name).as_bytes());
    let is_named = |&node: &NodeId| {
        let record = model.node(node);
        matches(record.name())
            || record.outputs().iter().flatten().any(|&value| matches(model.value(value).name()))
    };
    nodes.filter(is_named).collect()
}

/// Whether a name matches a pattern: `*` is any text without a slash, `**` any text, `?` one character.
///
/// The positions of the pattern that each prefix of the name can reach are kept, so it takes the product of the lengths.
fn is_match(pattern: &[u8], name: &[u8]) -> bool {
    enum Part {
        Any,
        Segment,
        One,
        Byte(u8),
    }
    let (mut parts, mut rest) = (Vec::new(), pattern);
    while let Some((&first, after)) = rest.split_first() {
        let (part, after) = match (first, after) {
            (b'*', [b'*', after @ ..]) => (Part::Any, after),
            (b'*', after) => (Part::Segment, after),
            (b'?', after) => (Part::One, after),
            (byte, after) => (Part::Byte(byte), after),
        };
        parts.push(part);
        rest = after;
    }
    // Whether each number of parts can match what was read so far.
    let mut reached = vec![false; parts.len() + 1];
    let skip = |reached: &mut Vec<bool>| {
        let mut before = reached.first().copied().unwrap_or(false);
        for (slot, part) in reached.iter_mut().skip(1).zip(&parts) {
            *slot |= before && matches!(part, Part::Any | Part::Segment);
            before = *slot;
        }
    };
    if let Some(first) = reached.first_mut() {
        *first = true;
    }
    skip(&mut reached);
    for &byte in name {
        let mut next = vec![false; reached.len()];
        for (index, part) in parts.iter().enumerate() {
            let [from, after] = [index, index + 1].map(|at| reached.get(at).copied().unwrap_or(false));
            let is_reached = match part {
                // What follows a star stays reached while the star takes the byte.
                Part::Any => after,
                Part::Segment => after && byte != b'/',
                Part::One => from,
                Part::Byte(expected) => from && *expected == byte,
            };
            if let Some(slot) = next.get_mut(index + 1) {
                *slot = is_reached;
            }
        }
        skip(&mut next);
        reached = next;
    }
    reached.last().copied().unwrap_or(false)
}

/// The elements of a list that commas or bars separate, outside of quotes and parentheses.
fn parts(text: &str) -> Vec<&str> {
    let (mut parts, mut start) = (Vec::new(), 0);
    let (mut depth, mut is_quoted, mut is_escaped) = (0_usize, false, false);
    for (at, character) in text.char_indices() {
        match character {
            _ if is_escaped => is_escaped = false,
            '\\' if is_quoted => is_escaped = true,
            '"' => is_quoted = !is_quoted,
            _ if is_quoted => {}
            '(' => depth = depth.saturating_add(1),
            ')' => depth = depth.saturating_sub(1),
            ',' | '|' if depth == 0 => {
                parts.extend(text.get(start..at));
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.extend(text.get(start..));
    parts.into_iter().map(str::trim).filter(|part| !part.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::is_match;

    #[test]
    fn patterns_of_names() {
        for (pattern, name, expected) in [
            ("/layer.*/attn/**", "/layer.0/attn/a/b", true),
            ("/layer.*/b", "/layer.0/a/b", false),
            ("**/b", "/layer.0/a/b", true),
            ("a?c*", "abc", true),
            ("a?c", "ac", false),
            ("*", "", true),
            ("*a*a*a*b", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", false),
        ] {
            assert_eq!(is_match(pattern.as_bytes(), name.as_bytes()), expected, "{pattern} {name}");
        }
    }
}
