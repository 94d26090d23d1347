//! `Reshape`: version 14 adds an attribute with which 0 is a size.

use onnx_schema::{attr, op};
use onnx_types::Dim;

use crate::reason::VersionReason;
use crate::step::Step;

/// Upwards: nodes that earlier steps made take the shape of another value as it is, sizes of 0 included.
pub(crate) fn shape_of_value(step: &mut Step<'_>) -> Result<(), VersionReason> {
    let producer = step.input(1).and_then(|shape| step.model.value(shape).producer());
    let is_shape = producer.is_some_and(|node| step.model.node(node).op() == op::SHAPE);
    if step.is_made && is_shape {
        step.set(attr::ALLOWZERO, 1_i64)?;
    }
    Ok(())
}

/// Downwards: a 0 stands for the size of the operand.
pub(crate) fn zero_copies(step: &mut Step<'_>) -> Result<(), VersionReason> {
    if !step.flag(attr::ALLOWZERO)? {
        return Ok(());
    }
    let (x, shape) = (step.operand(0)?, step.operand(1)?);
    let sizes = step.int_dims(shape, "the shape, in which a 0 is a size")?;
    let own = step.types.dims(x).unwrap_or_default();
    // A 0 copies the size of the operand; here that size is 0, too.
    let is_proved = |index: usize, size: &Dim| match size {
        Dim::Known(size) if *size != 0 => true,
        Dim::Unknown => false,
        size => own.get(index) == Some(size),
    };
    let open: Vec<Dim> = sizes
        .iter()
        .enumerate()
        .filter(|(index, size)| !is_proved(*index, size))
        .map(|(_, size)| *size)
        .collect();
    let can_be_assumed = |size: &Dim| !matches!(size, Dim::Known(_) | Dim::Unknown);
    if step.types.assumes_positive() && open.iter().all(can_be_assumed) {
        open.into_iter().for_each(|size| step.types.assume_positive(step.model, size));
    } else if !open.is_empty() {
        let version = step.version;
        let text = format!("a size may be 0, which version {version} replaces by that of the operand");
        return Err(VersionReason::from(text).with_help(
            "if no size is 0 when the model runs, `onnx convert --assume positive-sizes` relies on that and records it",
        ));
    }
    step.remove(attr::ALLOWZERO);
    Ok(())
}
