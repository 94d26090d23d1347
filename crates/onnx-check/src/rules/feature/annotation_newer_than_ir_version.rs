//! The rule `annotation-newer-than-ir-version`: the model has annotations that its version of the format does not have.

use onnx_diag::{Diagnostic, Rule, Severity};

use onnx_ir::Model;

use super::feature_newer_than_ir_version::raise;
use crate::declaration_cx::FeatureCx;
use crate::features::Feature;

pub(crate) static RULE: Rule = Rule::new(
    2031,
    "annotation-newer-than-ir-version",
    Severity::Note,
    "The model has annotations that its version of the format does not have.",
)
.with_spec("IR: Versioning")
.with_explain(include_str!("annotation_newer_than_ir_version.md"));

pub(crate) fn check(cx: &mut FeatureCx<'_, '_>) {
    let (feature, seen) = (cx.feature, cx.seen);
    if !feature.is_annotation() {
        return;
    }
    let (needed, name) = feature.facts();
    let version = cx.model.info().ir_version;
    cx.report(&RULE, |places| {
        let message =
            format!("the format has {name} since IR version {needed}, and the model is of {version}");
        let found = Diagnostic::new(&RULE, seen.first.locate(places), message)
            .help(format!("set `ir_version` to {needed} or newer"))
            .beyond_reference(true);
        match seen.count {
            1 => found,
            count => found.note(format!("reported once for {count} annotations")),
        }
    });
}

/// Raises the IR version to the first one that has all annotations of the model.
pub(crate) fn fix(model: &mut Model) -> Vec<String> {
    raise(model, Feature::is_annotation)
}
