//! The rule `graph-name-twice`: two graphs of the model have the same name.

use onnx_diag::{Diagnostic, Quoted, Rule, Severity};
use onnx_ir::{GraphId, Owner};

use crate::cx::GraphCx;

pub(crate) static RULE: Rule =
    Rule::new(2206, "graph-name-twice", Severity::Note, "Two graphs of the model have the same name.")
        .with_spec("IR: Names Within a Graph")
        .with_explain(include_str!("graph_name_twice.md"));

pub(crate) fn check(cx: &mut GraphCx<'_, '_>) {
    let model = cx.model;
    if !cx.is_main() || model.graph_count() < 2 {
        return;
    }
    cx.seen.begin();
    // The body of a function does not have a name.
    let is_named = |graph: &GraphId| {
        let record = model.graph(*graph);
        !record.name().is_empty() && !matches!(record.owner(), Owner::Function(_))
    };
    let (mut first_pair, mut more) = (None, 0_u64);
    for (position, graph) in (0_u32..).zip(model.all_graphs().filter(is_named)) {
        let Some(earlier) = cx.seen.earlier(model.graph(graph).name(), position) else { continue };
        match first_pair {
            None => first_pair = Some((graph, earlier)),
            Some(_) => more = more.saturating_add(1),
        }
    }
    let Some((graph, earlier)) = first_pair else { return };
    cx.report(&RULE, |places| {
        let message = format!("graph name {} is given twice", Quoted(places.str(model.graph(graph).name())));
        let mut found = Diagnostic::new(&RULE, places.graph(graph), message);
        if let Some(first) = model.all_graphs().filter(is_named).nth(earlier as usize) {
            found = found.label(places.graph(first), "first given here");
        }
        if more > 0 {
            found = found.note(format!("{more} more graphs of the model have names of earlier ones"));
        }
        found.help("rename one of them")
    });
}
