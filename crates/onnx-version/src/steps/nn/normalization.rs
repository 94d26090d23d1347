//! `GroupNormalization`: before version 21, scale and bias have an element for each group.

use onnx_ir::AttrValue;
use onnx_schema::{attr, op};
use onnx_types::ElemType;
use onnx_types::tensor::Tensor;

use crate::reason::VersionReason;
use crate::step::Step;

/// Repeats scale and bias for the channels of each group. Version 18 computes in the type of the operand.
pub(crate) fn parameters_of_channels(step: &mut Step<'_>) -> Result<(), VersionReason> {
    let x = step.operand(0)?;
    let elem = step.elem(x)?;
    let groups =
        step.int(attr::NUM_GROUPS)?.filter(|&groups| groups > 0).ok_or("the number of groups is unknown")?;
    let channels = step.sizes(x).and_then(|sizes| sizes.get(1).copied().flatten());
    let channels = channels.ok_or("the number of channels is unknown")?;
    if channels % groups != 0 {
        return Err("the channels cannot be divided into the groups".into());
    }
    if elem == ElemType::Double {
        step.set(attr::STASH_TYPE, i64::from(ElemType::Double.code()))?;
    }
    for index in [1, 2] {
        let parameter = step.operand(index)?;
        // Exporters write one for each channel, which only version 21 takes.
        let size = step.sizes(parameter).and_then(|sizes| sizes.first().copied().flatten());
        if size.is_some_and(|size| size != groups) {
            return Err("scale and bias have not one element for each group, as version 18 takes them; if they have one for each \
                        channel, `onnx edit --import 21` is the repair"
                .into());
        }
        let axes = step.constant(Tensor::vector(&[1_i64]))?;
        let column = step.before(op::UNSQUEEZE, &[parameter, axes], &[])?;
        let table = step.constant(Tensor::vector(&[groups, channels / groups]))?;
        let table = step.before(op::EXPAND, &[column, table], &[])?;
        let all = step.constant(Tensor::vector(&[channels]))?;
        let list = step.before(op::RESHAPE, &[table, all], &[(attr::ALLOWZERO, AttrValue::Int(1))])?;
        step.set_input(index, Some(list));
    }
    Ok(())
}
