//! The rule `feature-newer-than-ir-version`: the model uses what its version of the format does not have.

use onnx_diag::{Diagnostic, Rule, Severity};

use onnx_ir::{Model, OpsetImport};
use onnx_schema::domain;

use crate::declaration_cx::FeatureCx;
use crate::features::Feature;
use crate::run;

pub(crate) static RULE: Rule = Rule::new(
    2030,
    "feature-newer-than-ir-version",
    Severity::Warning,
    "The model uses what its version of the format does not have.",
)
.with_spec("IR: Versioning")
.with_explain(include_str!("feature_newer_than_ir_version.md"));

pub(crate) fn check(cx: &mut FeatureCx<'_, '_>) {
    let (feature, seen) = (cx.feature, cx.seen);
    if feature.is_annotation() {
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
            count => found.note(format!("reported once, for {count} of them")),
        }
    });
}

/// Raises the IR version to the first one that has all that the model uses.
pub(crate) fn fix(model: &mut Model) -> Vec<String> {
    raise(model, |feature| !feature.is_annotation())
}

/// Raises the IR version to the first one that has what the model uses of the features that `counts` picks.
pub(crate) fn raise(model: &mut Model, counts: impl Fn(Feature) -> bool) -> Vec<String> {
    let early = run::used_too_early(model).into_iter().filter(|&feature| counts(feature));
    let Some((needed, name)) = early.map(Feature::facts).max_by_key(|&(needed, _)| needed) else {
        return Vec::new();
    };
    let mut info = model.info_mut();
    let before = std::mem::replace(&mut info.ir_version, needed);
    if before < onnx_ir::FIRST_IR_WITH_IMPORTS && info.opset_imports.is_empty() {
        // What older versions imply has to be said from here on.
        info.opset_imports.push(OpsetImport::new(domain::ONNX, 1));
    }
    vec![format!("raised `ir_version` from {before} to {needed}, which has {name}")]
}
