//! The rule `function-output-repeated`: a function has two outputs of the same name.

use onnx_diag::{Diagnostic, Reference, Rule, Severity};
use std::collections::BTreeSet;

use onnx_diag::Quoted;

use crate::declared::FunctionCx;

pub(crate) static RULE: Rule = Rule::new(
    2606,
    "function-output-repeated",
    Severity::Error,
    "A function has two outputs of the same name.",
)
.with_spec("IR: Functions")
.with_reference(Reference::Enforced)
.with_explain(include_str!("function_output_repeated.md"));

pub(crate) fn check(cx: &mut FunctionCx<'_, '_>) {
    let body = cx.function.body();
    let outputs = cx.model.graph(body).outputs();
    let mut seen = BTreeSet::new();
    for (index, output) in outputs.iter().enumerate() {
        let name = cx.model.value(output.value()).name();
        if !seen.insert(name) {
            cx.report(&RULE, |places| {
                let message = format!("output {} is listed twice", Quoted(places.str(name)));
                Diagnostic::new(&RULE, places.graph_output(body, index), message)
                    .help("hand the value through an `Identity` node, and list the result of that")
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{Builder, check_model};

    fn model(m: &mut Builder, change: impl FnOnce(&mut Builder)) {
        m.function("d", "f", Some(""), |m| {
            m.inputs(["x"]);
            m.node("y = Relu (x)");
            m.outputs(["y"]);
        });
        change(m);
    }

    #[test]
    fn outputs_have_names_of_their_own() {
        let twice = |m: &mut Builder| {
            m.function("d", "h", Some(""), |m| {
                m.inputs(["x"]);
                m.node("y = Relu (x)");
                m.outputs(["y", "y"]);
            });
        };
        check_model(twice, &[("ONNX2606", r#"function "h" of domain "d" / output 1 "y""#)]);
        check_model(|m| model(m, |_| ()), &[]);
    }
}
