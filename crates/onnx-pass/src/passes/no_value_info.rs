//! The pass `no-value-info`: declared types of inner values are removed.

use onnx_ir::{Def, GraphId, Model, ValueId};
use onnx_types::Type;

use super::Report;
use crate::assumption::Exactness;
use crate::cx::PassCx;
use crate::pass::Pass;

/// The name of the pass.
const NAME: &str = "no-value-info";

pub(super) fn pass() -> Pass {
    Pass::new(NAME, "Removes the declared types of inner values.", Exactness::Exact, no_value_info)
        .with_page(include_str!("no_value_info.md"))
        .against("value-info")
}

/// Removes the declared types of values that are neither inputs nor outputs of a graph, and the lists of `value_info`.
pub fn no_value_info(cx: &mut PassCx<'_>) -> Report {
    cx.restructure(NAME, |model| {
        let graphs: Vec<GraphId> = model.all_graphs().collect();
        let mut removed = 0;
        for graph in graphs {
            let values: Vec<ValueId> = model.definitions(graph).collect();
            let inner: Vec<ValueId> = values.into_iter().filter(|&value| is_inner(model, value)).collect();
            for value in inner {
                if model.value(value).ty().is_some() {
                    model.set_type(value, None::<Type>);
                    removed += 1;
                }
            }
            let count = model.value_info(graph).count();
            if count > 0 {
                model.retain_value_info(graph, |_| false);
                removed += count;
            }
        }
        removed
    })
}

fn is_inner(model: &Model, value: ValueId) -> bool {
    matches!(model.value(value).def(), Def::Output { .. }) && !model.is_graph_output(value)
}
