//! Quantization and back, linear and in blocks of a shared exponent.

use onnx_schema::attr;
use onnx_schema::onnxruntime::microsoft;
use onnx_types::{Dim, ElemType};

use super::super::like_first;
use crate::contrib::table::{OpRules, infer, since};
use crate::cx::{Cx, Outcome, Stop};
use crate::family::element_type;

pub(in crate::contrib) const RULES: &[OpRules] = &[
    infer(microsoft::DEQUANTIZE_BFP, &[since(1, dequantize_blocks)]),
    infer(microsoft::DEQUANTIZE_LINEAR, &[since(1, like_first)]),
    infer(microsoft::QUANTIZE_BFP, &[since(1, quantize_blocks)]),
    infer(microsoft::QUANTIZE_LINEAR, &[since(1, quantize)]),
];

/// To `uint8` without a zero point.
fn quantize(cx: &mut Cx<'_, '_>) -> Outcome {
    if !cx.has_input(2) {
        cx.set_elem(0, ElemType::Uint8);
    }
    like_first(cx)
}

/// The number of bytes depends on the kind of the blocks; the shape and the strides have a number for each axis.
fn quantize_blocks(cx: &mut Cx<'_, '_>) -> Outcome {
    cx.set_shape(0, [Dim::Unknown]);
    let rank = i64::try_from(cx.rank(0)?).map_err(|_| Stop::Unknown)?;
    cx.set_shape(1, [Dim::Known(rank)]);
    cx.set_shape(2, [Dim::Known(rank)]);
    Ok(())
}

fn dequantize_blocks(cx: &mut Cx<'_, '_>) -> Outcome {
    if let Some(elem) = element_type::attribute(cx, attr::DTYPE)? {
        cx.set_elem(0, elem);
    }
    let dims = cx.elements(1)?.ok_or(Stop::Unknown)?;
    cx.set_dims(0, dims);
    Ok(())
}
