//! `Pad`: version 2 renames an attribute; later versions add axes and a mode.

use onnx_schema::attr;

use crate::reason::VersionReason;
use crate::step::Step;

/// `paddings` becomes `pads`.
pub(crate) fn renamed(step: &mut Step<'_>) -> Result<(), VersionReason> {
    let pads = step.given(attr::PADDINGS)?.ok_or("`paddings` is omitted")?;
    step.remove(attr::PADDINGS);
    step.set(attr::PADS, pads)
}

/// Downwards: `pads` becomes `paddings`, which removes nothing.
pub(crate) fn former_name(step: &mut Step<'_>) -> Result<(), VersionReason> {
    let pads = step.given_ints(attr::PADS)?.ok_or("`pads` is omitted")?;
    if pads.iter().any(|&pad| pad < 0) {
        let version = step.version;
        return Err(
            format!("`pads` removes elements, which `paddings` of version {version} does not do").into()
        );
    }
    step.remove(attr::PADS);
    step.set(attr::PADDINGS, pads)
}

/// Downwards: all axes are padded; axes that are not listed get padding of 0.
pub(crate) fn all_axes(step: &mut Step<'_>) -> Result<(), VersionReason> {
    let Some(axes) = step.input(3) else { return Ok(()) };
    let (x, pads) = (step.operand(0)?, step.operand(1)?);
    let axes = step.ints(axes, "`axes`")?;
    let pads = step.ints(pads, "`pads`")?;
    let rank = usize::try_from(step.rank(x)?).map_err(|_| "the rank is unknown")?;
    if pads.len() != axes.len().saturating_mul(2) {
        return Err("`pads` does not have two numbers for each axis".into());
    }
    let mut all = vec![0_i64; rank.saturating_mul(2)];
    for (index, &axis) in axes.iter().enumerate() {
        let axis = usize::try_from(step.positive(axis, x)?).map_err(|_| "an axis does not exist")?;
        for (from, to) in [(index, axis), (index.saturating_add(axes.len()), axis.saturating_add(rank))] {
            let slot = all.get_mut(to).filter(|_| axis < rank).ok_or("an axis does not exist")?;
            *slot = pads.get(from).copied().unwrap_or(0);
        }
    }
    let all = step.list(&all)?;
    step.set_input(1, Some(all));
    step.cut_inputs(3);
    Ok(())
}

/// Downwards: refuses the mode `wrap`.
pub(crate) fn not_wrapped(step: &mut Step<'_>) -> Result<(), VersionReason> {
    match step.text(attr::MODE)?.as_deref() {
        Some("wrap") => Err(format!("`mode` is `wrap`, which version {} does not have", step.version).into()),
        _ => Ok(()),
    }
}
