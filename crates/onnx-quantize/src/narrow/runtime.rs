//! Scales that stay `float` because onnxruntime would not load, or not compute, what it makes of their pairs.
//!
//! Its operator for a `Concat` between pairs takes scales of `float` only. Of a product with a quantized constant in a nested graph, it
//! makes one whose narrow scales are zero. Both were found in version 1.32.

use std::collections::HashSet;

use foldhash::fast::RandomState;
use onnx_ir::{Model, NodeId, ValueId};
use onnx_schema::op;

use super::slots::Kept;
use super::want::WideReason;
use crate::activations::moves_elements;

type Nodes = HashSet<NodeId, RandomState>;
type Values = HashSet<ValueId, RandomState>;

/// Keeps the pairs around concatenations, and the dequantized constants of products in nested graphs.
pub(super) fn keep(model: &Model, kept: &mut Kept) {
    // A function may be called in a nested graph.
    let has_nested = model.all_graphs().any(|graph| model.parent(graph).is_some());
    let mut found = Nodes::default();
    for graph in model.all_graphs() {
        let is_nested = has_nested && graph != model.main_graph();
        for node in model.nodes(graph) {
            let record = model.node(node);
            if !record.domain().is_empty() {
                continue;
            }
            if record.is(op::CONCAT) {
                found.extend(concatenation(model, node).unwrap_or_default());
            } else if is_nested && record.is(op::DEQUANTIZE_LINEAR) {
                let is_constant = record.input(0).is_some_and(|value| is_stored(model, value));
                let is_multiplied = || record.output(0).is_some_and(|value| is_multiplied(model, value));
                found.extend((is_constant && is_multiplied()).then_some(node));
            }
        }
    }
    found.into_iter().for_each(|node| _ = kept.entry(node).or_insert(WideReason::Runtime));
}

/// The pairs around a `Concat`, with what moves elements between; `None` if not all operands and at least one user have pairs.
fn concatenation(model: &Model, node: NodeId) -> Option<Nodes> {
    let mut found = Nodes::default();
    found.insert(node);
    for operand in model.node(node).inputs().flatten() {
        let mut value = operand;
        loop {
            let maker = model.value(value).producer()?;
            let is_known = !found.insert(maker);
            if is_known || model.node(maker).is(op::DEQUANTIZE_LINEAR) {
                break;
            }
            value = model.node(maker).input(0).filter(|_| moves_elements(model.node(maker)))?;
        }
    }
    let before = found.len();
    let mut open = vec![model.node(node).output(0)?];
    let mut seen = Values::default();
    while let Some(value) = open.pop() {
        if !seen.insert(value) {
            continue;
        }
        for (user, _) in model.node_uses(value).into_iter().filter(|&(_, index)| index == 0) {
            if model.node(user).is(op::QUANTIZE_LINEAR) {
                // The nodes on the way to it.
                let mut at = Some(user);
                while let Some(maker) = at.filter(|&maker| maker != node && found.insert(maker)) {
                    at = model.input_producer(maker, 0);
                }
            } else if moves_elements(model.node(user)) {
                open.extend(model.node(user).output(0));
            }
        }
    }
    (found.len() > before).then_some(found)
}

/// Whether a value, or one that has its elements, is an operand of a product.
fn is_multiplied(model: &Model, value: ValueId) -> bool {
    let (mut open, mut seen) = (vec![value], Values::default());
    while let Some(value) = open.pop() {
        if !seen.insert(value) {
            continue;
        }
        for user in model.consumers(value) {
            let record = model.node(user);
            if record.is(op::MAT_MUL) || record.is(op::GEMM) {
                return true;
            }
            open.extend(record.output(0).filter(|_| moves_elements(model.node(user))));
        }
    }
    false
}

/// Whether a value is an initializer or the result of a `Constant`.
fn is_stored(model: &Model, value: ValueId) -> bool {
    model.constant_tensor(value).is_some() || model.value(value).initializer().is_some()
}
