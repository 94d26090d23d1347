//! Reduction of a model while a predicate holds.

use onnx_ir::{GraphId, Model, NodeId, ValueId};
use onnx_shape_infer::{InferOptions, MergePolicy, infer};

/// Reduces a model as far as possible while `still_fails` returns `true`.
///
/// Removes outputs, nodes, functions, inputs, attributes, declared types, documentation and metadata, many at a time at
/// first. An output of a removed node that others use becomes an input of the graph. The result need not be valid, and
/// is the model itself if nothing can be removed. `still_fails` is called for at most a few thousand models.
#[must_use]
pub fn shrink(model: &Model, mut still_fails: impl FnMut(&Model) -> bool) -> Model {
    let mut best = model.clone();
    // With types everywhere, what a node makes can become an input.
    let mut inference = infer(&best, &InferOptions::default());
    if inference.apply(&mut best, MergePolicy::Refine).is_err() || !still_fails(&best) {
        best = model.clone();
    }
    let mut left = 3000_usize;
    for steps in [STEPS, LAST_STEPS] {
        let mut is_smaller = true;
        while is_smaller && left > 0 {
            is_smaller = false;
            for step in steps {
                is_smaller |= shorten(&mut best, *step, &mut still_fails, &mut left);
            }
        }
    }
    best
}

/// The result of a step.
#[derive(Default)]
struct Taken {
    /// Number of items that the step can remove.
    all: usize,
    /// Number of items that it removed.
    gone: usize,
}

/// Removes `count` items, beginning with number `from`; items that cannot be removed are kept.
type Step = fn(&mut Model, from: usize, count: usize) -> Taken;

const STEPS: &[Step] = &[outputs, nodes, functions, inputs, initializers, attributes, operands, texts];

/// What serves other steps while it is there.
const LAST_STEPS: &[Step] = &[types];

/// Removes as much as one step can: half of the items at once, then fewer and fewer.
fn shorten(
    best: &mut Model,
    step: Step,
    still_fails: &mut dyn FnMut(&Model) -> bool,
    left: &mut usize,
) -> bool {
    let mut is_smaller = false;
    let mut size = step(&mut best.clone(), 0, 0).all.div_ceil(2);
    while size > 0 {
        let mut from = 0;
        loop {
            let mut candidate = best.clone();
            let taken = step(&mut candidate, from, size);
            if from >= taken.all || *left == 0 {
                break;
            }
            candidate.settle_names();
            if taken.gone > 0 && candidate.verify().is_ok() && asked(left, still_fails, &candidate) {
                *best = candidate;
                is_smaller = true;
            } else {
                from += size;
            }
        }
        size /= 2;
    }
    is_smaller
}

/// Asks whether a candidate still fails, and counts that.
fn asked(left: &mut usize, still_fails: &mut dyn FnMut(&Model) -> bool, candidate: &Model) -> bool {
    *left -= 1;
    still_fails(candidate)
}

/// Whether number `index` is among those to take away.
fn is_chosen(index: usize, from: usize, count: usize) -> bool {
    index >= from && index - from < count
}

fn outputs(model: &mut Model, from: usize, count: usize) -> Taken {
    let graph = model.main_graph();
    let mut taken = Taken { all: model.graph(graph).outputs().len(), gone: 0 };
    for index in (0..taken.all).rev().filter(|&index| is_chosen(index, from, count)) {
        model.remove_graph_output(graph, index);
        taken.gone += 1;
    }
    taken
}

/// All nodes, the later ones first, so that unused nodes are removed first.
fn all_nodes(model: &Model) -> Vec<NodeId> {
    let mut nodes: Vec<NodeId> = model.all_graphs().flat_map(|graph| model.nodes(graph)).collect();
    nodes.reverse();
    nodes
}

fn nodes(model: &mut Model, from: usize, count: usize) -> Taken {
    let all = all_nodes(model);
    let mut taken = Taken { all: all.len(), gone: 0 };
    for (index, &node) in all.iter().enumerate() {
        if is_chosen(index, from, count) && model.get_node(node).is_some() {
            erase(model, node);
            taken.gone += usize::from(model.get_node(node).is_none());
        }
    }
    taken
}

/// Erases a node; what others use of it becomes an input of the main graph, where a type is known.
fn erase(model: &mut Model, node: NodeId) {
    let graph = model.node(node).graph();
    let is_main = graph == model.main_graph();
    let used: Vec<ValueId> = model
        .node(node)
        .outputs()
        .iter()
        .flatten()
        .copied()
        .filter(|&value| model.value(value).is_used())
        .collect();
    for value in used {
        let ty = model.ty(value).cloned();
        if !is_main || ty.is_none() {
            return;
        }
        let name = model.fresh_name("cut");
        let cut = model.new_value_in(graph, name);
        // A new value has no definition, so it can become an input.
        if model.push_graph_input(graph, cut).is_err() {
            return;
        }
        model.set_type(cut, ty);
        // An output of the graph stays one only if a node makes it.
        for at in (0..model.graph(graph).outputs().len()).rev() {
            if model.graph(graph).outputs().get(at).is_some_and(|output| output.value() == value) {
                model.remove_graph_output(graph, at);
            }
        }
        model.replace_all_uses(value, cut);
    }
    // It is not used any more; a node that cannot go stays.
    let _ = model.erase_node(node);
}

