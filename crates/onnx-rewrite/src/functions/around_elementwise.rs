//! Changes of the order of elements, or of the sizes, that cancel each other around elementwise operators.

use onnx_ir::{Model, NodeId, Position, User, ValueId};
use onnx_pass::{Exactness, Patch, Reason};
use onnx_schema::{attr, op};

use super::RuleFunction;

/// Maximum number of elementwise operators in between.
const MAX_CHAIN: usize = 32;

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
const BINARY: &[&str] = &["Add", "Sub", "Mul", "Div"];

pub(super) fn rule() -> RuleFunction {
    let roots = ["Reshape", "Flatten", "Squeeze", "Unsqueeze", "Transpose"];
    let page = "Elementwise operators do not depend on the order of the elements and on the sizes, so that two changes of \
                these around them cancel: two transpositions that are inverse, or a change of the sizes that is undone. The last \
                bits may differ: an implementation may round elements differently depending on where they are.";
    RuleFunction::new("inverses-around-elementwise", Exactness::Rounding, &roots, edit).with_page(page)
}

/// A node between the two changes, and the index of its operand that comes from the first one.
type Link = (NodeId, usize);

fn edit(patch: &mut Patch<'_, '_>, node: NodeId) -> Result<(), Reason> {
    let model = patch.model();
    let output = model.node(node).output(0).ok_or("the node has no result")?;
    let (chain, first) = chain(model, node)?;
    let input = model.node(first).input(0).ok_or("the node has no operand")?;
    let is_inverse = match (permutation(model, first), permutation(model, node)) {
        (Some(first), Some(second)) => is_identity(&first, &second),
        (None, None) => has_shape_of(patch, input, output),
        _ => false,
    };
    if !is_inverse {
        return Err("the changes are not inverse".into());
    }
    let rank = patch.try_shape(input)?.len();
    for &(link, operand) in &chain {
        is_scalar_otherwise(patch.model(), link, operand, rank)?;
    }
    patch.source(first);
    patch.tap(input);
    let mut value = input;
    for &(link, operand) in chain.iter().rev() {
        patch.source(link);
        let record = patch.model().node(link);
        let mut inputs: Vec<Option<ValueId>> = record.inputs().collect();
        if let Some(slot) = inputs.get_mut(operand) {
            *slot = Some(value);
        }
        let made = patch.like(link, Position::Before(node), &inputs)?;
        value = made.first().copied().flatten().ok_or("an operator has no result")?;
    }
    patch.replace(output, value);
    Ok(())
}

/// The elementwise operators before a node, the last one first, and the node before them of the same family. Nothing else uses
/// what is in between.
fn chain(model: &Model, node: NodeId) -> Result<(Vec<Link>, NodeId), Reason> {
    let family = |node: NodeId| {
        let record = model.node(node);
        let name = model.str(record.op());
        (record.domain().is_empty() && (name == "Transpose" || SIZES.contains(&name)))
            .then_some(name == "Transpose")
    };
    let mut chain = Vec::new();
    let (mut user, mut operand) = (node, 0);
    while chain.len() <= MAX_CHAIN {
        let value = model.node(user).input(operand).ok_or("an operand is omitted")?;
        let is_only = |user: NodeId| {
            let uses = model.value(value).uses();
            uses.len() == 1 && uses.iter().all(|at| at.user == User::Node(user))
        };
        let producer = model.value(value).producer().ok_or("no node makes the operand")?;
        if !is_only(user) || model.node(producer).graph() != model.node(node).graph() {
            return Err("a value in between has other uses".into());
        }
        if family(producer).is_some() && family(producer) == family(node) {
            return if chain.is_empty() {
                Err("there is nothing between the changes".into())
            } else {
                Ok((chain, producer))
            };
        }
        operand = elementwise(model, producer)?;
        chain.push((producer, operand));
        user = producer;
    }
    Err("there are too many operators in between".into())
}

/// The index of the operand that has the sizes of the result.
fn elementwise(model: &Model, node: NodeId) -> Result<usize, Reason> {
    let record = model.node(node);
    let name = model.str(record.op());
    let is_default = record.domain().is_empty() && record.outputs().len() == 1;
    if is_default && UNARY.contains(&name) {
        return Ok(0);
    }
    let is_constant =
        |index: usize| record.input(index).is_some_and(|value| model.constant_tensor(value).is_some());
    match (is_default && BINARY.contains(&name), is_constant(0), is_constant(1)) {
        (true, false, true) => Ok(0),
        (true, true, false) => Ok(1),
        _ => Err("an operator in between is not elementwise".into()),
    }
}

/// The other operand of an operator with two is one number, which is broadcast to any sizes.
fn is_scalar_otherwise(model: &Model, node: NodeId, operand: usize, rank: usize) -> Result<(), Reason> {
    let record = model.node(node);
    if !BINARY.contains(&model.str(record.op())) {
        return Ok(());
    }
    // Before version 7, broadcasting was an attribute.
    if record.attributes().iter().next().is_some() {
        return Err("an operator in between has attributes".into());
    }
    let own = record.input(operand);
    let mut others = record.inputs().flatten().filter(|&value| Some(value) != own);
    let fits = others.all(|value| {
        let dims = model.constant_tensor(value).map(|tensor| tensor.dims().to_vec());
        dims.is_some_and(|dims| dims.len() <= rank && dims.iter().all(|&size| size == 1))
    });
    if fits { Ok(()) } else { Err("an operand in between is not one number".into()) }
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
