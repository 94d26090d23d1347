//! Parts of a model that are removed one by one.

use std::collections::HashSet;

use onnx_ir::{FunctionId, GraphId, Model, NodeId, ValueId};
use onnx_types::Symbol;

use super::cut::all_nodes;
use super::{Chosen, Taken};

impl Taken {
    const fn of(all: usize) -> Self {
        Self { all, gone: 0 }
    }

    const fn count(&mut self, is_gone: bool) {
        self.gone = self.gone.saturating_add(is_gone as usize);
    }
}

/// Outputs; one is kept, because few programs accept a model without outputs.
pub(super) fn outputs(model: &mut Model, chosen: Chosen) -> Taken {
    let graph = model.main_graph();
    let all = model.graph(graph).outputs().len();
    let kept_first = (all > 0 && (0..all).all(|index| chosen.contains(index))).then_some(0);
    let keep = |index: usize| kept_first == Some(index) || !chosen.contains(index);
    let gone = model.retain_graph_outputs(graph, |index, _| keep(index));
    Taken { all, gone }
}

pub(super) fn functions(model: &mut Model, chosen: Chosen) -> Taken {
    let all = model.functions().to_vec();
    let chosen = all.iter().enumerate().filter(|(index, _)| chosen.contains(*index));
    let chosen: Vec<FunctionId> = chosen.map(|(_, &function)| function).collect();
    Taken { all: all.len(), gone: model.remove_functions(&chosen) }
}

/// Inputs that nothing uses.
pub(super) fn inputs(model: &mut Model, chosen: Chosen) -> Taken {
    let graph = model.main_graph();
    let all = model.graph(graph).inputs().to_vec();
    let mut taken = Taken::of(all.len());
    let is_gone =
        |&(index, value): &(usize, ValueId)| chosen.contains(index) && !model.value(value).is_used();
    let (gone, kept): (Vec<_>, Vec<_>) = all.into_iter().enumerate().partition(is_gone);
    let kept: Vec<ValueId> = kept.into_iter().map(|(_, value)| value).collect();
    // They are inputs of the graph, each once.
    if model.set_graph_inputs(graph, &kept).is_ok() {
        for (_, value) in gone {
            model.set_initializer(graph, value, None);
            taken.count(model.erase_value(value).is_ok());
        }
    }
    taken
}

/// The initializers of all graphs.
pub(super) fn all_initializers(model: &Model) -> Vec<(GraphId, ValueId)> {
    let graphs: Vec<GraphId> = model.all_graphs().collect();
    let of_graph = |graph: GraphId| model.initializers(graph).map(move |value| (graph, value));
    graphs.into_iter().flat_map(of_graph).collect()
}

/// Initializers that nothing uses.
pub(super) fn initializers(model: &mut Model, chosen: Chosen) -> Taken {
    let all = all_initializers(model);
    let mut taken = Taken::of(all.len());
    for (index, &(_, value)) in all.iter().enumerate() {
        // Defaults of inputs and used initializers are kept.
        taken.count(chosen.contains(index) && model.erase_value(value).is_ok());
    }
    taken
}

pub(super) fn attributes(model: &mut Model, chosen: Chosen) -> Taken {
    let counted = |node: NodeId| (node, model.node(node).attributes().len());
    let counts: Vec<(NodeId, usize)> = all_nodes(model).into_iter().map(counted).collect();
    let mut taken = Taken::of(0);
    for (node, count) in counts {
        let first = taken.all;
        taken.all = taken.all.saturating_add(count);
        // A node of a nested graph is gone with the attribute that holds the graph.
        if model.get_node(node).is_some() {
            let is_kept = |index: usize| !chosen.contains(first.saturating_add(index));
            let gone = model.retain_attributes(node, |index, _| is_kept(index));
            taken.gone = taken.gone.saturating_add(gone);
        }
    }
    taken
}

/// The last inputs of nodes, one of each at a time.
pub(super) fn operands(model: &mut Model, chosen: Chosen) -> Taken {
    let all: Vec<NodeId> =
        all_nodes(model).into_iter().filter(|&node| model.node(node).input_count() > 1).collect();
    let mut taken = Taken::of(all.len());
    for (index, &node) in all.iter().enumerate() {
        if let (true, Some(last)) = (chosen.contains(index), model.node(node).input_count().checked_sub(1)) {
            model.remove_input(node, last);
            taken.count(true);
        }
    }
    taken
}

/// Types that values in between declare.
pub(super) fn types(model: &mut Model, chosen: Chosen) -> Taken {
    let mut all = Vec::new();
    for node in all_nodes(model) {
        let outputs = model.node(node).outputs().iter().flatten().copied();
        all.extend(outputs.filter(|&value| model.ty(value).is_some() && !model.is_graph_output(value)));
    }
    let mut taken = Taken::of(all.len());
    for (index, &value) in all.iter().enumerate() {
        if chosen.contains(index) {
            model.set_type(value, None::<onnx_types::Type>);
            taken.count(true);
        }
    }
    taken
}

/// Imports of operator sets from which nothing is used.
pub(super) fn imports(model: &mut Model, chosen: Chosen) -> Taken {
    let mut taken = Taken::of(model.info().opset_imports.len());
    let used: HashSet<Symbol> = all_nodes(model).into_iter().map(|node| model.node(node).domain()).collect();
    let mut edit = model.info_mut();
    let mut index = 0_usize;
    edit.opset_imports.retain(|import| {
        let is_gone = chosen.contains(index) && !used.contains(&import.domain());
        index = index.saturating_add(1);
        taken.count(is_gone);
        !is_gone
    });
    drop(edit);
    taken
}

/// Documentation, metadata and names of nodes, all at once.
pub(super) fn texts(model: &mut Model, chosen: Chosen) -> Taken {
    let mut taken = Taken::of(1);
    if !chosen.contains(0) {
        return taken;
    }
    for node in all_nodes(model) {
        if model.node(node).extras().is_some_and(|extras| !extras.is_empty()) {
            *model.node_extras_mut(node) = onnx_ir::Extras::default();
            taken.count(true);
        }
        if !model.node(node).name().is_empty() {
            model.set_node_name(node, Symbol::EMPTY);
            taken.count(true);
        }
    }
    for graph in model.all_graphs().collect::<Vec<_>>() {
        let mut record = model.graph_mut(graph);
        let is_set = !record.doc.is_empty() || !record.metadata.is_empty();
        record.doc = Symbol::EMPTY;
        record.metadata.clear();
        drop(record);
        taken.count(is_set);
    }
    let mut edit = model.info_mut();
    let info = &mut *edit;
    let mut is_set = !info.metadata.is_empty();
    info.metadata.clear();
    for text in [&mut info.doc, &mut info.producer_name, &mut info.producer_version, &mut info.domain] {
        is_set |= !text.is_empty();
        *text = Symbol::EMPTY;
    }
    drop(edit);
    taken.count(is_set);
    taken
}
