//! The rule `value-info-twice`: `value_info` has two entries for one value.

use std::collections::HashSet;

use onnx_diag::{Diagnostic, Quoted, Rule, Severity};

use onnx_ir::{GraphId, InfoEntry, Model};

use crate::cx::GraphCx;

pub(crate) static RULE: Rule = Rule::new(
    2209,
    "value-info-twice",
    Severity::Warning,
    "The list `value_info` has two entries for one value.",
)
.with_spec("IR: Graphs")
.with_explain(include_str!("value_info_twice.md"));

pub(crate) fn check(cx: &mut GraphCx<'_, '_>) {
    let (id, model) = (cx.id, cx.model);
    cx.seen.begin();
    for entry in model.value_info(id) {
        let value = entry.value();
        let name = model.value(value).name();
        // Names that only memory shares get different ones when the model is written.
        let counts = !model.names_touched() || model.value(value).is_name_as_read();
        if name.is_empty() || !counts || cx.seen.is_new(name) {
            continue;
        }
        cx.report(&RULE, |places| {
            let message = format!("value {} has two entries in `value_info`", Quoted(places.str(name)));
            Diagnostic::new(&RULE, places.value_info(id, value), message).help("remove one of them")
        });
    }
}

/// Drops entries that repeat another entry of the value; entries that contradict each other are kept.
pub(crate) fn fix(model: &mut Model) -> Vec<String> {
    let mut met = HashSet::new();
    drop_entries(model, "says again what an earlier entry says", |_, _, entry| {
        let is_plain = entry.own().is_none();
        is_plain && !met.insert(entry.value())
    })
}

/// Drops the entries of `value_info` that `is_needless` selects, and reports their number for each graph.
pub(crate) fn drop_entries(
    model: &mut Model,
    why: &str,
    mut is_needless: impl FnMut(&Model, GraphId, &InfoEntry) -> bool,
) -> Vec<String> {
    let mut done = Vec::new();
    let graphs: Vec<GraphId> = model.all_graphs().collect();
    for graph in graphs {
        let needless: Vec<bool> =
            model.value_info(graph).map(|entry| is_needless(model, graph, entry)).collect();
        let count = needless.iter().filter(|&&is_needless| is_needless).count();
        if count == 0 {
            continue;
        }
        let mut needless = needless.into_iter();
        model.retain_value_info(graph, |_| !needless.next().unwrap_or(false));
        let name = Quoted(model.str(model.graph(graph).name()));
        done.push(match count {
            1 => format!("dropped an entry of `value_info` of graph {name} that {why}"),
            _ => format!("dropped {count} entries of `value_info` of graph {name}; each {why}"),
        });
    }
    done
}
