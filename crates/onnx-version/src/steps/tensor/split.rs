//! `Split`: the sizes are an operand in version 1, then an attribute; version 18 requires the number of parts unless
//! sizes are given.

use onnx_schema::attr;
use onnx_types::Dim;
use onnx_types::tensor::NoData;

use crate::reason::{Cause, VersionReason};
use crate::step::Step;

/// Sizes that are an operand must be constant. The axis has no default in version 1; 0 is meant.
pub(crate) fn attribute(step: &mut Step<'_>) -> Result<(), VersionReason> {
    if let Some(sizes) = step.input(1) {
        let sizes = step.constant_of(sizes).ok_or("the sizes of the parts are not constant")?;
        let sizes: Result<Vec<i64>, _> = sizes.iter_i64(&NoData).map(Iterator::collect);
        step.set(attr::SPLIT, sizes.map_err(|_| "the sizes of the parts are not integers")?)?;
    }
    while step.model.node(step.node).input_count() > 1 {
        step.model.remove_input(step.node, 1);
    }
    match step.has(attr::AXIS) {
        true => Ok(()),
        false => step.set(attr::AXIS, 0_i64),
    }
}

/// Parts of equal sizes, whose number is the number of outputs.
pub(crate) fn number_of_outputs(step: &mut Step<'_>) -> Result<(), VersionReason> {
    if step.input(1).is_some() {
        return Ok(());
    }
    let count = i64::try_from(step.output_count()).unwrap_or(i64::MAX);
    step.set(attr::NUM_OUTPUTS, count)
}

/// Downwards: `num_outputs` is removed. Parts of equal sizes need nothing else; for parts of different sizes, the sizes
/// are listed.
pub(crate) fn sizes_of_parts(step: &mut Step<'_>) -> Result<(), VersionReason> {
    let count = step.output_count();
    if step.input(1).is_some() {
        step.remove(attr::NUM_OUTPUTS);
        return Ok(());
    }
    let number = step.int(attr::NUM_OUTPUTS)?;
    let parts = i64::try_from(count).unwrap_or(i64::MAX);
    if number.is_some_and(|number| number != parts) {
        return Err("`num_outputs` is not the number of outputs".into());
    }
    step.remove(attr::NUM_OUTPUTS);
    let x = step.operand(0)?;
    let axis = step.int(attr::AXIS)?.unwrap_or(0);
    let axis = usize::try_from(step.positive(axis, x)?).map_err(|_| "the axis does not exist")?;
    let size = step.sizes(x).and_then(|sizes| sizes.get(axis).copied().flatten());
    let Some(size) = size else {
        let of = |index: usize| {
            let output = step.model.node(step.node).output(index)?;
            step.types.dims(output)?.get(axis).copied()
        };
        let (first, last) = (of(0), of(count.saturating_sub(1)));
        return match first.is_some_and(|dim| dim != Dim::Unknown) && first == last {
            true => Ok(()),
            false => Err(VersionReason::new(
                Cause::ShapeUnknown,
                "the size of the axis is unknown, so that the last part may be smaller",
            )),
        };
    };
    if parts > 0 && size % parts == 0 {
        return Ok(());
    }
    let each = size.saturating_add(parts.saturating_sub(1)) / parts.max(1);
    let mut left = size;
    let mut sizes = Vec::new();
    for _ in 0..count {
        sizes.push(each.min(left));
        left = left.saturating_sub(each).max(0);
    }
    let sizes = step.list(&sizes)?;
    step.set_input(1, Some(sizes));
    Ok(())
}
