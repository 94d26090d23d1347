//! `Expand`, which version 8 introduces.

use crate::reason::VersionReason;
use crate::step::Step;
use crate::steps::math::binary::common;

/// Downwards: `Tile`, if all sizes are constant.
pub(crate) fn tiled(step: &mut Step<'_>) -> Result<(), VersionReason> {
    let x = step.operand(0)?;
    // Constant sizes are required, because the declared type of the result may be wrong for others.
    let sizes = step.ints(step.operand(1)?, "the shape")?;
    let sizes = common(&[&step.known_sizes(x)?, &sizes])?;
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
