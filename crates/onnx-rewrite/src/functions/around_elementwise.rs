//! Changes of the order of elements, or of the sizes, that cancel each other around elementwise operators.

use onnx_ir::{AttrValue, Model, NodeId, Position, User, ValueId};
use onnx_pass::{Exactness, Patch, Reason};
use onnx_schema::{attr, op};

use super::RuleFunction;

/// Maximum number of elementwise operators in between.
const MAX_NODES: usize = 32;

/// Operators that only change the sizes: two of them are inverse if the sizes are those before.
const SIZES: &[&str] = &["Reshape", "Flatten", "Squeeze", "Unsqueeze"];

/// Operators with one operand that has the sizes of the result.
const UNARY: &[&str] = &[
    "Abs",
    "Cast",
    "Ceil",
    "Celu",
    "Clip",
    "Cos",
    "Elu",
    "Erf",
    "Exp",
    "Floor",
    "Gelu",
    "HardSigmoid",
    "HardSwish",
    "LeakyRelu",
    "Log",
    "Mish",
    "Neg",
    "Not",
    "Reciprocal",
    "Relu",
    "Round",
    "Selu",
    "Sigmoid",
    "Sign",
    "Sin",
    "Softplus",
    "Softsign",
    "Sqrt",
    "Swish",
    "Tanh",
    "ThresholdedRelu",
];

/// Operators with two operands that are broadcast.
const BINARY: &[&str] = &["Add", "Sub", "Mul", "Div", "Pow"];

pub(super) fn rule() -> RuleFunction {
    let roots = ["Reshape", "Flatten", "Squeeze", "Unsqueeze", "Transpose"];
    let page = "Elementwise operators do not depend on the order of the elements and on the sizes, so that two changes of \
                these around them cancel: two transpositions that are inverse, or a change of the sizes that is undone. The last \
                bits may differ: an implementation may round elements differently depending on where they are.";
    RuleFunction::new("inverses-around-elementwise", Exactness::Rounding, &roots, edit).with_page(page)
}

/// What is between the two changes.
struct Region {
    /// The elementwise operators, in the order of the graph.
    nodes: Vec<NodeId>,
    /// The result of the first change.
    changed: ValueId,
    /// The node of the first change.
    first: NodeId,
}

fn edit(patch: &mut Patch<'_, '_>, node: NodeId) -> Result<(), Reason> {
    let model = patch.model();
    let output = model.node(node).output(0).ok_or("the node has no result")?;
    let region = region(model, node)?;
    let input = model.node(region.first).input(0).ok_or("the node has no operand")?;
    let is_inverse = match (permutation(model, region.first), permutation(model, node)) {
        (Some(first), Some(second)) => is_identity(&first, &second),
        (None, None) => has_shape_of(patch, input, output),
        _ => false,
    };
    if !is_inverse {
        return Err("the changes are not inverse".into());
    }
    let rank = patch.try_shape(input)?.len();
    for &member in &region.nodes {
        has_single_numbers(patch.model(), member, rank)?;
    }
    patch.source(region.first);
    patch.tap(input);
    let mut moved = vec![(region.changed, input)];
    for &member in &region.nodes {
        patch.source(member);
        let record = patch.model().node(member);
        let old = record.output(0).ok_or("an operator has no result")?;
        let new_of = |value: ValueId| moved.iter().find(|(old, _)| *old == value).map(|&(_, new)| new);
        // The limits of a `Clip` do not have the sizes of the result.
        let moving = if BINARY.contains(&patch.model().str(record.op())) { usize::MAX } else { 1 };
        let operands = record.inputs().enumerate();
        let inputs: Vec<Option<ValueId>> = operands
            .map(|(index, operand)| {
                operand.map(|value| new_of(value).filter(|_| index < moving).unwrap_or(value))
            })
            .collect();
        let made = patch.like(member, Position::Before(node), &inputs)?;
        moved.push((old, made.first().copied().flatten().ok_or("an operator has no result")?));
    }
    let last = data(patch.model(), node)?;
    let new = moved.iter().find(|(old, _)| *old == last).ok_or("there is nothing between the changes")?;
    patch.replace(output, new.1);
    Ok(())
}

/// The operand that a node changes.
fn data(model: &Model, node: NodeId) -> Result<ValueId, Reason> {
    model.node(node).input(0).ok_or_else(|| "an operand is omitted".into())
}

/// The family of changes that a node belongs to: whether it changes the order of the elements, or their sizes. `None` if neither, or
/// if an attribute is a reference.
fn family(model: &Model, node: NodeId) -> Option<bool> {
    let record = model.node(node);
    // Each call of a function gives a reference a value.
    if record.attributes().iter().any(|attribute| matches!(attribute.value(), AttrValue::Ref(_))) {
        return None;
    }
    let name = model.str(record.op());
    (record.domain().is_empty() && (name == "Transpose" || SIZES.contains(&name)))
        .then_some(name == "Transpose")
}

