//! Operators of onnxruntime (`com.microsoft`) that are combinations of operators of ONNX.

use onnx_types::Dim;

use super::contraction::{convolution, matrix_product};
use super::elementwise::per_element;
use super::{Cx, Formula, Why, Work};

/// The formula of an operator of onnxruntime.
pub(super) fn of_onnxruntime(op: &str) -> Option<Formula> {
    Some(match op {
        "Gelu" | "FastGelu" | "QuickGelu" | "BiasGelu" => gelu,
        "DequantizeLinear" => |cx| per_element(cx, 2),
        "QuantizeLinear" => |cx| per_element(cx, 3),
        "FusedConv" => |cx| {
            let conv = convolution(cx, 1, Some(2))?;
            followed_by(cx, conv, 1)
        },
        "MatMulIntegerToFloat" | "DynamicQuantizeMatMul" => |cx| {
            let product = matrix_product(cx)?;
            followed_by(cx, product, 1)
        },
        // Sum of the inputs, then as `LayerNormalization` with a bias, or `RMSNormalization`.
        "SkipLayerNormalization" => |cx| per_element(cx, 8),
        "SkipSimplifiedLayerNormalization" => |cx| per_element(cx, 5),
        "SimplifiedLayerNormalization" => |cx| per_element(cx, 4),
        _ => return None,
    })
}

/// One operation for each element, and one more for a bias.
fn gelu(cx: &mut Cx<'_, '_>) -> Result<Work, Why> {
    let elements = cx.first_output_elements()?;
    let each = i64::try_from(cx.inputs().len()).unwrap_or(i64::MAX);
    Ok(Work::operations(cx.scaled(elements, each)))
}

/// Operations for each element of the output in addition.
fn followed_by(cx: &mut Cx<'_, '_>, work: Work, each: i64) -> Result<Work, Why> {
    let elements = cx.first_output_elements()?;
    let more = Work { macs: Dim::Known(0), operations: cx.scaled(elements, each) };
    Ok(cx.measure.add_work(work, more))
}
