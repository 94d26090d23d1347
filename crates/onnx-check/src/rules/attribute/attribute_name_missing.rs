//! The rule `attribute-name-missing`: an attribute has no name.

use crate::cx::AttributeCx;
use onnx_diag::{Diagnostic, Reference, Rule, Severity};

pub(crate) static RULE: Rule =
    Rule::new(2406, "attribute-name-missing", Severity::Error, "An attribute has no name.")
        .with_spec("IR: Attributes")
        .with_reference(Reference::Enforced)
        .with_explain(include_str!("attribute_name_missing.md"));

pub(crate) fn check(cx: &mut AttributeCx<'_, '_>) {
    if cx.attribute.name().is_empty() {
        let (node, name) = (cx.node, cx.attribute.name());
        cx.report(&RULE, |places| {
            Diagnostic::new(&RULE, places.attribute(node, name), "the attribute has no name")
                .help("set `name`; it is the only identification of an attribute")
        });
    }
}
