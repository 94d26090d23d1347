//! Quantized numbers.

pub(super) mod elementwise;
pub(super) mod linear;

use onnx_types::ElemType;

use crate::cx::{Cx, Outcome, Stop};
use crate::ops::quant::linear::quantized;

/// A scale and a zero point for a whole tensor.
#[derive(Clone, Copy)]
pub(super) struct Scheme {
    pub(super) elem: ElemType,
    scale: f64,
    zero: f64,
}

impl Scheme {
    /// The scheme of two inputs, of which the second may be omitted: then the zero point is 0 of a given type.
    pub(super) fn read(cx: &mut Cx<'_, '_>, index: usize, elem: ElemType) -> Outcome<Self> {
        let one = |values: &[f64]| match *values {
            [value] => Ok(value),
            _ => Err(Stop::failed("a scale or a zero point must have one element")),
        };
        let scale = cx.tensor(index)?;
        let scale = one(&cx.read_f64(&scale)?)?;
        let Some(zero) = cx.optional(index + 1)? else { return Ok(Self { elem, scale, zero: 0.0 }) };
        Ok(Self { elem: zero.elem, scale, zero: one(&cx.read_f64(&zero)?)? })
    }

    /// The number of a code.
    pub(super) fn value(self, code: f64) -> f64 {
        (code - self.zero) * self.scale
    }

    /// The nearest code of a number.
    pub(super) fn code(self, value: f64) -> f64 {
        quantized(self.elem, value / self.scale, self.zero)
    }
}
