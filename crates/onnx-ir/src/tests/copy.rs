//! Copying, splicing and replacing.

use onnx_schema::{attr, op};
use onnx_types::Symbol;

use super::{append, check, small};
use crate::{AttrKind, Attribute, CopyMap, EditError, Model, NewNode, Position};

#[test]
fn operands_can_be_omitted_in_copies() {
    let mut model = Model::new();
    let (graph, pattern) = (model.main_graph(), model.new_graph(Symbol::EMPTY));
    let [x, low] = ["x", "low"].map(|name| model.add_graph_input(pattern, name, None));
    append(&mut model, pattern, op::CLIP, &[x, low]);
    let a = model.add_graph_input(graph, "a", None);
    let mut map = CopyMap::new();
    map.map(x, a);
    map.map(low, None);
    let nodes = model.copy_nodes(pattern, Position::End(graph), &mut map).unwrap();
    check(&model);
    assert_eq!(model.node(nodes[0]).inputs().collect::<Vec<_>>(), [Some(a), None]);
}

#[test]
fn some_nodes_are_copied_with_what_is_nested() {
    let mut model = Model::new();
    let main = model.main_graph();
    let a = model.add_graph_input(main, "a", None);
    let (_, first) = append(&mut model, main, op::RELU, &[a]);
    let branch = model.new_graph(Symbol::EMPTY);
    let (_, inner) = append(&mut model, branch, op::ADD, &[first, a]);
    model.push_graph_output(branch, inner);
    let name = model.new_value(Symbol::EMPTY);
    let node = NewNode::new(op::IF).inputs([a]).outputs([name]);
    let node = node.attribute(Attribute::new(attr::THEN_BRANCH, branch));
    let conditional = model.add_node(Position::End(main), node).unwrap();
    let (_, last) = append(&mut model, main, op::ABS, &[name]);
    model.push_graph_output(main, last);
    let producer = model.value(first).producer().unwrap();
    let b = model.add_graph_input(main, "b", None);
    let counts = |model: &Model| (model.node_count(), model.value_count(), model.graph_count());
    let before = counts(&model);
    let gone = model.new_value(Symbol::EMPTY);
    model.erase_value(gone).unwrap();
    let mut map = CopyMap::new();
    map.map(a, gone);
    assert!(model.copy_each(&[producer, conditional], Position::End(main), &mut map).is_err());
    check(&model);
    assert_eq!(counts(&model), before);
    let mut map = CopyMap::new();
    map.map(a, b);
    let copies = model.copy_each(&[producer, conditional], Position::End(main), &mut map).unwrap();
    check(&model);
    model.verify_sorted().unwrap();
    let nested = model.node(copies[1]).nested_graphs().next().unwrap();
    let sum = model.graph(nested).first().unwrap();
    assert_eq!(model.node(copies[0]).input(0), Some(b));
    let inputs: Vec<_> = model.node(sum).inputs().collect();
    assert_eq!(inputs, [Some(map.get(first)), Some(b)]);
    assert_eq!(map.get(first), model.node(copies[0]).output(0).unwrap());
}

#[test]
fn a_copy_that_fails_leaves_nothing_behind() {
    let mut model = Model::new();
    let main = model.main_graph();
    let a = model.add_graph_input(main, "a", None);
    let gone = model.new_value(Symbol::EMPTY);
    model.erase_value(gone).unwrap();
    let pattern = model.new_graph(Symbol::EMPTY);
    let (_, first) = append(&mut model, pattern, op::RELU, &[a]);
    let (_, second) = append(&mut model, pattern, op::ADD, &[first, a]);
    append(&mut model, pattern, op::ABS, &[second]);
    let counts = |model: &Model| (model.node_count(), model.value_count(), model.graph_count());
    let before = counts(&model);
    for (to, expected) in [(Some(gone), EditError::Gone), (None, EditError::NotMapped { value: a })] {
        let mut map = CopyMap::new();
        map.map(a, to);
        model.push_graph_output(pattern, a);
        assert_eq!(model.copy_graph(pattern, &mut map).unwrap_err(), expected);
        assert_eq!(counts(&model), before);
        model.remove_graph_output(pattern, 0);
        if to.is_some() {
            let copied = model.copy_nodes(pattern, Position::End(main), &mut map);
            assert_eq!(copied.unwrap_err(), expected);
            assert_eq!(counts(&model), before);
        }
        check(&model);
    }
}

#[test]
fn a_function_can_be_inlined() {
    let (mut model, x, _, y) = small();
    let graph = model.main_graph();
    let name = model.intern("f");
    let function = model.add_function(Symbol::EMPTY, name, Symbol::EMPTY);
    let body = model.function(function).body();
    let formal = model.add_graph_input(body, "x", None);
    let new = NewNode::new(op::SOFTMAX)
        .inputs([formal])
        .attribute(Attribute::reference(attr::AXIS, attr::AXES, AttrKind::Int))
        .attribute(Attribute::reference(attr::K, attr::K, AttrKind::Int));
    let result = model.new_value(Symbol::EMPTY);
    model.add_node(Position::End(body), new.outputs([result])).unwrap();
    model.push_graph_output(body, result);

    let call = model.value(y).producer().unwrap();
    let mut map = CopyMap::new();
    map.map(formal, x);
    map.set_attributes(vec![Attribute::new(attr::AXES, 3_i64)]);
    let nodes = model.copy_nodes(body, Position::Before(call), &mut map).unwrap();
    assert_eq!(nodes.len(), 1);
    let copy = model.node(nodes[0]);
    assert_eq!((copy.input(0), copy.int(attr::AXIS), copy.attributes().len()), (Some(x), Some(3), 1));
    model.replace_node(call, &[Some(map.get(result))]).unwrap();
    check(&model);
    assert_eq!(model.graph(graph).node_count(), 1);
    // The output of the graph is still called as before.
    let output = model.graph(graph).outputs()[0].value();
    assert_eq!(model.str(model.value(output).name()), "y");
    assert_eq!(model.graph(body).node_count(), 1);
}

