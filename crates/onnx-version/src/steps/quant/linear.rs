//! `QuantizeLinear`, `DequantizeLinear`: several versions add types of operand, scale and result, and scales along an
//! axis.

use onnx_ir::{AttrValue, ValueId};
use onnx_schema::{attr, op};
use onnx_types::ElemType;
use onnx_types::tensor::Tensor;

use crate::reason::{Cause, VersionReason};
use crate::step::Step;

/// Integers are divided as `float`, as before.
pub(crate) fn float_operand(step: &mut Step<'_>) -> Result<(), VersionReason> {
    let x = step.operand(0)?;
    if step.elem(x)? == ElemType::Int32 {
        let wide = step.cast(x, ElemType::Float)?;
        step.set_input(0, Some(wide));
    }
    Ok(())
}

/// Downwards: `saturate` has an effect on 8-bit floats only, which the older version does not have.
pub(crate) fn without_saturate(step: &mut Step<'_>) -> Result<(), VersionReason> {
    step.remove(attr::SATURATE);
    Ok(())
}

/// Downwards: an attribute that states the type of the result becomes a zero point of that type. Integers of 16 bits, which the
/// older version does not have, are computed by arithmetic.
pub(crate) fn type_of_zero_point(step: &mut Step<'_>) -> Result<(), VersionReason> {
    explicit_zero_point(step)?;
    match step.input(2).map(|zero| step.elem(zero)).transpose()? {
        Some(ElemType::Int16 | ElemType::Uint16) => arithmetic(step),
        _ => Ok(()),
    }
}

/// Downwards: integers of 16 bits, which the older version does not have, are computed by arithmetic.
pub(crate) fn narrow_integers(step: &mut Step<'_>) -> Result<(), VersionReason> {
    match step.elem(step.operand(0)?)? {
        ElemType::Int16 | ElemType::Uint16 => arithmetic(step),
        _ => Ok(()),
    }
}

fn explicit_zero_point(step: &mut Step<'_>) -> Result<(), VersionReason> {
    let code = step.int(attr::OUTPUT_DTYPE)?.unwrap_or(0);
    step.remove(attr::OUTPUT_DTYPE);
    if code == 0 || step.input(2).is_some() || code == i64::from(ElemType::Uint8.code()) {
        return Ok(());
    }
    let elem =
        i32::try_from(code).ok().and_then(ElemType::from_code).ok_or("`output_dtype` is not a type")?;
    let sizes = step.known_sizes(step.operand(1)?)?;
    let zero = match elem {
        ElemType::Int8 => Tensor::splat(sizes, 0_i8),
        ElemType::Int16 => Tensor::splat(sizes, 0_i16),
        ElemType::Uint16 => Tensor::splat(sizes, 0_u16),
        _ => {
            let text = format!("the result has the type {}", elem.name());
            return Err(VersionReason::new(Cause::TypeNotAllowed, text));
        }
    };
    let zero = step.constant(zero.map_err(|_| "the scale is too large")?)?;
    step.set_input(2, Some(zero));
    Ok(())
}

/// Downwards: operand and scale have one type, in which the quotient is computed.
pub(crate) fn one_precision(step: &mut Step<'_>) -> Result<(), VersionReason> {
    let of_scale = step.elem(step.operand(1)?)?;
    let precision = step.int(attr::PRECISION)?.unwrap_or(0);
    if precision != 0 && precision != i64::from(of_scale.code()) {
        return Err("`precision` is not the type of the scale".into());
    }
    step.remove(attr::PRECISION);
    let x = step.operand(0)?;
    let of_x = step.elem(x)?;
    if of_x != of_scale {
        let is_wider = of_scale == ElemType::Float && of_x.bits().is_some_and(|bits| bits <= 16);
        if !is_wider {
            let text = format!("the operand has the type {}, and the scale {}", of_x.name(), of_scale.name());
            return Err(VersionReason::new(Cause::TypeNotAllowed, text));
        }
        let wide = step.cast(x, of_scale)?;
        step.set_input(0, Some(wide));
    }
    Ok(())
}

/// Downwards: the result has the type of the scale.
pub(crate) fn type_of_scale(step: &mut Step<'_>) -> Result<(), VersionReason> {
    let code = step.int(attr::OUTPUT_DTYPE)?.unwrap_or(0);
    step.remove(attr::OUTPUT_DTYPE);
    let of_scale = step.elem(step.operand(1)?)?;
    if code == 0 || code == i64::from(of_scale.code()) {
        return Ok(());
    }
    let elem =
        i32::try_from(code).ok().and_then(ElemType::from_code).ok_or("`output_dtype` is not a type")?;
    // Rounded once: the product of other types would be rounded twice.
    if of_scale != ElemType::Float {
        let text = format!("the result has the type {}, and the scale {}", elem.name(), of_scale.name());
        return Err(VersionReason::new(Cause::TypeNotAllowed, text));
    }
    let output = step.output()?;
    step.wrap_output(output, Some(of_scale), op::CAST, &[], &[(attr::TO, AttrValue::Int(code))])
}

