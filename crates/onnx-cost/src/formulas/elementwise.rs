//! Operators on elements: operations for each element of the output, whatever they compute.

use onnx_types::Dim;

use super::{Cx, Why, Work};

/// A number of operations for each element of the first output.
pub(super) fn per_element(cx: &mut Cx<'_, '_>, operations: u8) -> Result<Work, Why> {
    let elements = cx.first_output_elements()?;
    Ok(Work::operations(cx.scaled(elements, i64::from(operations))))
}

/// One operation less than there are operands, and some more.
pub(super) fn variadic(cx: &mut Cx<'_, '_>, more: u8) -> Result<Work, Why> {
    let record = cx.measure.model.node(cx.node);
    let operands = i64::try_from(record.input_count()).unwrap_or(i64::MAX);
    let elements = cx.first_output_elements()?;
    let each = operands.saturating_sub(1).saturating_add(i64::from(more));
    Ok(Work::operations(cx.scaled(elements, each)))
}

/// Nothing for the nearest element; for interpolation along the axes whose sizes change, a multiply-accumulate for each
/// element of the neighborhood: two along each axis, or four if it is cubic.
pub(super) fn resize(cx: &mut Cx<'_, '_>) -> Result<Work, Why> {
    let mode = cx.call()?.attr::<onnx_ops::kind::Text>(onnx_schema::attr::MODE);
    let neighbors: i64 = match mode.known().ok_or(Why::Attribute("mode"))? {
        b"nearest" => return Ok(Work::NONE),
        b"linear" | b"bilinear" => 2,
        b"cubic" => 4,
        _ => return Err(Why::Attribute("mode")),
    };
    let (from, to) = (cx.input(0)?, cx.output(0)?);
    let axes = from.iter().zip(to).filter(|(from, to)| from != to).count();
    let power = u32::try_from(axes).ok().and_then(|axes| neighbors.checked_pow(axes)).ok_or(Why::TooLarge)?;
    if axes == 0 {
        return Ok(Work::NONE);
    }
    let elements = cx.product(to);
    let macs = cx.scaled(elements, power);
    Ok(cx.macs(macs, Dim::Known(0)))
}
