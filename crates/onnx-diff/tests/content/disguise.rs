//! Changes after which a model is the same: names, orders, encodings.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use onnx_ir::{AttrValue, Attribute, Callee, Constant, Def, GraphId, Model, NodeId, Position, ValueId};
use onnx_schema::{AttrDefault, Registry};
use onnx_types::tensor::{ExternalData, MemoryData, NoData, Payload, Tensor, Varints};
use onnx_types::{ElemType, Symbol};

use crate::random::Random;

/// A model with other names, orders and encodings, and the external data that it has now.
pub(crate) fn disguise(model: &Model, random: &mut Random) -> (Model, MemoryData) {
    let mut model = model.clone();
    rename(&mut model, random);
    let graphs: Vec<GraphId> = model.all_graphs().collect();
    for graph in graphs {
        shuffle_nodes(&mut model, graph, random);
        shuffle_initializers(&mut model, graph, random);
    }
    let mut functions = model.functions().to_vec();
    random.shuffle(&mut functions);
    model.set_function_order(&functions).unwrap();
    attributes(&mut model, random);
    let data = encode(&mut model, random);
    model.verify().unwrap();
    (model, data)
}

/// Gives all values and nodes other names, except inputs and outputs of the main graph.
pub(crate) fn rename(model: &mut Model, random: &mut Random) {
    let main = model.main_graph();
    let kept: BTreeSet<ValueId> = {
        let graph = model.graph(main);
        graph.inputs().iter().copied().chain(graph.outputs().iter().map(|output| output.value())).collect()
    };
    let graphs: Vec<GraphId> = model.all_graphs().collect();
    for graph in graphs {
        let nodes: Vec<NodeId> = model.nodes(graph).collect();
        let mut values: Vec<ValueId> = model.initializers(graph).collect();
        values.extend(model.graph(graph).inputs());
        for &node in &nodes {
            values.extend(model.node(node).outputs().iter().flatten());
            let name = if random.below(3) == 0 { Symbol::EMPTY } else { fresh(model, random) };
            model.set_node_name(node, name);
        }
        for value in values {
            if !kept.contains(&value) {
                let name = fresh(model, random);
                model.set_value_name(value, name);
            }
        }
        let name = fresh(model, random);
        model.set_graph_name(graph, name);
    }
}

fn fresh(model: &mut Model, random: &mut Random) -> Symbol {
    model.intern(&format!("r{}", random.next()))
}

/// Any order in which each node follows its operands.
fn shuffle_nodes(model: &mut Model, graph: GraphId, random: &mut Random) {
    let mut waits: BTreeMap<NodeId, BTreeSet<NodeId>> = BTreeMap::new();
    for node in model.nodes(graph) {
        let entry = waits.entry(node).or_default();
        model.for_each_predecessor(node, |before| _ = entry.insert(before));
    }
    while !waits.is_empty() {
        let ready: Vec<NodeId> =
            waits.iter().filter(|(_, on)| on.is_empty()).map(|(&node, _)| node).collect();
        let node = random.pick(&ready).expect("generated models have no cycles");
        waits.remove(&node);
        waits.values_mut().for_each(|on| _ = on.remove(&node));
        model.move_node(node, Position::End(graph)).unwrap();
    }
}

fn shuffle_initializers(model: &mut Model, graph: GraphId, random: &mut Random) {
    let is_plain = |model: &Model, value: ValueId| matches!(model.value(value).def(), Def::Initializer(_));
    let mut values: Vec<ValueId> =
        model.initializers(graph).filter(|&value| is_plain(model, value)).collect();
    random.shuffle(&mut values);
    let constants: Vec<Arc<Constant>> =
        values.iter().map(|&value| Arc::clone(model.value(value).constant().unwrap())).collect();
    values.iter().for_each(|&value| model.set_initializer(graph, value, None));
    values.iter().zip(constants).for_each(|(&value, constant)| {
        model.set_initializer(graph, value, Some(constant));
    });
}

/// Writes out some defaults, and changes the order of attributes.
fn attributes(model: &mut Model, random: &mut Random) {
    let graphs: Vec<GraphId> = model.all_graphs().collect();
    let nodes: Vec<NodeId> = graphs.iter().flat_map(|&graph| model.nodes(graph)).collect();
    for node in nodes {
        if let Callee::Standard(schema) = model.callee(node, Registry::STANDARD) {
            let defaults = schema.attributes().iter().filter_map(|attribute| {
                let value = match attribute.default? {
                    AttrDefault::Int(value) => AttrValue::Int(value),
                    AttrDefault::Float(value) => AttrValue::Float(value),
                    AttrDefault::String(value) => AttrValue::from(value),
                    AttrDefault::Ints(values) => AttrValue::Ints(values.to_vec()),
                    _ => return None,
                };
                Some(Attribute::new(attribute.name, value))
            });
            for default in defaults.collect::<Vec<_>>() {
                if random.below(2) == 0 && model.node(node).attribute(default.name()).is_none() {
                    model.set_attribute(node, default).unwrap();
                }
            }
        }
        let first = model.node(node).attributes().first().cloned();
        if let Some(first) = first.filter(|first| first.value().graphs().is_empty()) {
            model.remove_attribute(node, first.name());
            model.set_attribute(node, first).unwrap();
        }
    }
}

/// Stores elements in other fields or files.
pub(crate) fn encode(model: &mut Model, random: &mut Random) -> MemoryData {
    let mut data = MemoryData::new();
    let mut count = 0;
    model.replace_tensors(|_, tensor| {
        let bytes = tensor.bytes(&NoData).ok()?;
        let mut new = match random.below(3) {
            0 => {
                count += 1;
                let location = format!("data/{count}");
                let mut file = vec![7_u8; random.below(9)];
                let external = ExternalData::new(location.as_str()).with_offset(file.len() as u64);
                file.extend_from_slice(&bytes);
                data.insert(location, file);
                Tensor::external(tensor.elem(), tensor.dims().iter().copied(), external).ok()?
            }
            1 if tensor.elem() == ElemType::Int64 => {
                let numbers = tensor.to_vec::<i64>(&NoData).ok()?;
                let payload = Payload::Int64s(Varints::from_i64s(numbers));
                Tensor::from_parts(tensor.data_type(), tensor.dims().into(), payload)
            }
            _ => Tensor::from_raw(tensor.elem(), tensor.dims().iter().copied(), bytes).ok()?,
        };
        new.set_doc("stored otherwise");
        Some(new)
    });
    data
}
