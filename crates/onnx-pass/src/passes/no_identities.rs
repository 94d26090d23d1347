//! The pass `no-identities`: operators that return their operand are removed.

use onnx_ir::{Model, NodeId, Position, ValueId};
use onnx_ops::{Operator, ops};
use onnx_schema::traits::{Elements, Operations, newest};
use onnx_schema::{Registry, Traits, op};
use onnx_types::Symbol;
use onnx_types::tensor::Tensor;

use super::Report;
use super::known_elements::tap_sizes;
use crate::assumption::Exactness;
use crate::cx::PassCx;
use crate::pass::Pass;
use crate::patch::Patch;
use crate::query::Reason;

/// The name of the pass.
const NAME: &str = "no-identities";

pub(super) fn pass() -> Pass {
    Pass::new(NAME, "Removes operators that return their operand.", Exactness::Exact, no_identities)
        .with_page(include_str!("no_identities.md"))
}

/// Removes `Identity`, and operators that return their operand because of their attributes, constants or sizes: casts to the
/// same type, reshapes and expansions to the same sizes, transpositions that keep the order, slices of everything, pads
/// of nothing, concatenations of one operand, dropouts outside training, and elements of sequences whose elements are known. An
/// `Identity` that makes a constant of up to 16 kilobytes an output of a graph becomes a `Constant`.
pub fn no_identities(cx: &mut PassCx<'_>) -> Report {
    cx.rewrite_nodes(NAME, Exactness::Exact, is_candidate, remove)
}

fn is_candidate(model: &Model, node: NodeId) -> bool {
    let record = model.node(node);
    record.domain().is_empty() && (record.is(op::SEQUENCE_AT) || check_of(record.op()).is_some())
}

fn remove(patch: &mut Patch<'_, '_>, node: NodeId) -> Result<(), Reason> {
    let record = patch.model().node(node);
    let (Some(input), Some(output)) = (record.input(0), record.output(0)) else {
        return Err("an operand is left out".into());
    };
    if record.is(op::IDENTITY) && !patch.model().can_replace(output, input) {
        return make_constant(patch, node, input, output);
    }
    if record.outputs().iter().skip(1).flatten().any(|&value| patch.model().value(value).is_used()) {
        return Err("another output is used".into());
    }
    if record.is(op::SEQUENCE_AT) {
        let element = element(patch, node, input)?;
        patch.tap(element);
        patch.replace(output, element);
        return Ok(());
    }
    patch.tap(input);
    // The claim begins at the tensors whose sizes the other operands are made of; these may be made of more than sizes.
    let others: Vec<ValueId> = patch.model().node(node).inputs().skip(1).flatten().collect();
    for operand in others {
        let _ = tap_sizes(patch, operand);
    }
    let check = check_of(patch.model().node(node).op());
    check.ok_or("the operator is not known to return its operand")?(patch, node, input, output)?;
    // An `Identity` of a small constant would be edited in the next run.
    let is_constant = |model: &Model| model.constant_tensor(input).is_some_and(is_small);
    if !patch.model().can_replace(output, input) && is_constant(patch.model()) {
        return make_constant(patch, node, input, output);
    }
    patch.replace(output, input);
    Ok(())
}

/// Makes an output of a graph that is a small constant a `Constant` node.
fn make_constant(
    patch: &mut Patch<'_, '_>,
    node: NodeId,
    input: ValueId,
    output: ValueId,
) -> Result<(), Reason> {
    let Some(tensor) = patch.model().constant_tensor(input) else {
        return Err("it connects an input or a value of an outer graph with an output".into());
    };
    if !is_small(tensor) {
        return Err("it connects a constant of more than 64 bytes with an output".into());
    }
    let tensor = patch.try_constant(input)?;
    let new = patch.new_constant_node(Position::Before(node), tensor)?;
    patch.replace(output, new);
    Ok(())
}

/// Returns `true` if a copy of a constant is not much larger in a file than the node that it replaces.
fn is_small(tensor: &Tensor) -> bool {
    tensor.byte_len().is_some_and(|bytes| bytes <= 64)
}

/// Returns an error unless the first output of a node is its first operand in every run; the operand, then the output.
type Check = fn(&mut Patch<'_, '_>, NodeId, ValueId, ValueId) -> Result<(), Reason>;

/// The check of an operator that returns its first operand for some attributes, constants or sizes; `None` for others.
fn check_of(op: Symbol) -> Option<Check> {
    let traits = newest(op)?;
    Some(match op {
        op::IDENTITY => |_, _, _, _| Ok(()),
        op::CAST | op::CAST_LIKE => |patch, _, input, output| {
            let elems = (patch.elem(input), patch.elem(output));
            let is_same = elems.0.is_some() && elems.0 == elems.1;
            is_same.then_some(()).ok_or_else(|| "the element type changes, or is not known".into())
        },
        op::EXPAND => |patch, _, input, output| same_type(patch, input, output),
        op::TILE => |patch, node, input, output| {
            // In version 1, the axis is a number of the type of the data, which does not fix the sizes unless it is read.
            if let Some(axis) = patch.model().node(node).input(2) {
                patch.try_constant(axis)?;
            }
            same_type(patch, input, output)
        },
        op::TRANSPOSE => |patch, node, input, _| keeps_order(patch, node, input),
        op::SLICE => takes_everything,
        op::PAD => |patch, node, _, _| pads_nothing(patch, node),
        op::DROPOUT => |patch, node, _, _| is_inference(patch, node),
        _ if traits.elements() == Elements::Reshaped => {
            |patch, _, input, output| same_type(patch, input, output)
        }
        _ if is_of_any_number(traits) => |patch, node, _, _| {
            let count = patch.model().node(node).inputs().flatten().count();
            (count == 1).then_some(()).ok_or_else(|| "it has several operands".into())
        },
        _ => return None,
    })
}

