//! Changes of the order of elements, or of the sizes, that cancel across elementwise operators.

use onnx_ir::{AttrValue, Model, NodeId, Position, User, ValueId};
use onnx_pass::{Exactness, Patch, Reason};
use onnx_schema::traits::{Elements, newest};
use onnx_schema::{Determinism, Registry, Schema, attr, op};
use onnx_types::Symbol;

use super::RuleFunction;

/// Maximum number of elementwise operators in between.
const MAX_NODES: usize = 32;

pub(super) fn rule() -> RuleFunction {
    let newest = onnx_schema::operators().filter_map(<[_]>::last).filter(|schema| schema.domain().is_empty());
    let is_root = |schema: &&Schema| schema.op() == op::TRANSPOSE || changes_sizes(schema.op());
    let roots: Vec<&str> = newest.filter(is_root).map(Schema::name).collect();
    let page = "Elementwise operators do not depend on the order of the elements and on the sizes, so that two changes of \
                these around them cancel: two transpositions that are inverse, or a change of the sizes that is undone. The last \
                bits may differ: an implementation may round elements differently depending on where they are.";
    RuleFunction::new("inverses-around-elementwise", Exactness::Rounding, &roots, edit).with_page(page)
}

/// The elementwise operators before a change, and their operands.
struct Region {
    /// The elementwise operators, in the order of the graph. Nothing else uses their results.
    nodes: Vec<NodeId>,
    /// The operands of these that are not constant and that none of them makes.
    operands: Vec<ValueId>,
}

fn edit(patch: &mut Patch<'_, '_>, node: NodeId) -> Result<(), Reason> {
    let model = patch.model();
    let output = model.node(node).output(0).ok_or("the node has no result")?;
    let region = region(model, node)?;
    let mut moved = moved_operands(patch, node, output, &region)?;
    for &member in &region.nodes {
        patch.source(member);
        let old = patch.model().node(member).output(0).ok_or("an operator has no result")?;
        let inputs = moved_inputs(patch, node, member, &moved)?;
        let made = patch.like(member, Position::Before(node), &inputs)?;
        moved.push((old, made.first().copied().flatten().ok_or("an operator has no result")?));
    }
    let last = data(patch.model(), node)?;
    let new = moved.iter().find(|(old, _)| *old == last).ok_or("there is nothing between the changes")?;
    patch.replace(output, new.1);
    Ok(())
}

/// The replacement of each operand of a region. If a change that is the inverse of that of a node makes the operand, it
/// is the operand of this change. Other operands are transposed: the cost of the model decides whether the edit is
/// made.
fn moved_operands(
    patch: &mut Patch<'_, '_>,
    node: NodeId,
    output: ValueId,
    region: &Region,
) -> Result<Vec<(ValueId, ValueId)>, Reason> {
    let rank = patch.try_rank(output)?;
    let mut moved = Vec::new();
    let mut others = Vec::new();
    for &operand in &region.operands {
        match inverse_operand(patch, node, output, operand) {
            // A transposition of fewer axes is another one after broadcasting.
            Some((first, input)) if patch.try_rank(input)? == rank => {
                patch.source(first);
                patch.tap(input);
                moved.push((operand, input));
            }
            _ => others.push(operand),
        }
    }
    if moved.is_empty() {
        return Err("no change before the operators is the inverse".into());
    }
    for operand in others {
        if permutation(patch.model(), node).is_none() {
            return Err("the operators in between begin at something else, too".into());
        }
        let dims = patch.try_shape(operand)?;
        if dims.len() <= rank && dims.iter().all(|dim| dim.known() == Some(1)) {
            patch.tap(operand);
            moved.push((operand, operand));
            continue;
        }
        if dims.len() != rank {
            return Err("an operand in between has another rank".into());
        }
        patch.tap(operand);
        let made = patch.like(node, Position::Before(node), &[Some(operand)])?;
        moved.push((operand, made.first().copied().flatten().ok_or("the node has no result")?));
    }
    Ok(moved)
}

