//! The rule `attribute-number-out-of-range`: an attribute is a number that its operator cannot have.

use onnx_diag::{Diagnostic, Quoted, Rule, Severity};
use onnx_ir::AttrValue;

use crate::cx::AttributeCx;
use crate::ranges::range;

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
    let Some(range) = range(schema.op(), cx.attribute.name()) else { return };
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

#[cfg(test)]
mod tests {
    use crate::testing::{Builder, check_model};

    use onnx_ir::AttrValue;

    #[test]
    fn numbers_are_possible() {
        let model = |m: &mut Builder, name: &str, value: AttrValue| {
            m.inputs(["x", "w"]);
            let attribute = m.attribute(name, value);
            m.node_with("y = Conv (x, w)", [attribute]);
            m.outputs(["y"]);
        };
        let place = |name: &str| format!(r#"graph "g" / node #0 Conv / attribute "{name}""#);
        check_model(|m| model(m, "group", 0.into()), &[("ONNX2412", &place("group"))]);
        check_model(|m| model(m, "group", 1.into()), &[]);
        let element = place("strides") + " / element 1";
        check_model(|m| model(m, "strides", [1, 0].into()), &[("ONNX2412", &element)]);
        check_model(|m| model(m, "strides", [1, 2].into()), &[]);
        let element = place("pads") + " / element 0";
        check_model(|m| model(m, "pads", [-1, 0].into()), &[("ONNX2412", &element)]);
        check_model(|m| model(m, "pads", [0, 1].into()), &[]);
    }
}
