//! Operands that are shapes: the results depend on them only as far as their own shapes do.

use onnx_ir::NodeId;
use onnx_schema::{attr, op};

use super::attributes::Attributes;
use super::separate::{Class, RowAnalysis};
use super::slices;

/// Whether a node uses the freed size for the shapes of its results only.
///
/// This holds for operands of which nothing is left once the shapes of the data and of all results are known. It does not hold for
/// those that choose elements, such as the starts of a `Slice`, the amounts of a `Pad` or the scales of a `Resize`: results of the
/// same shape can have other elements.
pub(super) fn are_shapes(rows: &RowAnalysis<'_>, node: NodeId) -> bool {
    let Some(attributes) = Attributes::of(rows.model, node) else { return false };
    let record = rows.model.node(node);
    if onnx_schema::normalize_domain(record.domain()) != onnx_schema::domain::ONNX {
        return false;
    }
    let is_of_size =
        |index: usize| record.input(index).is_some_and(|value| rows.class(value) == Class::OfSize);
    let mut indices = (0..record.input_count()).filter(|&index| is_of_size(index));
    match record.op() {
        op::RESHAPE | op::EXPAND => indices.all(|index| index == 1),
        op::TILE => attributes.since() >= 6 && indices.all(|index| index == 1),
        // Each result starts where the one before it ends.
        op::SPLIT => indices.all(|index| index == 1) && record.outputs().iter().all(Option::is_some),
        op::CONSTANT_OF_SHAPE => indices.all(|index| index == 0),
        op::RESIZE => {
            // Other policies compute scales from several sizes.
            attributes.text(attr::KEEP_ASPECT_RATIO_POLICY).is_none_or(|policy| policy == "stretch")
                && indices.all(|index| index == 3)
        }
        op::SLICE => {
            indices.all(|index| index == 1 || index == 2) && takes_whole_axes(rows, node, attributes)
        }
        _ => false,
    }
}

/// Whether the parts of a `Slice` that depend on the freed size are whole axes.
fn takes_whole_axes(rows: &RowAnalysis<'_>, node: NodeId, attributes: Attributes<'_>) -> bool {
    let (record, after) = (rows.model.node(node), rows.freed.after);
    let shape = |value: Option<onnx_ir::ValueId>| value.and_then(|value| after.shape(value));
    let parts = slices::parts(rows.model, after, record, attributes);
    let (Some(parts), Some(before), Some(result)) = (parts, shape(record.input(0)), shape(record.output(0)))
    else {
        return false;
    };
    let is_fixed = |operand: usize, index: usize| {
        let value = record.input(operand);
        let is_independent = |value| {
            after
                .content(value)
                .and_then(|all| all.get(index).copied())
                .is_some_and(|elem| rows.is_independent(elem.dim()))
        };
        value.is_some_and(|value| rows.class(value) == Class::Fixed || is_independent(value))
    };
    parts.iter().enumerate().all(|(index, part)| {
        let dims = (before.get(part.axis), result.get(part.axis));
        let is_whole =
            part.is_from_start() && dims.0 == dims.1 && dims.0.is_some_and(|dim| !dim.is_unknown());
        is_whole || [1, 2].iter().all(|&operand| is_fixed(operand, index))
    })
}
