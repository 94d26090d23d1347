//! `Range`: version 27 adds 16-bit floats, which it computes as `float`.

use onnx_ir::AttrValue;
use onnx_schema::{attr, op};
use onnx_types::ElemType;

use crate::reason::VersionReason;
use crate::step::Step;

/// Downwards: narrow floats are cast before and after.
pub(crate) fn as_float(step: &mut Step<'_>) -> Result<(), VersionReason> {
    let elem = step.elem(step.operand(0)?)?;
    if ![ElemType::Float16, ElemType::Bfloat16].contains(&elem) {
        step.remove(attr::STASH_TYPE);
        return Ok(());
    }
    if step.int(attr::STASH_TYPE)?.unwrap_or(1) != 1 {
        return Err("`stash_type` is not that of `float`".into());
    }
    step.remove(attr::STASH_TYPE);
    for index in 0..3 {
        let value = step.operand(index)?;
        let wide = step.cast(value, ElemType::Float)?;
        step.set_input(index, Some(wide));
    }
    let output = step.output()?;
    let to = AttrValue::Int(elem.code().into());
    step.wrap_output(output, Some(ElemType::Float), op::CAST, &[], &[(attr::TO, to)])
}
