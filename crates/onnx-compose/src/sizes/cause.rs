//! The constants that fix a size. A model that was simplified for a fixed size has it in such constants, and every node behind
//! them is a consequence.

use std::collections::{HashMap, VecDeque};

use onnx_ir::{Model, NodeId, ValueId};
use onnx_types::ElemType;
use onnx_types::tensor::Tensor;
use slotmap::SecondaryMap;

use super::FixedSize;
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
            if has_cause && reason.value.is_some() {
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

    /// The nearest constant that has the old size, behind the operands that do not have the new one.
    fn constant_behind(&self, model: &Model, reason: &FixedSize) -> Option<(ValueId, String)> {
        let node = reason.node.or_else(|| model.value(reason.value?).producer())?;
        let mut seen: SecondaryMap<ValueId, ()> = SecondaryMap::new();
        let mut open: VecDeque<ValueId> = model.node(node).inputs().flatten().collect();
        let mut multiple = None;
        while let Some(value) = open.pop_front() {
            if seen.insert(value, ()).is_some() || self.is_freed(value) {
                continue;
            }
            if seen.len() > MAX_EXAMINED {
                break;
            }
            match (model.constant_tensor(value), model.value(value).producer()) {
                (Some(tensor), _) => match self.size_in(value, tensor) {
                    Some((true, text)) => return Some((value, text)),
                    Some((false, text)) => _ = multiple.get_or_insert((value, text)),
                    None => {}
                },
                (None, Some(node)) => open.extend(model.node(node).inputs().flatten()),
                (None, None) => {}
            }
        }
        multiple
    }

    /// Whether the shape or the elements of a value depend on the freed size.
    fn is_freed(&self, value: ValueId) -> bool {
        let of_shape = self.after.shape(value).into_iter().flatten().copied();
        let content = self.after.content(value).map(|content| content.iter().map(|elem| elem.dim()));
        of_shape.chain(content.into_iter().flatten()).any(|dim| self.has_variable(dim))
    }

    /// How a constant has the old size, and whether it has that and not a multiple.
    fn size_in(&self, value: ValueId, tensor: &Tensor) -> Option<(bool, String)> {
        let old = self.constants.old;
        let elements: Option<Vec<i64>> =
            self.after.content(value).and_then(|content| content.iter().map(|elem| elem.known()).collect());
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
        let axis = tensor.dims().iter().position(|&dim| dim == old && old > 1)?;
        Some((
            true,
            format!("is a constant {}{:?} with the old size on axis {axis}", tensor.elem(), tensor.dims()),
        ))
    }
}
