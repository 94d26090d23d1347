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

#[cfg(test)]
mod tests {
    use crate::testing::{Builder, check_model, words};

    fn model(m: &mut Builder, mode: &str) {
        m.inputs(["x", "p"]);
        let attribute = m.attribute("mode", mode);
        m.node_with("y = Pad (x, p)", [attribute]);
        m.outputs(["y"]);
    }

    #[test]
    fn the_first_casts_name_the_type() {
        let model = |m: &mut Builder, to: &str| {
            m.no_imports();
            m.import("", 1);
            m.inputs(["x"]);
            let attribute = m.attribute("to", to);
            m.node_with("y = Cast (x)", [attribute]);
            m.outputs(["y"]);
        };
        let place = r#"graph "g" / node #0 Cast / attribute "to""#;
        check_model(|m| model(m, "FLOAT"), &[]);
        for wrong in ["float", "STRING", "1", ""] {
            check_model(|m| model(m, wrong), &[("ONNX2411", place)]);
        }
    }

    #[test]
    fn activations_have_names() {
        let model = |m: &mut Builder, names: [&'static str; 2]| {
            m.inputs(["x", "w", "r"]);
            let names = onnx_ir::AttrValue::Strings(names.map(bytes::Bytes::from).to_vec());
            let attribute = m.attribute("activations", names);
            m.node_with("y = GRU (x, w, r)", [attribute]);
            m.outputs(["y"]);
        };
        let place = r#"graph "g" / node #0 GRU / attribute "activations" / element 1"#;
        check_model(|m| model(m, ["Sigmoid", "Tanh"]), &[]);
        check_model(|m| model(m, ["sigmoid", "tanh"]), &[]);
        check_model(|m| model(m, ["Sigmoid", "Gelu"]), &[("ONNX2411", place)]);
    }

    #[test]
    fn strings_mean_something_in_their_version() {
        let place = r#"graph "g" / node #0 Pad / attribute "mode""#;
        check_model(|m| model(m, "Constant"), &[("ONNX2411", place)]);
        check_model(|m| model(m, "reflect"), &[]);
        let at = |m: &mut Builder, version| {
            m.no_imports();
            m.import("", version);
            model(m, "wrap");
        };
        check_model(|m| at(m, 18), &[("ONNX2411", place)]);
        check_model(|m| at(m, 19), &[]);
        assert_eq!(
            words(|m| model(m, "wrap")).pop().unwrap().1.unwrap(),
            "write one of `constant`, `reflect`, `edge`"
        );
    }
}
