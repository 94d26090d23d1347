//! The rule `attribute-named-like-value`: an attribute has the name of an input or output of its node.

use crate::cx::AttributeCx;
use onnx_diag::{Diagnostic, Quoted, Rule, Severity};

pub(crate) static RULE: Rule = Rule::new(
    2409,
    "attribute-named-like-value",
    Severity::Note,
    "An attribute has the name of an input or output of its node.",
)
.with_spec("IR: Attributes")
.with_explain(include_str!("attribute_named_like_value.md"));

pub(crate) fn check(cx: &mut AttributeCx<'_, '_>) {
    let (node, name, model) = (cx.node, cx.attribute.name(), cx.model);
    let record = model.node(node);
    let values = record.inputs().chain(record.outputs().iter().copied()).flatten().take(MOST);
    let mut values = values.filter(|&value| model.value(value).name() == name);
    if name.is_empty() || values.next().is_none() {
        return;
    }
    cx.report(&RULE, |places| {
        let text = Quoted(places.str(name));
        let message = format!("attribute {text} has the name of an input or output of its node");
        Diagnostic::new(&RULE, places.attribute(node, name), message).help("rename the value")
    });
}

/// How many inputs and outputs are compared: more would take long where a hostile node has many attributes, too.
const MOST: usize = 64;
