//! `QuantizeLinear`: from version 19, operand and scale have one type.

use onnx_types::ElemType;

use crate::step::{Reason, Step};

/// Integers are divided as `float`, as before.
pub(crate) fn float_operand(step: &mut Step<'_>) -> Result<(), Reason> {
    let x = step.operand(0)?;
    if step.elem(x)? == ElemType::Int32 {
        let wide = step.cast(x, ElemType::Float)?;
        step.set_input(0, Some(wide));
    }
    Ok(())
}
