//! The rule `opset-import-missing`: the model imports no operator set.

use onnx_diag::{Diagnostic, Locus, Reference, Rule, Severity};

use crate::cx::Cx;

pub(crate) static RULE: Rule =
    Rule::new(2003, "opset-import-missing", Severity::Error, "The model imports no operator set.")
        .with_spec("IR: Operator Sets")
        .with_reference(Reference::Enforced)
        .with_explain(include_str!("opset_import_missing.md"));

pub(crate) fn check(cx: &mut Cx<'_>) {
    let info = cx.model.info();
    if info.ir_version >= 3 && info.opset_imports.is_empty() {
        cx.report(&RULE, |_| {
            Diagnostic::new(&RULE, Locus::model().field("opset_import"), "the model imports no operator set")
                .help("add an opset import: the domain and the version that its operators were written for")
        });
    }
}
