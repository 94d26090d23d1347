//! Attributes by their text: most names that onnxruntime adds are not in the table of names that ONNX knows.

use onnx_schema::AttrDefault;

use crate::cx::{Cx, Outcome};

/// An integer attribute, or the default that onnxruntime declares.
pub(super) fn int(cx: &mut Cx<'_, '_>, name: &str) -> Outcome<Option<i64>> {
    if let Some(symbol) = cx.names().get(name) {
        return cx.int(symbol);
    }
    Ok(match declared(cx, name) {
        Some(AttrDefault::Int(value)) => Some(value),
        _ => None,
    })
}

/// The same, with a value for an attribute that has no default.
pub(super) fn int_or(cx: &mut Cx<'_, '_>, name: &str, otherwise: i64) -> Outcome<i64> {
    Ok(int(cx, name)?.unwrap_or(otherwise))
}

/// Whether an integer attribute is not 0.
pub(super) fn flag(cx: &mut Cx<'_, '_>, name: &str) -> Outcome<bool> {
    Ok(int_or(cx, name, 0)? != 0)
}

/// A list of integers; `None` if the node does not have it.
pub(super) fn ints<'m>(cx: &mut Cx<'_, 'm>, name: &str) -> Outcome<Option<&'m [i64]>> {
    match cx.names().get(name) {
        Some(symbol) => cx.ints(symbol),
        None => Ok(None),
    }
}

/// A text, or the default that onnxruntime declares.
pub(super) fn text<'m>(cx: &mut Cx<'_, 'm>, name: &str) -> Outcome<Option<&'m str>> {
    if let Some(symbol) = cx.names().get(name) {
        return cx.text(symbol);
    }
    Ok(match declared(cx, name) {
        Some(AttrDefault::String(text)) => Some(text),
        _ => None,
    })
}

fn declared(cx: &Cx<'_, '_>, name: &str) -> Option<AttrDefault> {
    cx.runtime?.attribute(name)?.default
}
