//! `Tile`: version 1 repeats along one axis.

use onnx_types::tensor::{NoData, Tensor};

use crate::step::{Reason, Step};

/// One number for each axis: 1, except at the one that is repeated.
pub(crate) fn all_axes(step: &mut Step<'_>) -> Result<(), Reason> {
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
