//! The rule `initialization-missing`: training binds outputs of an initialization, and there is none.

use onnx_diag::{Diagnostic, Rule, Severity};

use crate::declaration_cx::TrainingCx;

pub(crate) static RULE: Rule = Rule::new(
    2705,
    "initialization-missing",
    Severity::Error,
    "Training binds outputs of an initialization, and there is none.",
)
.with_spec("IR: Training Related Information")
.with_explain(include_str!("initialization_missing.md"));

pub(crate) fn check(cx: &mut TrainingCx<'_, '_>) {
    let (index, info) = (cx.index, cx.info);
    if info.initialization.is_some() || info.initialization_binding.is_empty() {
        return;
    }
    cx.report(&RULE, |_| {
        let place = onnx_diag::Locus::model().training_info(index).field("initialization_binding");
        Diagnostic::new(&RULE, place, "there are bindings, but no initialization that they could refer to")
            .help("add the graph in `initialization`, or remove the bindings")
            .beyond_reference(true)
    });
}
