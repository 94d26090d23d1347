//! `Resize`: version 11 adds modes of coordinate transformation, and changes the default.

use onnx_ir::AttrValue;
use onnx_schema::{attr, op};
use onnx_types::ElemType;
use onnx_types::tensor::{NoData, Tensor};

use crate::reason::VersionReason;
use crate::step::Step;

/// Version 10 multiplies coordinates with the scale, and `nearest` takes the element before the result, or the one after it if
/// the axis shrinks.
pub(crate) fn asymmetric(step: &mut Step<'_>) -> Result<(), VersionReason> {
    let mut scales = step.operand(1)?;
    let asymmetric = AttrValue::String("asymmetric".into());
    let region = step.constant(Tensor::vector::<f32>(&[]))?;
    if step.text(attr::MODE)?.as_deref() == Some("nearest") {
        let known = step.constant_of(scales);
        let known: Option<Vec<f64>> =
            known.and_then(|known| known.iter_f64(&NoData).ok().map(Iterator::collect));
        let all = |holds: fn(f64) -> bool| {
            known.as_ref().is_some_and(|scales| scales.iter().all(|&scale| holds(scale)))
        };
        let (floor, ceil) = (AttrValue::String("floor".into()), AttrValue::String("ceil".into()));
        let rounding = if all(|scale| scale >= 1.0) {
            floor
        } else if all(|scale| scale <= 1.0) {
            ceil
        } else {
            // One node lets axes grow, the next one lets others shrink.
            let one = step.number(1.0, ElemType::Float)?;
            let grows = step.like(scales, op::MAX, &[scales, one], &[])?;
            scales = step.like(scales, op::MIN, &[scales, one], &[])?;
            let attributes = [
                (attr::MODE, AttrValue::String("nearest".into())),
                (attr::NEAREST_MODE, floor),
                (attr::COORDINATE_TRANSFORMATION_MODE, asymmetric.clone()),
            ];
            let x = step.operand(0)?;
            let grown = step.like(x, op::RESIZE, &[x, region, grows], &attributes)?;
            step.set_input(0, Some(grown));
            ceil
        };
        step.set(attr::NEAREST_MODE, rounding)?;
    }
    step.set(attr::COORDINATE_TRANSFORMATION_MODE, asymmetric)?;
    step.set_input(1, Some(region));
    step.set_input(2, Some(scales));
    Ok(())
}

