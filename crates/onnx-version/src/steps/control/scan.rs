//! `Scan`: version 8 scans each element of a batch; axes count from the front before version 11.

use onnx_ir::AttrValue;
use onnx_schema::{attr, op};

use crate::reason::VersionReason;
use crate::step::Step;

/// Upwards: a batch of one is scanned without its axis. All operands have the batch, so one of known size tells that of the others.
pub(crate) fn without_batch(step: &mut Step<'_>) -> Result<(), VersionReason> {
    if step.input(0).is_some() {
        return Err("its sequences have lengths".into());
    }
    let count = step.model.node(step.node).input_count();
    let mut batches = Vec::new();
    for index in 1..count {
        let value = step.operand(index)?;
        batches.extend(step.sizes(value).and_then(|sizes| sizes.first().copied().flatten()));
    }
    if batches.is_empty() || batches.iter().any(|&batch| batch != 1) {
        return Err("its batch is not known to have one element".into());
    }
    for index in 1..count {
        let value = step.operand(index)?;
        let made = step.with_axes(op::SQUEEZE, value, &[0])?;
        step.set_input(index, Some(made));
    }
    step.model.remove_input(step.node, 0);
    if let Some(directions) = step.given_ints(attr::DIRECTIONS)? {
        step.remove(attr::DIRECTIONS);
        step.set(attr::SCAN_INPUT_DIRECTIONS, directions)?;
    }
    wrap_outputs(step, op::UNSQUEEZE)
}

/// Downwards: axes are counted from the front.
pub(crate) fn axes_from_front(step: &mut Step<'_>) -> Result<(), VersionReason> {
    let is_negative = |axes: &Vec<i64>| axes.iter().any(|&axis| axis < 0);
    let scanned = step.int(attr::NUM_SCAN_INPUTS)?.and_then(|count| usize::try_from(count).ok());
    let inputs = step.model.node(step.node).input_count();
    let states = scanned.and_then(|scanned| inputs.checked_sub(scanned));
    let states = states.ok_or("`num_scan_inputs` is not a number of inputs")?;
    if let Some(axes) = step.given_ints(attr::SCAN_INPUT_AXES)?.filter(is_negative) {
        let front = |(index, &axis): (usize, &i64)| -> Result<i64, VersionReason> {
            step.positive(axis, step.operand(states.saturating_add(index))?)
        };
        let axes: Result<Vec<i64>, VersionReason> = axes.iter().enumerate().map(front).collect();
        step.set(attr::SCAN_INPUT_AXES, axes?)?;
    }
    if let Some(axes) = step.given_ints(attr::SCAN_OUTPUT_AXES)?.filter(is_negative) {
        let body = step.given(attr::BODY)?.and_then(|body| body.graphs().first().copied());
        let slices = body.map(|body| step.model.graph(body).outputs()).unwrap_or_default();
        let front = |(index, &axis): (usize, &i64)| -> Result<i64, VersionReason> {
            let slice = slices.get(states.saturating_add(index)).ok_or("the body has fewer outputs")?;
            // What is collected has one axis more than a slice.
            let rank = step.rank(slice.value())?.saturating_add(1);
            Ok(if axis < 0 { axis.saturating_add(rank) } else { axis })
        };
        let axes: Result<Vec<i64>, VersionReason> = axes.iter().enumerate().map(front).collect();
        step.set(attr::SCAN_OUTPUT_AXES, axes?)?;
    }
    Ok(())
}

/// Downwards: the batch has one element.
pub(crate) fn batch_of_one(step: &mut Step<'_>) -> Result<(), VersionReason> {
    for name in [attr::SCAN_INPUT_AXES, attr::SCAN_OUTPUT_AXES, attr::SCAN_OUTPUT_DIRECTIONS] {
        if step.given_ints(name)?.is_some_and(|values| values.iter().any(|&value| value != 0)) {
            return Err("it scans along other axes or writes backwards".into());
        }
        step.remove(name);
    }
    if let Some(directions) = step.given_ints(attr::SCAN_INPUT_DIRECTIONS)? {
        step.remove(attr::SCAN_INPUT_DIRECTIONS);
        step.set(attr::DIRECTIONS, directions)?;
    }
    let inputs: Vec<_> = step.model.node(step.node).inputs().collect();
    step.set_input(0, None);
    for (index, value) in inputs.into_iter().enumerate() {
        let value = value.ok_or("an operand is omitted")?;
        let made = step.with_axes(op::UNSQUEEZE, value, &[0])?;
        step.set_input(index.saturating_add(1), Some(made));
    }
    wrap_outputs(step, op::SQUEEZE)
}

fn wrap_outputs(step: &mut Step<'_>, op: onnx_types::Symbol) -> Result<(), VersionReason> {
    for index in 0..step.output_count() {
        if let Some(output) = step.model.node(step.node).output(index) {
            step.wrap_output(output, None, op, &[], &[(attr::AXES, AttrValue::Ints(vec![0]))])?;
        }
    }
    Ok(())
}
