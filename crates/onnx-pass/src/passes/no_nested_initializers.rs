//! The pass `no-nested-initializers`: initializers of nested graphs move to the outermost graph.

use onnx_ir::{Constant, Def, GraphId, Model, OpsetScope, ValueId};

use super::Report;
use crate::assumption::Exactness;
use crate::cx::PassCx;
use crate::pass::Pass;

/// The name of the pass.
const NAME: &str = "no-nested-initializers";

pub(super) fn pass() -> Pass {
    Pass::new(
        NAME,
        "Moves initializers of nested graphs to the outermost graph.",
        Exactness::Exact,
        no_nested_initializers,
    )
    .with_page(include_str!("no_nested_initializers.md"))
}

/// Moves the initializers of nested graphs to the graph of the model that they are in, where other graphs can share them.
/// Nested graphs of functions keep theirs, since functions have no initializers, and so do outputs of graphs and values
/// to which annotations, training bindings or device configurations refer.
pub fn no_nested_initializers(cx: &mut PassCx<'_>) -> Report {
    let model = cx.model();
    let is_nested = |graph: &GraphId| {
        model.root(*graph) != *graph
            && model.scope(*graph) == OpsetScope::Model
            && model.initializers(*graph).next().is_some()
    };
    let nested: Vec<GraphId> = model.all_graphs().filter(is_nested).collect();
    if nested.is_empty() {
        return Report::default();
    }
    let references = cx.references();
    cx.restructure(NAME, |model| {
        let mut lifted = 0;
        for graph in nested {
            let values: Vec<ValueId> = model.initializers(graph).collect();
            let values = values.into_iter().filter(|&value| references.allow(value));
            lifted += values.filter(|&value| lift(model, graph, value)).count();
        }
        lifted
    })
}

fn lift(model: &mut Model, graph: GraphId, value: ValueId) -> bool {
    let record = model.value(value);
    if !matches!(record.def(), Def::Initializer(_)) || model.is_graph_output(value) || !record.is_used() {
        return false;
    }
    let Some(constant) = record.constant().map(|constant| Constant::clone(constant)) else { return false };
    let (root, name) = (model.root(graph), record.name());
    let new = model.add_initializer(root, name, constant);
    model.replace_all_uses(value, new);
    model.take_name(new, value);
    model.erase_value(value).is_ok()
}