/// Version 13 has no `tf_half_pixel_for_nn`, and operands without elements are omitted.
pub(crate) fn omitted_operands(step: &mut Step<'_>) -> Result<(), VersionReason> {
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

/// Downwards: coordinates are multiplied by the scale; other transformations are refused.
pub(crate) fn only_asymmetric(step: &mut Step<'_>) -> Result<(), VersionReason> {
    let x = step.operand(0)?;
    let scales = match (step.input(2), step.input(3)) {
        (_, Some(sizes)) => {
            let sizes = step.ints(sizes, "the sizes")?;
            scales_of(&step.known_sizes(x)?, &sizes)?
        }
        (Some(scales), None) => {
            step.floats(scales, "the scales")?.into_iter().map(|scale| scale as f32).collect()
        }
        (None, None) => return Err("it has neither scales nor sizes".into()),
    };
    let mode = step.text(attr::MODE)?.unwrap_or_default();
    let transform = step.text(attr::COORDINATE_TRANSFORMATION_MODE)?.unwrap_or_default();
    let is_kept = scales.iter().all(|&scale| scale == 1.0);
    let grows = |scale: f32| scale >= 1.0 && scale.fract() == 0.0;
    let is_repeated = scales.iter().all(|&scale| grows(scale));
    let rounding = step.text(attr::NEAREST_MODE)?.unwrap_or_default();
    let is_equal = match (mode.as_str(), transform.as_str()) {
        _ if is_kept => transform != "tf_crop_and_resize",
        ("linear", "asymmetric") => true,
        // If all scales are integers, every element is repeated, independent of the transformation of coordinates.
        ("nearest", "half_pixel") => is_repeated && rounding.starts_with("round_prefer"),
        ("nearest", "asymmetric") => match rounding.as_str() {
            "floor" => scales.iter().all(|&scale| scale >= 1.0),
            "ceil" => scales.iter().all(|&scale| scale <= 1.0),
            _ => false,
        },
        _ => false,
    };
    if !is_equal {
        let text = format!("the older version does not have the mode `{mode}` with `{transform}`");
        return Err(match mode.as_str() {
            "nearest" => format!("{text} and `{rounding}` for these scales").into(),
            _ => text.into(),
        });
    }
    if step.flag(attr::EXCLUDE_OUTSIDE)? && mode == "cubic" {
        return Err("the older version has no `exclude_outside`".into());
    }
    for name in [
        attr::COORDINATE_TRANSFORMATION_MODE,
        attr::NEAREST_MODE,
        attr::EXCLUDE_OUTSIDE,
        attr::EXTRAPOLATION_VALUE,
        attr::CUBIC_COEFF_A,
    ] {
        step.remove(name);
    }
    if mode == "cubic" {
        step.set_text(attr::MODE, "nearest")?;
    }
    let scales = step.constant(Tensor::vector(&scales))?;
    step.set_input(1, Some(scales));
    step.cut_inputs(2);
    Ok(())
}

/// The scales that give sizes, if there are any.
fn scales_of(from: &[i64], to: &[i64]) -> Result<Vec<f32>, VersionReason> {
    if from.len() != to.len() {
        return Err("there is not one size for each axis".into());
    }
    let scale = |(&from, &to): (&i64, &i64)| {
        let scale = (to as f64 / from as f64) as f32;
        let given = (from as f64 * f64::from(scale)).floor();
        let is_exact = from > 0 && given == to as f64 && f64::from(scale) == to as f64 / from as f64;
        is_exact.then_some(scale).ok_or_else(|| {
            VersionReason::from(format!(
                "no scale is exactly {to}/{from}, and the older version has no sizes"
            ))
        })
    };
    from.iter().zip(to).map(scale).collect()
}

/// Downwards: operands that are omitted have no elements.
pub(crate) fn empty_operands(step: &mut Step<'_>) -> Result<(), VersionReason> {
    for index in [1, 2] {
        if step.input(index).is_none() {
            let empty = step.constant(Tensor::vector::<f32>(&[]))?;
            step.set_input(index, Some(empty));
        }
    }
    Ok(())
}

/// Refuses a filter against aliasing that has an effect: it needs an axis that shrinks, and interpolation.
fn refuse_antialias(step: &mut Step<'_>) -> Result<(), VersionReason> {
    let is_nearest = step.text(attr::MODE)?.as_deref() == Some("nearest");
    if step.flag(attr::ANTIALIAS)? && !is_nearest {
        let scales = step.input(2).map(|scales| step.floats(scales, "the scales")).transpose()?;
        if scales.is_none_or(|scales| scales.iter().any(|&scale| scale < 1.0)) {
            let version = step.version;
            let text =
                format!("it shrinks an axis with `antialias`, and version {version} has no `antialias`");
            return Err(text.into());
        }
    }
    Ok(())
}

/// Downwards: all axes have a scale or a size, those that are not named keep theirs.
pub(crate) fn all_axes(step: &mut Step<'_>) -> Result<(), VersionReason> {
    let policy = step.text(attr::KEEP_ASPECT_RATIO_POLICY)?.unwrap_or_default();
    if policy != "stretch" && step.input(3).is_some() {
        let version = step.version;
        let text =
            format!("`keep_aspect_ratio_policy` is `{policy}`, and version {version} has no such attribute");
        return Err(text.into());
    }
    step.remove(attr::KEEP_ASPECT_RATIO_POLICY);
    refuse_antialias(step)?;
    step.remove(attr::ANTIALIAS);
    let Some(axes) = step.given_ints(attr::AXES)? else { return Ok(()) };
    let x = step.operand(0)?;
    if step.input(1).is_some()
        && step.text(attr::COORDINATE_TRANSFORMATION_MODE)?.as_deref() == Some("tf_crop_and_resize")
    {
        let text = "`axes` restricts `roi` to some axes, and version";
        return Err(format!("{text} {} has no `axes`", step.version).into());
    }
    let rank = usize::try_from(step.rank(x)?).map_err(|_| "the rank is unknown")?;
    let places: Result<Vec<usize>, VersionReason> = axes
        .iter()
        .map(|&axis| {
            let axis = usize::try_from(step.positive(axis, x)?).map_err(|_| "an axis does not exist")?;
            if axis < rank { Ok(axis) } else { Err("an axis does not exist".into()) }
        })
        .collect();
    let places = places?;
    if let Some(scales) = step.input(2) {
        let given = step.floats(scales, "the scales")?;
        let mut all = vec![1.0_f32; rank];
        for (&place, scale) in places.iter().zip(given) {
            if let Some(slot) = all.get_mut(place) {
                *slot = scale as f32;
            }
        }
        let all = step.constant(Tensor::vector(&all))?;
        step.set_input(2, Some(all));
    }
    if let Some(sizes) = step.input(3) {
        let given = step.ints(sizes, "the sizes")?;
        let mut all = step.known_sizes(x)?;
        for (&place, size) in places.iter().zip(given) {
            if let Some(slot) = all.get_mut(place) {
                *slot = size;
            }
        }
        let all = step.list(&all)?;
        step.set_input(3, Some(all));
    }
    step.set_input(1, None);
    step.remove(attr::AXES);
    Ok(())
}

/// Downwards: refuses the coordinate transformation `half_pixel_symmetric`, which version 19 adds.
pub(crate) fn not_symmetric(step: &mut Step<'_>) -> Result<(), VersionReason> {
    if step.text(attr::COORDINATE_TRANSFORMATION_MODE)?.as_deref() == Some("half_pixel_symmetric") {
        let text = "`coordinate_transformation_mode` is `half_pixel_symmetric`, which version";
        return Err(format!("{text} {} does not have", step.version).into());
    }
    Ok(())
}
