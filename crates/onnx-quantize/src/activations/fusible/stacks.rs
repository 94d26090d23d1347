//! Products with another number of axes than two, and the sums behind them.

use std::collections::HashSet;

use foldhash::fast::RandomState;
use onnx_ir::{Model, NodeId, ValueId};
use onnx_schema::op;

use super::held::Held;
use super::repeat::is_repeated_behind;
use super::runtime_view::{Place, RuntimeView, dequantized_before, is_outside};
use crate::edits::nodes_outside_functions;

/// What keeps onnxruntime from making `Gemm` of the product and the sum, next to a pair: a row for the bias, or where functions would have to
/// be changed for it, a `Sum` in front of a call.
pub(super) fn find(model: &Model, view: &RuntimeView) -> Vec<Held> {
    let (mut found, mut inner) = (Vec::new(), HashSet::<NodeId, RandomState>::default());
    for node in model.all_graphs().flat_map(|graph| model.nodes(graph)) {
        if !is_stack(model, view, node) {
            continue;
        }
        for (place, bias) in view.sums_behind(model, node) {
            let Some(quantizers) = next_quantizers(model, view, node, (place, bias)) else { continue };
            if is_outside(model, place.node) {
                found.push(separated(model, view, node, (place.node, bias)));
            } else if let Some((call, index)) = place.entry {
                found.push(Held::Operand(call, index));
            } else {
                inner.insert(node);
                found.extend(quantizers.into_iter().map(|quantize| Held::Operand(quantize, 0)));
            }
        }
    }
    if !inner.is_empty() {
        found.extend(entries(model, view, &inner));
    }
    found
}

/// What keeps onnxruntime from joining a product and the sum behind it: a row for the bias. With that, the sum of a vector would be a row, so a
/// `Sum` is between.
pub(super) fn separated(
    model: &Model,
    view: &RuntimeView,
    product: NodeId,
    (sum, bias): (NodeId, usize),
) -> Held {
    let rank = model.node(product).input(0).and_then(|value| view.rank(model, value));
    match 1_usize.checked_sub(bias) {
        Some(index) if rank == Some(1) => Held::Operand(sum, index),
        _ => Held::Bias(sum, bias),
    }
}

/// Whether a product has a matrix as second operand only. What a function computes has them if it is not known.
fn is_stack(model: &Model, view: &RuntimeView, node: NodeId) -> bool {
    let record = model.node(node);
    let (Some(a), Some(b)) = (record.input(0), record.input(1)) else { return false };
    if !record.is(op::MAT_MUL) {
        return false;
    }
    let is_open = !is_outside(model, node);
    let rank = |value| view.rank(model, value);
    rank(b).map_or(is_open, |rank| rank == 2) && rank(a).map_or(is_open, |rank| rank != 2)
}

/// The `QuantizeLinear` nodes behind a sum; `None` if the sum does not add a vector, or no pair is next to it and the product.
fn next_quantizers(
    model: &Model,
    view: &RuntimeView,
    product: NodeId,
    (place, bias): (Place, usize),
) -> Option<Vec<NodeId>> {
    let record = model.node(place.node);
    let rank = view.rank(model, record.input(bias)?);
    let is_vector = rank.map_or(!is_outside(model, place.node), |rank| rank == 1);
    let quantizers = quantizers_behind(model, view, record.output(0)?);
    let is_next = || dequantized_before(model, model.node(product).input(0)?).then_some(());
    (is_vector && (!quantizers.is_empty() || is_next().is_some())).then_some(quantizers)
}

/// The `QuantizeLinear` nodes that use a value, also behind operators that move elements.
fn quantizers_behind(model: &Model, view: &RuntimeView, value: ValueId) -> Vec<NodeId> {
    let users = moved_users(model, view, value).into_iter();
    let quantizers = users.filter(|place| place.index == 0 && model.node(place.node).is(op::QUANTIZE_LINEAR));
    quantizers.map(|place| place.node).filter(|&node| is_outside(model, node)).collect()
}

/// The nodes that use a value, also behind operators that move elements.
fn moved_users(model: &Model, view: &RuntimeView, value: ValueId) -> Vec<Place> {
    view.users(model, value, |model, node, index| {
        index == 0 && is_repeated_behind(model.node(node)) || view.is_same(model, node, index)
    })
}

/// The calls by which the numbers of pairs come to products in functions.
fn entries(model: &Model, view: &RuntimeView, products: &HashSet<NodeId, RandomState>) -> Vec<Held> {
    let mut found = Vec::new();
    for node in nodes_outside_functions(model) {
        let record = model.node(node);
        let Some(value) = record.output(0).filter(|_| record.is(op::DEQUANTIZE_LINEAR)) else { continue };
        let users = moved_users(model, view, value).into_iter();
        let taken = users.filter(|place| place.index == 0 && products.contains(&place.node));
        found.extend(taken.filter_map(|place| place.entry).map(|(call, index)| Held::Operand(call, index)));
    }
    found
}
