//! Notes of a failure: what the node was given. They are made here for all kernels, so a message of a kernel says what is wrong,
//! and need not repeat sizes, indices and the values of attributes.

use onnx_diag::Quoted;
use onnx_ir::{AttrValue, Model, Node, NodeId, ValueId};
use onnx_types::tensor::NoData;

use crate::value::Value;

/// The most operands, attributes or elements of a list that are written out.
const MOST: usize = 16;

/// The types of operands, and the elements of short lists of integers: axes, sizes, indices.
pub(super) fn operands(inputs: &[Option<Value>]) -> String {
    let describe = |value: &Option<Value>| {
        let Some(value) = value else { return "-".to_owned() };
        let elements = value.tensor().and_then(|tensor| tensor.get_i64s(&NoData, MOST).ok());
        match elements {
            Some(elements) => format!("{} {}", value.describe(), list('{', &elements, '}', i64::to_string)),
            None => value.describe(),
        }
    };
    let operands: Vec<String> = inputs.iter().take(MOST).map(describe).collect();
    operands.join(", ")
}

/// The attributes of a node, as ONNX text writes them; empty if there are none.
pub(super) fn attributes(model: &Model, node: &Node) -> String {
    let shown = node.attributes().iter().take(MOST).map(|attribute| {
        let name = model.str(attribute.name());
        let text = |text: &[u8]| Quoted(&String::from_utf8_lossy(text)).to_string();
        let value = match attribute.value() {
            AttrValue::Int(value) => value.to_string(),
            AttrValue::Float(value) => format!("{value:?}"),
            AttrValue::String(value) => text(value),
            AttrValue::Ints(values) => list('[', values, ']', i64::to_string),
            AttrValue::Floats(values) => list('[', values, ']', |value| format!("{value:?}")),
            AttrValue::Strings(values) => list('[', values, ']', |value| text(value)),
            AttrValue::Value(value) => name_of(model, *value),
            AttrValue::Values(values) => list('[', values, ']', |&value| name_of(model, value)),
            AttrValue::Ref(target) => format!("@{}", Quoted(model.str(*target))),
            _ => format!("({})", attribute.kind().text_name()),
        };
        format!("{} = {value}", Quoted(name))
    });
    let shown: Vec<String> = shown.collect();
    shown.join(", ")
}

/// The name of a value, in quotes.
fn name_of(model: &Model, value: ValueId) -> String {
    Quoted(model.str(model.value(value).name())).to_string()
}

/// Which operator has no kernel, with its domain and version, and the reason if there is one.
pub(super) fn unsupported(model: &Model, node: NodeId, reason: &str) -> String {
    let node = model.node(node);
    let domain = match model.str(node.domain()) {
        "" => "ai.onnx",
        domain => domain,
    };
    let operator = format!("{domain}.{}", model.str(node.op()));
    let mut text = format!("no kernel computes {}", Quoted(&operator));
    if let Some(version) = model.versions_in(node.graph()).get(node.domain()) {
        text.push_str(&format!(" (version {version} of the operator set)"));
    }
    if !reason.is_empty() {
        text.push_str(": ");
        text.push_str(reason);
    }
    text
}

/// A list, cut off where it is long.
fn list<T>(open: char, values: &[T], close: char, show: impl Fn(&T) -> String) -> String {
    let mut shown: Vec<String> = values.iter().take(MOST).map(show).collect();
    if values.len() > MOST {
        shown.push(format!("… {} in all", values.len()));
    }
    format!("{open}{}{close}", shown.join(", "))
}
