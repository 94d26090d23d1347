//! Replaced values: names, `value_info` and annotations stay with the elements that they describe.

use std::collections::BTreeSet;

use onnx_ir::{EditError, Extras, GraphId, Model, NodeId, Position, ValueId, ValueRef};
use onnx_schema::op;
use onnx_types::Symbol;
use slotmap::SecondaryMap;

/// Values that are listed in `value_info` and were replaced, with the values that took their place.
#[derive(Default)]
pub(crate) struct Listed(SecondaryMap<ValueId, ValueId>);

impl Listed {
    /// Lets the entries be those of the new values: all at once, since each change of the list takes time linear in it.
    pub(crate) fn apply(self, model: &mut Model) {
        let new = self.0.values().filter(|&&new| model.get_value(new).is_some());
        let graphs: BTreeSet<GraphId> = new.map(|&new| model.graph_of(new)).collect();
        for graph in graphs {
            let mut moved = Vec::new();
            model.retain_value_info(graph, |entry| match self.0.get(entry.value()) {
                Some(&new) => {
                    moved.push((new, entry.own().cloned().map(Box::new)));
                    false
                }
                None => true,
            });
            for (new, own) in moved {
                if model.get_value(new).is_some() {
                    model.push_value_info(graph, new, own);
                }
            }
        }
    }
}

/// What takes the place of a value: where a `Gradient` names it, a separate value, as the derivative by a value that others use is
/// another one.
pub(crate) fn apart(
    model: &mut Model,
    made: &mut Vec<NodeId>,
    old: ValueId,
    new: ValueId,
) -> Result<ValueId, EditError> {
    let record = model.value(new);
    let is_free = record.producer().is_some() && !record.is_used();
    let (true, Some(maker)) = (old != new && !is_free, model.value(old).producer()) else { return Ok(new) };
    if !model.is_named_by_attribute(old) {
        return Ok(new);
    }
    let own = model.build_at(Position::Before(maker)).op(op::IDENTITY, [new]).output()?;
    made.extend(model.value(own).producer());
    Ok(own)
}

/// Lets a value that a step made take the place of another one, with its name and with everything that refers to it by name.
/// Values that have a name keep it. Entries of `value_info` move when `listed` is applied.
pub(crate) fn replace(model: &mut Model, listed: &mut Listed, old: ValueId, new: ValueId) {
    let is_new = model.value(new).name().is_empty() && model.value(new).producer().is_some();
    let is_known = model.is_known_output(old);
    model.replace_value(old, new);
    if !is_new || old == new {
        return;
    }
    // Outputs of the main graph and of functions have exchanged their names.
    if !is_known {
        model.take_name(new, old);
    }
    let extras: Extras = std::mem::take(&mut *model.value_extras_mut(old));
    *model.value_extras_mut(new) = extras;
    if model.value(old).is_in_value_info() {
        listed.0.insert(old, new);
    }
    move_annotations(model, old, new);
    move_shardings(model, old, new);
}

fn move_annotations(model: &mut Model, old: ValueId, new: ValueId) {
    let graph = model.graph_of(old);
    let is_of_old = |tensor: &ValueRef| *tensor == ValueRef::Value(old);
    if model.graph(graph).quantization.iter().any(|annotation| is_of_old(&annotation.tensor)) {
        let mut info = model.graph_mut(graph);
        for annotation in info.quantization.iter_mut().filter(|annotation| is_of_old(&annotation.tensor)) {
            annotation.tensor = ValueRef::Value(new);
        }
    }
}

/// Removes the shardings of a node that are of none of its operands and results: a step has replaced these.
pub(crate) fn drop_shardings(model: &mut Model, node: NodeId) {
    let Some(record) = model.get_node(node) else { return };
    if !is_sharded(model, node) {
        return;
    }
    let values: Vec<ValueId> = record.inputs().chain(record.outputs().iter().copied()).flatten().collect();
    let names: Vec<Symbol> = values.iter().map(|&value| model.value(value).name()).collect();
    let is_there = |tensor: &ValueRef| match tensor {
        ValueRef::Value(value) => values.contains(value),
        ValueRef::Name(name) => names.contains(name),
    };
    for configuration in &mut model.node_extras_mut(node).device_configurations {
        configuration.shardings.retain(|sharding| is_there(&sharding.tensor));
    }
}

/// Shardings of the nodes that read or make the value move with it. Those of the node that makes the old value go, as that is
/// another tensor now.
fn move_shardings(model: &mut Model, old: ValueId, new: ValueId) {
    let is_of_old = |tensor: &ValueRef| *tensor == ValueRef::Value(old);
    let users = model.consumers(new).chain(model.value(new).producer());
    let users: Vec<NodeId> = users.filter(|&node| is_sharded(model, node)).collect();
    for node in users {
        let mut extras = model.node_extras_mut(node);
        let configurations = extras.device_configurations.iter_mut();
        let shardings = configurations.flat_map(|configuration| &mut configuration.shardings);
        let of_old = shardings.filter(|sharding| is_of_old(&sharding.tensor));
        of_old.for_each(|sharding| sharding.tensor = ValueRef::Value(new));
    }
    let maker = model.value(old).producer().filter(|&node| is_sharded(model, node));
    if let Some(maker) = maker {
        for configuration in &mut model.node_extras_mut(maker).device_configurations {
            configuration.shardings.retain(|sharding| !is_of_old(&sharding.tensor));
        }
    }
}

fn is_sharded(model: &Model, node: NodeId) -> bool {
    !model.node(node).device_configurations().is_empty()
}
