//! Scopes follow graphs through every edit, and callees follow scopes.

use onnx_schema::{Registry, attr, domain, op};
use onnx_types::Symbol;

use crate::{
    AttrValue, Attribute, Callee, CopyMap, FunctionId, GraphId, Model, NewNode, NodeId, OpsetImport,
    OpsetScope, Position,
};

/// A model that imports version 20 with a function that imports version 13.
fn model() -> (Model, FunctionId, GraphId) {
    let mut model = Model::new();
    model.info_mut().ir_version = 10;
    model.info_mut().opset_imports.push(OpsetImport::new(domain::ONNX, 20));
    let (domain, name) = (model.intern("d"), model.intern("f"));
    let function = model.add_function(domain, name, Symbol::EMPTY);
    model.function_mut(function).opset_imports.push(OpsetImport::new(domain::ONNX, 13));
    let body = model.function(function).body();
    (model, function, body)
}

/// Adds an `If` whose branch holds an `If` whose branch holds a `Gelu`, which is new in version 20.
fn nested(model: &mut Model, at: Position) -> (NodeId, NodeId) {
    let [outer, inner] = [Symbol::EMPTY; 2].map(|name| model.new_graph(name));
    let gelu = model.add_node(Position::End(inner), NewNode::new(op::GELU)).unwrap();
    let branch = |graph| Attribute::new(attr::THEN_BRANCH, AttrValue::Graph(graph));
    model.add_node(Position::End(outer), NewNode::new(op::IF).attribute(branch(inner))).unwrap();
    let holder = model.add_node(at, NewNode::new(op::IF).attribute(branch(outer))).unwrap();
    (holder, gelu)
}

#[track_caller]
fn check(model: &Model, node: NodeId, scope: OpsetScope, version: i64) {
    model.verify().unwrap();
    let graph = model.node(node).graph();
    assert_eq!(model.scope(graph), scope);
    assert_eq!(model.versions_in(graph).get(domain::ONNX), Some(version));
    match model.callee(node, &Registry::standard()) {
        Callee::Standard(schema) => assert!(version >= 20 && schema.since_version() == 20),
        Callee::Unknown { version: found } => assert!(version < 20 && found == version),
        other => panic!("{other:?}"),
    }
}

#[test]
fn nested_graphs_have_the_scope_of_what_they_are_in() {
    let (mut model, function, body) = model();
    let main = model.main_graph();
    let (holder, gelu) = nested(&mut model, Position::End(body));
    check(&model, gelu, OpsetScope::Function(function), 13);
    model.move_node(holder, Position::End(main)).unwrap();
    check(&model, gelu, OpsetScope::Model, 20);
    model.move_node(holder, Position::End(body)).unwrap();
    check(&model, gelu, OpsetScope::Function(function), 13);

    // What is taken out keeps its scope until it is put elsewhere.
    let graph = model.detach_graph(holder, attr::THEN_BRANCH).unwrap();
    check(&model, gelu, OpsetScope::Function(function), 13);
    let attribute = Attribute::new(attr::THEN_BRANCH, AttrValue::Graph(graph));
    model.add_node(Position::End(main), NewNode::new(op::IF).attribute(attribute)).unwrap();
    check(&model, gelu, OpsetScope::Model, 20);
}

#[test]
fn copies_have_the_scope_of_their_new_home() {
    let (mut model, function, body) = model();
    let main = model.main_graph();
    nested(&mut model, Position::End(body));
    let copied = model.copy_nodes(body, Position::End(main), &mut CopyMap::new()).unwrap();
    let gelu = |model: &Model, graph| {
        model.nodes_in(graph).find(|&node| model.node(node).is(op::GELU)).expect("a Gelu")
    };
    check(&model, gelu(&model, main), OpsetScope::Model, 20);
    check(&model, gelu(&model, body), OpsetScope::Function(function), 13);
    let copy = model.copy_graph(body, &mut CopyMap::new()).unwrap();
    check(&model, gelu(&model, copy), OpsetScope::Function(function), 13);
    model.erase_node(copied[0]).unwrap();
    model.splice(body, Position::End(main)).unwrap();
    check(&model, gelu(&model, main), OpsetScope::Model, 20);
}

#[test]
fn versions_follow_edits_of_the_imports() {
    let (mut model, function, body) = model();
    let (_, gelu) = nested(&mut model, Position::End(body));
    check(&model, gelu, OpsetScope::Function(function), 13);
    model.function_mut(function).opset_imports[0].set_version(22);
    check(&model, gelu, OpsetScope::Function(function), 22);
    assert_eq!(model.opset_version(domain::ONNX), Some(20));
    model.info_mut().opset_imports.clear();
    assert_eq!(model.opset_version(domain::ONNX), None);
    model.info_mut().ir_version = 2;
    assert_eq!(model.opset_version(domain::ONNX), Some(1));
    model.remove_function(function).unwrap();
    assert_eq!(model.versions_of(OpsetScope::Function(function)).get(domain::ONNX), Some(1));
}

#[test]
fn callees_are_told_apart() {
    let (mut model, function, _) = model();
    let main = model.main_graph();
    let standard = Registry::standard();
    let node = |model: &mut Model, domain: &str, name: &str| {
        let (domain, op) = (model.intern(domain), model.intern(name));
        model.add_node(Position::End(main), NewNode { domain, ..NewNode::new(op) }).unwrap()
    };
    let [call, relu, unnamed, scale, later, undefined] =
        [("d", "f"), ("ai.onnx", "Relu"), ("", ""), ("", "Scale"), ("", "Swish"), ("d", "g")]
            .map(|(domain, name)| node(&mut model, domain, name));
    assert!(matches!(model.callee(call, &standard), Callee::NotImported));
    let domain = model.intern("d");
    model.info_mut().opset_imports.push(OpsetImport::new(domain, 1));
    assert_eq!(model.callee(call, &standard).function(), Some(function));
    assert_eq!(model.callee(relu, &standard).standard().map(|schema| schema.since_version()), Some(14));
    assert!(matches!(model.callee(unnamed, &standard), Callee::Unnamed));
    assert!(matches!(model.callee(scale, &standard), Callee::Experimental));
    assert!(matches!(model.callee(later, &standard), Callee::Unknown { version: 20 }));
    assert!(matches!(model.callee(undefined, &standard), Callee::Undefined));
}
