//! Operators of one operand.

use onnx_ir::AttrValue;
use onnx_schema::{attr, op};
use onnx_types::ElemType;

use crate::reason::VersionReason;
use crate::step::Step;

/// `Selu`: version 1 has other defaults, of less digits.
pub(crate) fn old_defaults(_: &mut Step<'_>) -> Result<(), VersionReason> {
    // Defaults that change are written out for every operator.
    Ok(())
}

/// Integers are not allowed any more: they are computed as `float`.
pub(crate) fn through_float(step: &mut Step<'_>) -> Result<(), VersionReason> {
    let x = step.operand(0)?;
    let elem = step.elem(x)?;
    if elem.is_float() {
        return Ok(());
    }
    let output =
        step.model.node(step.node).outputs().first().copied().flatten().ok_or("the output is omitted")?;
    let wide = step.cast(x, ElemType::Float)?;
    step.set_input(0, Some(wide));
    let to = AttrValue::Int(elem.code().into());
    step.wrap_output(output, Some(ElemType::Float), op::CAST, &[], &[(attr::TO, to)])
}
