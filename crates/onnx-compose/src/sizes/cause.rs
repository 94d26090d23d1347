//! The constants, weights and inputs that fix a size. A model that was simplified for a fixed size has it in such constants, and
//! every node behind them is a consequence.

use std::collections::{HashMap, VecDeque};

use onnx_ir::{Model, NodeId, ValueId};
use onnx_schema::op;
use onnx_schema::traits::Elements;
use onnx_types::tensor::Tensor;
use onnx_types::{Dim, ElemType};
use slotmap::SecondaryMap;

use super::FixedSize;
use super::attributes::Attributes;
use super::mixing::{self, Along};
use super::verdict::Freed;

/// Values that are examined for one reason.
const MAX_EXAMINED: usize = 256;

/// Elements of a constant that can be sizes.
const MAX_SIZES: usize = 64;

/// Of nodes of one operator with the same reason the first one, with the number of the others: the layers of a model have the same
/// reasons.
fn once_for_each_kind(model: &Model, fixed: Vec<FixedSize>) -> Vec<FixedSize> {
    let mut kinds: Vec<(FixedSize, usize)> = Vec::new();
    let mut first: HashMap<_, usize> = HashMap::new();
    for reason in fixed {
        if let Some(node) = reason.node {
            let record = model.node(node);
            let at =
                *first.entry((record.domain(), record.op(), reason.reason.clone())).or_insert(kinds.len());
            if let Some((_, others)) = kinds.get_mut(at) {
                *others += 1;
                continue;
            }
        }
        kinds.push((reason, 0));
    }
    let told = |(mut reason, others): (FixedSize, usize)| {
        if others > 0 {
            let noun = if others == 1 { "node" } else { "nodes" };
            reason.reason.push_str(&format!(" (and {others} other {noun} of the operator)"));
        }
        reason
    };
    kinds.into_iter().map(told).collect()
}

/// Of the reasons at nodes those that are not behind another one, and of several at one node the one that inference did not find:
/// it names the operand. What is left out follows from what is kept.
fn first_of_each_chain(model: &Model, failing: &[NodeId], rest: Vec<FixedSize>) -> Vec<FixedSize> {
    let all: SecondaryMap<NodeId, ()> = failing.iter().map(|&node| (node, ())).collect();
    let own: SecondaryMap<NodeId, ()> = rest
        .iter()
        .filter(|reason| reason.rule.is_none())
        .filter_map(|reason| Some((reason.node?, ())))
        .collect();
    let is_kept = |reason: &FixedSize| {
        let Some(node) = reason.node else { return true };
        let is_named = reason.rule.is_some() && own.contains_key(node);
        !is_named && !is_behind(model, node, &all)
    };
    rest.into_iter().filter(is_kept).collect()
}

/// Returns `true` if a node depends on another one of a set, as far as that is examined.
fn is_behind(model: &Model, node: NodeId, others: &SecondaryMap<NodeId, ()>) -> bool {
    let producers = |node: NodeId| {
        model
            .node(node)
            .inputs()
            .flatten()
            .filter_map(|value| model.value(value).producer())
            .collect::<Vec<_>>()
    };
    let mut seen: SecondaryMap<NodeId, ()> = SecondaryMap::new();
    let mut open: VecDeque<NodeId> = producers(node).into();
    while let Some(before) = open.pop_front() {
        if others.contains_key(before) && before != node {
            return true;
        }
        if seen.insert(before, ()).is_none() && seen.len() <= MAX_EXAMINED {
            open.extend(producers(before));
        }
    }
    false
}

