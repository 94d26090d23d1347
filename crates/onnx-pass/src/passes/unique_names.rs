//! The pass `unique-names`: no two values and no two nodes have the same name.

use std::collections::HashSet;

use foldhash::fast::RandomState;
use onnx_ir::{Cursor, GraphId, Model, ValueId};
use onnx_types::Symbol;

use super::Report;
use crate::assumption::Exactness;
use crate::cx::PassCx;
use crate::pass::Pass;

/// The name of the pass.
const NAME: &str = "unique-names";

pub(super) fn pass() -> Pass {
    Pass::new(NAME, "Gives every value and node a different name.", Exactness::Exact, unique_names)
        .with_page(include_str!("unique_names.md"))
}

/// Gives each value a name that no other value of the model has, also in other graphs, and each node a name that no other node
/// has. The first one keeps its name, and so do inputs and outputs of the main graph and of functions.
pub fn unique_names(cx: &mut PassCx<'_>) -> Report {
    cx.restructure(NAME, |model| values(model) + nodes(model))
}

fn values(model: &mut Model) -> usize {
    let fixed = interface(model);
    let mut taken: HashSet<Symbol, RandomState> =
        fixed.iter().map(|&value| model.value(value).name()).collect();
    let is_fixed: HashSet<ValueId, RandomState> = fixed.into_iter().collect();
    let graphs: Vec<GraphId> = model.all_graphs().collect();
    let mut renamed = 0;
    for graph in graphs {
        let definitions: Vec<ValueId> = model.definitions(graph).collect();
        for value in definitions {
            let name = model.value(value).name();
            if is_fixed.contains(&value) || (!name.is_empty() && taken.insert(name)) {
                continue;
            }
            let prefix = if name.is_empty() { "value".to_owned() } else { model.str(name).to_owned() };
            let new = model.fresh_name(&prefix);
            taken.insert(new);
            model.set_value_name(value, new);
            renamed += 1;
        }
    }
    renamed
}

/// Inputs and outputs of the main graph and of functions.
pub(super) fn interface(model: &Model) -> Vec<ValueId> {
    let bodies = model.functions().iter().map(|&function| model.function(function).body());
    let graphs = std::iter::once(model.main_graph()).chain(bodies);
    let values = graphs.flat_map(|graph| {
        let graph = model.graph(graph);
        graph.inputs().iter().copied().chain(graph.outputs().iter().map(onnx_ir::GraphOutput::value))
    });
    values.collect()
}

fn nodes(model: &mut Model) -> usize {
    let mut taken: HashSet<Symbol, RandomState> = HashSet::default();
    let mut renamed = 0;
    let mut cursor = Cursor::all(model);
    while let Some(node) = cursor.next(model) {
        let name = model.node(node).name();
        if !name.is_empty() && taken.insert(name) {
            continue;
        }
        let prefix = if name.is_empty() { model.node(node).op() } else { name };
        let prefix = model.str(prefix).to_owned();
        let new = model.fresh_name(&prefix);
        taken.insert(new);
        model.set_node_name(node, new);
        renamed += 1;
    }
    renamed
}
