//! `GRU`, `LSTM`, `RNN`: before version 7, the output of all steps is computed only if an attribute is set.

use onnx_ir::AttrValue;
use onnx_schema::{attr, op};

use crate::reason::VersionReason;
use crate::step::Step;

/// Version 7 computes every output that has a name.
pub(crate) fn all_outputs(step: &mut Step<'_>) -> Result<(), VersionReason> {
    let has_sequence = step.int(attr::OUTPUT_SEQUENCE)?.unwrap_or(0) != 0;
    if !has_sequence && step.used_output(0).is_some() {
        return Err("its first output is used, but `output_sequence` is not set".into());
    }
    step.remove(attr::OUTPUT_SEQUENCE);
    Ok(())
}

/// Downwards: the output of all steps is computed if the attribute is set.
pub(crate) fn explicit_sequence(step: &mut Step<'_>) -> Result<(), VersionReason> {
    let has_sequence = step.model.node(step.node).output(0).is_some();
    step.set(attr::OUTPUT_SEQUENCE, i64::from(has_sequence))
}

/// Downwards: the batch is the second axis, so operands and results whose first axis is the batch are transposed.
pub(crate) fn batch_second(step: &mut Step<'_>) -> Result<(), VersionReason> {
    if !step.flag(attr::LAYOUT)? {
        return Ok(());
    }
    step.remove(attr::LAYOUT);
    for index in [0, 5, 6] {
        if let Some(value) = step.input(index) {
            let turned = step.transpose(value, &[1, 0, 2])?;
            step.set_input(index, Some(turned));
        }
    }
    for index in 0..step.output_count() {
        let Some(output) = step.model.node(step.node).output(index) else { continue };
        // The results of all steps have an axis for the direction.
        let order: Vec<i64> = if index == 0 { vec![2, 0, 1, 3] } else { vec![1, 0, 2] };
        step.wrap_output(output, None, op::TRANSPOSE, &[], &[(attr::PERM, AttrValue::Ints(order))])?;
    }
    Ok(())
}
