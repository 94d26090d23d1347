//! The rule `too-many-functions`: the model has more functions than readers accept.

use onnx_diag::Locus;
use onnx_diag::{Diagnostic, Reference, Rule, Severity};

use crate::cx::Cx;

pub(crate) static RULE: Rule = Rule::new(
    2005,
    "too-many-functions",
    Severity::Error,
    "The model has more functions than readers accept.",
)
.with_spec("IR: Functions")
.with_reference(Reference::Enforced)
.with_explain(include_str!("too_many_functions.md"));

/// How many the reference accepts.
const LIMIT: usize = 10_000;

pub(crate) fn check(cx: &mut Cx<'_>) {
    let count = cx.model.functions().len();
    if count <= LIMIT {
        return;
    }
    // The reference does not check the functions of older models.
    let is_older = cx.model.info().ir_version < 8;
    cx.report(&RULE, |_| {
        let message = format!("the model has {count} functions, and readers accept {LIMIT}");
        Diagnostic::new(&RULE, Locus::model().field("functions"), message)
            .help("inline some of them, or remove those that nothing calls")
            .beyond_reference(is_older)
    });
}
