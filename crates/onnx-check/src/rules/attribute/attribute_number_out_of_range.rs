//! The rule `attribute-number-out-of-range`: an attribute is a number that its operator cannot have.

use onnx_diag::{Diagnostic, Quoted, Rule, Severity};
use onnx_ir::AttrValue;

use crate::cx::AttributeCx;

pub(crate) static RULE: Rule = Rule::new(
    2412,
    "attribute-number-out-of-range",
    Severity::Error,
    "An attribute is a number that its operator cannot have.",
)
.with_spec("Operators")
.with_explain(include_str!("attribute_number_out_of_range.md"));

pub(crate) fn check(cx: &mut AttributeCx<'_, '_>) {
    let Some(schema) = cx.schema else { return };
    let numbers = match cx.attribute.value() {
        AttrValue::Int(number) => std::slice::from_ref(number),
        AttrValue::Ints(numbers) => numbers,
        _ => return,
    };
    let Some(range) = schema.attribute_range(cx.attribute.name()) else { return };
    let wrong = numbers.iter().enumerate().find(|(_, number)| !range.contains(number));
    let Some((index, number)) = wrong else { return };
    let is_list = matches!(cx.attribute.value(), AttrValue::Ints(_));
    let (node, name) = (cx.node, cx.attribute.name());
    cx.report(&RULE, |places| {
        let place = places.attribute(node, name);
        let (text, op) = (Quoted(places.str(name)), Quoted(schema.name()));
        let help = match range.into_inner() {
            (least, i64::MAX) => format!("write {least} or more"),
            (least, most) => format!("write a number from {least} to {most}"),
        };
        let message = format!("attribute {text} of {op} cannot be {number}");
        Diagnostic::new(&RULE, if is_list { place.element(index) } else { place }, message).help(help)
    });
}