#[test]
fn a_reference_that_becomes_another_one_keeps_its_kind() {
    let (mut model, x, _, y) = small();
    let name = model.intern("f");
    let function = model.add_function(Symbol::EMPTY, name, Symbol::EMPTY);
    let body = model.function(function).body();
    let formal = model.add_graph_input(body, "x", None);
    let new = NewNode::new(op::SOFTMAX).inputs([formal]).attribute(Attribute::reference(
        attr::AXIS,
        attr::AXES,
        AttrKind::Int,
    ));
    let result = model.new_value(Symbol::EMPTY);
    model.add_node(Position::End(body), new.outputs([result])).unwrap();
    model.push_graph_output(body, result);
    let passed = vec![Attribute::reference(attr::AXES, attr::K, AttrKind::Int)];
    let expected = Attribute::reference(attr::AXIS, attr::K, AttrKind::Int);

    let call = model.value(y).producer().unwrap();
    let mut map = CopyMap::new();
    map.map(formal, x);
    map.set_attributes(passed.clone());
    let nodes = model.copy_nodes(body, Position::Before(call), &mut map).unwrap();
    assert_eq!(model.node(nodes[0]).attributes(), std::slice::from_ref(&expected));

    let mut into = Model::new();
    let mut importer = crate::Importer::new(&model);
    importer.set_attributes(passed);
    let copy = importer.graph(&mut into, body).unwrap();
    let node = into.nodes(copy).next().unwrap();
    assert_eq!(into.node(node).attributes(), [expected]);
}

#[test]
fn a_branch_can_be_spliced_in() {
    let (mut model, x, w, y) = small();
    let graph = model.main_graph();
    let branch = model.new_graph(Symbol::EMPTY);
    let weight = model.add_initializer(branch, Symbol::EMPTY, super::scalar());
    let (_, a) = append(&mut model, branch, op::ADD, &[w, weight]);
    let (_, b) = append(&mut model, branch, op::MUL, &[a, x]);
    model.push_graph_output(branch, b);
    let chosen = model
        .build_at(Position::End(graph))
        .op(op::IF, [y])
        .attr(attr::THEN_BRANCH, branch)
        .output()
        .unwrap();
    model.set_output(graph, 0, chosen);
    check(&model);
    let owner = model.value(chosen).producer().unwrap();
    model.splice(branch, Position::Before(owner)).unwrap();
    model.replace_node(owner, &[Some(b)]).unwrap();
    check(&model);
    let ops: Vec<&str> = model.nodes(graph).map(|node| model.str(model.node(node).op())).collect();
    assert_eq!(ops, ["Add", "Add", "Mul"]);
    assert_eq!(model.graph_of(weight), graph);
}

#[test]
fn a_copied_graph_stands_on_its_own() {
    let (mut model, x, ..) = small();
    let graph = model.main_graph();
    let outer = model.new_graph(Symbol::EMPTY);
    let inner = model.new_graph(Symbol::EMPTY);
    let input = model.add_graph_input(outer, "i", None);
    let (_, value) = append(&mut model, inner, op::ADD, &[input, x]);
    model.push_graph_output(inner, value);
    let new = NewNode::new(op::LOOP).attribute(Attribute::new(attr::BODY, inner));
    model.add_node(Position::End(outer), new).unwrap();
    let owner = NewNode::new(op::LOOP).attribute(Attribute::new(attr::BODY, outer));
    model.add_node(Position::End(graph), owner).unwrap();
    let mut map = CopyMap::new();
    let copy = model.copy_graph(outer, &mut map).unwrap();
    let owner = NewNode::new(op::LOOP).attribute(Attribute::new(attr::BODY, copy));
    let owner = model.add_node(Position::End(graph), owner).unwrap();
    check(&model);
    assert_eq!(model.captures(copy), [x]);
    assert_ne!(map.get(value), value);
    assert_eq!(model.graph_count(), 5);
    model.erase_node(owner).unwrap();
    assert_eq!(model.graph_count(), 3);
    check(&model);
}

#[test]
fn replaced_outputs_keep_the_names_that_callers_know() {
    let (mut model, x, w, y) = small();
    let graph = model.main_graph();
    let (_, relu) = append(&mut model, graph, op::RELU, &[x]);
    assert!(model.can_replace(y, relu) && !model.can_replace(y, w) && model.can_replace(w, x));
    model.replace_value(y, relu);
    assert_eq!(model.str(model.value(relu).name()), "y");
    assert_eq!(model.graph(graph).outputs()[0].value(), relu);
    check(&model);
}
