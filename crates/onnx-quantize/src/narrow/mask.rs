//! Constants that say "minus infinity".
//!
//! What is as large as 1e30 says so wherever it is. A smaller number, such as -1e9 or -70000, does if it is added to scores, or chosen in their
//! place, of which the largest ones count; in a bias it is a number, and another one would be wrong.

use onnx_ir::{Model, NodeId, ValueId};
use onnx_schema::traits::newest;
use onnx_schema::{Traits, op};
use onnx_types::Symbol;

use super::ConstantLosses;
use crate::activations::RuntimeView;

/// Numbers from here on are not results of a computation.
pub(super) const LIMIT: f32 = 1e30;

/// Operators that pass on what is too small for a score.
const PASSING: [Symbol; 17] = [
    op::ADD,
    op::SUB,
    op::MUL,
    op::DIV,
    op::SUM,
    op::WHERE,
    op::MIN,
    op::MAX,
    op::CLIP,
    op::CAST,
    op::CAST_LIKE,
    op::DROPOUT,
    op::EXPAND,
    op::IDENTITY,
    op::NEG,
    op::QUANTIZE_LINEAR,
    op::DEQUANTIZE_LINEAR,
];

/// Operators to which a number that is small enough does not count.
const CHOOSING: [Symbol; 10] = [
    op::SOFTMAX,
    op::LOG_SOFTMAX,
    op::HARDMAX,
    op::EXP,
    op::SIGMOID,
    op::ARG_MAX,
    op::TOP_K,
    op::REDUCE_MAX,
    op::REDUCE_LOG_SUM_EXP,
    op::ATTENTION,
];

/// Lets the constants that no choice follows be numbers.
pub(super) fn confirm(model: &Model, losses: &mut ConstantLosses) {
    let open: Vec<ValueId> = losses
        .iter()
        .filter(|(_, losses)| losses.is_mask && losses.worst.is_some_and(|worst| worst.abs() < LIMIT))
        .map(|(&value, _)| value)
        .collect();
    if open.is_empty() {
        return;
    }
    let view = RuntimeView::of(model);
    for value in open {
        let is_chosen = view.users(model, value, passes).iter().any(|place| chooses(model, place.node));
        if let Some(losses) = losses.get_mut(&value) {
            losses.is_mask = is_chosen;
        }
    }
}

fn passes(model: &Model, node: NodeId, _: usize) -> bool {
    let record = model.node(node);
    let moves = || newest(record.op()).is_some_and(Traits::keeps_elements);
    record.domain().is_empty() && (PASSING.contains(&record.op()) || moves())
}

fn chooses(model: &Model, node: NodeId) -> bool {
    let record = model.node(node);
    match record.domain().is_empty() {
        true => CHOOSING.contains(&record.op()),
        // Operators of runtimes have masks of scores.
        false => ["Attention", "Softmax"].into_iter().any(|name| model.str(record.op()).contains(name)),
    }
}
