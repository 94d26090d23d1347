//! The rule `binding-repeated`: training sets an initializer twice in one step.

use onnx_diag::{Diagnostic, Rule, Severity};
use std::collections::BTreeSet;

use onnx_diag::Quoted;
use onnx_ir::Binding;

use crate::declaration_cx::binding;

use crate::declaration_cx::TrainingCx;

pub(crate) static RULE: Rule =
    Rule::new(2703, "binding-repeated", Severity::Error, "Training sets an initializer twice in one step.")
        .with_spec("IR: Training Related Information")
        .with_explain(include_str!("binding_repeated.md"));

pub(crate) fn check(cx: &mut TrainingCx<'_, '_>) {
    let mut initialized = BTreeSet::new();
    report(cx, cx.index, "initialization_binding", &cx.info.initialization_binding, &mut initialized);
    // A variable may be updated once in all steps together, so all steps are checked with the first one.
    if cx.index == 0 {
        let mut updated = BTreeSet::new();
        for (index, info) in cx.model.info().training.iter().enumerate() {
            report(cx, index, "update_binding", &info.update_binding, &mut updated);
        }
    }
}

fn report(
    cx: &mut TrainingCx<'_, '_>,
    index: usize,
    field: &'static str,
    bindings: &[Binding],
    seen: &mut BTreeSet<onnx_types::Symbol>,
) {
    for entry in bindings {
        let Some(name) = cx.name_of(entry.key) else { continue };
        if !seen.insert(name) {
            cx.report(&RULE, |places| {
                let message = format!("{} is bound twice", Quoted(places.str(name)));
                Diagnostic::new(&RULE, binding(places, index, field, name), message)
                    .help("keep one of the bindings")
                    .beyond_reference(true)
            });
        }
    }
}
