//! `MatMul` and `Gemm`: version 9 adds integers.

use onnx_ir::ValueId;
use onnx_schema::{attr, op};

use crate::reason::VersionReason;
use crate::step::Step;

/// Downwards: a product of integers is a sum of products of elements.
pub(crate) fn integers(step: &mut Step<'_>) -> Result<(), VersionReason> {
    let (a, b) = (step.operand(0)?, step.operand(1)?);
    if step.elem(a)?.is_float() {
        return Ok(());
    }
    let ranks = [step.rank(a)?, step.rank(b)?];
    let made = product(step, [a, b], ranks)?;
    step.replace(made)
}

/// Downwards: the same for `Gemm`, without factors.
pub(crate) fn gemm_of_integers(step: &mut Step<'_>) -> Result<(), VersionReason> {
    let mut operands = [step.operand(0)?, step.operand(1)?];
    if step.elem(operands[0])?.is_float() {
        return Ok(());
    }
    if [attr::ALPHA, attr::BETA].into_iter().any(|name| !matches!(step.float(name), Ok(Some(1.0)))) {
        return Err("the operands are integers, and it has a factor".into());
    }
    for (name, operand) in [attr::TRANS_A, attr::TRANS_B].into_iter().zip(&mut operands) {
        if step.flag(name)? {
            *operand = step.transpose(*operand, &[1, 0])?;
        }
    }
    let c = step.operand(2)?;
    let sum = product(step, operands, [2, 2])?;
    let made = step.like(c, op::ADD, &[sum, c], &[])?;
    step.replace(made)
}

/// A matrix product: the left operand gets an axis at the end, and the right one an axis for the rows, so that all products of
/// elements are those of broadcast operands.
fn product(
    step: &mut Step<'_>,
    [a, b]: [ValueId; 2],
    [rank_a, rank_b]: [i64; 2],
) -> Result<ValueId, VersionReason> {
    let left = if rank_b > 1 { step.with_axes(op::UNSQUEEZE, a, &[rank_a])? } else { a };
    let right = match rank_a > 1 && rank_b > 1 {
        true => step.with_axes(op::UNSQUEEZE, b, &[rank_b.saturating_sub(2)])?,
        false => b,
    };
    let products = step.like(a, op::MUL, &[left, right], &[])?;
    let summed = match (rank_a > 1, rank_b > 1) {
        (true, true) => rank_a.max(rank_b).saturating_sub(1),
        (true, false) => rank_a.saturating_sub(1),
        (false, true) => rank_b.saturating_sub(2),
        (false, false) => 0,
    };
    let attributes = [(attr::AXES, vec![summed].into()), (attr::KEEPDIMS, 0_i64.into())];
    step.like(a, op::REDUCE_SUM, &[products], &attributes)
}
