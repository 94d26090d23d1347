//! `DynamicQuantizeLinear`: numbers as `uint8`, with the scale and zero point that their range asks for. The range includes 0.
//!
//! Of zeros only, the scale is 0, as the function body of the standard has it, and so are zero point and result; onnxruntime
//! returns a scale of 1, the reference one of 1/255. If an element is NaN, so is the scale.

use onnx_schema::op;
use onnx_types::ElemType;

use super::linear::quantized;
use crate::cx::{Cx, Outcome};
use crate::ops::math::variadic::{greater, smaller};
use crate::registry::{OpKernels, eval, since};

pub(super) const KERNELS: OpKernels = eval(op::DYNAMIC_QUANTIZE_LINEAR, &[since(11, quantize)]);

fn quantize(cx: &mut Cx<'_, '_>) -> Outcome {
    let x = cx.tensor(0)?;
    let values = cx.read::<f32>(&x)?;
    let (scale, zero) = parameters(&values);
    let codes = values.iter().map(|&value| quantized(ElemType::Uint8, f64::from(value / scale), zero) as u8);
    let codes = cx.collect(codes)?;
    cx.put_units(0, ElemType::Uint8, &x.dims, codes)?;
    cx.put(1, ElemType::Float, &[], vec![scale])?;
    cx.put_units(2, ElemType::Uint8, &[], vec![zero as u8])
}

/// The scale and the zero point of numbers.
pub(crate) fn parameters(values: &[f32]) -> (f32, f64) {
    let low = values.iter().fold(0.0_f32, |low, &value| smaller(low, value));
    let high = values.iter().fold(0.0_f32, |high, &value| greater(high, value));
    let scale = (high - low) / 255.0;
    (scale, quantized(ElemType::Uint8, f64::from((0.0 - low) / scale), 0.0))
}
