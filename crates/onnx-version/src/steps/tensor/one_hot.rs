//! `OneHot`: before version 11, indices are not negative.

use onnx_ir::ValueId;
use onnx_types::tensor::Tensor;

use crate::down;
use crate::reason::VersionReason;
use crate::step::Step;

/// Downwards: `axis` and constant indices count from the front. Indices that select nothing become the depth, which
/// selects nothing in each version. Indices that are not known are unchanged, because each implementation counts them
/// from the end.
pub(crate) fn indices_from_front(step: &mut Step<'_>) -> Result<(), VersionReason> {
    down::axes(step)?;
    let value = step.operand(0)?;
    let Some(known) = known_indices(step, value)? else { return Ok(()) };
    if known.iter().all(|&index| index >= 0) {
        return Ok(());
    }
    let depth = depth(step)?;
    let sizes = step.known_sizes(value)?;
    let front = |&index: &i64| match index {
        0.. => index,
        _ if index < depth.saturating_neg() => depth,
        _ => index.saturating_add(depth),
    };
    // Indices can have any type of numbers, and that of the old ones may have no number as great as these.
    let known: Vec<i64> = known.iter().map(front).collect();
    let tensor = Tensor::from_slice(sizes, &known).map_err(|fault| fault.to_string())?;
    let made = step.constant(tensor)?;
    step.set_input(0, Some(made));
    Ok(())
}

/// The indices, if they are known. Numbers are rounded towards 0.
fn known_indices(step: &Step<'_>, value: ValueId) -> Result<Option<Vec<i64>>, VersionReason> {
    let what = "an operand with negative indices";
    match step.constant_of(value) {
        // The elements of an external file are not read.
        Some(tensor) if tensor.elem().is_float() => {
            let numbers = step.floats(value, what).ok();
            let numbers = numbers.filter(|numbers| numbers.iter().all(|number| number.is_finite()));
            Ok(numbers.map(|numbers| numbers.into_iter().map(|number| number as i64).collect()))
        }
        Some(_) => Ok(step.ints(value, what).ok()),
        None => {
            let Ok(dims) = step.int_dims(value, what) else { return Ok(None) };
            match dims.iter().any(|dim| dim.known().is_some_and(|index| index < 0)) {
                true => step.ints(value, what).map(Some),
                false => Ok(None),
            }
        }
    }
}

/// The number of classes.
fn depth(step: &Step<'_>) -> Result<i64, VersionReason> {
    let value = step.operand(1)?;
    let what = "the depth that negative indices count from";
    let depth = match step.constant_of(value) {
        Some(tensor) if tensor.elem().is_float() => {
            step.floats(value, what)?.iter().map(|&depth| depth as i64).collect()
        }
        _ => step.ints(value, what)?,
    };
    match depth.as_slice() {
        &[depth] => Ok(depth),
        _ => Err("the depth has not one element".into()),
    }
}
