//! The rule `value-name-missing`: an input, output or initializer of a graph has no name.

use onnx_diag::{Diagnostic, Locus, Reference, Rule, Severity};
use onnx_ir::{Def, ValueId};

use crate::cx::GraphCx;
use crate::places::Places;

pub(crate) static RULE: Rule = Rule::new(
    2203,
    "value-name-missing",
    Severity::Error,
    "An input, output or initializer of a graph has no name.",
)
.with_spec("IR: Graphs")
.with_reference(Reference::Partly)
.with_explain(include_str!("value_name_missing.md"));

pub(crate) fn check(cx: &mut GraphCx<'_, '_>) {
    let (id, model) = (cx.id, cx.model);
    for (index, &input) in cx.graph.inputs().iter().enumerate() {
        if is_nameless(cx, input) {
            report(cx, "the input has no name", |places| places.graph_input(id, index));
        }
    }
    for (index, output) in cx.graph.outputs().iter().enumerate() {
        if is_nameless(cx, output.value()) {
            report(cx, "the output has no name", |places| places.graph_output(id, index));
        }
    }
    for initializer in model.initializers(id) {
        let is_input = matches!(model.value(initializer).def(), Def::Input { .. });
        if !is_input && is_nameless(cx, initializer) {
            report(cx, "the initializer has no name", |places| places.initializer(initializer));
        }
    }
}

/// Whether a value has no name in the file. Values that an edit made get one when the model is written.
#[inline]
fn is_nameless(cx: &GraphCx<'_, '_>, value: ValueId) -> bool {
    let record = cx.model.value(value);
    if !record.name().is_empty() {
        return false;
    }
    !cx.model.names_touched() || record.is_name_as_read() || matches!(record.def(), Def::Unresolved(_))
}

#[cold]
fn report(cx: &mut GraphCx<'_, '_>, message: &str, place: impl FnOnce(&Places<'_>) -> Locus) {
    let is_function = cx.is_function();
    cx.report(&RULE, |places| {
        Diagnostic::new(&RULE, place(places), message)
            .help("give it a name: values are found by nothing else")
            .beyond_reference(is_function)
    });
}
