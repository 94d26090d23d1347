//! `Reshape`: version 14 can take a 0 as a size.

use onnx_schema::attr;

use crate::reason::Reason;
use crate::step::Step;

/// Downwards: a 0 stands for the size of the operand.
pub(crate) fn zero_copies(step: &mut Step<'_>) -> Result<(), Reason> {
    if !step.flag(attr::ALLOWZERO)? {
        return Ok(());
    }
    let (x, shape) = (step.operand(0)?, step.operand(1)?);
    let sizes = step.ints(shape, "the shape, in which a 0 is a size")?;
    let own = step.sizes(x).unwrap_or_default();
    let is_kept = |(index, &size): (usize, &i64)| size != 0 || own.get(index).copied().flatten() == Some(0);
    if !sizes.iter().enumerate().all(is_kept) {
        return Err("a size is 0, which stands for that of the operand in the older version".into());
    }
    step.remove(attr::ALLOWZERO);
    Ok(())
}
