//! The scopes of nodes, from names and from the metadata of exporters.

use std::collections::HashMap;

use onnx_ir::{Model, NodeId};

/// Components of a path that count; deeper ones are parts of the last.
const MOST_DEPTH: usize = 24;

/// What PyTorch writes as the scope of a node whose module is not known.
const NO_SCOPE: &str = "_empty_nn_module_stack_from_metadata_hook";

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

/// Puts nodes without a scope, such as those that an optimizer made, into the scope that what is before them and what is after
/// them share. Otherwise they would divide it. `sources` are the nodes that make operands, in topological order.
pub(super) fn adopt(scopes: &mut [Vec<u32>], sources: &[Vec<u32>]) {
    let is_lost: Vec<bool> = scopes.iter().map(Vec::is_empty).collect();
    if !is_lost.contains(&true) || !is_lost.contains(&false) {
        return;
    }
    let join = |shared: &mut Option<Vec<u32>>, other: &[u32]| match shared {
        Some(shared) => {
            let same = shared.iter().zip(other).take_while(|(a, b)| a == b).count();
            shared.truncate(same);
        }
        None => *shared = Some(other.to_vec()),
    };
    let mut after: Vec<Option<Vec<u32>>> = vec![None; scopes.len()];
    for node in (0..scopes.len()).rev() {
        let known = if is_lost[node] { after[node].clone() } else { Some(scopes[node].clone()) };
        let Some(known) = known else { continue };
        for &source in sources[node].iter().filter(|&&source| is_lost[source as usize]) {
            join(&mut after[source as usize], &known);
        }
    }
    let mut before: Vec<Option<Vec<u32>>> = vec![None; scopes.len()];
    for node in (0..scopes.len()).filter(|&node| is_lost[node]) {
        let mut shared = None;
        for &source in &sources[node] {
            match (is_lost[source as usize], &before[source as usize]) {
                (false, _) => join(&mut shared, &scopes[source as usize]),
                (true, Some(known)) => join(&mut shared, known),
                (true, None) => {}
            }
        }
        before[node] = shared;
    }
    for (node, (before, after)) in
        before.into_iter().zip(after).enumerate().filter(|&(node, _)| is_lost[node])
    {
        if let (mut shared @ Some(_), Some(after)) = (before, after) {
            join(&mut shared, &after);
            scopes[node] = shared.unwrap_or_default();
        }
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
    for &part in parts.iter().filter(|part| !part.is_empty() && **part != NO_SCOPE) {
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
    fn nodes_without_a_scope_join_the_one_around_them() {
        let mut scopes =
            vec![vec![], vec![1, 2], vec![], vec![], vec![1, 2], vec![], vec![1, 3], vec![], vec![9], vec![]];
        let sources =
            (0..scopes.len() as u32).map(|node| node.checked_sub(1).into_iter().collect::<Vec<_>>());
        adopt(&mut scopes, &sources.collect::<Vec<_>>());
        // Two in a row; between two layers of one scope; between two scopes; at the ends.
        assert_eq!((scopes[2].as_slice(), scopes[3].as_slice()), ([1, 2].as_slice(), [1, 2].as_slice()));
        assert_eq!(scopes[5], [1]);
        assert!(scopes[0].is_empty() && scopes[7].is_empty() && scopes[9].is_empty());
    }

    #[test]
    fn exporters_write_scopes_in_three_ways() {
        assert_eq!(of_name("/encoder/layer.3/MatMul"), ["encoder", "layer.3"]);
        assert_eq!(of_name("net/block1/conv"), ["net", "block1"]);
        assert!(of_name("Conv_12").is_empty() && of_name("").is_empty() && of_name("///").is_empty());
        assert_eq!(relative(&list("['', 'm', 'm.bert', 'where']")), ["m", "bert"]);
        assert_eq!(relative(&named(": W/m: a.B/m.bert: c.D/where: aten.where")), ["m", "bert"]);
        let unknown = "['', '_empty_nn_module_stack_from_metadata_hook', 'node_Shape_0']";
        assert!(relative(&list(unknown)).is_empty());
        assert!(relative(&list("[]")).is_empty() && relative(&named("")).is_empty());
    }
}
