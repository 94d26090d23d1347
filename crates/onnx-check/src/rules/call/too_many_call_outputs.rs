//! The rule `too-many-call-outputs`: a call gives more outputs than the function has.

use onnx_diag::{Rule, Severity};

use super::surplus;
use crate::cx::NodeCx;

pub(crate) static RULE: Rule = Rule::new(
    2652,
    "too-many-call-outputs",
    Severity::Error,
    "A call gives more outputs than the function has.",
)
.with_spec("IR: Functions")
.with_explain(include_str!("too_many_call_outputs.md"));

pub(crate) fn check(cx: &mut NodeCx<'_, '_>) {
    surplus(
        cx,
        &RULE,
        "outputs",
        |body| body.outputs().len(),
        |node| node.outputs().len(),
        |places, node, at| places.output(node, at),
    );
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
    fn calls_have_no_more_outputs_than_the_function() {
        let place = r#"graph "g" / node #0 d::f / output 1 "s""#;
        check_model(|m| model(m, "r, s = d.f (x)", &["a"]), &[("ONNX2652", place)]);
        check_model(|m| model(m, "r = d.f (x)", &["a"]), &[]);
        check_model(|m| model(m, " = d.f (x)", &["a"]), &[]);
    }
}
