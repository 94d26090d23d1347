//! The rule `unknown-overload`: a node names an overload that no function has.

use onnx_diag::Quoted;
use onnx_diag::{Diagnostic, Rule, Severity};
use onnx_ir::Callee;

use crate::cx::NodeCx;
use crate::options::Part;

pub(crate) static RULE: Rule =
    Rule::new(2656, "unknown-overload", Severity::Error, "A node names an overload that no function has.")
        .with_spec("IR: Functions")
        .with_explain(include_str!("unknown_overload.md"));

pub(crate) fn check(cx: &mut NodeCx<'_, '_>) {
    let (domain, op, overload) = (cx.node.domain(), cx.node.op(), cx.node.overload());
    let is_function = matches!(cx.callee, Callee::Function(_) | Callee::Unnamed | Callee::NotImported);
    // A standalone function may call functions of the model that it is intended for.
    let is_part = cx.part != Part::Model;
    if overload.is_empty() || is_part || is_function || cx.model.function_called(cx.node).is_some() {
        return;
    }
    let (id, plain) = (cx.id, cx.model.find_function(domain, op, onnx_types::Symbol::EMPTY));
    cx.report(&RULE, |places| {
        let (name, text) = (Quoted(places.str(op)), Quoted(places.str(overload)));
        let message = format!("the model has no function {name} with overload {text}");
        let found = Diagnostic::new(&RULE, places.node(id), message).beyond_reference(true);
        match plain {
            Some(plain) => found
                .label(places.function(plain), "this one has no overload")
                .help("leave the overload of the node empty, or add the function"),
            None => found.help("correct the overload, or add the function; operators have no overloads"),
        }
    });
}