/// Downwards: there is one scale. Scales along an axis are replaced by arithmetic with broadcasting.
pub(crate) fn one_scale(step: &mut Step<'_>) -> Result<(), VersionReason> {
    let scale = step.operand(1)?;
    let sizes = step.sizes(scale).ok_or_else(|| {
        VersionReason::new(
            Cause::ShapeUnknown,
            "it is unknown whether there is one scale or one for each channel",
        )
    })?;
    if sizes.iter().all(|&size| size == Some(1)) {
        step.remove(attr::AXIS);
        if sizes.is_empty() {
            return Ok(());
        }
        for index in [1, 2] {
            if let Some(value) = step.input(index) {
                let scalar = step.reshape(value, &[])?;
                step.set_input(index, Some(scalar));
            }
        }
        return Ok(());
    }
    arithmetic(step)
}

/// Replaces the node by operations on elements.
fn arithmetic(step: &mut Step<'_>) -> Result<(), VersionReason> {
    let (x, scale) = (step.operand(0)?, step.operand(1)?);
    let of_scale = step.elem(scale)?;
    if of_scale != ElemType::Float {
        let text = format!("the scale must be `float`, but is `{}`", of_scale.name());
        return Err(VersionReason::new(Cause::TypeNotAllowed, text));
    }
    if step.int(attr::BLOCK_SIZE)?.unwrap_or(0) != 0 {
        return Err("`block_size` is not 0".into());
    }
    let rank = step.rank(x)?;
    let is_one = step.sizes(scale).is_some_and(|sizes| sizes.iter().all(|&size| size == Some(1)));
    // Axes of size 1 follow that of the scales.
    let after: Vec<i64> = match is_one {
        true => Vec::new(),
        false => {
            let axis = step.positive(step.int(attr::AXIS)?.unwrap_or(1), x)?;
            (1..rank.saturating_sub(axis)).collect()
        }
    };
    let align = |step: &mut Step<'_>, value: ValueId| -> Result<ValueId, VersionReason> {
        match (is_one, after.is_empty()) {
            (true, _) if step.sizes(value).is_some_and(|sizes| sizes.is_empty()) => Ok(value),
            (true, _) => step.reshape(value, &[]),
            (false, true) => Ok(value),
            (false, false) => step.with_axes(op::UNSQUEEZE, value, &after),
        }
    };
    let scale = align(step, scale)?;
    let zero = match step.input(2) {
        Some(zero) => Some(align(step, zero)?),
        None => None,
    };
    let made = match step.old.op() {
        op::DEQUANTIZE_LINEAR => dequantized(step, x, scale, zero)?,
        _ => quantized(step, x, scale, zero)?,
    };
    step.replace(made)
}

/// `(x - zero) * scale`.
fn dequantized(
    step: &mut Step<'_>,
    x: ValueId,
    scale: ValueId,
    zero: Option<ValueId>,
) -> Result<ValueId, VersionReason> {
    let mut made = step.cast(x, ElemType::Float)?;
    if let Some(zero) = zero {
        let zero = step.cast(zero, ElemType::Float)?;
        made = step.like(scale, op::SUB, &[made, zero], &[])?;
    }
    step.like(scale, op::MUL, &[made, scale], &[])
}

/// `round(x / scale) + zero` within the bounds of the type.
fn quantized(
    step: &mut Step<'_>,
    x: ValueId,
    scale: ValueId,
    zero: Option<ValueId>,
) -> Result<ValueId, VersionReason> {
    let elem = match zero {
        Some(zero) => step.elem(zero)?,
        None => ElemType::Uint8,
    };
    let (low, high) = match elem {
        ElemType::Uint8 => (0.0, 255.0),
        ElemType::Int8 => (-128.0, 127.0),
        ElemType::Uint16 => (0.0, 65535.0),
        ElemType::Int16 => (-32768.0, 32767.0),
        _ => return Err(VersionReason::new(Cause::TypeNotAllowed, "the result is not a narrow integer")),
    };
    let x = step.cast(x, ElemType::Float)?;
    let quotient = step.like(scale, op::DIV, &[x, scale], &[])?;
    let mut made = step.like(scale, op::ROUND, &[quotient], &[])?;
    if let Some(zero) = zero {
        let zero = step.cast(zero, ElemType::Float)?;
        made = step.like(scale, op::ADD, &[made, zero], &[])?;
    }
    let (low, high) = (step.number(low, ElemType::Float)?, step.number(high, ElemType::Float)?);
    let made = step.like(scale, op::CLIP, &[made, low, high], &[])?;
    step.cast(made, elem)
}
