//! `DepthToSpace`, `SpaceToDepth`: later versions add other orders of the parts of the depth.

use onnx_schema::attr;

use crate::reason::{Cause, VersionReason};
use crate::step::Step;

/// Downwards: the mode `CRD`, in which the depth comes before row and column, is computed by `Reshape` and `Transpose`.
pub(crate) fn depth_first(step: &mut Step<'_>) -> Result<(), VersionReason> {
    if step.text(attr::MODE)?.as_deref() != Some("CRD") {
        return Ok(());
    }
    let x = step.operand(0)?;
    let block = step.int(attr::BLOCKSIZE)?.filter(|&block| block > 0).ok_or("`blocksize` is omitted")?;
    let sizes =
        step.sizes(x).ok_or_else(|| VersionReason::new(Cause::ShapeUnknown, "the rank is unknown"))?;
    let &[_, Some(depth), Some(height), Some(width)] = sizes.as_slice() else {
        return Err(VersionReason::new(Cause::ShapeUnknown, "the depth, the height or the width is unknown"));
    };
    let to_space = step.old.op() == onnx_schema::op::DEPTH_TO_SPACE;
    let square = block.checked_mul(block).ok_or("`blocksize` is too large")?;
    if depth <= 0 || height <= 0 || width <= 0 {
        return Err("the operand has no elements".into());
    }
    let (parts, order, result) = if to_space {
        let inner = depth / square;
        (
            vec![0, inner, block, block, height, width],
            [0, 1, 4, 2, 5, 3],
            vec![0, inner, height.saturating_mul(block), width.saturating_mul(block)],
        )
    } else {
        (
            vec![0, depth, height / block, block, width / block, block],
            [0, 1, 3, 5, 2, 4],
            vec![0, depth.saturating_mul(square), height / block, width / block],
        )
    };
    let made = step.reshape(x, &parts)?;
    let made = step.transpose(made, &order)?;
    let made = step.reshape(made, &result)?;
    step.replace(made)
}
