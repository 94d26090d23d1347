//! `Clip`: in version 1 an omitted bound does not bound the elements; bounds are attributes before version 11.

use onnx_schema::{attr, op};
use onnx_types::ElemType;

use crate::reason::VersionReason;
use crate::step::Step;
use crate::steps::moved::exact;

/// From version 6, an omitted bound is the largest finite number of `float`.
pub(crate) fn infinite_bounds(step: &mut Step<'_>) -> Result<(), VersionReason> {
    for (name, bound) in [(attr::MIN, f32::NEG_INFINITY), (attr::MAX, f32::INFINITY)] {
        if !step.has(name) {
            step.set(name, bound)?;
        }
    }
    Ok(())
}

/// Downwards: constant bounds are attributes, and others are those of `Max` and `Min`, which are broadcast since version 8.
/// An omitted bound does not bind infinities.
/// Bounds in the wrong order are those of `Max` and `Min`, too.
pub(crate) fn attributes(step: &mut Step<'_>) -> Result<(), VersionReason> {
    let bounds = [(1, attr::MIN, f32::NEG_INFINITY), (2, attr::MAX, f32::INFINITY)];
    let mut values = Vec::new();
    let mut constant = Ok(());
    for (index, name, open) in bounds {
        let Some(bound) = step.input(index) else {
            values.push((name, open));
            continue;
        };
        let number = step.floats(bound, "a bound").and_then(|numbers| match numbers.as_slice() {
            &[number] => exact(number),
            _ => Err("a bound has not one element".into()),
        });
        match number {
            Ok(number) => values.push((name, number)),
            Err(reason) => constant = Err(reason),
        }
    }
    // Version 13 defines the result for bounds in the wrong order, and older ones do not.
    let is_ordered = !matches!(values.as_slice(), [(_, min), (_, max)] if min > max);
    if constant.is_ok() && is_ordered {
        for (name, bound) in values {
            step.set(name, bound)?;
        }
        step.cut_inputs(1);
        return Ok(());
    }
    let x = step.operand(0)?;
    let elem = step.elem(x)?;
    if ![ElemType::Float, ElemType::Double, ElemType::Float16].contains(&elem) {
        return constant.and(Err("the least element is greater than the greatest".into()));
    }
    let mut made = x;
    for (index, op) in [(1, op::MAX), (2, op::MIN)] {
        if let Some(bound) = step.input(index) {
            made = step.like(x, op, &[made, bound], &[])?;
        }
    }
    step.replace(made)
}
