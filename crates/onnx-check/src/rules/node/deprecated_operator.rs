//! The rule `deprecated-operator`: a node calls an operator that the imported operator set has withdrawn.

use onnx_diag::{Diagnostic, Quoted, Reference, Rule, Severity};
use onnx_ir::Callee;

use crate::cx::NodeCx;

pub(crate) static RULE: Rule = Rule::new(
    2304,
    "deprecated-operator",
    Severity::Error,
    "A node calls an operator that the imported operator set has withdrawn.",
)
.with_spec("Versioning: Operator deprecation")
.with_reference(Reference::Enforced)
.with_explain(include_str!("deprecated_operator.md"));

pub(crate) fn check(cx: &mut NodeCx<'_, '_>) {
    let id = cx.id;
    if let Callee::Custom(schema) = cx.callee
        && schema.is_deprecated
    {
        cx.report(&RULE, |places| {
            let since = schema.since_version();
            let message = format!("operator {} is deprecated since version {since}", Quoted(schema.name()));
            Diagnostic::new(&RULE, places.node(id), message)
                .help(format!("import a version before {since}"))
                .beyond_reference(true)
        });
    }
    let Callee::Standard(schema) = cx.callee else { return };
    if !schema.is_deprecated() {
        return;
    }
    cx.report(&RULE, |places| {
        let since = schema.since_version();
        let replacement = schema.replacement().and_then(onnx_schema::known_name);
        let help = match (schema.until_version(), replacement) {
            (Some(until), _) => {
                format!(
                    "import version {} or newer, in which the operator exists again",
                    until.saturating_add(1)
                )
            }
            (None, Some(replacement)) => format!("use {} instead", Quoted(replacement)),
            (None, None) => format!("import a version before {since}"),
        };
        let message = format!("operator {} is deprecated since version {since}", Quoted(schema.name()));
        Diagnostic::new(&RULE, places.node(id), message).help(help)
    });
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_withdrawn_operator_has_a_way_out() {
        let withdrawn = onnx_schema::all().iter().filter(|schema| schema.is_deprecated());
        for schema in withdrawn.filter(|schema| schema.until_version().is_none()) {
            assert!(schema.replacement().is_some(), "{schema}");
        }
    }
}
