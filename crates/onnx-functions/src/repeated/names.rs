//! Names of outlined functions and of their calls, from the scopes in the names of nodes.

use std::collections::{HashMap, HashSet};

use foldhash::fast::RandomState;
use onnx_ir::{Model, NodeId};
use onnx_types::Symbol;

/// Number of bytes of the name of a function that are taken from names of nodes.
const MAX_NAME: usize = 48;

/// The scope that the names of nodes have in common: `/encoder/layer.0` for nodes of which each is in it. Nodes without a name
/// do not count.
pub(super) fn scope(model: &Model, nodes: &[NodeId]) -> String {
    let mut names =
        nodes.iter().map(|&node| model.str(model.node(node).name())).filter(|name| !name.is_empty());
    let Some(first) = names.next() else { return String::new() };
    let mut common = first.rsplit_once('/').map_or("", |(scope, _)| scope);
    for name in names {
        while !(name.starts_with(common)
            && name.get(common.len()..).is_some_and(|rest| rest.starts_with('/')))
        {
            match common.rsplit_once('/') {
                Some((outer, _)) => common = outer,
                None => return String::new(),
            }
        }
    }
    common.to_owned()
}

/// The name of the function for nodes in a scope: its words without numbers, such as `encoder_layer`.
pub(super) fn function_name(scope: &str) -> String {
    let words = scope.split(|c: char| !c.is_ascii_alphabetic()).filter(|word| !word.is_empty());
    let mut name = String::new();
    for word in words {
        if name.len() + word.len() >= MAX_NAME {
            break;
        }
        if !name.is_empty() {
            name.push('_');
        }
        name.push_str(word);
    }
    if name.is_empty() { "Block".to_owned() } else { name }
}

/// The names of the nodes of a model. A name of two nodes is valid, but onnxruntime refuses it.
pub(super) struct NodeNames {
    taken: HashSet<Symbol, RandomState>,
    /// The last number that was tried after a name.
    counters: HashMap<Symbol, u64, RandomState>,
}

impl NodeNames {
    pub(super) fn new(model: &Model) -> Self {
        let nodes = model.all_graphs().flat_map(|graph| model.nodes(graph));
        Self { taken: nodes.map(|node| model.node(node).name()).collect(), counters: HashMap::default() }
    }

    /// A name like `base` that no other node has; the empty name if `base` is empty.
    pub(super) fn free(&mut self, model: &mut Model, base: &str) -> Symbol {
        let like = model.intern(base);
        if like.is_empty() || self.taken.insert(like) {
            return like;
        }
        loop {
            let counter = self.counters.entry(like).or_default();
            *counter += 1;
            let name = model.intern(&format!("{base}_{counter}"));
            if self.taken.insert(name) {
                return name;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::function_name;

    #[test]
    fn names_of_functions_have_no_numbers() {
        let check = |scope: &str, expected: &str| assert_eq!(function_name(scope), expected, "{scope}");
        check("/bert/encoder/layer.11", "bert_encoder_layer");
        check("", "Block");
        check("/1/2", "Block");
    }
}