/// The change that makes an operand, with its own operand, if it is the inverse of that of a node.
fn inverse_operand(
    patch: &mut Patch<'_, '_>,
    node: NodeId,
    output: ValueId,
    operand: ValueId,
) -> Option<(NodeId, ValueId)> {
    let model = patch.model();
    let first = model.value(operand).producer()?;
    if family(model, first).is_none() || family(model, first) != family(model, node) {
        return None;
    }
    let input = model.node(first).input(0)?;
    let is_inverse = match (permutation(model, first), permutation(model, node)) {
        (Some(first), Some(second)) => is_identity(&first, &second),
        (None, None) => has_shape_of(patch, input, output),
        _ => false,
    };
    is_inverse.then_some((first, input))
}

/// The operands of an operator in between in the order, or with the sizes, behind the change.
fn moved_inputs(
    patch: &mut Patch<'_, '_>,
    node: NodeId,
    member: NodeId,
    moved: &[(ValueId, ValueId)],
) -> Result<Vec<Option<ValueId>>, Reason> {
    let model = patch.model();
    let are_aligned = elements_between(model, member) == Some(Elements::Elementwise);
    // Before version 7, attributes say how the second operand is aligned.
    let record = model.node(member);
    if are_aligned && [attr::AXIS, attr::BROADCAST].iter().any(|&name| record.attribute(name).is_some()) {
        return Err("attributes of an operator in between align its operands".into());
    }
    let mut inputs: Vec<Option<ValueId>> = patch.model().node(member).inputs().collect();
    for (index, input) in inputs.iter_mut().enumerate() {
        let Some(operand) = *input else { continue };
        if let Some(&(_, new)) = moved.iter().find(|(old, _)| *old == operand)
            && (are_aligned || index == 0)
        {
            *input = Some(new);
        } else if are_aligned {
            *input = Some(moved_constant(patch, node, operand)?);
        }
        // The limits of a `Clip` do not have the sizes of the result.
    }
    Ok(inputs)
}

/// A constant operand of an operator with two operands, after the change is removed: a single number is unchanged, and
/// elements along one axis are moved to the new index of the axis if the change is a `Transpose`.
fn moved_constant(patch: &mut Patch<'_, '_>, node: NodeId, operand: ValueId) -> Result<ValueId, Reason> {
    let output = patch.model().node(node).output(0).ok_or("the node has no result")?;
    let rank = patch.try_rank(output)?;
    let dims = patch.model().constant_tensor(operand).ok_or("an operand is not constant")?.dims().to_vec();
    if dims.len() > rank {
        return Err("an operand in between has more axes".into());
    }
    if dims.iter().all(|&size| size == 1) {
        return Ok(operand);
    }
    let Some(perm) = permutation(patch.model(), node) else {
        return Err("an operand in between is not one number".into());
    };
    let axes = full(&perm, rank);
    let padded: Vec<i64> =
        std::iter::repeat_n(1, rank.saturating_sub(dims.len())).chain(dims.iter().copied()).collect();
    let size = |&axis: &i64| usize::try_from(axis).ok().and_then(|axis| padded.get(axis).copied());
    let sizes: Option<Vec<i64>> = axes.iter().map(size).collect();
    let kept = axes.iter().copied().filter(|axis| size(axis).is_some_and(|size| size != 1));
    if !kept.is_sorted() {
        return Err("the elements of an operand in between change their order".into());
    }
    let mut tensor = patch.try_constant(operand)?;
    tensor.set_dims(sizes.ok_or("an axis is out of range")?);
    patch.new_constant(Position::Before(node), tensor)
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
    let is_transposition = record.op() == op::TRANSPOSE;
    (record.domain().is_empty() && (is_transposition || changes_sizes(record.op())))
        .then_some(is_transposition)
}

/// The elementwise operators before a node whose results nothing else uses, and what they begin at.
fn region(model: &Model, node: NodeId) -> Result<Region, Reason> {
    let mut left_out: Vec<NodeId> = Vec::new();
    loop {
        let region = region_without(model, node, &left_out)?;
        let is_inside =
            |user: User| matches!(user, User::Node(user) if user == node || region.nodes.contains(&user));
        let is_used_inside = |&value: &ValueId| model.value(value).uses().iter().all(|at| is_inside(at.user));
        let has_other_use =
            |&member: &NodeId| !model.node(member).outputs().iter().flatten().all(is_used_inside);
        match region.nodes.iter().copied().find(has_other_use) {
            Some(member) => left_out.push(member),
            None if region.nodes.is_empty() => return Err("there is nothing between the changes".into()),
            None => return Ok(region),
        }
    }
}

