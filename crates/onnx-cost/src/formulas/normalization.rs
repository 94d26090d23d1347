//! Normalizations that need more than a number of operations for each element.

use super::{Cx, Why, Work};

/// Sum of the mean, difference, square, sum of squares, quotient, scale, and the bias if there is one.
pub(super) fn layer_normalization(cx: &mut Cx<'_, '_>) -> Result<Work, Why> {
    let elements = cx.first_output_elements()?;
    let each = if cx.has_input(2) { 7 } else { 6 };
    Ok(Work::operations(cx.scaled(elements, each)))
}

/// Difference, product with the scale over the deviation, sum with the bias; the factor is one for each channel. With statistics of
/// the batch, as in training, four operations more.
pub(super) fn batch_normalization(cx: &mut Cx<'_, '_>) -> Result<Work, Why> {
    let outputs = cx.measure.model.node(cx.node).outputs();
    let is_training = outputs.iter().skip(1).any(Option::is_some);
    let elements = cx.first_output_elements()?;
    Ok(Work::operations(cx.scaled(elements, if is_training { 7 } else { 3 })))
}

/// A square and a sum for each channel of the window, then a product, a sum, a power and a quotient.
pub(super) fn local_response(cx: &mut Cx<'_, '_>) -> Result<Work, Why> {
    let size = cx.call()?.attr::<onnx_ops::kind::Int>(onnx_schema::attr::SIZE).known();
    let size = size.ok_or(Why::Attribute("size"))?;
    let elements = cx.first_output_elements()?;
    Ok(Work::operations(cx.scaled(elements, size.saturating_mul(2).saturating_add(4))))
}
