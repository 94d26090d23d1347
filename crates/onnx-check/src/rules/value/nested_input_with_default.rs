//! The rule `nested-input-with-default`: an input of a nested graph has an initializer.

use onnx_diag::{Diagnostic, Quoted, Rule, Severity};
use onnx_ir::{Def, Owner};

use crate::cx::ValueCx;

pub(crate) static RULE: Rule = Rule::new(
    2105,
    "nested-input-with-default",
    Severity::Warning,
    "An input of a nested graph has an initializer.",
)
.with_spec("IR: Nodes")
.with_explain(include_str!("nested_input_with_default.md"));

/// The first IR version in which initializers need not be inputs, so that nested graphs have no use for defaults.
const FIRST_IR_WITH_CONSTANTS: i64 = 4;

pub(crate) fn check(cx: &mut ValueCx<'_, '_>) {
    let Def::Input { graph, .. } = cx.value.def() else { return };
    let is_nested = matches!(cx.model.graph(graph).owner(), Owner::Node(_));
    if cx.value.initializer().is_none() || !is_nested || cx.model.info().ir_version < FIRST_IR_WITH_CONSTANTS
    {
        return;
    }
    let (id, name) = (cx.id, cx.value.name());
    cx.report(&RULE, |places| {
        let message = format!("input {} of a nested graph has an initializer", Quoted(places.str(name)));
        Diagnostic::new(&RULE, places.definition(id), message)
            .help("remove the initializer, or the input if the operator gives it no value")
    });
}

#[cfg(test)]
mod tests {
    use onnx_ir::AttrValue;

    use crate::testing::{Builder, check_model, scalar};

    fn model(m: &mut Builder, default: &str) {
        m.inputs(["n", "c", "s"]);
        let body = m.nested("body", |m| {
            m.inputs(["i", "keep", "state"]);
            m.initializer(default, scalar());
            m.node("next = Add (state, w)");
            m.outputs(["keep", "next"]);
        });
        let body = m.attribute("body", AttrValue::Graph(body));
        m.node_with("y = Loop (n, c, s)", [body]);
        m.outputs(["y"]);
    }

    #[test]
    fn inputs_of_nested_graphs_have_no_defaults() {
        let place = r#"graph "g" / node #0 Loop / attribute "body" / graph "body" / input 2 "state""#;
        let undefined = (
            "ONNX2313",
            r#"graph "g" / node #0 Loop / attribute "body" / graph "body" / node #0 Add / input 1 "w""#,
        );
        check_model(|m| model(m, "state"), &[("ONNX2105", place), undefined]);
        check_model(|m| model(m, "w"), &[]);
    }
}