/// The elementwise operators before a node, up to those that are left out.
fn region_without(model: &Model, node: NodeId, left_out: &[NodeId]) -> Result<Region, Reason> {
    let mut region = Region { nodes: Vec::new(), operands: Vec::new() };
    let mut open = vec![data(model, node)?];
    while let Some(value) = open.pop() {
        let inner = model.value(value).producer().filter(|&producer| {
            model.node(producer).graph() == model.node(node).graph() && !left_out.contains(&producer)
        });
        let followed = inner.and_then(|producer| Some((producer, followed(model, producer)?)));
        match followed {
            Some((producer, operands)) if !region.nodes.contains(&producer) => {
                region.nodes.push(producer);
                open.extend(operands);
            }
            Some(_) => {}
            None if region.operands.contains(&value) => {}
            None => region.operands.push(value),
        }
        if region.nodes.len() > MAX_NODES || region.operands.len() > MAX_NODES {
            return Err("there are too many operators in between".into());
        }
    }
    region.nodes.sort_by_key(|&member| model.order_key(member));
    Ok(region)
}

/// The operands of an elementwise operator that have the sizes of the result, or are broadcast to them: all that are not constant.
/// `None` for other operators.
fn followed(model: &Model, node: NodeId) -> Option<Vec<ValueId>> {
    let record = model.node(node);
    let operands: Vec<ValueId> = match elements_between(model, node)? {
        Elements::Elementwise if record.input_count() > 1 => {
            record.inputs().flatten().filter(|&value| model.constant_tensor(value).is_none()).collect()
        }
        _ => record.input(0).into_iter().collect(),
    };
    (!operands.is_empty()).then_some(operands)
}

/// How the result of an elementwise operator is made; `None` for other operators, and for those that draw random numbers.
fn elements_between(model: &Model, node: NodeId) -> Option<Elements> {
    let schema = model.callee(node, Registry::STANDARD).standard()?;
    let is_random = schema.determinism() == Determinism::NonDeterministic;
    let has_one = model.node(node).outputs().len() == 1;
    let traits = schema.traits();
    (traits.is_elementwise() && has_one && !is_random).then(|| traits.elements())
}

/// Whether an operator only changes the sizes: two of them are inverse if the sizes are those before.
fn changes_sizes(op: Symbol) -> bool {
    newest(op).is_some_and(|traits| traits.elements() == Elements::Reshaped)
}

/// The order of the axes of a `Transpose`; empty if the axes are reversed.
fn permutation(model: &Model, node: NodeId) -> Option<Vec<i64>> {
    let record = model.node(node);
    record.is(op::TRANSPOSE).then(|| record.ints(attr::PERM).map(<[i64]>::to_vec).unwrap_or_default())
}

/// A permutation of `rank` axes; an empty one reverses them.
fn full(axes: &[i64], rank: usize) -> Vec<i64> {
    let reversed = || (0..rank).rev().filter_map(|axis| i64::try_from(axis).ok()).collect();
    if axes.is_empty() { reversed() } else { axes.to_vec() }
}

fn is_identity(first: &[i64], second: &[i64]) -> bool {
    let rank = first.len().max(second.len());
    let (first, second) = (full(first, rank), full(second, rank));
    let through = |&axis: &i64| usize::try_from(axis).ok().and_then(|axis| first.get(axis).copied());
    let composed: Option<Vec<i64>> = second.iter().map(through).collect();
    composed.is_some_and(|axes| (0_i64..).zip(axes).all(|(place, axis)| place == axis))
}

fn has_shape_of(patch: &mut Patch<'_, '_>, a: ValueId, b: ValueId) -> bool {
    let (Some(first), Some(second)) = (patch.shape(a), patch.shape(b)) else { return false };
    first.len() == second.len() && first.into_iter().zip(second).all(|(a, b)| patch.proved_eq(a, b))
}
