//! Nodes that belong together whatever is around them, because of the weights that they read.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use onnx_ir::{NodeId, ValueId};

use super::side::Side;
use crate::hash::{Digest, Message};

/// The least number of elements of a weight that says which node reads it: scales of one element, for example, are often equal.
const LEAST: u64 = 8;

/// The nodes of the main graphs that are the only ones of their models with an operator and the elements of its weights.
pub(super) fn anchors(a: &Side<'_>, b: &Side<'_>) -> Vec<(NodeId, NodeId)> {
    let (one, two) = (unique(a), unique(b));
    let pairs = one.iter().filter_map(|(key, node)| Some(((*node)?, (*two.get(key)?)?)));
    let mut pairs: Vec<(NodeId, NodeId)> = pairs.collect();
    // In the order of the first model, not in that of the table.
    pairs.sort_unstable();
    pairs
}

/// The nodes by their keys; `None` where several have one.
fn unique(side: &Side<'_>) -> HashMap<Digest, Option<NodeId>, RandomState> {
    let mut found = HashMap::default();
    let mut message = Message::new();
    for node in side.model.nodes(side.model.main_graph()) {
        if let Some(key) = key(side, node, &mut message) {
            found.entry(key).and_modify(|entry| *entry = None).or_insert(Some(node));
        }
    }
    found
}

/// The operator of a node with its weights; `None` if no weight says which node it is, or if no elements were read.
fn key(side: &Side<'_>, node: NodeId, message: &mut Message) -> Option<Digest> {
    let contents = side.colors.first().filter(|_| side.contents.is_some())?;
    let record = side.model.node(node);
    message.begin("anchor").digest(*side.operators.get(node)?).count(record.input_count());
    let mut is_known = false;
    for value in record.inputs() {
        match value.and_then(|value| Some((value, contents.constants.get(value)?))) {
            Some((value, digest)) => {
                is_known |= has_elements(side, value);
                message.byte(1).digest(*digest);
            }
            None => _ = message.byte(u8::from(value.is_some()).saturating_mul(2)),
        }
    }
    is_known.then(|| message.finish())
}

fn has_elements(side: &Side<'_>, value: ValueId) -> bool {
    let tensor = side.model.constant_tensor(value);
    tensor.and_then(|tensor| tensor.element_count()).is_some_and(|count| count >= LEAST)
}
