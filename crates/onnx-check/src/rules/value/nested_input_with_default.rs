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
