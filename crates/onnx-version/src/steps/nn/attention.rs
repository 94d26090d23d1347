//! `Attention`: version 24 pads a mask that is shorter than the keys with minus infinity. Version 23 only broadcasts it, also
//! along the keys. Version 25 says which operands, results and attributes go together.

use onnx_ir::ValueId;
use onnx_schema::{attr, op};
use onnx_types::{Dim, ElemType};

use crate::outputs;
use crate::reason::{Cause, VersionReason};
use crate::step::Step;

/// Upwards: a mask whose last axis may have the size 1 is repeated for all keys, past ones included; version 24 would pad it.
pub(crate) fn expanded_mask(step: &mut Step<'_>) -> Result<(), VersionReason> {
    let Some(mask) = step.input(3) else { return Ok(()) };
    let length = step.types.dims(mask).and_then(<[Dim]>::last).copied().unwrap_or_default();
    // Every size but 1 is the number of keys, which version 23 requires.
    let is_whole = length.known().is_some_and(|length| length != 1);
    if is_whole || (length != Dim::Unknown && number_of_keys(step).is_ok_and(|keys| keys == length)) {
        return Ok(());
    }
    let mut keys = length_of(step, step.operand(1)?)?;
    if let Some(past) = step.input(4) {
        let past = length_of(step, past)?;
        keys = step.like(keys, op::ADD, &[past, keys], &[])?;
    }
    let whole = step.like(mask, op::EXPAND, &[mask, keys], &[])?;
    step.set_input(3, Some(whole));
    Ok(())
}

/// Upwards: keys and values of the present are both named, and numbers of heads, which version 25 does not allow for operands
/// with an axis of heads, are removed. A past with keys or values only is refused.
pub(crate) fn in_pairs(step: &mut Step<'_>) -> Result<(), VersionReason> {
    let past = [4, 5].map(|index| step.input(index).is_some());
    let present = [1, 2].map(|index| step.model.node(step.node).output(index).is_some());
    if past[0] != past[1] {
        return Err("it has only one of `past_key` and `past_value`".into());
    }
    if step.input(6).is_some() && (past[0] || present != [false, false]) {
        return Err("it has `nonpad_kv_seqlen` together with keys of the past or present".into());
    }
    if present[0] != present[1] {
        outputs::name(step, &[1, 2])?;
    }
    if step.rank(step.operand(0)?).is_ok_and(|rank| rank == 4) {
        step.remove(attr::Q_NUM_HEADS);
        step.remove(attr::KV_NUM_HEADS);
    }
    Ok(())
}

/// Downwards: the mask must be as long as the keys, past ones included.
pub(crate) fn whole_mask(step: &mut Step<'_>) -> Result<(), VersionReason> {
    let Some(mask) = step.input(3) else { return Ok(()) };
    let (length, keys) = (step.dims(mask)?.last().copied().unwrap_or_default(), number_of_keys(step)?);
    if keys == Dim::Unknown && step.input(4).is_some() {
        return Err(VersionReason::new(
            Cause::ShapeUnknown,
            "it is unknown whether `attn_mask` is as long as `past_key` and `K` together",
        ));
    }
    match length == keys && keys != Dim::Unknown {
        true => Ok(()),
        false => {
            Err(format!("`attn_mask` may be shorter than `K`, which version {} does not allow", step.version)
                .into())
        }
    }
}

/// The number of keys, past ones included.
fn number_of_keys(step: &Step<'_>) -> Result<Dim, VersionReason> {
    let length = |index: usize| -> Result<Dim, VersionReason> {
        let dims = step.dims(step.operand(index)?)?;
        let axis = dims.len().checked_sub(2);
        Ok(axis.and_then(|axis| dims.get(axis)).copied().unwrap_or_default())
    };
    if step.input(4).is_none() {
        return length(1);
    }
    // Inference adds sizes that are not numbers in the shape of `present_key`.
    let present = step.model.node(step.node).output(1).and_then(|present| step.types.dims(present));
    if let Some(dim) = present.and_then(|dims| dims.get(2)).filter(|dim| **dim != Dim::Unknown) {
        return Ok(*dim);
    }
    let sum = length(4)?.known().zip(length(1)?.known()).and_then(|(past, new)| past.checked_add(new));
    Ok(sum.map_or(Dim::Unknown, Dim::Known))
}

/// The size of the axis before the last one, as a list.
fn length_of(step: &mut Step<'_>, value: ValueId) -> Result<ValueId, VersionReason> {
    let bounds = [(attr::START, (-2_i64).into()), (attr::END, (-1_i64).into())];
    let length = step.before(op::SHAPE, &[value], &bounds)?;
    step.types.set_elem(length, ElemType::Int64);
    Ok(length)
}