impl Freed<'_> {
    /// Puts the constants that fix the size in front of the nodes that they fix, once each, and leaves out what follows from them.
    pub(super) fn with_causes(&self, model: &Model, fixed: Vec<FixedSize>) -> Vec<FixedSize> {
        let mut caused: Vec<(FixedSize, usize)> = Vec::new();
        let mut place: SecondaryMap<ValueId, usize> = SecondaryMap::new();
        let mut rest = Vec::new();
        let found: Vec<_> = fixed.iter().map(|reason| self.constant_behind(model, reason)).collect();
        let failing: Vec<NodeId> = fixed.iter().filter_map(|reason| reason.node).collect();
        let has_cause =
            fixed.iter().zip(&found).any(|(reason, cause)| reason.node.is_some() && cause.is_some());
        for (reason, cause) in fixed.into_iter().zip(found) {
            // An output without the size is what every reason at a node leads to.
            if has_cause && reason.value.is_some() && reason.node.is_none() {
                continue;
            }
            let Some((constant, text)) = cause else {
                rest.push(reason);
                continue;
            };
            let known = place.get(constant).and_then(|&index| caused.get_mut(index));
            if let Some((first, others)) = known {
                *others += usize::from(first.node != reason.node);
                continue;
            }
            place.insert(constant, caused.len());
            let message = format!("{text}, and {reason}");
            let cause = FixedSize { node: reason.node, ..FixedSize::of_value(model, constant, message) };
            caused.push((cause, 0));
        }
        let named = caused.into_iter().map(|(mut cause, others)| {
            if others > 0 {
                cause.reason.push_str(&format!(
                    " (and {others} other {})",
                    if others == 1 { "node" } else { "nodes" }
                ));
            }
            cause
        });
        named.chain(once_for_each_kind(model, first_of_each_chain(model, &failing, rest))).collect()
    }

    /// The nearest constant or input that has the old size, behind the operands that do not have the new one.
    fn constant_behind(&self, model: &Model, reason: &FixedSize) -> Option<(ValueId, String)> {
        if reason.is_of_operator {
            return None;
        }
        let failing = reason.node.or_else(|| model.value(reason.value?).producer())?;
        let mut seen: SecondaryMap<ValueId, ()> = SecondaryMap::new();
        let mut open: VecDeque<Operand> = operands(model, failing, self.met_axis(model, failing)).collect();
        let (mut multiple, mut examined) = (None, 0);
        while let Some(operand) = open.pop_front() {
            let value = operand.value;
            if self.is_freed(value) {
                continue;
            }
            examined += 1;
            if examined > MAX_EXAMINED {
                break;
            }
            let axes = |axis: &usize| self.reaches(model, failing, operand, *axis);
            if let Some(tensor) = model.constant_tensor(value) {
                match self.size_in(model, operand, tensor, axes) {
                    Some((true, text)) => return Some((value, text)),
                    Some((false, text)) => _ = multiple.get_or_insert((value, text)),
                    None => {}
                }
            } else if seen.insert(value, ()).is_some() {
            } else if let Some(node) = model.value(value).producer() {
                let wanted = operand.from_end.filter(|_| is_elementwise(model, node));
                open.extend(operands(model, node, wanted));
            } else if let Some(axis) = self.old_axes(value).find(axes) {
                let text = format!("has the old size {} on axis {axis} and is not freed", self.constants.old);
                return Some((value, text));
            }
        }
        multiple
    }

    /// The axes of an input with the old size. A size of 1 is broadcast.
    fn old_axes(&self, value: ValueId) -> impl Iterator<Item = usize> {
        let old = self.constants.old;
        let dims = self.after.shape(value).unwrap_or_default().iter().enumerate();
        dims.filter(move |&(_, dim)| old > 1 && dim.known() == Some(old)).map(|(axis, _)| axis)
    }

    /// Whether the size of an axis of an operand can be what a failing node requires: an axis that meets the freed size, or one that
    /// results keep in front of the node.
    fn reaches(&self, model: &Model, failing: NodeId, operand: Operand, axis: usize) -> bool {
        let Operand { node, index, value, from_end } = operand;
        let rank = |value: ValueId| self.after.shape(value).map_or(0, <[Dim]>::len);
        match from_end {
            Some(from_end) => rank(value).checked_sub(from_end) == Some(axis),
            None if node != failing => mixing::along(model, self.after, node, index, axis) != Along::Combined,
            None => {
                let mut others = model.node(node).inputs().flatten().filter(|&other| other != value);
                !model.node(node).is(op::CONCAT) || others.any(|other| self.freed_axes(other).contains(&axis))
            }
        }
    }

    /// The axes of a value whose size depends on the freed one.
    fn freed_axes(&self, value: ValueId) -> Vec<usize> {
        let dims = self.after.shape(value).unwrap_or_default().iter().enumerate();
        dims.filter(|&(_, &dim)| self.has_variable(dim)).map(|(axis, _)| axis).collect()
    }

    /// The axis, counted from the end, on which operands of an elementwise operator meet the freed size.
    fn met_axis(&self, model: &Model, node: NodeId) -> Option<usize> {
        let of_operand = |value: ValueId| {
            let axis = *self.freed_axes(value).first()?;
            self.after.shape(value)?.len().checked_sub(axis)
        };
        let mut inputs = model.node(node).inputs().flatten();
        is_elementwise(model, node).then(|| inputs.find_map(of_operand))?
    }

    /// Whether the shape or the elements of a value depend on the freed size.
    fn is_freed(&self, value: ValueId) -> bool {
        let of_shape = self.after.shape(value).into_iter().flatten().copied();
        let content = self.after.content(value).map(|content| content.iter().map(|elem| elem.dim()));
        of_shape.chain(content.into_iter().flatten()).any(|dim| self.has_variable(dim))
    }

    /// How a constant has the old size on one of some axes or as an element, and whether it has that and not a multiple.
    fn size_in(
        &self,
        model: &Model,
        operand: Operand,
        tensor: &Tensor,
        is_examined: impl Fn(&usize) -> bool,
    ) -> Option<(bool, String)> {
        let (old, dims) = (self.constants.old, tensor.dims());
        let elements: Option<Vec<i64>> = self
            .after
            .content(operand.value)
            .and_then(|content| content.iter().map(|elem| elem.known()).collect());
        // Shapes, ends and repetitions are integers.
        let are_sizes = matches!(tensor.elem(), ElemType::Int64 | ElemType::Int32);
        if let Some(elements) = elements.filter(|elements| are_sizes && elements.len() <= MAX_SIZES) {
            let is_old = elements.contains(&old);
            let is_multiple = |&element: &i64| element > old && element % old == 0;
            let text = || match elements.as_slice() {
                [element] => format!("is {element}"),
                elements => format!("is {elements:?}"),
            };
            if is_old || (old > 1 && elements.iter().any(is_multiple)) {
                let what = if is_old { "with the old size" } else { "with a multiple of the old size" };
                return Some((is_old, format!("{} {what} {old}", text())));
            }
        }
        // Sizes of 1 are broadcast.
        let is_old = |axis: &usize| old > 1 && dims.get(*axis) == Some(&old) && is_examined(axis);
        let weighed = |axis: &usize| is_weight(model, operand, dims.len(), *axis);
        if let Some(axis) = (0..dims.len()).filter(is_old).find(weighed) {
            return Some((
                true,
                format!("is a weight {}{dims:?} for the size {old} (axis {axis})", tensor.elem()),
            ));
        }
        let axis = (0..dims.len()).find(is_old)?;
        Some((true, format!("is a constant {}{dims:?} with the old size on axis {axis}", tensor.elem())))
    }
}

