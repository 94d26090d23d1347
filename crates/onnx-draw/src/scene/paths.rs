//! The scopes of nodes, from names and from the metadata of exporters.

use std::collections::HashMap;

use onnx_ir::{Model, NodeId};

/// Components of a path that count; deeper ones are parts of the last.
const MOST_DEPTH: usize = 24;

/// The scopes of nodes, as numbers of components.
#[derive(Default)]
pub(super) struct Paths<'a> {
    numbers: HashMap<&'a str, u32>,
    /// The text of each component.
    pub(super) texts: Vec<&'a str>,
}

impl<'a> Paths<'a> {
    /// The scope of a node, from the outside in.
    pub(super) fn of(&mut self, model: &'a Model, node: NodeId) -> Vec<u32> {
        let record = model.node(node);
        let metadata = record.metadata().iter().map(|entry| (model.str(entry.key()), entry.value()));
        let (mut scopes, mut namespace) = (None, None);
        for (key, value) in metadata {
            match key {
                "pkg.torch.onnx.name_scopes" => scopes = Some(list(value)),
                "namespace" => namespace = Some(named(value)),
                _ => {}
            }
        }
        let parts = match scopes.or(namespace) {
            Some(parts) => relative(&parts),
            None => of_name(model.str(record.name())),
        };
        parts.into_iter().take(MOST_DEPTH).map(|part| self.number(part)).collect()
    }

    /// The number of a component.
    pub(super) fn number(&mut self, text: &'a str) -> u32 {
        *self.numbers.entry(text).or_insert_with(|| {
            self.texts.push(text);
            u32::try_from(self.texts.len() - 1).unwrap_or(u32::MAX)
        })
    }
}

/// `/encoder/layer.3/MatMul`: all but the last component.
fn of_name(name: &str) -> Vec<&str> {
    let mut parts: Vec<&str> = name.split('/').filter(|part| !part.is_empty()).take(MOST_DEPTH + 1).collect();
    parts.pop();
    parts
}

/// `['', 'm', 'm.bert', 'where']`: a list of the language Python, without the last element, which is the node itself.
fn list(text: &str) -> Vec<&str> {
    let mut parts: Vec<&str> = text
        .trim_matches(['[', ']', ' '])
        .split(", ")
        .map(|part| part.trim_matches(['\'', '"']))
        .take(MOST_DEPTH + 1)
        .collect();
    parts.pop();
    parts
}

/// `: Model/m: Bert/m.bert: BertModel/where: aten.where`: names and classes, without the last.
fn named(text: &str) -> Vec<&str> {
    let mut parts: Vec<&str> = text
        .split('/')
        .map(|part| part.split_once(": ").map_or(part, |(name, _)| name))
        .take(MOST_DEPTH + 1)
        .collect();
    parts.pop();
    parts
}

/// Names of modules without those of the modules around them: `m.bert` in `m` is `bert`.
fn relative<'a>(parts: &[&'a str]) -> Vec<&'a str> {
    let mut outer = "";
    let mut found = Vec::new();
    for &part in parts.iter().filter(|part| !part.is_empty()) {
        let inner = part.strip_prefix(outer).and_then(|rest| rest.strip_prefix('.'));
        found.push(inner.filter(|inner| !outer.is_empty() && !inner.is_empty()).unwrap_or(part));
        outer = part;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exporters_write_scopes_in_three_ways() {
        assert_eq!(of_name("/encoder/layer.3/MatMul"), ["encoder", "layer.3"]);
        assert_eq!(of_name("net/block1/conv"), ["net", "block1"]);
        assert!(of_name("Conv_12").is_empty() && of_name("").is_empty() && of_name("///").is_empty());
        assert_eq!(relative(&list("['', 'm', 'm.bert', 'where']")), ["m", "bert"]);
        assert_eq!(relative(&named(": W/m: a.B/m.bert: c.D/where: aten.where")), ["m", "bert"]);
        assert!(relative(&list("[]")).is_empty() && relative(&named("")).is_empty());
    }
}
