//! The rule `missing-call-attribute`: a call leaves out an attribute that has no default.

use onnx_diag::{Diagnostic, Rule, Severity};
use std::collections::BTreeSet;

use onnx_diag::Quoted;
use onnx_ir::{Attribute, Callee};

use crate::cx::NodeCx;

pub(crate) static RULE: Rule = Rule::new(
    2655,
    "missing-call-attribute",
    Severity::Warning,
    "A call leaves out an attribute that has no default.",
)
.with_spec("IR: Functions")
.with_explain(include_str!("missing_call_attribute.md"));

pub(crate) fn check(cx: &mut NodeCx<'_, '_>) {
    let Callee::Function(id) = cx.callee else { return };
    let (node, function) = (cx.id, cx.model.function(id));
    let required = cx.functions().required(id);
    if required.is_empty() {
        return;
    }
    let given: BTreeSet<_> = cx.node.attributes().iter().map(Attribute::name).collect();
    // One finding for each call, so that not each of many calls is compared with each of many attributes.
    let Some(&name) = required.iter().find(|name| !given.contains(name)) else { return };
    cx.report(&RULE, |places| {
        let (op, text) = (Quoted(places.str(function.name())), Quoted(places.str(name)));
        Diagnostic::new(&RULE, places.node(node), format!("the call does not give attribute {text} of {op}"))
            .label(places.function(id), "the function is this")
            .help("give it, or declare a default for it in `attribute_proto` of the function")
            .beyond_reference(true)
    });
}

#[cfg(test)]
mod tests {
    use crate::testing::{Builder, check_model};

    /// A model that calls a function of one input, one output and the attributes `a` and, with a default, `b`.
    fn model(m: &mut Builder, call: &str, attributes: &[&str]) {
        m.import("d", 1);
        m.inputs(["x", "y"]);
        let given: Vec<_> = attributes.iter().map(|name| m.attribute(name, 1)).collect();
        m.node_with(call, given);
        m.function("d", "f", Some(""), |m| {
            m.inputs(["x"]);
            m.node("y = Relu (x)");
            m.outputs(["y"]);
        });
        let (a, b) = (m.model.intern("a"), m.attribute("b", 1));
        m.last_function().attributes.push(a);
        m.push_default(b);
    }

    #[test]
    fn calls_give_attributes_that_have_no_default() {
        check_model(|m| model(m, "r = d.f (x)", &["b"]), &[("ONNX2655", r#"graph "g" / node #0 d::f"#)]);
        check_model(|m| model(m, "r = d.f (x)", &["a"]), &[]);
    }
}
