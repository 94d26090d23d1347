//! References to values outside of the data flow: quantization annotations, shardings and training bindings.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use onnx_ir::{GraphId, Model, NodeId, ValueId, ValueRef, naming_attributes};
use slotmap::SecondaryMap;

/// The replacements of values. The replaced values are erased, so this is not a `SecondaryMap`, which forgets a key
/// when its slot is used again.
pub(crate) type Forwards = HashMap<ValueId, ValueId, RandomState>;

/// Redirects references to replaced values to their replacements.
pub(crate) fn redirect(model: &mut Model, forwards: &Forwards) {
    if forwards.is_empty() {
        return;
    }
    let new = |reference: &mut ValueRef| {
        while let ValueRef::Value(value) = *reference
            && let Some(&next) = forwards.get(&value)
        {
            *reference = ValueRef::Value(next);
        }
    };
    let graphs: Vec<GraphId> =
        model.all_graphs().filter(|&graph| !model.graph(graph).quantization.is_empty()).collect();
    for graph in graphs {
        for annotation in &mut model.graph_mut(graph).quantization {
            new(&mut annotation.tensor);
            annotation.parameters.iter_mut().for_each(|parameter| new(&mut parameter.value));
        }
    }
    let nodes = model.all_graphs().flat_map(|graph| model.nodes(graph));
    let nodes: Vec<NodeId> = nodes.filter(|&node| has_devices(model, node)).collect();
    for node in nodes {
        for configuration in &mut model.node_extras_mut(node).device_configurations {
            configuration.shardings.iter_mut().for_each(|sharding| new(&mut sharding.tensor));
        }
    }
    if !model.info().training.is_empty() {
        for training in &mut model.info_mut().training {
            let bindings = training.initialization_binding.iter_mut().chain(&mut training.update_binding);
            for binding in bindings {
                new(&mut binding.key);
                new(&mut binding.value);
            }
        }
    }
}

/// The nodes of a graph that are not made part of a function, because a `Gradient` differentiates them, or is one of them or in their
/// nested graphs: it sees the nodes of its graph, and not those in a function.
pub(crate) fn differentiated(model: &Model, graph: GraphId) -> SecondaryMap<NodeId, ()> {
    let mut found = SecondaryMap::new();
    let graphs: Vec<GraphId> = model.graphs_in(model.root(graph)).collect();
    for node in graphs.into_iter().flat_map(|graph| model.nodes(graph)) {
        let record = model.node(node);
        if naming_attributes(record.domain(), record.op()).is_empty() {
            continue;
        }
        let makers = model.differentiated_values(node);
        let makers = makers.into_iter().filter_map(|value| model.value(value).producer());
        for node in makers.chain([node]).filter_map(|node| model.ancestor_in(node, graph)) {
            found.insert(node, ());
        }
    }
    found
}

/// Whether a node has device configurations, whose shardings refer to values.
pub(crate) fn has_devices(model: &Model, node: NodeId) -> bool {
    !model.node(node).device_configurations().is_empty()
}

/// The values that quantization annotations and training bindings refer to: they must remain values of the graph.
pub(crate) fn referred(model: &Model) -> SecondaryMap<ValueId, ()> {
    let mut referred = SecondaryMap::new();
    let mut add = |reference: ValueRef| {
        if let ValueRef::Value(value) = reference {
            referred.insert(value, ());
        }
    };
    for graph in model.all_graphs() {
        for annotation in &model.graph(graph).quantization {
            add(annotation.tensor);
            annotation.parameters.iter().for_each(|parameter| add(parameter.value));
        }
    }
    for training in &model.info().training {
        for binding in training.initialization_binding.iter().chain(&training.update_binding) {
            add(binding.key);
            add(binding.value);
        }
    }
    referred
}
