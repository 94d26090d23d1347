//! The rule `operator-differs-from-model`: a function means other operators than the model does by the same name.

use onnx_diag::Quoted;
use onnx_diag::{Diagnostic, Reference, Rule, Severity};

use crate::run::is_function_body;

use crate::cx::NodeCx;

pub(crate) static RULE: Rule = Rule::new(
    2650,
    "operator-differs-from-model",
    Severity::Error,
    "A function means other operators than the model does by the same name.",
)
.with_spec("IR: Functions")
.with_reference(Reference::Enforced)
.with_explain(include_str!("operator_differs_from_model.md"));

pub(crate) fn check(cx: &mut NodeCx<'_, '_>) {
    let (domain, op, imports) = (cx.node.written_domain(), cx.node.op(), cx.imports);
    // The reference checks only the nodes of the body itself.
    if !cx.options.opset_compatibility || !is_function_body(cx.model, cx.node.graph()) {
        return;
    }
    let versions = (imports.versions.exact(domain), cx.versions_of_all().exact(domain));
    let (Some(here), Some(there)) = versions else { return };
    // The reference knows the default domain by its empty name only, here.
    if here == there || domain == onnx_schema::domain::AI_ONNX {
        return;
    }
    let schemas = [here, there].map(|version| onnx_schema::lookup(domain, op, version));
    let since = schemas.map(|schema| schema.map(onnx_schema::Schema::since_version));
    if since.first() == since.last() || !cx.first_time_for_domain(&RULE, imports, domain) {
        return;
    }
    let id = cx.id;
    cx.report(&RULE, |places| {
        let name = Quoted(places.str(op));
        let message = format!("{name} of version {here} is another operator than that of version {there}");
        Diagnostic::new(&RULE, places.node(id), message)
            .help(format!("write the function for version {there}, and let it import that"))
            .note("the function imports the former, and the model the latter")
            .note("reported once for all nodes of the domain in the function")
    });
}
