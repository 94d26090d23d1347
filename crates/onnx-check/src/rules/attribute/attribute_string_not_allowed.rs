//! The rule `attribute-string-not-allowed`: a string attribute has a value that its operator does not define.

use bytes::Bytes;
use onnx_diag::{Diagnostic, Quoted, Rule, Severity};
use onnx_ir::AttrValue;

use crate::cx::AttributeCx;

pub(crate) static RULE: Rule = Rule::new(
    2411,
    "attribute-string-not-allowed",
    Severity::Error,
    "A string attribute has a value that its operator does not define.",
)
.with_spec("Operators")
.with_explain(include_str!("attribute_string_not_allowed.md"));

pub(crate) fn check(cx: &mut AttributeCx<'_, '_>) {
    let Some(schema) = cx.schema else { return };
    let strings = match cx.attribute.value() {
        AttrValue::String(string) => std::slice::from_ref(string),
        AttrValue::Strings(strings) => strings,
        _ => return,
    };
    let name = cx.attribute.name();
    let Some(allowed) = schema.choices(name) else { return };
    let wrong = |string: &Bytes| !schema.allows_string(name, string);
    let Some((index, found)) = strings.iter().enumerate().find(|(_, string)| wrong(string)) else { return };
    let is_list = matches!(cx.attribute.value(), AttrValue::Strings(_));
    let node = cx.node;
    cx.report(&RULE, |places| {
        let place = places.attribute(node, name);
        let found = String::from_utf8_lossy(found);
        let (text, op) = (Quoted(places.str(name)), Quoted(schema.name()));
        let message = format!("attribute {text} of {op} is {}, which means nothing", Quoted(&found));
        let allowed: Vec<_> = allowed.iter().map(|allowed| Quoted(allowed).to_string()).collect();
        Diagnostic::new(&RULE, if is_list { place.element(index) } else { place }, message)
            .help(format!("write one of {}", allowed.join(", ")))
            .note(format!("the signature is that of {schema}"))
    });
}
