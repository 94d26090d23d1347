//! The rule `value-defined-twice`: two places define a value of the same name where both are visible.

use onnx_diag::{Diagnostic, Quoted, Reference, Rule, Severity};
use onnx_ir::Def;

use crate::cx::ValueCx;

pub(crate) static RULE: Rule = Rule::new(
    2101,
    "value-defined-twice",
    Severity::Error,
    "Two places define a value of the same name where both are visible.",
)
.with_spec("IR: Names Within a Graph")
.with_reference(Reference::Enforced)
.with_explain(include_str!("value_defined_twice.md"));

pub(crate) fn check(cx: &mut ValueCx<'_, '_>) {
    let Some(earlier) = cx.earlier else { return };
    // Earlier than itself is a value that one node gives twice.
    if !cx.is_name_shared_in_file() && earlier != cx.id {
        return;
    }
    let is_output = matches!(cx.value.def(), Def::Output { .. });
    if is_output || cx.model.graph_of(earlier) == cx.model.graph_of(cx.id) {
        let (id, name) = (cx.id, cx.value.name());
        cx.report(&RULE, |places| {
            let message = format!("value {} is defined twice", Quoted(places.str(name)));
            Diagnostic::new(&RULE, places.definition(id), message)
                .label(places.definition(earlier), "first defined here")
                .help("rename one of them, and the uses that mean it")
        });
    }
}
