//! Equality of nodes and graphs by what they compute.

use std::hash::{DefaultHasher, Hasher as _};

use onnx_schema::{attr, op};
use onnx_types::tensor::{NoData, Tensor};
use onnx_types::{ElemType, Symbol, Type};

use crate::{Attribute, GraphId, Model, NewNode, NodeId, OpsetImport, Position, ValueId};

fn model() -> (Model, ValueId) {
    let mut model = Model::new();
    model.info_mut().opset_imports.push(OpsetImport::new(Symbol::EMPTY, 18));
    let x = model.add_graph_input(model.main_graph(), "x", Type::tensor(ElemType::Float, None));
    (model, x)
}

fn append(model: &mut Model, graph: GraphId, node: NewNode) -> NodeId {
    let output = model.new_value(Symbol::EMPTY);
    model.add_node(Position::End(graph), node.outputs([output])).unwrap()
}

/// Compares two nodes on `x`.
#[track_caller]
fn check(expected: bool, a: impl Fn(&mut Model) -> NewNode, b: impl Fn(&mut Model) -> NewNode) {
    let (mut model, x) = model();
    let graph = model.main_graph();
    let (a, b) = (a(&mut model).inputs([x]), b(&mut model).inputs([x]));
    let (a, b) = (append(&mut model, graph, a), append(&mut model, graph, b));
    assert_eq!(model.same_meaning(a, b, &NoData), expected);
    assert_eq!(model.same_meaning(b, a, &NoData), expected);
    let hash = |node| {
        let mut hasher = DefaultHasher::new();
        model.hash_meaning(node, &NoData, &mut hasher);
        hasher.finish()
    };
    if expected {
        assert_eq!(hash(a), hash(b));
    }
}

#[test]
fn defaults_and_order_of_attributes_do_not_count() {
    let axis = |axis: i64| {
        move |_: &mut Model| NewNode::new(op::SOFTMAX).attribute(Attribute::new(attr::AXIS, axis))
    };
    check(true, axis(-1), |_| NewNode::new(op::SOFTMAX));
    check(false, axis(1), |_| NewNode::new(op::SOFTMAX));
    check(false, |_| NewNode::new(op::LOG_SOFTMAX), |_| NewNode::new(op::SOFTMAX));
    let (alpha, beta) = (Attribute::new(attr::ALPHA, 0.5_f32), Attribute::new(attr::BETA, 2.0_f32));
    let of = |first: &Attribute, second: &Attribute| {
        let node = NewNode::new(op::HARD_SIGMOID).attribute(first.clone()).attribute(second.clone());
        move |_: &mut Model| node.clone()
    };
    check(true, of(&alpha, &beta), of(&beta, &alpha));
}

#[test]
fn bits_of_floats_count() {
    let alpha =
        |alpha: f32| move |_: &mut Model| NewNode::new(op::ELU).attribute(Attribute::new(attr::ALPHA, alpha));
    check(true, alpha(f32::NAN), alpha(f32::NAN));
    check(false, alpha(0.0), alpha(-0.0));
    let value = |tensor: Tensor| {
        move |_: &mut Model| NewNode::new(op::CONSTANT).attribute(Attribute::new(attr::VALUE, tensor.clone()))
    };
    check(true, value(Tensor::scalar(f32::NAN)), value(Tensor::scalar(f32::NAN)));
    check(true, value(Tensor::splat([2], 1_i64).unwrap()), value(Tensor::vector(&[1_i64, 1])));
    check(false, value(Tensor::splat([2], 1_i64).unwrap()), value(Tensor::vector(&[1_i64, 2])));
}

#[test]
fn operators_of_other_domains_have_no_defaults() {
    let node = |attribute: Option<i64>| {
        move |model: &mut Model| {
            let (domain, op) = (model.intern("d"), model.intern("Softmax"));
            let node = NewNode { domain, ..NewNode::new(op) };
            attribute.map_or(node.clone(), |axis| node.attribute(Attribute::new(attr::AXIS, axis)))
        }
    };
    check(true, node(Some(-1)), node(Some(-1)));
    check(false, node(Some(-1)), node(None));
}

#[test]
fn equal_initializers_are_equal_operands() {
    let (mut model, x) = model();
    let graph = model.main_graph();
    let weights = [[1.0_f32, 2.0], [1.0, 2.0], [1.0, 3.0]].map(|elements| {
        let weight = Tensor::from_slice([2], &elements).unwrap();
        model.add_initializer(graph, Symbol::EMPTY, weight)
    });
    let nodes = weights.map(|weight| append(&mut model, graph, NewNode::new(op::MUL).inputs([x, weight])));
    let hash = |node| {
        let mut hasher = DefaultHasher::new();
        model.hash_meaning(node, &NoData, &mut hasher);
        hasher.finish()
    };
    assert!(model.same_meaning(nodes[0], nodes[1], &NoData));
    assert_eq!(hash(nodes[0]), hash(nodes[1]));
    assert!(!model.same_meaning(nodes[0], nodes[2], &NoData));
}

/// A graph `(a) -> a + w` whose values have no names.
fn body(model: &mut Model, weight: f32, reversed: bool) -> GraphId {
    let graph = model.new_graph(Symbol::EMPTY);
    let a = model.add_graph_input(graph, "", Type::tensor(ElemType::Float, None));
    let name = model.intern(if reversed { "w" } else { "v" });
    let w = model.add_initializer(graph, name, Tensor::scalar(weight));
    let operands = if reversed { [w, a] } else { [a, w] };
    let node = append(model, graph, NewNode::new(op::ADD).inputs(operands));
    let output = model.node(node).output(0).unwrap();
    model.push_graph_output(graph, output);
    graph
}

#[test]
fn graphs_are_compared_up_to_names() {
    let with = |weight: f32, reversed: bool| {
        move |model: &mut Model| {
            let graph = body(model, weight, reversed);
            NewNode::new(op::SCAN).attribute(Attribute::new(attr::BODY, graph))
        }
    };
    check(true, with(1.0, false), with(1.0, false));
    check(false, with(1.0, false), with(2.0, false));
    check(false, with(1.0, false), with(1.0, true));
    let (mut model, _) = model();
    let [a, b] = [1.0, 1.0].map(|weight| body(&mut model, weight, false));
    assert!(model.same_graph_meaning(a, b, &NoData));
}
