//! The rule `value-never-defined`: a node uses a name that nothing defines.

use onnx_diag::{Diagnostic, Quoted, Reference, Rule, Severity};
use onnx_ir::Def;

use crate::cx::NodeCx;

pub(crate) static RULE: Rule =
    Rule::new(2313, "value-never-defined", Severity::Error, "A node uses a name that nothing defines.")
        .with_spec("IR: Nodes")
        .with_reference(Reference::Enforced)
        .with_explain(include_str!("value_never_defined.md"));

pub(crate) fn check(cx: &mut NodeCx<'_, '_>) {
    if cx.is_alone() {
        return;
    }
    for (index, input) in cx.node.inputs().enumerate() {
        let Some(value) = input else { continue };
        let record = cx.model.value(value);
        if !matches!(record.def(), Def::Unresolved(_)) || !cx.first_time_for_value(&RULE, value) {
            continue;
        }
        let (id, graph, uses) = (cx.id, cx.node.graph(), record.uses().len());
        cx.report(&RULE, |places| {
            let message = format!("nothing defines value {}", Quoted(places.str(record.name())));
            let help = match places.nearest_value(graph, record.name()) {
                Some(near) => format!("did you mean {}?", Quoted(near)),
                None => "add a node, an input or an initializer of this name".to_owned(),
            };
            let found = Diagnostic::new(&RULE, places.input(id, index), message).help(help);
            if uses > 1 { found.note(format!("it is used {uses} times")) } else { found }
        });
    }
}
