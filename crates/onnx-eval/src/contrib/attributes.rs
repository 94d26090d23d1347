//! Attributes by their text: most names that onnxruntime adds are not in the table of names that ONNX knows.

use onnx_types::Symbol;

use crate::cx::{Cx, Outcome};

fn symbol(cx: &Cx<'_, '_>, name: &str) -> Option<Symbol> {
    cx.model.names().get(name)
}

/// An integer attribute, or a default.
pub(super) fn int_or(cx: &Cx<'_, '_>, name: &str, otherwise: i64) -> Outcome<i64> {
    symbol(cx, name).map_or(Ok(otherwise), |name| cx.int_or(name, otherwise))
}

/// Whether an integer attribute is not 0.
pub(super) fn flag(cx: &Cx<'_, '_>, name: &str) -> Outcome<bool> {
    Ok(int_or(cx, name, 0)? != 0)
}

/// A float attribute; `None` if the node does not have it.
pub(super) fn float(cx: &Cx<'_, '_>, name: &str) -> Outcome<Option<f64>> {
    let value = symbol(cx, name).map_or(Ok(None), |name| cx.float(name));
    Ok(value?.map(f64::from))
}

/// A list of floats, empty if the node does not have it.
pub(super) fn floats(cx: &Cx<'_, '_>, name: &str) -> Outcome<Vec<f64>> {
    let values = symbol(cx, name).map_or(Ok(None), |name| cx.floats(name))?;
    Ok(values.unwrap_or_default().into_iter().map(f64::from).collect())
}

/// A list of integers; `None` if the node does not have it.
pub(super) fn ints(cx: &Cx<'_, '_>, name: &str) -> Outcome<Option<Vec<i64>>> {
    symbol(cx, name).map_or(Ok(None), |name| cx.ints(name))
}

/// A text, empty if the node does not have it.
pub(super) fn text<'r, 'm: 'r>(cx: &Cx<'r, 'm>, name: &str) -> Outcome<&'r str> {
    symbol(cx, name).map_or(Ok(""), |name| cx.text(name))
}
