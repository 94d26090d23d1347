//! The rule `binding-to-no-output`: a training binding takes its value from something that is not an output.

use onnx_diag::{Diagnostic, Rule, Severity};
use std::collections::BTreeSet;

use onnx_diag::Quoted;
use onnx_ir::{GraphId, ValueId, ValueRef};

use crate::declaration_cx::binding;

use crate::declaration_cx::TrainingCx;

pub(crate) static RULE: Rule = Rule::new(
    2702,
    "binding-to-no-output",
    Severity::Error,
    "A training binding takes its value from something that is not an output.",
)
.with_spec("IR: Training Related Information")
.with_explain(include_str!("binding_to_no_output.md"));

pub(crate) fn check(cx: &mut TrainingCx<'_, '_>) {
    let info = cx.info;
    let main = Some(cx.model.main_graph());
    let lists = [
        ("initialization_binding", &info.initialization_binding, outputs(cx, &[info.initialization])),
        ("update_binding", &info.update_binding, outputs(cx, &[info.algorithm, main])),
    ];
    let index = cx.index;
    for (field, bindings, outputs) in lists {
        for entry in bindings {
            let Some(name) = cx.name_of(entry.value) else { continue };
            if matches!(entry.value, ValueRef::Value(value) if outputs.contains(&value)) {
                continue;
            }
            cx.report(&RULE, |places| {
                let message = format!("{} is not an output to take a value from", Quoted(places.str(name)));
                let help = match field {
                    "update_binding" => "name an output of the algorithm or of the main graph",
                    _ => "name an output of the initialization",
                };
                Diagnostic::new(&RULE, binding(places, index, field, name), message)
                    .help(help)
                    .beyond_reference(true)
            });
        }
    }
}

/// The outputs of graphs that are there.
fn outputs(cx: &TrainingCx<'_, '_>, graphs: &[Option<GraphId>]) -> BTreeSet<ValueId> {
    let graphs = graphs.iter().flatten().filter_map(|&graph| cx.model.get_graph(graph));
    graphs.flat_map(|graph| graph.outputs().iter().map(onnx_ir::GraphOutput::value)).collect()
}
