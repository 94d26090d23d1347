//! `Reshape`: version 14 can take a 0 as a size.

use onnx_schema::{attr, op};
use onnx_types::Dim;

use crate::reason::Reason;
use crate::step::Step;

/// Upwards: nodes that earlier steps made take the shape of another value as it is, sizes of 0 included.
pub(crate) fn shape_of_value(step: &mut Step<'_>) -> Result<(), Reason> {
    let producer = step.input(1).and_then(|shape| step.model.value(shape).producer());
    let is_shape = producer.is_some_and(|node| step.model.node(node).op() == op::SHAPE);
    if step.is_made && is_shape {
        step.set(attr::ALLOWZERO, 1_i64)?;
    }
    Ok(())
}

/// Downwards: a 0 stands for the size of the operand.
pub(crate) fn zero_copies(step: &mut Step<'_>) -> Result<(), Reason> {
    if !step.flag(attr::ALLOWZERO)? {
        return Ok(());
    }
    let (x, shape) = (step.operand(0)?, step.operand(1)?);
    let sizes = step.int_dims(shape, "the shape, in which a 0 is a size")?;
    let own = step.types.dims(x).unwrap_or_default();
    // A size that is 0 stands for that of the operand, which is the same one.
    let is_kept = |(index, size): (usize, &Dim)| match size {
        Dim::Known(size) if *size != 0 => true,
        Dim::Unknown => false,
        size => own.get(index) == Some(size),
    };
    if !sizes.iter().enumerate().all(is_kept) {
        return Err("a size may be 0, which stands for that of the operand in the older version".into());
    }
    step.remove(attr::ALLOWZERO);
    Ok(())
}
