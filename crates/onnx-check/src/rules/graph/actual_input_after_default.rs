//! The rule `actual-input-after-default`: in an old model, an input of a nested graph comes after one with a default.

use onnx_diag::{Diagnostic, Quoted, Rule, Severity};
use onnx_ir::Owner;

use crate::cx::GraphCx;

pub(crate) static RULE: Rule = Rule::new(
    2215,
    "actual-input-after-default",
    Severity::Warning,
    "An input of a nested graph comes after one with an initializer, which IR versions up to 3 want last.",
)
.with_spec("IR: Nodes")
.with_explain(include_str!("actual_input_after_default.md"));

/// The last IR version in which the constants of a nested graph are inputs of it.
const LAST_IR_WITH_INPUTS: i64 = 3;

pub(crate) fn check(cx: &mut GraphCx<'_, '_>) {
    let model = cx.model;
    if model.info().ir_version > LAST_IR_WITH_INPUTS || !matches!(cx.graph.owner(), Owner::Node(_)) {
        return;
    }
    let inputs = cx.graph.inputs();
    let has_default = |position: usize| {
        inputs.get(position).is_some_and(|&input| model.value(input).initializer().is_some())
    };
    let Some(first) = (0..inputs.len()).find(|&position| has_default(position)) else { return };
    let Some(after) = (first..inputs.len()).find(|&position| !has_default(position)) else { return };
    let Some(&input) = inputs.get(after) else { return };
    let id = cx.id;
    cx.report(&RULE, |places| {
        let name = Quoted(places.str(model.value(input).name()));
        let message = format!("input {name} comes after an input with an initializer");
        Diagnostic::new(&RULE, places.graph_input(id, after), message)
            .label(places.graph_input(id, first), "this one has an initializer")
            .help("move inputs with initializers to the end of the list")
    });
}