fn functions(model: &mut Model, from: usize, count: usize) -> Taken {
    let all = model.functions().to_vec();
    let mut taken = Taken { all: all.len(), gone: 0 };
    for (index, &function) in all.iter().enumerate() {
        if is_chosen(index, from, count) {
            taken.gone += usize::from(model.remove_function(function).is_ok());
        }
    }
    taken
}

fn inputs(model: &mut Model, from: usize, count: usize) -> Taken {
    let graph = model.main_graph();
    let all = model.graph(graph).inputs().to_vec();
    let mut taken = Taken { all: all.len(), gone: 0 };
    for (index, &value) in all.iter().enumerate().rev() {
        if is_chosen(index, from, count) && !model.value(value).is_used() {
            model.remove_graph_input(graph, index);
            model.set_initializer(graph, value, None);
            taken.gone += usize::from(model.erase_value(value).is_ok());
        }
    }
    taken
}

fn initializers(model: &mut Model, from: usize, count: usize) -> Taken {
    let graphs: Vec<GraphId> = model.all_graphs().collect();
    let all: Vec<ValueId> = graphs.iter().flat_map(|&graph| model.initializers(graph)).collect();
    let mut taken = Taken { all: all.len(), gone: 0 };
    for (index, &value) in all.iter().enumerate() {
        // Defaults of inputs and what is used stay.
        taken.gone += usize::from(is_chosen(index, from, count) && model.erase_value(value).is_ok());
    }
    taken
}

fn attributes(model: &mut Model, from: usize, count: usize) -> Taken {
    let mut all = Vec::new();
    for node in all_nodes(model) {
        all.extend(model.node(node).attributes().iter().map(|attribute| (node, attribute.name())));
    }
    let mut taken = Taken { all: all.len(), gone: 0 };
    for (index, &(node, name)) in all.iter().enumerate() {
        if is_chosen(index, from, count) && model.get_node(node).is_some() {
            taken.gone += usize::from(model.remove_attribute(node, name));
        }
    }
    taken
}

/// The last inputs of nodes, one of each at a time.
fn operands(model: &mut Model, from: usize, count: usize) -> Taken {
    let all: Vec<NodeId> =
        all_nodes(model).into_iter().filter(|&node| model.node(node).input_count() > 1).collect();
    let mut taken = Taken { all: all.len(), gone: 0 };
    for (index, &node) in all.iter().enumerate() {
        if is_chosen(index, from, count) {
            model.remove_input(node, model.node(node).input_count() - 1);
            taken.gone += 1;
        }
    }
    taken
}

/// Types that values in between declare.
fn types(model: &mut Model, from: usize, count: usize) -> Taken {
    let mut all = Vec::new();
    for node in all_nodes(model) {
        let outputs = model.node(node).outputs().iter().flatten().copied();
        all.extend(outputs.filter(|&value| model.ty(value).is_some() && !model.is_graph_output(value)));
    }
    let mut taken = Taken { all: all.len(), gone: 0 };
    for (index, &value) in all.iter().enumerate() {
        if is_chosen(index, from, count) {
            model.set_type(value, None::<onnx_types::Type>);
            taken.gone += 1;
        }
    }
    taken
}

/// Documentation, metadata and names of nodes, all at once.
fn texts(model: &mut Model, from: usize, count: usize) -> Taken {
    let mut taken = Taken { all: 1, gone: 0 };
    if is_chosen(0, from, count) {
        let before = format!("{model:?}");
        for node in all_nodes(model) {
            if model.node(node).extras().is_some() {
                *model.node_extras_mut(node) = onnx_ir::Extras::default();
            }
            model.set_node_name(node, onnx_types::Symbol::EMPTY);
        }
        for graph in model.all_graphs().collect::<Vec<_>>() {
            let mut record = model.graph_mut(graph);
            record.doc = onnx_types::Symbol::EMPTY;
            record.metadata.clear();
        }
        let mut edit = model.info_mut();
        let info = &mut *edit;
        info.metadata.clear();
        for text in [&mut info.doc, &mut info.producer_name, &mut info.producer_version, &mut info.domain] {
            *text = onnx_types::Symbol::EMPTY;
        }
        drop(edit);
        taken.gone = usize::from(format!("{model:?}") != before);
    }
    taken
}
