//! The rule `operator-set-magic-wrong`: an operator set document does not begin with its magic.

use onnx_diag::{Diagnostic, Locus, Quoted, Rule, Severity};
use onnx_ir::OperatorSetDocument;

use crate::operator_set::OperatorSetCx;

pub(crate) static RULE: Rule = Rule::new(
    2040,
    "operator-set-magic-wrong",
    Severity::Error,
    "An operator set document does not begin with its magic.",
)
.with_spec("IR: Operator Sets")
.with_explain(include_str!("operator_set_magic_wrong.md"));

pub(crate) fn check(cx: &mut OperatorSetCx<'_, '_>) {
    let magic = cx.document.magic;
    if cx.document.str(magic) == OperatorSetDocument::MAGIC {
        return;
    }
    cx.report(&RULE, |places| {
        let message = if magic.is_empty() {
            "the document has no magic".to_owned()
        } else {
            format!("the magic is {}", Quoted(places.str(magic)))
        };
        Diagnostic::new(&RULE, Locus::model().field("magic"), message).help("write `ONNXOPSET`")
    });
}
