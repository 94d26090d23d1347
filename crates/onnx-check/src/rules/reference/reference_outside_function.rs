//! The rule `reference-outside-function`: an attribute refers to one of the function around it, and there is none.

use onnx_diag::Quoted;
use onnx_diag::{Diagnostic, Rule, Severity};
use onnx_ir::AttrValue;

use crate::cx::AttributeCx;

pub(crate) static RULE: Rule = Rule::new(
    2670,
    "reference-outside-function",
    Severity::Error,
    "An attribute refers to one of the function around it, and there is none.",
)
.with_spec("IR: Attributes")
.with_explain(include_str!("reference_outside_function.md"));

pub(crate) fn check(cx: &mut AttributeCx<'_, '_>) {
    let AttrValue::Ref(target) = *cx.attribute.value() else { return };
    if cx.function.is_some() {
        return;
    }
    let (node, name) = (cx.node, cx.attribute.name());
    cx.report(&RULE, |places| {
        let (name_text, target) = (Quoted(places.str(name)), Quoted(places.str(target)));
        let message = format!("attribute {name_text} refers to {target} of a function, outside of functions");
        Diagnostic::new(&RULE, places.attribute(node, name), message)
            .help("give the attribute a value")
            .beyond_reference(true)
    });
}

#[cfg(test)]
mod tests {
    use onnx_ir::AttrKind;

    use crate::testing::{Builder, check_model};

    /// A node that refers to `target`, in a function with the attributes `a` and, an integer, `b`; or in the graph.
    fn model(m: &mut Builder, target: &str, kind: AttrKind, is_function: bool) {
        let node = |m: &mut Builder| {
            m.inputs(["x"]);
            let attribute = m.reference("axis", target, kind);
            m.node_with("y = Softmax (x)", [attribute]);
            m.outputs(["y"]);
        };
        if !is_function {
            return node(m);
        }
        m.function("d", "f", Some(""), node);
        let (a, b) = (m.model.intern("a"), m.attribute("b", 1));
        m.last_function().attributes.push(a);
        m.push_default(b);
    }

    #[test]
    fn references_stand_in_functions() {
        let place = r#"graph "g" / node #0 Softmax / attribute "axis""#;
        check_model(|m| model(m, "a", AttrKind::Int, false), &[("ONNX2670", place)]);
        check_model(|m| model(m, "a", AttrKind::Int, true), &[]);
    }
}
