//! `Dropout`: the mode is an attribute until version 6; the mask becomes Boolean in version 10.

use onnx_ir::AttrValue;
use onnx_schema::{attr, op};
use onnx_types::ElemType;
use onnx_types::tensor::NoData;

use crate::reason::VersionReason;
use crate::step::Step;

/// Version 7 is the identity.
pub(crate) fn inference_mode(step: &mut Step<'_>) -> Result<(), VersionReason> {
    if step.int(attr::IS_TEST)?.unwrap_or(0) == 0 {
        return Err("it drops elements at random, as `is_test` is not set".into());
    }
    step.remove(attr::IS_TEST);
    Ok(())
}

/// A mask that is used gets its former type.
pub(crate) fn boolean_mask(step: &mut Step<'_>) -> Result<(), VersionReason> {
    let Some(mask) = step.used_output(1) else {
        if let Some(Some(mask)) = step.model.node(step.node).outputs().get(1).copied() {
            // The declared type is wrong now.
            step.model.set_type(mask, None::<onnx_types::Type>);
        }
        return Ok(());
    };
    let elem = step.elem(step.operand(0)?)?;
    let to = AttrValue::Int(elem.code().into());
    step.wrap_output(mask, Some(ElemType::Bool), op::CAST, &[], &[(attr::TO, to)])
}

/// Downwards: the mode is an attribute.
pub(crate) fn explicit_mode(step: &mut Step<'_>) -> Result<(), VersionReason> {
    if step.used_output(1).is_some() {
        return Err("its mask is used, which the older version defines for training only".into());
    }
    step.set(attr::IS_TEST, 1_i64)
}

/// Downwards: the mask has the type of the operand, and becomes Boolean where it is used.
pub(crate) fn mask_like_operand(step: &mut Step<'_>) -> Result<(), VersionReason> {
    let Some(mask) = step.used_output(1) else {
        if step.output_count() > 1 {
            step.model.clear_output(step.node, 1)?;
        }
        return Ok(());
    };
    let elem = step.elem(step.operand(0)?)?;
    let to = AttrValue::Int(ElemType::Bool.code().into());
    step.wrap_output(mask, Some(elem), op::CAST, &[], &[(attr::TO, to)])
}

/// Downwards: nothing is dropped, and the ratio, which has no effect then, is an attribute.
pub(crate) fn never_trains(step: &mut Step<'_>) -> Result<(), VersionReason> {
    if let Some(mode) = step.input(2) {
        let mode = step.tensor(mode, "the mode of training")?;
        let is_training = mode.iter_i64(&NoData).ok().and_then(|mut elements| elements.next());
        if is_training != Some(0) {
            return Err("it drops elements at random, which versions 7 to 11 do not do".into());
        }
    }
    let ratio = step.input(1).and_then(|ratio| step.floats(ratio, "the ratio").ok());
    if let Some(&[ratio]) = ratio.as_deref() {
        step.set(attr::RATIO, ratio as f32)?;
    }
    step.remove(attr::SEED);
    step.cut_inputs(1);
    Ok(())
}
