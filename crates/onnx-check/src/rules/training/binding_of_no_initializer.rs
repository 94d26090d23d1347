//! The rule `binding-of-no-initializer`: a training binding sets something that is not an initializer.

use onnx_diag::Quoted;
use onnx_diag::{Diagnostic, Rule, Severity};
use onnx_ir::ValueRef;

use crate::declaration_cx::binding;

use crate::declaration_cx::TrainingCx;

pub(crate) static RULE: Rule = Rule::new(
    2701,
    "binding-of-no-initializer",
    Severity::Error,
    "A training binding sets something that is not an initializer.",
)
.with_spec("IR: Training Related Information")
.with_explain(include_str!("binding_of_no_initializer.md"));

pub(crate) fn check(cx: &mut TrainingCx<'_, '_>) {
    let info = cx.info;
    let lists =
        [("initialization_binding", &info.initialization_binding), ("update_binding", &info.update_binding)];
    let (model, index) = (cx.cx.model, cx.index);
    for (field, bindings) in lists {
        for entry in bindings {
            let Some(name) = cx.name_of(entry.key) else { continue };
            let is_variable = match entry.key {
                ValueRef::Value(value) => {
                    let graph = model.graph_of(value);
                    let is_visible = graph == model.main_graph() || Some(graph) == info.algorithm;
                    is_visible && model.value(value).initializer().is_some()
                }
                ValueRef::Name(_) => false,
            };
            if is_variable {
                continue;
            }
            cx.report(&RULE, |places| {
                let message = format!("{} is bound, but is not an initializer", Quoted(places.str(name)));
                Diagnostic::new(&RULE, binding(places, index, field, name), message)
                    .help("bind an initializer of the main graph or of the algorithm")
                    .beyond_reference(true)
            });
        }
    }
}
