//! `Resize`: version 11 adds ways to map coordinates, and another one is the default.

use onnx_ir::AttrValue;
use onnx_schema::attr;
use onnx_types::tensor::{NoData, Tensor};

use crate::step::{Reason, Step};

/// Version 10 multiplies coordinates with the scale, and `nearest` takes the element before the result, or the one after it if
/// the axis shrinks.
pub(crate) fn asymmetric(step: &mut Step<'_>) -> Result<(), Reason> {
    let scales = step.operand(1)?;
    if step.text(attr::MODE)?.as_deref() == Some("nearest") {
        let known =
            step.constant_of(scales).ok_or("the scales are not constant, and the mode is `nearest`")?;
        let known: Vec<f64> = known.iter_f64(&NoData).map_err(|_| "the scales cannot be read")?.collect();
        let rounding = match (known.iter().any(|&scale| scale < 1.0), known.iter().any(|&scale| scale > 1.0))
        {
            (true, true) => {
                return Err("one axis grows and another one shrinks, in the mode `nearest`".into());
            }
            (true, false) => "ceil",
            (false, _) => "floor",
        };
        step.set(attr::NEAREST_MODE, AttrValue::String(rounding.into()))?;
    }
    step.set(attr::COORDINATE_TRANSFORMATION_MODE, AttrValue::String("asymmetric".into()))?;
    let region = step.constant(Tensor::vector::<f32>(&[]))?;
    step.set_input(1, Some(region));
    step.set_input(2, Some(scales));
    Ok(())
}

/// Version 13 has no `tf_half_pixel_for_nn`, and operands without elements are omitted.
pub(crate) fn omitted_operands(step: &mut Step<'_>) -> Result<(), Reason> {
    if step.text(attr::COORDINATE_TRANSFORMATION_MODE)?.as_deref() == Some("tf_half_pixel_for_nn") {
        return Err("`tf_half_pixel_for_nn` was removed".into());
    }
    let Some(scales) = step.input(2).filter(|_| step.input(3).is_some()) else { return Ok(()) };
    let is_empty = |sizes: Vec<Option<i64>>| sizes.first().copied().flatten().map(|count| count == 0);
    match step.sizes(scales).and_then(is_empty) {
        // If both are given, the sizes count.
        Some(_) => {
            step.set_input(2, None);
            Ok(())
        }
        None => Err("it is unknown whether scales are given in addition to sizes".into()),
    }
}
