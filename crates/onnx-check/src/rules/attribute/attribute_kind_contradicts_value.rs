//! The rule `attribute-kind-contradicts-value`: an attribute holds a value of another kind than it says.

use onnx_diag::{Diagnostic, Quoted, Reference, Rule, Severity};
use onnx_ir::{AttrKind, AttrValue};

use crate::cx::AttributeCx;

pub(crate) static RULE: Rule = Rule::new(
    2404,
    "attribute-kind-contradicts-value",
    Severity::Error,
    "An attribute holds a value of another kind than it says.",
)
.with_spec("IR: Attributes")
.with_reference(Reference::Enforced)
.with_explain(include_str!("attribute_kind_contradicts_value.md"));

pub(crate) fn check(cx: &mut AttributeCx<'_, '_>) {
    let (node, attribute) = (cx.node, cx.attribute);
    let (Some(declared), Some(holds)) = (attribute.declared_kind(), attribute.value().kind()) else { return };
    if declared == holds.code() || is_empty_list(attribute.value()) {
        return;
    }
    cx.report(&RULE, |places| {
        let name = Quoted(places.str(attribute.name()));
        let says = AttrKind::from_code(declared).map_or("of a kind that does not exist", AttrKind::text_name);
        let message = format!("attribute {name} says that it is {says}, but holds {}", holds.name());
        Diagnostic::new(&RULE, places.attribute(node, attribute.name()), message)
            .help("set the field `type` to the kind of the value")
    });
}

/// Whether the value is a list without entries, which looks the same as no value.
fn is_empty_list(value: &AttrValue) -> bool {
    match value {
        AttrValue::Floats(list) => list.is_empty(),
        AttrValue::Ints(list) => list.is_empty(),
        AttrValue::Strings(list) => list.is_empty(),
        AttrValue::Tensors(list) => list.is_empty(),
        AttrValue::Graphs(list) => list.is_empty(),
        AttrValue::SparseTensors(list) => list.is_empty(),
        AttrValue::Types(list) => list.is_empty(),
        _ => false,
    }
}
