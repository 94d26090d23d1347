//! `Split`: the sizes are an operand in version 1, then an attribute; version 18 wants the number of parts.

use onnx_schema::attr;
use onnx_types::tensor::NoData;

use crate::step::{Reason, Step};

/// Sizes that are an operand must be constant. The axis has no default in version 1; 0 is meant.
pub(crate) fn attribute(step: &mut Step<'_>) -> Result<(), Reason> {
    if let Some(sizes) = step.input(1) {
        let sizes = step.constant_of(sizes).ok_or("the sizes of the parts are not constant")?;
        let sizes: Result<Vec<i64>, _> = sizes.iter_i64(&NoData).map(Iterator::collect);
        step.set(attr::SPLIT, sizes.map_err(|_| "the sizes of the parts are not integers")?)?;
    }
    while step.model.node(step.node).input_count() > 1 {
        step.model.remove_input(step.node, 1);
    }
    match step.has(attr::AXIS) {
        true => Ok(()),
        false => step.set(attr::AXIS, 0_i64),
    }
}

/// Parts of equal sizes, as many as there are outputs.
pub(crate) fn number_of_outputs(step: &mut Step<'_>) -> Result<(), Reason> {
    if step.input(1).is_some() {
        return Ok(());
    }
    let count = i64::try_from(step.output_count()).unwrap_or(i64::MAX);
    step.set(attr::NUM_OUTPUTS, count)
}
