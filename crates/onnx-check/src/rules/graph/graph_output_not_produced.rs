//! The rule `graph-output-not-produced`: an output of a graph is not defined in that graph.

use onnx_diag::{Diagnostic, Quoted, Reference, Rule, Severity};
use onnx_ir::{Def, GraphId, Owner, ValueId};

use crate::cx::GraphCx;

pub(crate) static RULE: Rule = Rule::new(
    2202,
    "graph-output-not-produced",
    Severity::Error,
    "An output of a graph is not defined in that graph.",
)
.with_spec("IR: Graphs")
.with_reference(Reference::Partly)
.with_explain(include_str!("graph_output_not_produced.md"));

pub(crate) fn check(cx: &mut GraphCx<'_, '_>) {
    for (index, output) in cx.graph.outputs().iter().enumerate() {
        let value = output.value();
        // That the output has no name is another rule's business.
        let is_nameless = cx.model.value(value).name().is_empty();
        if !is_nameless && !is_produced(cx, value) {
            report(cx, index, value);
        }
    }
}

fn is_produced(cx: &GraphCx<'_, '_>, value: ValueId) -> bool {
    let home = cx.model.graph_of(value);
    match cx.model.value(value).def() {
        Def::Unresolved(_) => false,
        // A training algorithm and the main graph are taken together.
        _ => home == cx.id || (cx.graph.owner() == Owner::Algorithm && home == cx.model.main_graph()),
    }
}

fn report(cx: &mut GraphCx<'_, '_>, index: usize, value: ValueId) {
    let (graph, model): (GraphId, _) = (cx.id, cx.model);
    let is_function = cx.is_function();
    cx.report(&RULE, |places| {
        let record = model.value(value);
        let name = places.str(record.name());
        let place = places.graph(graph).output(index, name);
        let name = Quoted(name);
        let found = if matches!(record.def(), Def::Unresolved(_)) {
            let help = match places.nearest_value(graph, record.name()) {
                Some(near) => format!("did you mean {}?", Quoted(near)),
                None => "name a value that the graph defines, or remove the output".to_owned(),
            };
            Diagnostic::new(&RULE, place, format!("nothing defines output {name}")).help(help)
        } else {
            Diagnostic::new(&RULE, place, format!("output {name} is a value of an outer graph"))
                .label(places.definition(value), "defined here")
                .help("hand it through an `Identity` node, and make the result of that the output")
        };
        found.beyond_reference(is_function)
    });
}
