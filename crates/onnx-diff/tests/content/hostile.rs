//! Invalid and extreme models.

use onnx_diff::{DiffOptions, diff, hash_structure};
use onnx_ir::{Attribute, Model, NewNode, Position, ValueId};
use onnx_schema::{attr, op};
use onnx_types::{ElemType, Execution, Symbol, Type};

/// Number of nodes of the extreme models.
const NODES: usize = 3000;

fn model() -> (Model, ValueId) {
    let mut model = Model::new();
    let x = model.add_graph_input(model.main_graph(), "x", Type::tensor(ElemType::Float, None));
    (model, x)
}

fn append(model: &mut Model, op: Symbol, inputs: &[ValueId]) -> ValueId {
    let name = model.intern("same");
    let output = model.new_value(name);
    let node = NewNode::new(op).inputs(inputs.iter().copied()).outputs([output]);
    model.add_node(Position::End(model.main_graph()), node).unwrap();
    output
}

/// The model does not differ from itself; it has one change from the model with one more node.
#[track_caller]
fn check(model: &Model) {
    hash_structure(model, &Execution::default()).unwrap();
    let same = diff(model, model, &DiffOptions::default()).unwrap();
    assert!(same.is_empty(), "{:?}", same.changes.first());
    let mut more = model.clone();
    let input = more.graph(more.main_graph()).inputs()[0];
    append(&mut more, op::SIN, &[input]);
    let found = diff(model, &more, &DiffOptions::default()).unwrap();
    assert_eq!(found.changes.len(), 1, "{:?}", found.changes.iter().take(4).collect::<Vec<_>>());
    assert_ne!(
        hash_structure(model, &Execution::default()).unwrap(),
        hash_structure(&more, &Execution::default()).unwrap()
    );
}

#[test]
fn one_value_with_many_users_of_one_name() {
    let (mut model, x) = model();
    for _ in 0..NODES {
        append(&mut model, op::EXP, &[x]);
    }
    check(&model);
}

#[test]
fn a_node_with_many_operands() {
    let (mut model, x) = model();
    append(&mut model, op::CONCAT, &vec![x; NODES]);
    check(&model);
}

#[test]
fn a_long_chain_and_its_doubling() {
    let (mut model, x) = model();
    let mut last = x;
    for _ in 0..NODES {
        // As a tree, this has 2^NODES nodes.
        last = append(&mut model, op::ADD, &[last, last]);
    }
    model.push_graph_output(model.main_graph(), last);
    check(&model);
}

#[test]
fn a_cycle_of_all_nodes() {
    let (mut model, x) = model();
    let mut last = x;
    for _ in 0..NODES {
        last = append(&mut model, op::EXP, &[last]);
    }
    let first = model.nodes(model.main_graph()).next().unwrap();
    model.set_input(first, 0, Some(last));
    model.push_graph_output(model.main_graph(), last);
    check(&model);
}

#[test]
fn deep_nesting() {
    let (mut model, x) = model();
    let mut graph = model.main_graph();
    for _ in 0..NODES {
        let body = model.new_graph_in(graph, Symbol::EMPTY);
        let output = model.new_value_in(graph, Symbol::EMPTY);
        let node = NewNode::new(op::IF).inputs([x]).outputs([output]);
        let node = node.attribute(Attribute::new(attr::THEN_BRANCH, body));
        model.add_node(Position::End(graph), node).unwrap();
        model.push_graph_output(graph, output);
        graph = body;
    }
    model.push_graph_output(graph, x);
    check(&model);
}

#[test]
fn attributes_of_one_name_and_many_of_different_names() {
    let (mut model, x) = model();
    let output = model.new_value(Symbol::EMPTY);
    let mut node = NewNode::new(op::EXP).inputs([x]).outputs([output]);
    for index in 0..NODES as i64 {
        let name = model.intern(&format!("a{}", index % 2000));
        node = node.attribute(Attribute::new(name, index));
    }
    model.add_node(Position::End(model.main_graph()), node).unwrap();
    check(&model);
}
