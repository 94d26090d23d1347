//! Sizes and indices that are computed in `float`.

use onnx_ir::{FunctionId, GraphId, Model, NodeId, ValueId};
use onnx_schema::op;
use onnx_types::{ElemType, Type};

use super::counts;
use super::functions::Types;
use super::slots::Kept;
use super::want::WideReason;
use crate::types::inner_elem;

/// Keeps the nodes that compute positions and counts, and lists of numbers which become integers or sizes: operands of `Resize` and `Range`,
/// numbers of elements. A narrow type has too few bits for them. Returns the values that loops count in.
pub(crate) fn keep(model: &Model, types: &Types, functions: &[FunctionId], kept: &mut Kept) -> Vec<ValueId> {
    let bodies = functions.iter().map(|&function| model.function(function).body());
    let roots: Vec<GraphId> = std::iter::once(model.main_graph()).chain(bodies).collect();
    let is_list = |value: ValueId| {
        let ty = types.get(&value);
        let has_list_rank = |ty: &Type| ty.shape().is_some_and(|shape| shape.rank() <= 1);
        ty.is_some_and(|ty| inner_elem(ty) == Some(ElemType::Float) && has_list_rank(ty))
    };
    let is_exact = |value: ValueId| {
        let elem = types.get(&value).and_then(inner_elem);
        matches!(elem, Some(ElemType::Int32 | ElemType::Int64 | ElemType::Uint32 | ElemType::Uint64))
    };
    let mut open: Vec<ValueId> = Vec::new();
    for node in roots.iter().flat_map(|&root| model.nodes_in(root)) {
        let record = model.node(node);
        if record.is(op::CAST) && record.output(0).is_some_and(is_exact) {
            open.extend(record.input(0));
        }
        // Their operands determine how many elements there are.
        if record.is(op::RANGE) || record.is(op::RESIZE) || record.is(op::UPSAMPLE) {
            let first = usize::from(!record.is(op::RANGE));
            open.extend(record.inputs().skip(first).flatten());
        }
    }
    while let Some(value) = open.pop() {
        let producer: Option<NodeId> = model.value(value).producer();
        let Some(node) = producer.filter(|node| is_list(value) && !kept.contains_key(node)) else { continue };
        kept.insert(node, WideReason::Index);
        open.extend(model.node(node).inputs().flatten());
    }
    counts::keep(model, types, &roots, kept)
}
