//! Normalizations: operations for each element, as in the definitions of the operators.

use super::elementwise::per_element;
use super::{Cx, Formula, Why, Work};

pub(super) fn formula(op: &str) -> Option<Formula> {
    Some(match op {
        // Maximum, difference, exponential, sum, quotient; the logarithm in place of the quotient.
        "Softmax" | "LogSoftmax" => per_element::<5>,
        // Maximum and comparison.
        "Hardmax" => per_element::<2>,
        // Difference, product with the scale over the deviation, sum with the bias; the factor is one for each channel.
        "BatchNormalization" => batch_normalization,
        // Sum of the mean, difference, square, sum of squares, quotient, scale, and the bias if there is one.
        "LayerNormalization" => |cx| with_bias(cx, 2, 6),
        "InstanceNormalization" | "GroupNormalization" => per_element::<7>,
        // Square, sum, quotient, scale.
        "RMSNormalization" => per_element::<4>,
        // Sum of the mean, difference, square, sum of squares, quotient.
        "MeanVarianceNormalization" => per_element::<5>,
        // Power, sum, quotient.
        "LpNormalization" => per_element::<3>,
        "LRN" => local_response,
        // Two products and a sum for each element.
        "RotaryEmbedding" => per_element::<3>,
        _ => return None,
    })
}

/// Operations for each element of the first output, and one more if an operand is given.
fn with_bias(cx: &mut Cx<'_, '_>, bias: usize, each: i64) -> Result<Work, Why> {
    let elements = cx.first_output_elements()?;
    let each = each.saturating_add(i64::from(cx.has_input(bias)));
    Ok(Work::operations(cx.scaled(elements, each)))
}

/// Three operations for each element; with statistics of the batch, as in training, four more.
fn batch_normalization(cx: &mut Cx<'_, '_>) -> Result<Work, Why> {
    let outputs = cx.measure.model.node(cx.node).outputs();
    let is_training = outputs.iter().skip(1).any(Option::is_some);
    let elements = cx.first_output_elements()?;
    Ok(Work::operations(cx.scaled(elements, if is_training { 7 } else { 3 })))
}

/// A square and a sum for each channel of the window, then a product, a sum, a power and a quotient.
fn local_response(cx: &mut Cx<'_, '_>) -> Result<Work, Why> {
    let size = cx.call()?.attr::<onnx_ops::kind::Int>(onnx_schema::attr::SIZE).known();
    let size = size.ok_or(Why::Attribute("size"))?;
    let elements = cx.first_output_elements()?;
    Ok(Work::operations(cx.scaled(elements, size.saturating_mul(2).saturating_add(4))))
}
