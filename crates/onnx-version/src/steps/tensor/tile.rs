//! `Tile`: version 1 repeats along one axis.

use onnx_schema::op;
use onnx_types::tensor::{NoData, Tensor};

use crate::reason::VersionReason;
use crate::step::{Step, float_scalar};

/// One number for each axis: 1, except at the one that is repeated.
pub(crate) fn all_axes(step: &mut Step<'_>) -> Result<(), VersionReason> {
    let rank = usize::try_from(step.rank(step.operand(0)?)?).map_err(|_| "the rank is unknown")?;
    let mut numbers = Vec::new();
    for index in [1, 2] {
        let tensor = step
            .constant_of(step.operand(index)?)
            .ok_or("the axis or the number of copies is not constant")?;
        let number = tensor.iter_f64(&NoData).ok().and_then(|mut elements| elements.next());
        let number = number
            .filter(|number| number.fract() == 0.0)
            .ok_or("the axis or the number is not an integer")?;
        numbers.push(number as i64);
    }
    let (Some(&copies), Some(&axis)) = (numbers.first(), numbers.last()) else {
        return Err("no axis".into());
    };
    let mut repeats = vec![1_i64; rank];
    let slot = usize::try_from(axis).ok().and_then(|axis| repeats.get_mut(axis));
    *slot.ok_or("the axis is not one of the operand")? = copies;
    let repeats = step.constant(Tensor::vector(&repeats))?;
    step.set_input(1, Some(repeats));
    step.model.remove_input(step.node, 2);
    Ok(())
}

/// Downwards: one axis after the other.
pub(crate) fn one_axis(step: &mut Step<'_>) -> Result<(), VersionReason> {
    let (x, repeats) = (step.operand(0)?, step.operand(1)?);
    let repeats = step.ints(repeats, "the numbers of copies")?;
    let elem = step.elem(x)?;
    let mut made = x;
    for (axis, &copies) in repeats.iter().enumerate().filter(|&(_, &copies)| copies != 1) {
        let number = |step: &mut Step<'_>, number: f32| {
            float_scalar(number, elem).and_then(|tensor| step.constant(tensor))
        };
        if copies.unsigned_abs() > 1 << 11 || axis > 1 << 11 {
            return Err("a number of copies is too large".into());
        }
        let copies = number(step, copies as f32)?;
        let axis = number(step, axis as f32)?;
        made = step.like(x, op::TILE, &[made, copies, axis], &[])?;
    }
    if made == x {
        made = step.like(x, op::IDENTITY, &[x], &[])?;
    }
    step.replace(made)
}