/// Whether an operator joins or combines any number of operands, and returns a single one.
fn is_of_any_number(traits: &Traits) -> bool {
    traits.elements() == Elements::Joined || matches!(traits.operations(), Operations::Operands { .. })
}

/// Returns an error unless a `Slice` takes all elements in their order.
fn takes_everything(
    patch: &mut Patch<'_, '_>,
    node: NodeId,
    input: ValueId,
    output: ValueId,
) -> Result<(), Reason> {
    if let Some(value) = steps(patch.model(), node) {
        let steps = patch.integers(value).ok_or("the steps are not known")?;
        if steps.iter().any(|&step| step != 1) {
            return Err("a step is not 1".into());
        }
    }
    same_type(patch, input, output)
}

/// The operand of a `SequenceConstruct` that a `SequenceAt` returns; negative positions count from the end.
fn element(patch: &mut Patch<'_, '_>, node: NodeId, sequence: ValueId) -> Result<ValueId, Reason> {
    let position = patch.model().node(node).input(1).ok_or("an operand is left out")?;
    let list = patch.integers(position).ok_or("the position is not known")?;
    let &[position] = list.as_slice() else { return Err("the position is not a number".into()) };
    let model = patch.model();
    let producer = model.value(sequence).producer().map(|producer| model.node(producer));
    let construct =
        producer.filter(|producer| producer.domain().is_empty() && producer.is(op::SEQUENCE_CONSTRUCT));
    let elements: Vec<ValueId> =
        construct.ok_or("the sequence is not made of its elements")?.inputs().flatten().collect();
    let count = i64::try_from(elements.len()).unwrap_or(i64::MAX);
    let index = if position < 0 { position.saturating_add(count) } else { position };
    let element = usize::try_from(index).ok().and_then(|index| elements.get(index));
    element.copied().ok_or_else(|| "the position is outside the sequence".into())
}

fn same_type(patch: &mut Patch<'_, '_>, input: ValueId, output: ValueId) -> Result<(), Reason> {
    patch
        .same_type(input, output)
        .then_some(())
        .ok_or_else(|| "the sizes are not proved to be the same".into())
}

fn keeps_order(patch: &mut Patch<'_, '_>, node: NodeId, input: ValueId) -> Result<(), Reason> {
    let transpose = ops::Transpose::of(patch.model(), node).ok_or("the node has no view")?;
    let perm = transpose.perm();
    if perm.is_omitted() {
        return match patch.try_rank(input)? {
            0 | 1 => Ok(()),
            _ => Err("it reverses the axes".into()),
        };
    }
    let perm = perm.known().ok_or("the permutation is not known")?;
    let is_identity = perm.iter().enumerate().all(|(axis, &from)| from == axis as i64);
    is_identity.then_some(()).ok_or_else(|| "it changes the order of axes".into())
}

/// The operand with the steps of a `Slice`; the attribute form of version 1 has none.
fn steps(model: &Model, node: NodeId) -> Option<ValueId> {
    model.node(node).input(4)
}

fn pads_nothing(patch: &mut Patch<'_, '_>, node: NodeId) -> Result<(), Reason> {
    let operand = patch.model().node(node).input(1);
    let pads = match operand {
        Some(value) => patch.integers(value),
        None => {
            let pad = ops::Pad::of(patch.model(), node).ok_or("the node has no view")?;
            pad.pads().known().map(std::borrow::Cow::into_owned)
        }
    };
    let pads = pads.ok_or("the pads are not known")?;
    pads.iter().all(|&pad| pad == 0).then_some(()).ok_or_else(|| "it pads".into())
}

/// A `Dropout` returns its operand unless it trains: which an operand says since version 12, and an attribute before 7.
fn is_inference(patch: &mut Patch<'_, '_>, node: NodeId) -> Result<(), Reason> {
    let model = patch.model();
    let schema = model.callee(node, Registry::STANDARD).standard();
    let version = schema.map(onnx_schema::Schema::since_version);
    let training = model.node(node).input(2);
    match (version, training) {
        (Some(7 | 10), _) | (Some(12..), None) => Ok(()),
        (Some(12..), Some(training)) => match patch.scalar(training) {
            Some(0.0) => Ok(()),
            Some(_) => Err("it trains".into()),
            None => Err("whether it trains is not known".into()),
        },
        _ => {
            let is_test = model.node(node).int(onnx_schema::attr::IS_TEST);
            (is_test == Some(1)).then_some(()).ok_or_else(|| "it trains".into())
        }
    }
}
