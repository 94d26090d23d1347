//! Rules about calls of functions, and about the nodes in functions. They see every node of a model that has functions.

mod call_attribute_of_other_kind;
mod function_in_domain_of_onnx;
mod missing_call_attribute;
mod operator_differs_from_model;
mod too_many_call_inputs;
mod too_many_call_outputs;
mod unknown_call_attribute;
mod unknown_function;
mod unknown_overload;

use onnx_diag::{Diagnostic, Locus, Quoted, Rule};
use onnx_ir::{Callee, Graph, Node, NodeId};

use super::{Entry, entry};
use crate::cx::NodeCx;
use crate::places::Places;

/// The function of a rule of this unit.
pub(crate) type Check = fn(&mut NodeCx<'_, '_>);

/// The rules of this unit, in alphabetical order.
pub(crate) static ENTRIES: &[Entry<Check>] = &[
    entry(&call_attribute_of_other_kind::RULE, call_attribute_of_other_kind::check),
    entry(&function_in_domain_of_onnx::RULE, function_in_domain_of_onnx::check),
    entry(&missing_call_attribute::RULE, missing_call_attribute::check),
    entry(&operator_differs_from_model::RULE, operator_differs_from_model::check),
    entry(&too_many_call_inputs::RULE, too_many_call_inputs::check),
    entry(&too_many_call_outputs::RULE, too_many_call_outputs::check),
    entry(&unknown_call_attribute::RULE, unknown_call_attribute::check),
    entry(&unknown_function::RULE, unknown_function::check),
    entry(&unknown_overload::RULE, unknown_overload::check),
];

/// Reports a call that gives more inputs or outputs than the function has; `place` finds that of the first such one.
fn surplus(
    cx: &mut NodeCx<'_, '_>,
    rule: &'static Rule,
    what: &str,
    formal: impl FnOnce(&Graph) -> usize,
    given: impl FnOnce(&Node) -> usize,
    place: impl FnOnce(&Places<'_>, NodeId, usize) -> Locus,
) {
    let Callee::Function(function) = cx.callee else { return };
    let (formal, given) = (formal(cx.model.graph(cx.model.function(function).body())), given(cx.node));
    if given <= formal {
        return;
    }
    let (id, op) = (cx.id, cx.node.op());
    cx.report(rule, |places| {
        let name = Quoted(places.str(op));
        let message = format!("the call has {given} {what}, and function {name} has {formal}");
        Diagnostic::new(rule, place(places, id, formal), message)
            .label(places.function(function), "the function is this")
            .help(format!("remove those that are too many, or add {what} to the function"))
            .beyond_reference(true)
    });
}
