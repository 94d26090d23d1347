//! The rule `outer-value-hidden`: an input or initializer of a nested graph has the name of a value that is visible
//! from outside.

use onnx_diag::{Diagnostic, Quoted, Rule, Severity};
use onnx_ir::Def;

use crate::cx::ValueCx;

pub(crate) static RULE: Rule = Rule::new(
    2102,
    "outer-value-hidden",
    Severity::Warning,
    "An input or initializer of a nested graph has the name of a value that is visible from outside.",
)
.with_spec("IR: Names Within a Graph")
.with_explain(include_str!("outer_value_hidden.md"));

pub(crate) fn check(cx: &mut ValueCx<'_, '_>) {
    let Some(earlier) = cx.earlier else { return };
    let is_output = matches!(cx.value.def(), Def::Output { .. });
    if is_output || !cx.is_name_shared_in_file() || cx.model.graph_of(earlier) == cx.model.graph_of(cx.id) {
        return;
    }
    let (id, name) = (cx.id, cx.value.name());
    cx.report(&RULE, |places| {
        let message = format!("value {} hides an outer value of the same name", Quoted(places.str(name)));
        Diagnostic::new(&RULE, places.definition(id), message)
            .label(places.definition(earlier), "the outer value is defined here")
            .help("rename the inner one")
    });
}
