//! Several `Unsqueeze` of the result of one: each inserts the axes of both.

use onnx_ir::{Attribute, Model, NodeId, Position, ValueId};
use onnx_pass::{Exactness, Patch, Reason};
use onnx_schema::{attr, op};
use onnx_types::tensor::Tensor;

use super::{RuleFunction, users_of};

pub(super) fn rule() -> RuleFunction {
    let page = "Axes that are inserted into the result of an insertion are inserted together with those before. The rule \
                `unsqueeze-unsqueeze` does this if one node uses the result of the first `Unsqueeze`; with several, the cost \
                decreases if all of them are edited together.";
    RuleFunction::new("unsqueezes", Exactness::Exact, &["Unsqueeze"], edit).with_page(page)
}

fn edit(patch: &mut Patch<'_, '_>, node: NodeId) -> Result<(), Reason> {
    let record = patch.model().node(node);
    let (Some(data), Some(inserted)) = (record.input(0), record.output(0)) else {
        return Err("an operand is omitted".into());
    };
    let users = users(patch.model(), inserted)?;
    let rank = patch.try_rank(data)?;
    let first = axes(patch, node, rank)?;
    let mut edits = Vec::new();
    for user in users {
        let second = axes(patch, user, rank.saturating_add(first.len()))?;
        edits.push((user, together(&first, &second, rank)));
    }
    patch.tap(data);
    for (user, axes) in edits {
        patch.source(user);
        let record = patch.model().node(user);
        let old = record.output(0).ok_or("a node has no result")?;
        let new = if record.input(1).is_some() {
            let count = i64::try_from(axes.len()).map_err(|_| "too many axes")?;
            let tensor = Tensor::from_slice(vec![count], &axes).map_err(|_| "too many axes")?;
            let axes = patch.new_constant(Position::Before(user), tensor)?;
            patch.build(Position::Before(user), |build| build.op(op::UNSQUEEZE, [data, axes]).output())?
        } else {
            patch.build(Position::Before(user), |build| {
                build.op(op::UNSQUEEZE, [data]).attr(attr::AXES, axes).output()
            })?
        };
        patch.replace(old, new);
    }
    Ok(())
}

/// The users of a value, if there are several and each is an `Unsqueeze`.
fn users(model: &Model, value: ValueId) -> Result<Vec<NodeId>, Reason> {
    let users = users_of(model, value, |user| {
        let record = model.node(user);
        let is_insertion = record.is(op::UNSQUEEZE) && record.domain().is_empty();
        match is_insertion && record.input(1) != Some(value) {
            true => Ok(()),
            false => Err("something else than insertions of axes uses it".into()),
        }
    })?;
    if users.len() < 2 { Err("one node uses it".into()) } else { Ok(users) }
}

/// The axes that a node inserts into a value of this rank, from the first one of its result, in order.
fn axes(patch: &mut Patch<'_, '_>, node: NodeId, rank: usize) -> Result<Vec<i64>, Reason> {
    let record = patch.model().node(node);
    let given = match record.input(1) {
        Some(axes) => patch.integers(axes),
        None => record.attribute(attr::AXES).and_then(Attribute::as_ints).map(<[i64]>::to_vec),
    };
    let given = given.ok_or("the axes are not known")?;
    let total = i64::try_from(rank.saturating_add(given.len())).map_err(|_| "too many axes")?;
    let mut axes: Vec<i64> =
        given.into_iter().map(|axis| if axis < 0 { axis.saturating_add(total) } else { axis }).collect();
    axes.sort_unstable();
    let are_different = axes.windows(2).all(|pair| pair.first() < pair.last());
    if !are_different || axes.iter().any(|axis| !(0..total).contains(axis)) {
        return Err("the axes are not valid".into());
    }
    Ok(axes)
}

/// The axes of two insertions one after the other: those of the first one are counted among the axes that the second one keeps.
fn together(first: &[i64], second: &[i64], rank: usize) -> Vec<i64> {
    let total = rank.saturating_add(first.len()).saturating_add(second.len()) as i64;
    let kept = (0..total).filter(|axis| !second.contains(axis));
    let of_first = kept.zip(0_i64..).filter(|(_, place)| first.contains(place)).map(|(axis, _)| axis);
    let mut axes: Vec<i64> = of_first.chain(second.iter().copied()).collect();
    axes.sort_unstable();
    axes
}
