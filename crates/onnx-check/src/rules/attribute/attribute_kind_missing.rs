//! The rule `attribute-kind-missing`: an attribute does not state its kind.

use onnx_diag::{Diagnostic, Quoted, Reference, Rule, Severity};

use crate::cx::AttributeCx;

pub(crate) static RULE: Rule =
    Rule::new(2403, "attribute-kind-missing", Severity::Error, "An attribute does not state its kind.")
        .with_spec("IR: Attributes")
        .with_reference(Reference::Enforced)
        .with_explain(include_str!("attribute_kind_missing.md"));

pub(crate) fn check(cx: &mut AttributeCx<'_, '_>) {
    if cx.attribute.declared_kind().is_none() && cx.model.info().ir_version >= 2 {
        let (node, name) = (cx.node, cx.attribute.name());
        cx.report(&RULE, |places| {
            let message = format!("attribute {} does not state its kind", Quoted(places.str(name)));
            Diagnostic::new(&RULE, places.attribute(node, name), message)
                .help("set the field `type`; readers do not infer it from the value")
        });
    }
}
