//! The rule `undeclared-reference`: an attribute refers to one that the function around it does not declare.

use onnx_diag::Quoted;
use onnx_diag::{Diagnostic, Rule, Severity};
use onnx_ir::AttrValue;

use crate::cx::AttributeCx;

pub(crate) static RULE: Rule = Rule::new(
    2671,
    "undeclared-reference",
    Severity::Error,
    "An attribute refers to one that the function around it does not declare.",
)
.with_spec("IR: Attributes")
.with_explain(include_str!("undeclared_reference.md"));

pub(crate) fn check(cx: &mut AttributeCx<'_, '_>) {
    let AttrValue::Ref(target) = *cx.attribute.value() else { return };
    let Some(id) = cx.function else { return };
    if cx.functions().declares(id, target) {
        return;
    }
    let function = cx.model.function(id);
    let (node, name) = (cx.node, cx.attribute.name());
    cx.report(&RULE, |places| {
        let declared = function.attributes.iter().copied();
        let declared = declared.chain(function.defaults.iter().map(onnx_ir::Attribute::name));
        let near = places.nearest(target, declared);
        let help = match near {
            Some(near) => format!("did you mean {}?", Quoted(near)),
            None => "declare it, or give the attribute a value".to_owned(),
        };
        let message = format!("the function has no attribute {} to refer to", Quoted(places.str(target)));
        Diagnostic::new(&RULE, places.attribute(node, name), message).help(help).beyond_reference(true)
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
    fn references_are_to_attributes_of_the_function() {
        let place = r#"function "f" of domain "d" / node #0 Softmax / attribute "axis""#;
        check_model(|m| model(m, "c", AttrKind::Int, true), &[("ONNX2671", place)]);
        check_model(|m| model(m, "b", AttrKind::Int, true), &[]);
    }
}
