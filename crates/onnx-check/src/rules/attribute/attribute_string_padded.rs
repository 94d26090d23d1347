//! The rule `attribute-string-padded`: a string in an attribute begins with a byte order mark or ends with a NUL.

use onnx_diag::{Diagnostic, Quoted, Reference, Rule, Severity};
use onnx_ir::AttrValue;

use crate::cx::AttributeCx;
use crate::identifier::is_padded;

pub(crate) static RULE: Rule = Rule {
    code: 2418,
    slug: "attribute-string-padded",
    severity: Severity::Warning,
    summary: "A string in an attribute begins with a byte order mark or ends with a NUL.",
    spec: "IR: Attributes",
    reference: Reference::NotEnforced,
    explain: include_str!("attribute_string_padded.md"),
};

pub(crate) fn check(cx: &mut AttributeCx<'_, '_>) {
    let strings = match cx.attribute.value() {
        AttrValue::String(string) => std::slice::from_ref(string),
        AttrValue::Strings(strings) => strings,
        _ => return,
    };
    // What is no text may begin and end as it likes.
    let wrong = |bytes: &bytes::Bytes| std::str::from_utf8(bytes).is_ok_and(is_padded);
    let Some(index) = strings.iter().position(wrong) else { return };
    let is_list = matches!(cx.attribute.value(), AttrValue::Strings(_));
    let (node, name) = (cx.node, cx.attribute.name());
    cx.report(&RULE, |places| {
        let place = places.attribute(node, name);
        let name = Quoted(places.str(name));
        let message =
            format!("attribute {name} holds a string with a byte order mark before it or a NUL behind it");
        Diagnostic::new(&RULE, if is_list { place.element(index) } else { place }, message)
            .help("write the characters of the string alone")
    });
}

#[cfg(test)]
mod tests {
    use super::AttrValue;
    use crate::testing::{Builder, check_model};

    #[test]
    fn strings_hold_their_characters_alone() {
        let model = |m: &mut Builder, value: AttrValue| {
            m.import("d", 1);
            m.inputs(["x"]);
            let attribute = m.attribute("k", value);
            m.node_with("y = d.Frob (x)", [attribute]);
            m.outputs(["y"]);
        };
        let place = r#"graph "g" / node #0 d::Frob / attribute "k""#;
        for wrong in ["\u{feff}a", "a\0", "\0"] {
            check_model(|m| model(m, wrong.into()), &[("ONNX2418", place)]);
        }
        for right in ["", "a", "a\0b", "a\u{feff}"] {
            check_model(|m| model(m, right.into()), &[]);
        }
        let list = |strings: [&'static str; 2]| AttrValue::Strings(strings.map(bytes::Bytes::from).to_vec());
        let element = format!("{place} / element 1");
        check_model(|m| model(m, list(["a", "b\0"])), &[("ONNX2418", &element)]);
        check_model(|m| model(m, list(["a", "b"])), &[]);
    }
}
