//! The rule `negative-model-version`: the version of the model is negative.

use onnx_diag::Locus;
use onnx_diag::{Diagnostic, Rule, Severity};

use crate::cx::Cx;

pub(crate) static RULE: Rule =
    Rule::new(2006, "negative-model-version", Severity::Note, "The version of the model is negative.")
        .with_spec("IR: Versioning")
        .with_explain(include_str!("negative_model_version.md"));

pub(crate) fn check(cx: &mut Cx<'_>) {
    let version = cx.model.info().model_version;
    if version < 0 {
        cx.report(&RULE, |_| {
            let place = Locus::model().field("model_version");
            Diagnostic::new(&RULE, place, format!("the version of the model is {version}"))
                .help("count from 1, or write major, minor and patch number into 16, 16 and 32 bits")
                .beyond_reference(true)
        });
    }
}
