//! The rule `default-domain-spelled-out`: a node spells the default domain as `ai.onnx`.

use onnx_diag::{Diagnostic, Reference, Rule, Severity};
use onnx_ir::Callee;
use onnx_schema::domain;

use crate::cx::NodeCx;

pub(crate) static RULE: Rule = Rule::new(
    2302,
    "default-domain-spelled-out",
    Severity::Error,
    "A node spells the default domain as `ai.onnx`.",
)
.with_spec("IR: Operators")
.with_reference(Reference::Enforced)
.with_explain(include_str!("default_domain_spelled_out.md"));

pub(crate) fn check(cx: &mut NodeCx<'_, '_>) {
    if cx.node.written_domain() == domain::AI_ONNX {
        let (id, is_experimental) = (cx.id, matches!(cx.callee, Callee::Experimental));
        cx.report(&RULE, |places| {
            let message = "the domain of the node is written `ai.onnx`, which readers do not find";
            Diagnostic::new(&RULE, places.node(id), message)
                .help("write the domain of the node as the empty string")
                .beyond_reference(is_experimental)
        });
    }
}
