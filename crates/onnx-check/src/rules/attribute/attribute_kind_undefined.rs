//! The rule `attribute-kind-undefined`: an attribute has no value, and its `type` is undefined or unknown.

use onnx_diag::{Diagnostic, Quoted, Rule, Severity};
use onnx_ir::AttrKind;

use crate::cx::AttributeCx;

pub(crate) static RULE: Rule = Rule::new(
    2407,
    "attribute-kind-undefined",
    Severity::Warning,
    "An attribute has no value, and its `type` is undefined or unknown.",
)
.with_spec("IR: Attributes")
.with_explain(include_str!("attribute_kind_undefined.md"));

pub(crate) fn check(cx: &mut AttributeCx<'_, '_>) {
    // Other rules compare the kind with that of the value, and with the schema if the operator is known.
    let is_known = cx.formal.is_some() || cx.attribute.value().kind().is_some();
    let kind = cx.attribute.declared_kind().map(AttrKind::from_code);
    if is_known || !matches!(kind, Some(None | Some(AttrKind::Undefined))) {
        return;
    }
    let (node, name) = (cx.node, cx.attribute.name());
    cx.report(&RULE, |places| {
        let message = format!(
            "attribute {} has no value, and its `type` is undefined or unknown",
            Quoted(places.str(name))
        );
        Diagnostic::new(&RULE, places.attribute(node, name), message)
            .help("set `type` to the kind that the operator expects")
    });
}
