//! The rule `function-output-repeated`: a function has two outputs of the same name.

use onnx_diag::{Diagnostic, Reference, Rule, Severity};
use std::collections::BTreeSet;

use onnx_diag::Quoted;

use crate::declaration_cx::FunctionCx;

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
