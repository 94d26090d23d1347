//! The rule `producer-missing`: the model does not say which tool made it.

use onnx_diag::Locus;
use onnx_diag::{Diagnostic, Rule, Severity};

use crate::cx::Cx;

pub(crate) static RULE: Rule =
    Rule::new(2007, "producer-missing", Severity::Note, "The model does not say which tool made it.")
        .with_spec("IR: Models")
        .with_explain(include_str!("producer_missing.md"));

pub(crate) fn check(cx: &mut Cx<'_>) {
    if cx.options.recommendations && cx.model.info().producer_name.is_empty() {
        cx.report(&RULE, |_| {
            let place = Locus::model().field("producer_name");
            Diagnostic::new(&RULE, place, "the model does not name its producer")
                .help("set `producer_name` and `producer_version` to those of the tool that made the model")
                .beyond_reference(true)
        });
    }
}
