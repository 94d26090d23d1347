//! Elements of a sequence of slices: the slices are results of a `Split`.

use onnx_ir::{Attribute, Model, NodeId, Position, ValueId};
use onnx_pass::{Exactness, Patch, Reason};
use onnx_schema::{attr, domain, op};
use onnx_types::Dim;
use onnx_types::tensor::Tensor;

use super::{RuleFunction, users_of};

/// The first version in which lengths of slices and axes are operands.
const FIRST_VERSION: i64 = 13;

/// The greatest number of slices.
const MAX_SLICES: usize = 64;

pub(super) fn rule() -> RuleFunction {
    let page = "A tensor that is split into a sequence, of which elements at known positions are taken, is split into \
                tensors. Slices of size 1 whose axis is removed keep it in the result of `Split`, and `Squeeze` removes it.";
    RuleFunction::new("split-sequence", Exactness::Exact, &["SplitToSequence"], edit).with_page(page)
}

fn edit(patch: &mut Patch<'_, '_>, node: NodeId) -> Result<(), Reason> {
    let record = patch.model().node(node);
    let (Some(data), Some(sequence)) = (record.input(0), record.output(0)) else {
        return Err("an operand is omitted".into());
    };
    let version = patch.model().versions_in(record.graph()).get(domain::ONNX).unwrap_or(0);
    if version < FIRST_VERSION {
        return Err("lengths of slices are not operands in this version".into());
    }
    let keeps = record.attribute(attr::KEEPDIMS).and_then(Attribute::as_int).unwrap_or(1) != 0;
    let given = record.attribute(attr::AXIS).and_then(Attribute::as_int).unwrap_or(0);
    let lengths = record.input(1);
    let users = users(patch.model(), sequence)?;
    let shape = patch.try_shape(data)?;
    let rank = i64::try_from(shape.len()).map_err(|_| "too many axes")?;
    let axis = if given < 0 { given.saturating_add(rank) } else { given };
    let size = usize::try_from(axis).ok().and_then(|axis| shape.get(axis)).and_then(|dim| match dim {
        Dim::Known(size) => Some(*size),
        _ => None,
    });
    let size = size.ok_or("the size of the axis is not known")?;
    let slices = slices(patch, lengths, size)?;
    let count = i64::try_from(slices.len()).map_err(|_| "too many slices")?;
    let mut taken: Vec<(NodeId, usize)> = Vec::new();
    for user in users {
        let position = patch.model().node(user).input(1).ok_or("an operand is omitted")?;
        let position = patch.integers(position).and_then(|position| position.first().copied());
        let position = position.ok_or("a position is not known")?;
        let position = if position < 0 { position.saturating_add(count) } else { position };
        let position = usize::try_from(position).ok().filter(|&position| position < slices.len());
        taken.push((user, position.ok_or("a position is outside the sequence")?));
    }
    patch.tap(data);
    let at = Position::Before(node);
    let tensor = Tensor::from_slice(vec![count], &slices).map_err(|_| "too many slices")?;
    let lengths_of_slices = patch.new_constant(at, tensor)?;
    let wanted = vec![true; slices.len()];
    let parts = patch.build(at, |build| {
        build.op(op::SPLIT, [data, lengths_of_slices]).attr(attr::AXIS, axis).outputs_if(&wanted)
    })?;
    // Slices of given lengths keep their axis, whatever the attribute says.
    let is_squeezed = lengths.is_none() && !keeps;
    let axes = match is_squeezed {
        true => {
            let axes = Tensor::from_slice(vec![1], &[axis]).map_err(|_| "too many axes")?;
            Some(patch.new_constant(at, axes)?)
        }
        false => None,
    };
    for (user, position) in taken {
        patch.source(user);
        let old = patch.model().node(user).output(0).ok_or("a node has no result")?;
        let part = parts.get(position).copied().flatten().ok_or("a position is outside the sequence")?;
        let new = match axes {
            Some(axes) => {
                patch.build(Position::Before(user), |build| build.op(op::SQUEEZE, [part, axes]).output())?
            }
            None => part,
        };
        patch.replace(old, new);
    }
    Ok(())
}

/// The users of a sequence, if each takes an element.
fn users(model: &Model, sequence: ValueId) -> Result<Vec<NodeId>, Reason> {
    let users = users_of(model, sequence, |user| {
        let record = model.node(user);
        match record.is(op::SEQUENCE_AT) && record.domain().is_empty() {
            true => Ok(()),
            false => Err("something else than `SequenceAt` uses it".into()),
        }
    })?;
    if users.is_empty() { Err("nothing uses it".into()) } else { Ok(users) }
}

/// The lengths of the slices of an axis of this size.
fn slices(patch: &mut Patch<'_, '_>, lengths: Option<ValueId>, size: i64) -> Result<Vec<i64>, Reason> {
    let few = |count: i64| (1..=MAX_SLICES as i64).contains(&count);
    let Some(lengths) = lengths else {
        return if few(size) {
            Ok(vec![1; size.unsigned_abs() as usize])
        } else {
            Err("too many slices".into())
        };
    };
    let rank = patch.try_rank(lengths)?;
    let given = patch.integers(lengths).ok_or("the lengths are not known")?;
    let slices = match (rank, given.as_slice()) {
        (0, &[length]) if length > 0 => {
            let whole = size / length;
            let rest = size % length;
            let count = whole.saturating_add(i64::from(rest > 0));
            if !few(count) {
                return Err("too many slices".into());
            }
            let mut slices = vec![length; whole.unsigned_abs() as usize];
            slices.extend((rest > 0).then_some(rest));
            slices
        }
        (1, given) => given.to_vec(),
        _ => return Err("the lengths are not valid".into()),
    };
    let total = slices.iter().try_fold(0_i64, |total, &length| total.checked_add(length));
    if slices.iter().any(|&length| length < 0) || total != Some(size) || !few(slices.len() as i64) {
        return Err("the lengths do not make up the axis".into());
    }
    Ok(slices)
}
