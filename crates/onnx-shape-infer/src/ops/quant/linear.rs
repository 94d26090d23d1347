//! `QuantizeLinear` and `DequantizeLinear`: the result has the shape of the input.
//!
//! The scale is one number, or has one for each index along `axis` (from version 13 on), or one for each block of
//! `block_size` (from 21 on). A scale or zero point that does not fit is a fault, and a known number of scales is the
//! size of the axis; the reference checks neither. The quantized type is that of the zero point, or `output_dtype`
//! (from 21 on), or `uint8`; the dequantized type is that of the scale, or `output_dtype` (from 23 on).

use onnx_schema::{attr, op};
use onnx_types::{Dim, ElemType};

use crate::cx::{Cx, Outcome};
use crate::family::element_type::attribute;
use crate::fault::{BAD_ATTRIBUTE, TYPES_DIFFER};
use crate::registry::{OpRules, infer, since};
use crate::ty::{Dims, at};

pub(super) const QUANTIZE: OpRules = infer(
    op::QUANTIZE_LINEAR,
    &[since(10, quantize_whole), since(13, quantize_axis), since(21, quantize_blocks)],
);
pub(super) const DEQUANTIZE: OpRules = infer(
    op::DEQUANTIZE_LINEAR,
    &[
        since(10, by_scalar),
        since(13, by_axis),
        since(19, |cx| unless_vector(cx, by_axis)),
        since(21, by_blocks),
        since(23, dequantize_to),
    ],
);

fn quantize_whole(cx: &mut Cx<'_, '_>) -> Outcome {
    type_of_zero_point(cx);
    by_scalar(cx)
}

fn quantize_axis(cx: &mut Cx<'_, '_>) -> Outcome {
    type_of_zero_point(cx);
    by_axis(cx)
}

fn quantize_blocks(cx: &mut Cx<'_, '_>) -> Outcome {
    match (asked(cx)?, cx.elem(2)) {
        (Some(asked), Ok(given)) if asked != given => {
            let message = format_args!(
                "attribute `output_dtype` is {} and the zero point is {}",
                asked.name(),
                given.name()
            );
            return Err(cx.fail(&TYPES_DIFFER, message));
        }
        (Some(asked), _) => cx.set_elem(0, asked),
        (None, _) => type_of_zero_point(cx),
    }
    unless_vector(cx, by_blocks)
}

fn dequantize_to(cx: &mut Cx<'_, '_>) -> Outcome {
    if let Some(elem) = asked(cx)?.or_else(|| cx.elem(1).ok()) {
        cx.set_elem(0, elem);
    }
    by_blocks(cx)
}

/// The type that `output_dtype` asks for, if it asks for one.
fn asked(cx: &mut Cx<'_, '_>) -> Outcome<Option<ElemType>> {
    let Some(elem) = attribute(cx, attr::OUTPUT_DTYPE)?.filter(|&elem| elem != ElemType::Undefined) else {
        return Ok(None);
    };
    let formal = cx.schema.and_then(|schema| Some((schema, schema.output_for(0)?)));
    if formal.is_some_and(|(schema, formal)| !schema.types_of(formal).contains_tensor(elem)) {
        let name = elem.name();
        return Err(cx.fail(
            &BAD_ATTRIBUTE,
            format_args!("attribute `output_dtype` is {name}, which is not a type of the result"),
        ));
    }
    Ok(Some(elem))
}

/// Without a zero point the result is `uint8`; with one the type variables of the schema say what it is.
fn type_of_zero_point(cx: &mut Cx<'_, '_>) {
    if !cx.has_input(2) {
        cx.set_elem(0, ElemType::Uint8);
    }
}

/// There is a zero point for each scale.
fn zero_points_fit(cx: &mut Cx<'_, '_>) -> Outcome {
    let (Ok(scales), Ok(zeros)) = (cx.shape(1), cx.shape(2)) else { return Ok(()) };
    let (scales, zeros) = (cx.product(&scales), cx.product(&zeros));
    cx.agree(scales, zeros, "the numbers of scales and of zero points")
}

/// Up to version 12, the scale and the zero point are scalars.
fn by_scalar(cx: &mut Cx<'_, '_>) -> Outcome {
    for input in [1, 2] {
        cx.one_element(input, &format!("input {input}"))?;
    }
    cx.copy_shape(0, 0)
}

fn whole(cx: &mut Cx<'_, '_>) -> Outcome {
    zero_points_fit(cx)?;
    cx.copy_shape(0, 0)
}

/// "When the rank of the input is 1, per-tensor quantization is applied, rendering the axis unnecessary": the default is outside
/// of a vector.
fn unless_vector(cx: &mut Cx<'_, '_>, rule: fn(&mut Cx<'_, '_>) -> Outcome) -> Outcome {
    let is_outside = !(-1..=0).contains(&cx.int_or(attr::AXIS, 1)?);
    if is_outside && cx.rank(0) == Ok(1) { whole(cx) } else { rule(cx) }
}

fn by_axis(cx: &mut Cx<'_, '_>) -> Outcome {
    zero_points_fit(cx)?;
    let dims = fit_axis(cx)?;
    cx.set_dims(0, dims);
    Ok(())
}

/// The shape of the input, with what the scale and the zero point say about its axis.
fn fit_axis(cx: &mut Cx<'_, '_>) -> Outcome<Dims> {
    let mut dims = cx.shape(0)?;
    let axis = cx.int_or(attr::AXIS, 1)?;
    for input in [1, 2] {
        // A single number serves the whole tensor, whatever the axis; one that is not known may be single.
        let Ok(&[Dim::Known(count)]) = cx.shape(input).as_deref() else { continue };
        if count == 1 {
            continue;
        }
        let axis = cx.axis(axis, dims.len())?;
        if let Some(size) = dims.get_mut(axis) {
            *size = cx.same(*size, Dim::Known(count), "the size of the axis and the number of scales")?;
        }
    }
    Ok(dims)
}

fn by_blocks(cx: &mut Cx<'_, '_>) -> Outcome {
    let block = cx.int_or(attr::BLOCK_SIZE, 0)?;
    if block <= 0 {
        return by_axis(cx);
    }
    zero_points_fit(cx)?;
    let mut dims = cx.shape(0)?;
    let axis = cx.int_or(attr::AXIS, 1)?;
    for input in [1, 2] {
        let Ok(scale) = cx.shape(input) else { continue };
        if scale.len() != dims.len() {
            continue;
        }
        let axis = cx.axis(axis, dims.len())?;
        for (index, size) in dims.iter_mut().enumerate() {
            let other = at(&scale, index);
            if index == axis {
                let blocks = cx.dims().ceil_div(*size, Dim::Known(block));
                cx.same(blocks, other, "the blocks along the axis and their scales")?;
            } else {
                *size = cx.same(*size, other, "a size of the input and of the scales")?;
            }
        }
    }
    cx.set_dims(0, dims);
    Ok(())
}