/// The elementwise operators before a node, and the one node of the same family that they begin at. Nothing else uses their
/// results.
fn region(model: &Model, node: NodeId) -> Result<Region, Reason> {
    let mut nodes: Vec<NodeId> = Vec::new();
    let mut first: Option<(NodeId, ValueId)> = None;
    let mut open = vec![data(model, node)?];
    while let Some(value) = open.pop() {
        let producer = model.value(value).producer().ok_or("no node makes an operand")?;
        if nodes.contains(&producer) {
            continue;
        }
        if model.node(producer).graph() != model.node(node).graph() {
            return Err("an operand is made in another graph".into());
        }
        if family(model, producer).is_some() && family(model, producer) == family(model, node) {
            if *first.get_or_insert((producer, value)) != (producer, value) {
                return Err("the operators in between begin at different changes".into());
            }
            continue;
        }
        open.extend(followed(model, producer)?);
        nodes.push(producer);
        if nodes.len() > MAX_NODES {
            return Err("there are too many operators in between".into());
        }
    }
    let (first, changed) = first.ok_or("no change of the same kind is before them")?;
    if nodes.is_empty() {
        return Err("there is nothing between the changes".into());
    }
    let is_inside = |user: User| matches!(user, User::Node(user) if user == node || nodes.contains(&user));
    let results = nodes.iter().flat_map(|&member| model.node(member).outputs().iter().flatten());
    let mut all = results.chain([&changed]);
    if !all.all(|&value| model.value(value).uses().iter().all(|at| is_inside(at.user))) {
        return Err("a value in between has other uses".into());
    }
    nodes.sort_by_key(|&member| model.order_key(member));
    Ok(Region { nodes, changed, first })
}

/// The operands of an elementwise operator that have the sizes of the result: all that are not constant.
fn followed(model: &Model, node: NodeId) -> Result<Vec<ValueId>, Reason> {
    let record = model.node(node);
    let name = model.str(record.op());
    let is_default = record.domain().is_empty() && record.outputs().len() == 1;
    let operands: Vec<ValueId> = match () {
        () if is_default && UNARY.contains(&name) => record.input(0).into_iter().collect(),
        () if is_default && BINARY.contains(&name) => {
            record.inputs().flatten().filter(|&value| model.constant_tensor(value).is_none()).collect()
        }
        () => Vec::new(),
    };
    if operands.is_empty() { Err("an operator in between is not elementwise".into()) } else { Ok(operands) }
}

/// The constant operands of an operator with two are one number each, which is broadcast to any sizes.
fn has_single_numbers(model: &Model, node: NodeId, rank: usize) -> Result<(), Reason> {
    let record = model.node(node);
    if !BINARY.contains(&model.str(record.op())) {
        return Ok(());
    }
    // Before version 7, broadcasting was an attribute.
    if record.attributes().iter().next().is_some() {
        return Err("an operator in between has attributes".into());
    }
    let mut constants = record.inputs().flatten().filter_map(|value| model.constant_tensor(value));
    let fits = |dims: &[i64]| dims.len() <= rank && dims.iter().all(|&size| size == 1);
    let is_single = constants.all(|tensor| fits(tensor.dims()));
    if is_single { Ok(()) } else { Err("an operand in between is not one number".into()) }
}

/// The order of the axes of a `Transpose`; empty if the axes are reversed.
fn permutation(model: &Model, node: NodeId) -> Option<Vec<i64>> {
    let record = model.node(node);
    record.is(op::TRANSPOSE).then(|| record.ints(attr::PERM).map(<[i64]>::to_vec).unwrap_or_default())
}

fn is_identity(first: &[i64], second: &[i64]) -> bool {
    let rank = first.len().max(second.len());
    let reversed = || (0..rank).rev().filter_map(|axis| i64::try_from(axis).ok()).collect();
    let full = |axes: &[i64]| if axes.is_empty() { reversed() } else { axes.to_vec() };
    let (first, second): (Vec<i64>, Vec<i64>) = (full(first), full(second));
    let through = |&axis: &i64| usize::try_from(axis).ok().and_then(|axis| first.get(axis).copied());
    let composed: Option<Vec<i64>> = second.iter().map(through).collect();
    composed.is_some_and(|axes| (0_i64..).zip(axes).all(|(place, axis)| place == axis))
}

fn has_shape_of(patch: &mut Patch<'_, '_>, a: ValueId, b: ValueId) -> bool {
    let (Some(first), Some(second)) = (patch.shape(a), patch.shape(b)) else { return false };
    first.len() == second.len() && first.into_iter().zip(second).all(|(a, b)| patch.proved_eq(a, b))
}
