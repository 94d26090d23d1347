//! The rule `attribute-not-utf8`: a string in an attribute is not UTF-8.

use onnx_diag::{Diagnostic, Quoted, Reference, Rule, Severity};
use onnx_ir::AttrValue;

use crate::cx::AttributeCx;

pub(crate) static RULE: Rule = Rule {
    code: 2410,
    slug: "attribute-not-utf8",
    severity: Severity::Warning,
    summary: "A string in an attribute is not UTF-8.",
    spec: "IR: Attributes",
    reference: Reference::NotEnforced,
    explain: include_str!("attribute_not_utf8.md"),
};

pub(crate) fn check(cx: &mut AttributeCx<'_, '_>) {
    let strings = match cx.attribute.value() {
        AttrValue::String(string) => std::slice::from_ref(string),
        AttrValue::Strings(strings) => strings,
        _ => return,
    };
    let wrong = |bytes: &bytes::Bytes| std::str::from_utf8(bytes).is_err();
    let Some(index) = strings.iter().position(wrong) else { return };
    let is_list = matches!(cx.attribute.value(), AttrValue::Strings(_));
    let (node, name) = (cx.node, cx.attribute.name());
    cx.report(&RULE, |places| {
        let place = places.attribute(node, name);
        let message = format!("attribute {} holds a string that is not UTF-8", Quoted(places.str(name)));
        Diagnostic::new(&RULE, if is_list { place.element(index) } else { place }, message)
            .help("write text as UTF-8, and bytes as a tensor")
    });
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::AttrValue;
    use crate::testing::{Builder, check_model};

    #[test]
    fn strings_are_text() {
        let model = |m: &mut Builder, value: AttrValue| {
            m.import("d", 1);
            m.inputs(["x"]);
            let attribute = m.attribute("k", value);
            m.node_with("y = d.Frob (x)", [attribute]);
            m.outputs(["y"]);
        };
        let place = r#"graph "g" / node #0 d::Frob / attribute "k""#;
        let (wrong, right) = (Bytes::from_static(b"\xff"), Bytes::from_static(b"k"));
        check_model(|m| model(m, wrong.clone().into()), &[("ONNX2410", place)]);
        let element = format!("{place} / element 1");
        check_model(|m| model(m, AttrValue::Strings(vec![right.clone(), wrong])), &[("ONNX2410", &element)]);
        check_model(|m| model(m, AttrValue::Strings(vec![right])), &[]);
    }
}
