//! The rule `attribute-without-value`: an attribute that must be a tensor, a graph or a type has no value.

use onnx_diag::{Diagnostic, Quoted, Reference, Rule, Severity};
use onnx_ir::AttrValue;
use onnx_schema::AttrKind;

use crate::cx::AttributeCx;

pub(crate) static RULE: Rule = Rule::new(
    2405,
    "attribute-without-value",
    Severity::Error,
    "An attribute that must be a tensor, a graph or a type has no value.",
)
.with_spec("IR: Attributes")
.with_reference(Reference::Enforced)
.with_explain(include_str!("attribute_without_value.md"));

pub(crate) fn check(cx: &mut AttributeCx<'_, '_>) {
    let (Some(schema), Some(formal)) = (cx.schema, cx.formal) else { return };
    let is_message = matches!(
        formal.kind,
        AttrKind::Tensor | AttrKind::SparseTensor | AttrKind::Graph | AttrKind::TypeProto
    );
    if !is_message || *cx.attribute.value() != AttrValue::None {
        return;
    }
    let (node, name) = (cx.node, cx.attribute.name());
    cx.report(&RULE, |places| {
        let (op, text) = (Quoted(schema.name()), Quoted(places.str(name)));
        Diagnostic::new(&RULE, places.attribute(node, name), format!("attribute {text} of {op} has no value"))
            .help("give it one, or remove the attribute")
    });
}
