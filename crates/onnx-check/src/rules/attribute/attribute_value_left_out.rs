//! The rule `attribute-value-left-out`: an attribute states its kind, but has no value.

use onnx_diag::{Diagnostic, Quoted, Rule, Severity};
use onnx_ir::{AttrKind, AttrValue};

use crate::cx::AttributeCx;

pub(crate) static RULE: Rule = Rule::new(
    2408,
    "attribute-value-left-out",
    Severity::Warning,
    "An attribute states its kind, but has no value.",
)
.with_spec("IR: Attributes")
.with_explain(include_str!("attribute_value_left_out.md"));

pub(crate) fn check(cx: &mut AttributeCx<'_, '_>) {
    let Some(kind) = cx.attribute.declared_kind().and_then(AttrKind::from_code) else { return };
    // A list without entries looks the same as no value.
    let is_one = matches!(
        kind,
        AttrKind::Float
            | AttrKind::Int
            | AttrKind::String
            | AttrKind::Tensor
            | AttrKind::Graph
            | AttrKind::SparseTensor
            | AttrKind::TypeProto
    );
    let is_scalar = matches!(kind, AttrKind::Float | AttrKind::Int | AttrKind::String);
    // That the others have no value is an error where the operator is known.
    if !is_one || *cx.attribute.value() != AttrValue::None || !is_scalar && cx.formal.is_some() {
        return;
    }
    let (node, name) = (cx.node, cx.attribute.name());
    cx.report(&RULE, |places| {
        let message =
            format!("attribute {} is {}, but has no value", Quoted(places.str(name)), kind.text_name());
        let help = if is_scalar {
            "write the value, even if it is zero or empty: readers disagree on what its absence means"
        } else {
            "write the value, or remove the attribute"
        };
        Diagnostic::new(&RULE, places.attribute(node, name), message).help(help)
    });
}
