//! Nodes that are not known to keep the rows of a freed size apart.
//!
//! A run shows the rows of some inputs only. If every node keeps the elements at different indices of a freed axis apart, this
//! holds for all inputs and sizes; the nodes for which it is not known are reported.

use onnx_ir::{Model, NodeId, User, ValueId};
use onnx_schema::{Registry, op};
use onnx_types::Dim;
use slotmap::SecondaryMap;

use super::FixedSize;
use super::mixing::{Along, along};
use super::reshape::Spot;
use super::verdict::Freed;

/// The nodes, each with a reason, that are not known to keep rows apart.
pub(super) fn unproved(model: &Model, freed: &Freed<'_>) -> Vec<String> {
    let rows = RowAnalysis { model, freed, sizes: elements_of_sizes(model, freed) };
    let nodes: Vec<NodeId> = model.nodes_in(model.main_graph()).collect();
    let reasons = nodes.into_iter().filter_map(|node| Some((node, rows.reason(node)?)));
    reasons.map(|(node, reason)| FixedSize::at(model, node, reason).to_string()).collect()
}

struct RowAnalysis<'a> {
    model: &'a Model,
    freed: &'a Freed<'a>,
    /// The values whose elements depend on the freed size.
    sizes: SecondaryMap<ValueId, ()>,
}

impl RowAnalysis<'_> {
    fn axes(&self, value: ValueId) -> Vec<usize> {
        self.freed.constants.axes(self.freed.after, value)
    }

    /// Why a node is not known to keep rows apart.
    fn reason(&self, node: NodeId) -> Option<String> {
        let record = self.model.node(node);
        let operands: Vec<(usize, ValueId)> = (0..record.input_count())
            .filter_map(|index| Some((index, record.input(index)?)))
            .filter(|&(_, value)| self.freed.dependent.contains_key(value))
            .collect();
        if let Some(reason) = self.uses_size(node) {
            return Some(reason);
        }
        for &(index, value) in &operands {
            if self.freed.after.shape(value).is_none() {
                return Some("has an operand whose rank is not known".to_owned());
            }
            for axis in self.axes(value) {
                match along(self.model, self.freed.after, node, index, axis) {
                    Along::Separate => {}
                    Along::Combined => return Some(format!("combines the elements along axis {axis}")),
                    Along::Unknown => {
                        return Some(format!("is not known to keep the elements along axis {axis} apart"));
                    }
                }
            }
        }
        if record.is(op::RESHAPE)
            && self.freed.constants.keeps_position(self.model, self.freed.after, node) != Some(true)
        {
            return Some("is not known to keep the freed size at the same elements".to_owned());
        }
        if !self.is_aligned(&operands) {
            return Some("has operands in which the freed size may be in another order".to_owned());
        }
        let is_created = !operands.iter().any(|&(_, value)| !self.axes(value).is_empty());
        let outputs = record.outputs().iter().flatten();
        outputs.copied().find_map(|output| self.of_output(node, output, is_created))
    }

    /// Why the result of a node is not known to have a row for each row of the operands.
    fn of_output(&self, node: NodeId, output: ValueId, is_created: bool) -> Option<String> {
        let axes = self.axes(output);
        // The first node is reported, not those behind it.
        let mut operands = self.model.node(node).inputs().flatten();
        if self.has_other_size(output) && !operands.any(|operand| self.has_other_size(operand)) {
            return Some("has a result whose size is not a multiple of the freed one".to_owned());
        }
        match axes[..] {
            [] => None,
            [axis] if is_created && !self.repeats(node, axis) => {
                Some(format!("makes elements along axis {axis} that depend on their index"))
            }
            [_] => None,
            _ => Some("has the freed size on several axes of its result".to_owned()),
        }
    }

    /// Whether an axis depends on the freed size and is not a multiple of it.
    fn has_other_size(&self, value: ValueId) -> bool {
        let dims = self.freed.after.shape(value).unwrap_or_default();
        let is_other = |&dim: &Dim| {
            self.freed.has_variable(dim) && self.freed.constants.factor(self.freed.after, dim).is_none()
        };
        dims.iter().any(is_other)
    }

    /// Whether a node without rows in its operands makes equal elements along an axis.
    fn repeats(&self, node: NodeId, axis: usize) -> bool {
        let record = self.model.node(node);
        match record.op() {
            op::EXPAND | op::CONSTANT_OF_SHAPE | op::IF => true,
            op::TILE => {
                let data = record.input(0).and_then(|data| self.freed.after.shape(data));
                data.and_then(|dims| dims.get(axis)).is_some_and(|dim| dim.known() == Some(1))
            }
            _ => false,
        }
    }

    /// Whether the freed size is in the same order on the common axes of operands: a multiple of it can be its rows, each with
    /// several elements, or several times all rows.
    fn is_aligned(&self, operands: &[(usize, ValueId)]) -> bool {
        let spots = |value: ValueId| self.freed.constants.spots(self.freed.after, value);
        let rank = |value: ValueId| self.freed.after.shape(value).map_or(0, <[Dim]>::len);
        let mut known: Vec<(usize, Spot)> = Vec::new();
        let with_axes: Vec<ValueId> =
            operands.iter().map(|&(_, value)| value).filter(|&value| !self.axes(value).is_empty()).collect();
        if with_axes.len() < 2 {
            return true;
        }
        for value in with_axes {
            let found = spots(value);
            if found.len() != self.axes(value).len() {
                return false;
            }
            known.extend(found.into_iter().map(|spot| (rank(value).saturating_sub(spot.axis), spot)));
        }
        let is_alike = |a: &Spot, b: &Spot| (a.outer, a.inner) == (b.outer, b.inner);
        known.iter().all(|(at, spot)| known.iter().all(|(other, twin)| other != at || is_alike(spot, twin)))
    }

    /// Why the elements of a result depend on the freed size.
    fn uses_size(&self, node: NodeId) -> Option<String> {
        let record = self.model.node(node);
        let uses = (0..record.input_count()).any(|index| {
            record.input(index).is_some_and(|value| self.sizes.contains_key(value))
                && !is_size_operand(self.model, node, index)
        });
        if !uses {
            return None;
        }
        let has_rows = |&value: &ValueId| !self.axes(value).is_empty() || is_output(self.model, value);
        let is_data = record.outputs().iter().flatten().any(has_rows);
        let controls = record.nested_graphs().next().is_some();
        (is_data || controls).then(|| "computes with the freed size as a number".to_owned())
    }
}

