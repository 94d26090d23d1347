//! `QuantizeLinear`, `DequantizeLinear`: `saturate(round(x / scale) + zero_point)`, and `(x - zero_point) * scale`.
//!
//! Scale and zero point are one number, one for each index of an axis, or one for each block of an axis, of which the last may
//! be short. The quotient is computed in `precision`, by default the type of the scale, and rounded to nearest even. What lies
//! beyond the type, infinities included, becomes its nearest end; the specification leaves NaN open, which becomes the zero
//! point here. A product is computed in `float` and rounded once to the type of the result.

use onnx_schema::{attr, op};
use onnx_types::ElemType;

use crate::cx::axes::{axis, product, size};
use crate::cx::{Cx, Operand, Outcome, Stop};
use crate::number::{Elems, fit, integer_range};
use crate::ops::math::cast::round_to;
use crate::registry::{OpKernels, eval, since};

pub(super) const QUANTIZE: OpKernels = eval(op::QUANTIZE_LINEAR, &[since(10, quantize)]);

pub(super) const DEQUANTIZE: OpKernels = eval(op::DEQUANTIZE_LINEAR, &[since(10, dequantize)]);

/// Which scale belongs to which element.
enum Layout {
    One,
    /// Product of the sizes after the axis, size of the axis.
    Axis(usize, usize),
    /// Product of the sizes after the axis, size of the axis, size of a block, number of blocks.
    Blocks(usize, usize, usize, usize),
}

impl Layout {
    fn of(cx: &Cx<'_, '_>, x: &Operand, scale: &Operand) -> Outcome<Self> {
        let wrong = || Stop::failed("the scales do not fit the sizes of the input");
        if scale.count == 1 && scale.rank() <= 1 {
            return Ok(Self::One);
        }
        let along = axis(cx.int_or(attr::AXIS, 1)?, x.rank())?;
        let (inner, length) = (product(&x.dims[along + 1..]), x.dims[along]);
        let block = size(cx.int_or(attr::BLOCK_SIZE, 0)?)?;
        if block == 0 {
            let fits = scale.rank() == 1 && scale.count == length;
            return if fits { Ok(Self::Axis(inner, length)) } else { Err(wrong()) };
        }
        let mut expected = x.dims.clone();
        expected[along] = length.div_ceil(block);
        if scale.dims != expected {
            return Err(wrong());
        }
        Ok(Self::Blocks(inner, length, block, expected[along]))
    }

    fn index(&self, at: usize) -> usize {
        match *self {
            Self::One => 0,
            Self::Axis(inner, length) => at / inner % length,
            Self::Blocks(inner, length, block, blocks) => {
                let (outer, index) = (at / inner / length, at / inner % length);
                (outer * blocks + index / block) * inner + at % inner
            }
        }
    }
}

/// The zero points as `f64`; none if the input is omitted.
fn zero_points(cx: &mut Cx<'_, '_>, index: usize, scale: &Operand) -> Outcome<Option<Elems<f64>>> {
    let Some(zero) = cx.optional(index)? else { return Ok(None) };
    if zero.count != scale.count {
        return Err(Stop::failed("there are not as many zero points as scales"));
    }
    cx.read_f64(&zero).map(Some)
}

/// A quotient as a code of a type, or as a float that is rounded to it later.
pub(crate) fn quantized(elem: ElemType, quotient: f64, zero: f64) -> f64 {
    match integer_range(elem) {
        Ok((low, high)) => {
            let rounded = libm::rint(quotient);
            let rounded = if rounded.is_nan() { 0.0 } else { rounded };
            (rounded + zero).clamp(low as f64, high as f64)
        }
        Err(_) => quotient + zero,
    }
}

/// Sets an output to quantized numbers.
pub(crate) fn put_quantized(cx: &mut Cx<'_, '_>, elem: ElemType, dims: &[usize], values: &[f64]) -> Outcome {
    if elem.is_float() {
        let saturate = cx.int_or(attr::SATURATE, 1)? != 0;
        let payload = round_to(elem, values, saturate, Default::default());
        let tensor = cx.tensor_of(elem, dims, payload)?;
        return cx.put_value(0, tensor);
    }
    cx.put::<i64>(0, elem, dims, values.iter().map(|&value| value as i64).collect())
}

pub(crate) fn quantize(cx: &mut Cx<'_, '_>) -> Outcome {
    let (x, scale) = (cx.tensor(0)?, cx.tensor(1)?);
    let layout = Layout::of(cx, &x, &scale)?;
    let declared = cx.elem_attribute_or_zero(attr::OUTPUT_DTYPE)?;
    let to = match cx.optional(2)? {
        Some(zero) if declared.is_some_and(|declared| declared != zero.elem) => {
            return Err(Stop::failed("`output_dtype` differs from the type of the zero point"));
        }
        Some(zero) => zero.elem,
        None => declared.unwrap_or(ElemType::Uint8),
    };
    let zeros = zero_points(cx, 2, &scale)?;
    let precision = cx.elem_attribute_or_zero(attr::PRECISION)?.unwrap_or(scale.elem);
    let (values, scales) = (cx.read_f64(&x)?, cx.read_f64(&scale)?);
    let mut out = cx.buffer(x.count)?;
    for (at, &value) in values.iter().enumerate() {
        let index = layout.index(at);
        let quotient = match precision {
            ElemType::Float16 | ElemType::Bfloat16 => {
                f64::from(fit(precision, value as f32 / scales[index] as f32))
            }
            ElemType::Double | ElemType::Int32 => value / scales[index],
            _ => f64::from(value as f32 / scales[index] as f32),
        };
        out.push(quantized(to, quotient, zeros.as_ref().map_or(0.0, |zeros| zeros[index])));
    }
    put_quantized(cx, to, &x.dims, &out)
}

pub(crate) fn dequantize(cx: &mut Cx<'_, '_>) -> Outcome {
    let (x, scale) = (cx.tensor(0)?, cx.tensor(1)?);
    let layout = Layout::of(cx, &x, &scale)?;
    let to = cx.elem_attribute_or_zero(attr::OUTPUT_DTYPE)?.unwrap_or(scale.elem);
    let zeros = zero_points(cx, 2, &scale)?;
    let (values, scales) = (cx.read_f64(&x)?, cx.read_f64(&scale)?);
    let mut out: Vec<f32> = cx.buffer(x.count)?;
    out.extend(values.iter().enumerate().map(|(at, &value)| {
        let index = layout.index(at);
        let zero = zeros.as_ref().map_or(0.0, |zeros| zeros[index]);
        (value - zero) as f32 * scales[index] as f32
    }));
    if to == ElemType::Double {
        return Err(Stop::unsupported_type(to));
    }
    cx.put::<f32>(0, to, &x.dims, out)
}

/// The scales of rows or columns: one for all, or one for each.
pub(crate) fn spread(values: &[f64], count: usize) -> Outcome<Vec<f64>> {
    match *values {
        [value] => Ok(vec![value; count]),
        _ if values.len() == count => Ok(values.to_vec()),
        _ => Err(Stop::failed("the scales or zero points do not fit the sizes of the operand")),
    }
}
