//! The rule `value-info-of-interface`: `value_info` describes an input or output of its graph.

use onnx_diag::{Diagnostic, Quoted, Rule, Severity};

use onnx_ir::{Def, Model, Owner};

use super::value_info_twice::drop_entries;
use crate::cx::GraphCx;

pub(crate) static RULE: Rule = Rule::new(
    2211,
    "value-info-of-interface",
    Severity::Note,
    "The list `value_info` describes inputs or outputs of its graph again.",
)
.with_spec("IR: Graphs")
.with_explain(include_str!("value_info_of_interface.md"));

pub(crate) fn check(cx: &mut GraphCx<'_, '_>) {
    // A function only names its inputs and outputs; `value_info` is where it can describe them.
    if cx.is_function() {
        return;
    }
    let (id, model, graph) = (cx.id, cx.model, cx.graph);
    cx.seen.begin();
    let interface = graph.inputs().iter().copied().chain(graph.outputs().iter().map(|output| output.value()));
    for value in interface {
        cx.seen.is_new(model.value(value).name());
    }
    let (mut first, mut more) = (None, 0_u64);
    for value in model.value_info(id).map(|entry| entry.value()) {
        let name = model.value(value).name();
        if name.is_empty() || !cx.seen.has(name) || model.graph_of(value) != id {
            continue;
        }
        match first {
            None => first = Some(value),
            Some(_) => more = more.saturating_add(1),
        }
    }
    let Some(value) = first else { return };
    cx.report(&RULE, |places| {
        let name = Quoted(places.str(model.value(value).name()));
        let message =
            format!("{name} is described twice: as an input or output of the graph, and in `value_info`");
        let found = Diagnostic::new(&RULE, places.value_info(id, value), message)
            .help("remove the entry of `value_info`");
        match more {
            0 => found,
            more => found.note(format!("{more} more entries describe inputs or outputs of this graph")),
        }
    });
}

/// Drops entries about inputs that say what the input says itself.
pub(crate) fn fix(model: &mut Model) -> Vec<String> {
    drop_entries(model, "says again what an input says", |model, graph, entry| {
        let is_input =
            matches!(model.value(entry.value()).def(), Def::Input { graph: home, .. } if home == graph);
        is_input && entry.own().is_none() && !matches!(model.graph(graph).owner(), Owner::Function(_))
    })
}
