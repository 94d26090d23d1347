//! The order of nodes and its keys.

use onnx_schema::{attr, op};
use onnx_types::Symbol;

use super::{add, append, check};
use crate::{Model, NewNode, NodeId, Position};

/// Checks that `is_before` agrees with the list, for neighbors and for some distant nodes.
fn check_order(model: &Model) {
    let nodes: Vec<NodeId> = model.nodes(model.main_graph()).collect();
    for pair in nodes.windows(2) {
        assert!(model.is_before(pair[0], pair[1]) && !model.is_before(pair[1], pair[0]));
    }
    for (index, &node) in nodes.iter().enumerate().step_by(97) {
        assert!(nodes.iter().skip(index + 1).step_by(131).all(|&later| model.is_before(node, later)));
    }
    let mut reversed: Vec<NodeId> = model.nodes(model.main_graph()).rev().collect();
    reversed.reverse();
    assert_eq!(nodes, reversed);
}

/// Inserts 100,000 nodes at the places that `place` names, and returns how many keys were changed per insertion.
fn stress(mut place: impl FnMut(&Model, usize, NodeId, NodeId) -> Position) -> f64 {
    const COUNT: usize = 100_000;
    let mut model = Model::new();
    let graph = model.main_graph();
    let first = model.add_node(Position::End(graph), NewNode::new(op::RELU)).unwrap();
    let mut last = model.add_node(Position::End(graph), NewNode::new(op::RELU)).unwrap();
    for index in 0..COUNT {
        let at = place(&model, index, first, last);
        last = model.add_node(at, NewNode::new(op::ABS)).unwrap();
    }
    check_order(&model);
    assert_eq!(model.graph(graph).node_count(), COUNT + 2);
    model.relabelled as f64 / COUNT as f64
}

#[test]
fn insertion_relabels_few_nodes_wherever_it_happens() {
    assert_eq!(stress(|model, _, _, _| Position::End(model.main_graph())), 0.0);
    assert_eq!(stress(|model, _, _, _| Position::Start(model.main_graph())), 0.0);
    let fixed_after = stress(|_, _, first, _| Position::After(first));
    let before_latest = stress(|_, _, _, last| Position::Before(last));
    let after_latest = stress(|_, index, first, last| Position::After(if index == 0 { first } else { last }));
    let alternating = stress(
        |_, index, _, last| {
            if index % 2 == 0 { Position::Before(last) } else { Position::After(last) }
        },
    );
    for (name, cost) in [
        ("after one node", fixed_after),
        ("before the latest", before_latest),
        ("after the latest", after_latest),
        ("around the latest", alternating),
    ] {
        println!("{name}: {cost:.2} keys changed per insertion");
        // The base-2 logarithm of the count is 17.
        assert!(cost < 34.0, "{name}: {cost}");
    }
}

#[test]
fn keys_at_the_end_of_their_range_make_room() {
    let mut model = Model::new();
    let graph = model.main_graph();
    let first = model.add_node(Position::End(graph), NewNode::new(op::RELU)).unwrap();
    model.nodes[first].order = u64::MAX - 1;
    for _ in 0..100 {
        model.add_node(Position::End(graph), NewNode::new(op::RELU)).unwrap();
    }
    let front = model.graph(graph).first().unwrap();
    model.nodes[front].order = 1;
    for _ in 0..100 {
        model.add_node(Position::Start(graph), NewNode::new(op::RELU)).unwrap();
    }
    check_order(&model);
}

#[test]
fn moves_keep_links() {
    let mut model = Model::new();
    let graph = model.main_graph();
    let nodes: Vec<NodeId> =
        (0..5).map(|_| model.add_node(Position::End(graph), NewNode::new(op::RELU)).unwrap()).collect();
    model.move_node(nodes[0], Position::After(nodes[4])).unwrap();
    model.move_node(nodes[3], Position::Before(nodes[1])).unwrap();
    model.move_node(nodes[2], Position::After(nodes[2])).unwrap();
    model.move_node(nodes[1], Position::Before(nodes[2])).unwrap();
    model.move_node(nodes[4], Position::Start(graph)).unwrap();
    let order: Vec<NodeId> = model.nodes(graph).collect();
    assert_eq!(order, [4, 3, 1, 2, 0].map(|index| nodes[index]));
    check(&model);
}

#[test]
fn sorting_moves_only_what_must() {
    let mut model = Model::new();
    let graph = model.main_graph();
    let x = model.add_graph_input(graph, "x", None);
    let (a, va) = append(&mut model, graph, op::RELU, &[x]);
    let (b, vb) = append(&mut model, graph, op::RELU, &[va]);
    let (c, _) = append(&mut model, graph, op::RELU, &[x]);
    let (d, vd) = append(&mut model, graph, op::RELU, &[x]);
    let (e, _) = append(&mut model, graph, op::RELU, &[x]);
    assert!(model.is_sorted(graph));
    model.sort(graph).unwrap();
    assert_eq!(model.nodes(graph).collect::<Vec<_>>(), [a, b, c, d, e]);
    // `b` needs `d` now, inside a nested graph.
    let body = model.new_graph(Symbol::EMPTY);
    append(&mut model, body, op::ADD, &[vd, vb]);
    model.set_attribute(b, crate::Attribute::new(attr::BODY, body)).unwrap();
    assert!(!model.is_sorted(graph));
    let cycle = model.sort(graph).unwrap_err();
    assert_eq!(cycle.nodes, [b]);
    let inner = model.graph(body).first().unwrap();
    model.set_input(inner, 1, None);
    model.sort(graph).unwrap();
    assert_eq!(model.nodes(graph).collect::<Vec<_>>(), [a, d, b, c, e]);
    check(&model);
    // And now `d` needs `b`.
    model.set_input(d, 0, Some(vb));
    let cycle = model.sort(graph).unwrap_err();
    assert_eq!(cycle.nodes.len(), 2);
    assert!(cycle.to_string().contains(" <- "));
    assert_eq!(model.nodes(graph).collect::<Vec<_>>(), [a, d, b, c, e]);
}

#[test]
fn a_long_reversed_chain_is_sorted_without_recursion() {
    let mut model = Model::new();
    let graph = model.main_graph();
    let x = model.add_graph_input(graph, "x", None);
    let mut value = x;
    for _ in 0..100_000 {
        (_, value) = add(&mut model, Position::Start(graph), op::RELU, &[value]);
    }
    assert!(!model.is_sorted(graph));
    model.sort(graph).unwrap();
    assert!(model.is_sorted(graph));
    check(&model);
}

#[test]
fn a_value_with_many_uses_is_replaced_in_linear_time() {
    let mut model = Model::new();
    let graph = model.main_graph();
    let x = model.add_graph_input(graph, "x", None);
    let y = model.add_graph_input(graph, "y", None);
    for _ in 0..50_000 {
        append(&mut model, graph, op::ADD, &[x, x]);
    }
    model.replace_all_uses(x, y);
    assert_eq!(model.value(y).uses().len(), 100_000);
    assert!(!model.value(x).is_used());
    let nodes: Vec<NodeId> = model.nodes(graph).collect();
    for node in nodes {
        model.set_input(node, 0, Some(x));
    }
    assert_eq!(model.value(x).uses().len(), 50_000);
    check(&model);
}