/// Whether a value is an output of the main graph.
fn is_output(model: &Model, value: ValueId) -> bool {
    let is_main = |user: User| matches!(user, User::Graph(graph) if graph == model.main_graph());
    model.value(value).uses().iter().any(|used| is_main(used.user))
}

/// Whether an operand of a standard operator is a shape, or sizes and indices that only choose elements: inference concludes the
/// sizes of the result.
fn is_size_operand(model: &Model, node: NodeId, index: usize) -> bool {
    if model.callee(node, Registry::STANDARD).standard().is_none() {
        return false;
    }
    matches!(
        (model.node(node).op(), index),
        (op::RESHAPE | op::EXPAND | op::TILE | op::UPSAMPLE | op::SPLIT | op::PAD, 1)
            | (op::CONSTANT_OF_SHAPE, 0)
            | (op::RESIZE, 2 | 3)
            | (op::SLICE, 1..)
    )
}

/// The values whose elements depend on the freed size, as far as they are computed without rows: sizes, and what is computed from
/// them.
fn elements_of_sizes(model: &Model, freed: &Freed<'_>) -> SecondaryMap<ValueId, ()> {
    let mut found: SecondaryMap<ValueId, ()> = SecondaryMap::new();
    let mut open: Vec<ValueId> = Vec::new();
    for node in model.nodes_in(model.main_graph()) {
        let record = model.node(node);
        let is_freed = |value: ValueId| {
            let dims = freed.after.shape(value);
            dims.is_none_or(|dims| dims.iter().any(|&dim| freed.has_variable(dim)))
        };
        if (record.is(op::SHAPE) || record.is(op::SIZE))
            && record.input(0).is_some_and(|data| freed.dependent.contains_key(data) && is_freed(data))
        {
            open.extend(record.output(0));
        }
    }
    while let Some(value) = open.pop() {
        let content = freed.after.content(value);
        let is_free = content.is_some_and(|all| {
            all.iter().all(|&elem| !freed.has_variable(onnx_shape_infer::Elem::dim(elem)))
        });
        if is_free || found.insert(value, ()).is_some() {
            continue;
        }
        for used in model.value(value).uses() {
            let User::Node(node) = used.user else { continue };
            // A result with rows is reported where it is computed, and not again behind that.
            let outputs = model.node(node).outputs().iter().flatten().copied();
            let without_rows = outputs.filter(|&output| freed.constants.axes(freed.after, output).is_empty());
            if !is_size_operand(model, node, used.index as usize) {
                open.extend(without_rows);
            }
        }
    }
    found
}
