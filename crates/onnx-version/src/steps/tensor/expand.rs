//! `Expand`, which version 8 introduces.

use crate::reason::Reason;
use crate::step::Step;

/// Downwards: `Tile`, if all sizes are known.
pub(crate) fn tiled(step: &mut Step<'_>) -> Result<(), Reason> {
    let x = step.operand(0)?;
    let sizes = step.known_sizes(step.output()?)?;
    if sizes.contains(&0) {
        return Err("the result has no elements".into());
    }
    let made = step.tile(x, &sizes)?;
    let made = match made == x {
        true => step.like(x, onnx_schema::op::IDENTITY, &[x], &[])?,
        false => made,
    };
    step.replace(made)
}
