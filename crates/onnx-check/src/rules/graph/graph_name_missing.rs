//! The rule `graph-name-missing`: a graph has no name.

use onnx_diag::{Diagnostic, Reference, Rule, Severity};

use crate::cx::GraphCx;

pub(crate) static RULE: Rule = Rule::new(2201, "graph-name-missing", Severity::Error, "A graph has no name.")
    .with_spec("IR: Graphs")
    .with_reference(Reference::Enforced)
    .with_explain(include_str!("graph_name_missing.md"));

pub(crate) fn check(cx: &mut GraphCx<'_, '_>) {
    if cx.graph.name().is_empty() && !cx.is_function() {
        let id = cx.id;
        cx.report(&RULE, |places| {
            Diagnostic::new(&RULE, places.graph(id), "the graph has no name").help("give it one; any will do")
        });
    }
}
