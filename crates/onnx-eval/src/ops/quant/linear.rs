//! `QuantizeLinear`, `DequantizeLinear`: `saturate(round(x / scale) + zero_point)`, and `(x - zero_point) * scale`.
//!
//! Scale and zero point are one number, one for each index of an axis, or one for each block of an axis, of which the last may
//! be short. The quotient is computed in `precision`, by default the type of the scale, and rounded to nearest even. What lies
//! beyond the type, infinities included, becomes its nearest end; the specification leaves NaN open, which becomes the zero
//! point here. Floats of 4, 6 and 8 bits are rounded as `Cast` rounds them: a zero keeps its sign where the type has two, with
//! or without a zero point of 0, and NaN stays where the type has it. A product is computed in `float` and rounded once to the type of the result.

use std::ops::Range;

use onnx_schema::{attr, op};
use onnx_types::ElemType;

use crate::cx::axes::{axis, product, size};
use crate::cx::{Cx, Operand, Outcome, Stop};
use crate::number::{Compute, Elems, Number, compute, fit, integer_range};
use crate::ops::math::cast::round_to;
use crate::registry::{OpKernels, Takes, eval, since};

pub(super) const QUANTIZE: OpKernels =
    eval(op::QUANTIZE_LINEAR, &[since(10, quantize)]).takes(&[(1, Takes::POSITIVE)]);

pub(super) const DEQUANTIZE: OpKernels =
    eval(op::DEQUANTIZE_LINEAR, &[since(10, dequantize)]).takes(&[(1, Takes::POSITIVE)]);

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
        let wrong = || {
            Stop::failed(format_args!(
                "scales {:?} do not fit an input {:?} along the axis",
                scale.dims, x.dims
            ))
        };
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

    /// Calls a function for runs of neighboring elements, in order: their range, the index of the scale of the first one, and
    /// the distance of the scales of neighbors, 0 or 1. The function is not copied to each place that calls it.
    fn for_each_run(
        &self,
        count: usize,
        run: &mut dyn FnMut(Range<usize>, usize, usize) -> Outcome,
    ) -> Outcome {
        let starts = |length: usize| (0..count).step_by(length.max(1)).enumerate();
        match *self {
            Self::One => run(0..count, 0, 0),
            Self::Axis(1, length) => starts(length).try_for_each(|(_, at)| run(at..at + length, 0, 1)),
            Self::Axis(inner, length) => {
                starts(inner).try_for_each(|(index, at)| run(at..at + inner, index % length, 0))
            }
            Self::Blocks(1, length, block, blocks) => starts(length).try_for_each(|(row, start)| {
                for index in 0..blocks {
                    let end = length.min((index + 1) * block);
                    run(start + index * block..start + end, row * blocks + index, 0)?;
                }
                Ok(())
            }),
            Self::Blocks(inner, length, block, blocks) => starts(inner).try_for_each(|(row, start)| {
                let (outer, index) = (row / length, row % length);
                run(start..start + inner, (outer * blocks + index / block) * inner, 1)
            }),
        }
    }
}

/// The zero points as `f64`; none if the input is omitted.
fn zero_points(cx: &mut Cx<'_, '_>, index: usize, scale: &Operand) -> Outcome<Option<Elems<f64>>> {
    let Some(zero) = cx.optional(index)? else { return Ok(None) };
    if zero.count != scale.count {
        return Err(Stop::failed(format_args!("{} zero points for {} scales", zero.count, scale.count)));
    }
    cx.read_f64(&zero).map(Some)
}

/// A quotient as a code of a type, or as a float that is rounded to it later.
pub(crate) fn quantized(elem: ElemType, quotient: f64, zero: f64) -> f64 {
    match integer_range(elem) {
        Ok((low, high)) => code((low as f64, high as f64), quotient, zero),
        // A zero point of 0 adds nothing, also to the sign of a zero.
        Err(_) if zero == 0.0 => quotient,
        Err(_) => quotient + zero,
    }
}

/// Scales and zero points.
struct Scaled<'a> {
    layout: Layout,
    scales: &'a [f64],
    zeros: Option<&'a [f64]>,
}

impl Scaled<'_> {
    /// Applies a function to each element with its scale and zero point.
    fn map<T: Copy, R>(
        &self,
        cx: &mut Cx<'_, '_>,
        values: &[T],
        function: impl Fn(T, f64, f64) -> R,
    ) -> Outcome<Vec<R>> {
        let mut out = cx.buffer(values.len())?;
        let zero = |index: usize| self.zeros.map_or(0.0, |zeros| zeros[index]);
        self.layout.for_each_run(values.len(), &mut |range, index, step| {
            let values = &values[range];
            if step == 0 {
                let (scale, zero) = (self.scales[index], zero(index));
                return cx.poll().map(values, &mut out, |&value| function(value, scale, zero));
            }
            cx.poll().step(values.len())?;
            let indexed = values.iter().zip(index..);
            out.extend(indexed.map(|(&value, at)| function(value, self.scales[at], zero(at))));
            Ok(())
        })?;
        Ok(out)
    }
}

/// A number of this size has no bits below 1, so adding it rounds to an integer, which is then in its low bits.
const ROUND: f64 = 6_755_399_441_055_744.0;

