//! The rule `reference-of-other-kind`: an attribute refers to one of another kind.

use onnx_diag::Quoted;
use onnx_diag::{Diagnostic, Rule, Severity};
use onnx_ir::AttrKind;
use onnx_ir::AttrValue;

use crate::cx::AttributeCx;

pub(crate) static RULE: Rule = Rule::new(
    2672,
    "reference-of-other-kind",
    Severity::Error,
    "An attribute refers to one of another kind.",
)
.with_spec("IR: Attributes")
.with_explain(include_str!("reference_of_other_kind.md"));

pub(crate) fn check(cx: &mut AttributeCx<'_, '_>) {
    let AttrValue::Ref(target) = *cx.attribute.value() else { return };
    let Some(function) = cx.function else { return };
    let Some(default) = cx.functions().default_of(function, target) else { return };
    let kinds = (cx.attribute.declared_kind(), default.declared_kind());
    let (Some(here), Some(there)) =
        (kinds.0.and_then(AttrKind::from_code), kinds.1.and_then(AttrKind::from_code))
    else {
        return;
    };
    if here == there {
        return;
    }
    let (node, name) = (cx.node, cx.attribute.name());
    cx.report(&RULE, |places| {
        let message = format!(
            "the attribute is of kind {}, and refers to {}, which is of kind {}",
            here.name(),
            Quoted(places.str(target)),
            there.name()
        );
        Diagnostic::new(&RULE, places.attribute(node, name), message)
            .label(places.function_attribute(function, target), "it has its default here")
            .help("give the default the kind that the node needs")
            .beyond_reference(true)
    });
}
