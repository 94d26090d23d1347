//! `BitShift`: version 28 defines shifts by as many bits as the type has, or more.

use onnx_schema::op;
use onnx_types::ElemType;
use onnx_types::tensor::Tensor;

use crate::reason::VersionReason;
use crate::step::Step;

/// Downwards: a shift by as many bits as the type has, or more, gives 0.
pub(crate) fn within_type(step: &mut Step<'_>) -> Result<(), VersionReason> {
    let (x, by) = (step.operand(0)?, step.operand(1)?);
    let (bits, limit, zero) = match step.elem(by)? {
        ElemType::Uint8 => (8, Tensor::scalar(8_u8), Tensor::scalar(0_u8)),
        ElemType::Uint16 => (16, Tensor::scalar(16_u16), Tensor::scalar(0_u16)),
        ElemType::Uint32 => (32, Tensor::scalar(32_u32), Tensor::scalar(0_u32)),
        ElemType::Uint64 => (64, Tensor::scalar(64_u64), Tensor::scalar(0_u64)),
        // The older version does not allow other types.
        _ => return Ok(()),
    };
    if step
        .ints(by, "the number of bits")
        .is_ok_and(|shifts| shifts.iter().all(|shift| (0..bits).contains(shift)))
    {
        return Ok(());
    }
    let kept = step.attributes_except(&[]);
    let shifted = step.like(x, op::BIT_SHIFT, &[x, by], &kept)?;
    let limit = step.constant(limit)?;
    let is_within = step.before(op::LESS, &[by, limit], &[])?;
    step.types.set_elem(is_within, ElemType::Bool);
    let zero = step.constant(zero)?;
    let made = step.like(x, op::WHERE, &[is_within, shifted, zero], &[])?;
    step.replace(made)
}