/// A value as an operand of a node.
#[derive(Clone, Copy)]
struct Operand {
    node: NodeId,
    index: usize,
    value: ValueId,
    /// The only axis that can matter, counted from the end, if it is known.
    from_end: Option<usize>,
}

fn operands(model: &Model, node: NodeId, from_end: Option<usize>) -> impl Iterator<Item = Operand> {
    let inputs = model.node(node).inputs().enumerate();
    inputs.filter_map(move |(index, value)| Some(Operand { node, index, value: value?, from_end }))
}

fn is_elementwise(model: &Model, node: NodeId) -> bool {
    Attributes::of(model, node).is_some_and(|attributes| attributes.traits().is_elementwise())
}

/// Whether an operand is learned, as an axis of it is a sum over the axis of another operand, or belongs to its channels.
fn is_weight(model: &Model, operand: Operand, rank: usize, axis: usize) -> bool {
    let Operand { node, index, .. } = operand;
    let Some(attributes) = Attributes::of(model, node) else { return false };
    let (record, traits) = (model.node(node), attributes.traits());
    match record.op() {
        // Axes in front of the last two are broadcast.
        op::MAT_MUL | op::MAT_MUL_INTEGER | op::Q_LINEAR_MAT_MUL => axis.saturating_add(2) >= rank,
        op::GEMM => index == 1,
        op::LSTM | op::GRU | op::RNN => (1..=3).contains(&index),
        op::P_RELU => true,
        // The first axis of weights has the channels of the result, except for a transposed convolution.
        _ if traits.window_weights() == Some(index) => (axis == 1) != record.is(op::CONV_TRANSPOSE),
        _ => index > 0 && traits.elements() == Elements::Normalized,
    }
}

/// Returns `true` if the value of a reason is a weight of the node that it is about.
pub(super) fn is_of_weight(model: &Model, reason: &FixedSize) -> bool {
    let Some((node, value)) = reason.node.zip(reason.value) else { return false };
    let rank = model.constant_tensor(value).map_or(0, |tensor| tensor.dims().len());
    let mut own = operands(model, node, None).filter(|operand| operand.value == value);
    own.any(|operand| (0..rank).any(|axis| is_weight(model, operand, rank, axis)))
}