/// A quotient as a code between two ends, which have at most 16 bits.
#[inline]
fn code((low, high): (f64, f64), quotient: f64, zero: f64) -> f64 {
    // Numbers beyond this become the same end, and smaller ones are rounded exactly.
    const BEYOND: f64 = (1_u64 << 50) as f64;
    let quotient = if quotient.is_nan() { 0.0 } else { quotient.clamp(-BEYOND, BEYOND) };
    (quotient + ROUND - ROUND + zero).clamp(low, high)
}

/// The low bits of an integer of at most 50 bits.
#[inline]
fn low_bits(value: f64) -> u64 {
    (value + ROUND).to_bits()
}

/// Sets an output to quantized numbers.
pub(crate) fn put_quantized(cx: &mut Cx<'_, '_>, elem: ElemType, dims: &[usize], values: &[f64]) -> Outcome {
    if elem.is_float() {
        let saturate = cx.int_or(attr::SATURATE, 1)? != 0;
        cx.budget.convert(values.len(), size_of::<f64>())?;
        let payload = round_to(elem, values, saturate, Default::default());
        let tensor = cx.tensor_of(elem, dims, payload)?;
        return cx.put_value(0, tensor);
    }
    let values = cx.collect(values.iter().map(|&value| value as i64))?;
    cx.put::<i64>(0, elem, dims, values)
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
    let scales = cx.read_f64(&scale)?;
    let scaled = Scaled { layout, scales: &scales, zeros: zeros.as_deref() };
    match precision {
        ElemType::Float16 | ElemType::Bfloat16 => quantize_by(cx, &x, to, &scaled, |value, scale| {
            f64::from(fit(precision, value as f32 / scale as f32))
        }),
        ElemType::Double | ElemType::Int32 => quantize_by(cx, &x, to, &scaled, |value, scale| value / scale),
        _ => quantize_by(cx, &x, to, &scaled, |value, scale| f64::from(value as f32 / scale as f32)),
    }
}

/// Quantizes an operand with quotients that a function computes. Of the types of operands, only one is common; the values of the
/// others become `f64` first.
fn quantize_by(
    cx: &mut Cx<'_, '_>,
    x: &Operand,
    to: ElemType,
    scaled: &Scaled<'_>,
    quotient: impl Fn(f64, f64) -> f64,
) -> Outcome {
    match compute(x.elem) {
        Some(Compute::F32) => {
            let values = cx.read::<f32>(x)?;
            put_codes(cx, x, to, scaled, &values, quotient)
        }
        Some(_) => {
            let values = cx.read_f64(x)?;
            put_codes(cx, x, to, scaled, &values, quotient)
        }
        None => Err(Stop::unsupported_type(x.elem)),
    }
}

fn put_codes<T: Number>(
    cx: &mut Cx<'_, '_>,
    x: &Operand,
    to: ElemType,
    scaled: &Scaled<'_>,
    values: &[T],
    quotient: impl Fn(f64, f64) -> f64,
) -> Outcome {
    let ends = integer_range(to).map(|(low, high)| (low as f64, high as f64));
    match (to.bits(), ends) {
        (Some(..=8), Ok(ends)) => {
            let codes = scaled.map(cx, values, |value, scale, zero| {
                low_bits(code(ends, quotient(value.f64(), scale), zero)) as u8
            })?;
            cx.put_units(0, to, &x.dims, codes)
        }
        (Some(16), Ok(ends)) => {
            let codes = scaled.map(cx, values, |value, scale, zero| {
                low_bits(code(ends, quotient(value.f64(), scale), zero)) as u16
            })?;
            cx.put_units(0, to, &x.dims, codes)
        }
        _ => {
            let codes = scaled
                .map(cx, values, |value, scale, zero| quantized(to, quotient(value.f64(), scale), zero))?;
            put_quantized(cx, to, &x.dims, &codes)
        }
    }
}

pub(crate) fn dequantize(cx: &mut Cx<'_, '_>) -> Outcome {
    let (x, scale) = (cx.tensor(0)?, cx.tensor(1)?);
    let layout = Layout::of(cx, &x, &scale)?;
    let to = cx.elem_attribute_or_zero(attr::OUTPUT_DTYPE)?.unwrap_or(scale.elem);
    if to == ElemType::Double {
        return Err(Stop::unsupported_type(to));
    }
    let zeros = zero_points(cx, 2, &scale)?;
    let scales = cx.read_f64(&scale)?;
    let scaled = Scaled { layout, scales: &scales, zeros: zeros.as_deref() };
    let real = |value: f64, scale: f64, zero: f64| (value - zero) as f32 * scale as f32;
    let out = match x.elem {
        ElemType::Uint8 => {
            let codes = cx.units::<u8>(&x)?;
            scaled.map(cx, &codes, |code, scale, zero| real(f64::from(code), scale, zero))?
        }
        ElemType::Int8 => {
            let codes = cx.units::<u8>(&x)?;
            scaled.map(cx, &codes, |code, scale, zero| real(f64::from(code.cast_signed()), scale, zero))?
        }
        _ => {
            let values = cx.read_f64(&x)?;
            scaled.map(cx, &values, real)?
        }
    };
    cx.put::<f32>(0, to, &x.dims, out)
}

/// The scales of rows or columns: one for all, or one for each.
pub(crate) fn spread(values: &[f64], count: usize) -> Outcome<Vec<f64>> {
    match *values {
        [value] => Ok(vec![value; count]),
        _ if values.len() == count => Ok(values.to_vec()),
        _ => Err(Stop::failed(format_args!(
            "{} scales or zero points instead of one, or one for each of {count} rows or columns",
            values.len()
        ))),
    }
}
