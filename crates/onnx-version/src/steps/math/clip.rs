//! `Clip`: bounds are attributes before version 11. An omitted bound is the least or the greatest finite number of the type,
//! as the text of every version says; in versions 6 to 10 it is that of `float`, the default of the attribute.

use onnx_schema::{attr, op};
use onnx_types::ElemType;

use crate::reason::VersionReason;
use crate::step::{Step, float_splat};
use crate::steps::moved::exact;

/// The greatest finite number of a type of which an attribute states the bounds; `None` if it need not be stated, as it is the
/// default.
fn stated_limit(elem: ElemType) -> Result<Option<f32>, VersionReason> {
    match elem {
        ElemType::Float => Ok(None),
        ElemType::Double => Err("an attribute cannot state the omitted bound of `double`".into()),
        _ => elem.greatest_finite().map(exact).transpose(),
    }
}

/// The default of a bound is that of `float`, whatever the type is, so omitted bounds of `float16` are written, and those of
/// `double` refused.
pub(crate) fn stated_bounds(step: &mut Step<'_>) -> Result<(), VersionReason> {
    for (name, sign) in [(attr::MIN, -1.0), (attr::MAX, 1.0)] {
        if !step.has(name)
            && let Some(limit) = stated_limit(step.elem(step.operand(0)?)?)?
        {
            step.set(name, sign * limit)?;
        }
    }
    Ok(())
}

/// Downwards: constant bounds are attributes, and others are those of `Max` and `Min`, which are broadcast since version 8,
/// as are bounds in the wrong order and an omitted one of `double`, which no attribute can state.
pub(crate) fn attributes(step: &mut Step<'_>) -> Result<(), VersionReason> {
    let mut values = Vec::new();
    let mut constant = Ok(());
    for (index, name, sign) in [(1, attr::MIN, -1.0), (2, attr::MAX, 1.0)] {
        let Some(bound) = step.input(index) else {
            match stated_limit(step.elem(step.operand(0)?)?) {
                Ok(limit) => values.push((name, sign * limit.unwrap_or(f32::MAX), limit.is_some())),
                Err(reason) => constant = Err(reason),
            }
            continue;
        };
        let number = step.floats(bound, "a bound").and_then(|numbers| match numbers.as_slice() {
            &[number] => exact(number),
            _ => Err("a bound has not one element".into()),
        });
        match number {
            Ok(number) => values.push((name, number, true)),
            Err(reason) => constant = Err(reason),
        }
    }
    // Version 13 defines the result for bounds in the wrong order, and older ones do not.
    let is_ordered = !matches!(values.as_slice(), [(_, min, _), (_, max, _)] if min > max);
    if constant.is_ok() && is_ordered {
        for (name, bound, _) in values.into_iter().filter(|(_, _, is_stated)| *is_stated) {
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
    for (index, op, sign) in [(1, op::MAX, -1.0), (2, op::MIN, 1.0)] {
        let bound = match step.input(index) {
            Some(bound) => bound,
            None => {
                let limit = elem.greatest_finite().unwrap_or(f64::INFINITY);
                step.constant(float_splat(Vec::new(), sign * limit, elem)?)?
            }
        };
        made = step.like(x, op, &[made, bound], &[])?;
    }
    step.replace(made)
}
