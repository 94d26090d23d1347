//! `Max`, `Min`, `Mean`, `Sum`: before version 8, operands are not broadcast.

use crate::reason::VersionReason;
use crate::step::Step;
use crate::steps::math::binary::{common, is_same, same_sizes};

/// Refuses operands of different shapes, which the newer version would broadcast.
pub(crate) fn without_broadcast(step: &mut Step<'_>) -> Result<(), VersionReason> {
    let inputs: Vec<_> = step.model.node(step.node).inputs().flatten().collect();
    inputs.windows(2).try_for_each(|pair| match *pair {
        [a, b] => same_sizes(step, a, b),
        _ => Ok(()),
    })
}

/// Downwards: repeats operands until all have one shape.
pub(crate) fn one_shape(step: &mut Step<'_>) -> Result<(), VersionReason> {
    let inputs: Vec<_> = step.model.node(step.node).inputs().flatten().collect();
    let dims: Result<Vec<_>, VersionReason> = inputs.iter().map(|&value| step.dims(value)).collect();
    let dims = dims?;
    if dims.windows(2).all(|pair| matches!(pair, [a, b] if is_same(a, b))) {
        return Ok(());
    }
    let sizes: Result<Vec<Vec<i64>>, VersionReason> =
        inputs.iter().map(|&value| step.known_sizes(value)).collect();
    let sizes = sizes?;
    let common = common(&sizes.iter().map(Vec::as_slice).collect::<Vec<_>>())?;
    for (index, &value) in inputs.iter().enumerate() {
        let made = step.tile(value, &common)?;
        step.set_input(index, Some(made));
    }
    Ok(())
}
