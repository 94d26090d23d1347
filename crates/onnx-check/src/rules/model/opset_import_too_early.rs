//! The rule `opset-import-too-early`: the model is older than opset imports, and has some.

use onnx_diag::{Diagnostic, Locus, Reference, Rule, Severity};

use crate::cx::Cx;

pub(crate) static RULE: Rule = Rule::new(
    2004,
    "opset-import-too-early",
    Severity::Error,
    "The model is older than opset imports, and has some.",
)
.with_spec("IR: Operator Sets")
.with_reference(Reference::Enforced)
.with_explain(include_str!("opset_import_too_early.md"));

pub(crate) fn check(cx: &mut Cx<'_>) {
    let info = cx.model.info();
    if info.ir_version < 3 && info.ir_version != 0 && !info.opset_imports.is_empty() {
        cx.report(&RULE, |_| {
            let place = Locus::model().field("opset_import");
            let message = format!("a model of IR version {} cannot import operator sets", info.ir_version);
            Diagnostic::new(&RULE, place, message)
                .help("set `ir_version` to 3 or newer, or remove the imports")
        });
    }
}
