//! Tests that look into the arenas.

mod changes;
mod copy;
mod import;
mod meaning;
mod names;
mod order;
mod resolve;
mod script;
mod structure;
mod views;

use onnx_schema::op;
use onnx_types::Symbol;
use onnx_types::tensor::Tensor;

use crate::changes::Aspects;
use crate::value::ValueFlags;
use crate::{GraphId, Model, NewNode, NodeId, Position, ValueId};

impl Model {
    /// Marks the name of a value as one that the file gives to several values.
    fn set_name_as_read(&mut self, value: ValueId) {
        let flags = &mut self.values[value].flags;
        let had = flags.has(ValueFlags::NAME_AS_READ);
        flags.set(ValueFlags::NAME_AS_READ, true);
        self.record(value, Aspects::NAME.when(!had));
    }
}

/// Panics with all faults when the model's invariants do not hold.
fn check(model: &Model) {
    if let Err(faults) = model.verify() {
        let faults: Vec<String> = faults.iter().map(ToString::to_string).collect();
        panic!("{}\n{model:?}", faults.join("\n"));
    }
}

/// Adds a node with one output.
fn add(model: &mut Model, at: Position, op: Symbol, inputs: &[ValueId]) -> (NodeId, ValueId) {
    let value = model.new_value(Symbol::EMPTY);
    let new = NewNode::new(op).inputs(inputs.iter().copied()).outputs([value]);
    (model.add_node(at, new).unwrap(), value)
}

fn append(model: &mut Model, graph: GraphId, op: Symbol, inputs: &[ValueId]) -> (NodeId, ValueId) {
    add(model, Position::End(graph), op, inputs)
}

fn scalar() -> Tensor {
    Tensor::vector(&[1.0_f32])
}

/// A model with an input `x`, a weight `w` and the node `y = Add(x, w)`, and these three values.
fn small() -> (Model, ValueId, ValueId, ValueId) {
    let mut model = Model::new();
    let graph = model.main_graph();
    let x = model.add_graph_input(graph, "x", None);
    let w = model.intern("w");
    let w = model.add_initializer(graph, w, scalar());
    let y = model.build_at(Position::End(graph)).op(op::ADD, [x, w]).output_named("y").unwrap();
    model.push_graph_output(graph, y);
    (model, x, w, y)
}
