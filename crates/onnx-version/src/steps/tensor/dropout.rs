//! `Dropout`: the mode is an attribute until version 6; the mask becomes Boolean in version 10.

use onnx_ir::AttrValue;
use onnx_schema::{attr, op};
use onnx_types::ElemType;

use crate::step::{Reason, Step};

/// Version 7 does nothing but copy.
pub(crate) fn inference_mode(step: &mut Step<'_>) -> Result<(), Reason> {
    if step.int(attr::IS_TEST)?.unwrap_or(0) == 0 {
        return Err("it drops elements at random, as `is_test` is not set".into());
    }
    step.remove(attr::IS_TEST);
    Ok(())
}

/// A mask that is used gets its former type.
pub(crate) fn boolean_mask(step: &mut Step<'_>) -> Result<(), Reason> {
    let Some(mask) = step.used_output(1) else {
        if let Some(Some(mask)) = step.model.node(step.node).outputs().get(1).copied() {
            // What was declared is wrong now.
            step.model.set_type(mask, None::<onnx_types::Type>);
        }
        return Ok(());
    };
    let elem = step.elem(step.operand(0)?)?;
    let to = AttrValue::Int(elem.code().into());
    step.wrap_output(mask, Some(ElemType::Bool), op::CAST, &[], &[(attr::TO, to)])
}
