//! The rule `initialization-with-inputs`: the initialization of training has inputs.

use onnx_diag::{Diagnostic, Rule, Severity};

use crate::declaration_cx::TrainingCx;

pub(crate) static RULE: Rule = Rule::new(
    2704,
    "initialization-with-inputs",
    Severity::Error,
    "The initialization of training has inputs.",
)
.with_spec("IR: Training Related Information")
.with_explain(include_str!("initialization_with_inputs.md"));

pub(crate) fn check(cx: &mut TrainingCx<'_, '_>) {
    let Some(id) = cx.info.initialization else { return };
    if cx.model.get_graph(id).is_some_and(|graph| !graph.inputs().is_empty()) {
        cx.report(&RULE, |places| {
            let place = places.graph(id);
            Diagnostic::new(&RULE, place, "the initialization has inputs, which nothing can give")
                .help("make initializers or constants of them")
                .beyond_reference(true)
        });
    }
}
