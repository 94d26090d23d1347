//! `QuantizeLinear` and `DequantizeLinear` of `com.microsoft`, which are those of ONNX for more types.

use onnx_schema::onnxruntime::microsoft;

use crate::contrib::Row;
use crate::ops::quant::linear::{dequantize, quantize};

pub(in crate::contrib) const KERNELS: &[Row] =
    &[(microsoft::DEQUANTIZE_LINEAR, dequantize), (microsoft::QUANTIZE_LINEAR, quantize)];
