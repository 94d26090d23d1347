//! `BatchNormalization`: the mode is an attribute, then the number of outputs, then an attribute again.

use onnx_ir::AttrValue;
use onnx_schema::{attr, op};
use onnx_types::tensor::Tensor;

use crate::outputs;
use crate::reason::VersionReason;
use crate::step::Step;

/// Version 7 infers the mode from the outputs.
pub(crate) fn inference_mode(step: &mut Step<'_>) -> Result<(), VersionReason> {
    let is_inference = step.int(attr::IS_TEST)?.unwrap_or(0) != 0;
    let has_statistics = step.output_count() > 1;
    if is_inference == has_statistics {
        return Err(match is_inference {
            true => "it has outputs of training, but `is_test` is set".into(),
            false => "it normalizes with the statistics of the batch, as `is_test` is not set".into(),
        });
    }
    step.remove(attr::IS_TEST);
    Ok(())
}

/// Version 9 has one mean for each channel. Without `spatial`, there is one for each element: they are channels of a flat
/// operand.
pub(crate) fn spatial(step: &mut Step<'_>) -> Result<(), VersionReason> {
    let is_spatial = step.int(attr::SPATIAL)?.unwrap_or(1) != 0;
    step.remove(attr::SPATIAL);
    if is_spatial {
        return Ok(());
    }
    if step.output_count() > 1 {
        return Err("it has outputs of training, and a mean for each element".into());
    }
    let x = step.operand(0)?;
    let sizes = step.sizes(x).ok_or("the rank of the operand is unknown")?;
    let inner: Option<Vec<i64>> = sizes.iter().skip(1).map(|size| size.filter(|&size| size > 0)).collect();
    let mut shape = vec![0];
    shape.extend(inner.ok_or("a size of the operand is unknown or 0, and there is a mean for each element")?);
    let output =
        step.model.node(step.node).outputs().first().copied().flatten().ok_or("the output is omitted")?;
    let flat = step.before(op::FLATTEN, &[x], &[(attr::AXIS, AttrValue::Int(1))])?;
    step.set_input(0, Some(flat));
    for index in 1..5 {
        let parameter = step.operand(index)?;
        let all = step.constant(Tensor::vector(&[-1_i64]))?;
        let list = step.before(op::RESHAPE, &[parameter, all], &[])?;
        step.set_input(index, Some(list));
    }
    let shape = step.constant(Tensor::vector(&shape))?;
    step.wrap_output(output, None, op::RESHAPE, &[shape], &[])
}

/// Version 14 has other outputs of training.
pub(crate) fn without_training(step: &mut Step<'_>) -> Result<(), VersionReason> {
    match step.output_count() > 1 {
        true => Err("it has outputs of training, which version 14 defines in another way".into()),
        false => Ok(()),
    }
}

/// Downwards: the attribute that lists the overwritten operands is required. None is overwritten.
pub(crate) fn nothing_consumed(step: &mut Step<'_>) -> Result<(), VersionReason> {
    match step.has(attr::CONSUMED_INPUTS) {
        true => Ok(()),
        false => step.set(attr::CONSUMED_INPUTS, vec![0_i64; 5]),
    }
}

/// Downwards: the mode is an attribute in the older version, and the number of outputs in the newer one.
pub(crate) fn explicit_mode(step: &mut Step<'_>) -> Result<(), VersionReason> {
    let is_inference =
        (1..step.output_count()).all(|index| step.model.node(step.node).output(index).is_none());
    step.set(attr::IS_TEST, i64::from(is_inference))
}

/// Downwards: training has five outputs, of which only the first has the same meaning.
pub(crate) fn training_by_outputs(step: &mut Step<'_>) -> Result<(), VersionReason> {
    let is_training = step.flag(attr::TRAINING_MODE)?;
    step.remove(attr::TRAINING_MODE);
    if (1..step.output_count()).any(|index| step.used_output(index).is_some()) {
        return Err("it has outputs of training, which the older version defines in another way".into());
    }
    match is_training {
        false => {
            for index in 1..step.output_count() {
                step.model.clear_output(step.node, index)?;
            }
        }
        true => outputs::name(step, &[0, 1, 2, 3, 4])?,
    }
    Ok(())
}
