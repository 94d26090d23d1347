//! Walks, dead code, listings and the view for `petgraph`.

use onnx_schema::{attr, op};
use onnx_types::Symbol;
use petgraph::algo::{dominators, is_cyclic_directed, tarjan_scc, toposort};
use petgraph::visit::{Dfs, IntoNeighborsDirected as _, NodeCount as _, Reversed};

use super::{append, check, scalar, small};
use crate::{Attribute, Cursor, Model, NewNode, NodeId, Position, TensorHolder, TensorPart, ValueId};

/// `a = Relu(x); b = If(x) { Abs(a) }; c = Add(a, b); y = Neg(c)`
fn diamond() -> (Model, [NodeId; 4], NodeId, ValueId) {
    let mut model = Model::new();
    let graph = model.main_graph();
    let x = model.add_graph_input(graph, "x", None);
    let (a, va) = append(&mut model, graph, op::RELU, &[x]);
    let body = model.new_graph(Symbol::EMPTY);
    let (inner, vi) = append(&mut model, body, op::ABS, &[va]);
    model.push_graph_output(body, vi);
    let (b, vb) = append(&mut model, graph, op::IF, &[x]);
    model.set_attribute(b, Attribute::new(attr::THEN_BRANCH, body)).unwrap();
    let (c, vc) = append(&mut model, graph, op::ADD, &[va, vb]);
    let (d, vd) = append(&mut model, graph, op::NEG, &[vc]);
    model.push_graph_output(graph, vd);
    check(&model);
    (model, [a, b, c, d], inner, va)
}

#[test]
fn petgraph_algorithms_run_on_the_view() {
    let (mut model, nodes, ..) = diamond();
    let [a, b, c, d] = nodes;
    let graph = model.main_graph();
    {
        let view = model.petgraph(graph);
        assert_eq!(view.node_count(), 4);
        assert_eq!(toposort(&view, None).unwrap(), nodes);
        assert!(!is_cyclic_directed(&view));
        let components = tarjan_scc(&view);
        assert_eq!(components.len(), 4);
        let dominators = dominators::simple_fast(&view, a);
        assert_eq!(dominators.immediate_dominator(c), Some(a));
        assert_eq!(dominators.immediate_dominator(d), Some(c));
        let reversed = Reversed(&view);
        assert_eq!(dominators::simple_fast(reversed, d).immediate_dominator(a), Some(c));
        let mut search = Dfs::new(&view, b);
        let mut reached = Vec::new();
        while let Some(node) = search.next(&view) {
            reached.push(node);
        }
        assert_eq!(reached, [b, c, d]);
        for from in nodes {
            for to in (&view).neighbors_directed(from, petgraph::Direction::Outgoing) {
                let mut back = (&view).neighbors_directed(to, petgraph::Direction::Incoming);
                assert!(back.any(|node| node == from));
            }
        }
    }
    let back = model.node(d).output(0);
    model.set_input(a, 0, back);
    let view = model.petgraph(graph);
    assert!(toposort(&view, None).is_err());
    assert_eq!(tarjan_scc(&view).len(), 1);
}

#[test]
fn walks_include_nested_graphs() {
    let (model, [a, b, c, d], inner, va) = diamond();
    let graph = model.main_graph();
    assert_eq!(model.nodes_in(graph).collect::<Vec<_>>(), [a, b, inner, c, d]);
    let graphs: Vec<_> = model.graphs_in(graph).collect();
    assert_eq!(graphs.len(), 2);
    assert_eq!(model.captures(graphs[1]), [va]);
    assert!(model.captures(graph).is_empty());
    assert_eq!(model.consumers(va).collect::<Vec<_>>().len(), 2);
    assert_eq!(model.sole_consumer(model.node(c).output(0).unwrap()), Some((d, 0)));
    assert_eq!(model.input_producer(c, 1), Some(b));
    let mut cursor = Cursor::all(&model);
    let mut seen = 0;
    while cursor.next(&model).is_some() {
        seen += 1;
    }
    assert_eq!(seen, 5);
}

#[test]
fn dead_nodes_go_with_what_only_they_need() {
    let (mut model, [_, b, c, d], ..) = diamond();
    let graph = model.main_graph();
    assert_eq!(model.erase_dead_nodes(graph), 0);
    model.remove_graph_output(graph, 0);
    assert_eq!(model.erase_dead_nodes(graph), 4);
    for node in [b, c, d] {
        assert!(model.get_node(node).is_none());
    }
    assert_eq!((model.node_count(), model.graph_count()), (0, 1));
    check(&model);
}

#[test]
fn unused_initializers_go_unless_referred_to() {
    let (mut model, _, w, y) = small();
    let graph = model.main_graph();
    let name = model.intern("v");
    let v = model.add_initializer(graph, name, scalar());
    model.remove_graph_output(graph, 0);
    model.erase_node(model.value(y).producer().unwrap()).unwrap();
    let annotation = crate::QuantAnnotation {
        tensor: crate::ValueRef::Value(v),
        parameters: Vec::new(),
        mask: onnx_types::FieldMask::NONE,
        unknown: Vec::new(),
    };
    model.graph_mut(graph).quantization.push(annotation);
    assert_eq!(model.erase_unused_initializers(graph), 1);
    assert!(model.get_value(w).is_none() && model.get_value(v).is_some());
    check(&model);
}

#[test]
fn every_tensor_is_visited_and_can_be_replaced() {
    let (mut model, _, w, _) = small();
    let graph = model.main_graph();
    let tensors = crate::AttrValue::Tensors(vec![scalar().into(), scalar().into()]);
    let new = NewNode::new(op::CONSTANT)
        .attribute(Attribute::new(attr::VALUE, scalar()))
        .attribute(Attribute::new(attr::SHAPE, tensors));
    let node = model.add_node(Position::End(graph), new).unwrap();
    let sparse = crate::SparseTensor {
        values: Some(scalar()),
        indices: Some(scalar()),
        dims: smallvec::smallvec![4],
        mask: onnx_types::FieldMask::NONE,
        unknown: Vec::new(),
    };
    let s = model.add_initializer(graph, Symbol::EMPTY, crate::Constant::Sparse(sparse));
    let function = model.add_function(Symbol::EMPTY, op::RELU, Symbol::EMPTY);
    model.push_function_default(function, Attribute::new(attr::VALUE, scalar())).unwrap();
    let mut places = Vec::new();
    model.for_each_tensor(|place, tensor| {
        assert_eq!(tensor.dims(), [1]);
        places.push((place.holder, place.element, place.part));
    });
    assert_eq!(
        places,
        [
            (TensorHolder::Initializer(w), 0, TensorPart::Dense),
            (TensorHolder::Initializer(s), 0, TensorPart::SparseValues),
            (TensorHolder::Initializer(s), 0, TensorPart::SparseIndices),
            (TensorHolder::Attribute(node, 0), 0, TensorPart::Dense),
            (TensorHolder::Attribute(node, 1), 0, TensorPart::Dense),
            (TensorHolder::Attribute(node, 1), 1, TensorPart::Dense),
            (TensorHolder::Default(function, 0), 0, TensorPart::Dense),
        ]
    );
    let before = model.clone();
    let mut replaced = Vec::new();
    model.replace_tensors(|place, _| {
        replaced.push((place.holder, place.element, place.part));
        Some(onnx_types::tensor::Tensor::vector(&[1_i64, 2]))
    });
    assert_eq!(places, replaced);
    model.for_each_tensor(|_, tensor| assert_eq!(tensor.dims(), [2]));
    before.for_each_tensor(|_, tensor| assert_eq!(tensor.dims(), [1]));
}

#[test]
fn listings_escape_and_cut() {
    let (mut model, x, ..) = small();
    let graph = model.main_graph();
    let hostile = model.intern("\u{1b}[31m\"\n\u{202e}");
    let (node, value) = append(&mut model, graph, hostile, &[x; 40]);
    model.set_value_name(value, hostile);
    let numbers: Vec<i64> = (0..10_000).collect();
    model.set_attribute(node, Attribute::new(attr::AXES, numbers)).unwrap();
    let text = model.listing(graph).to_string();
    assert!(!text.contains('\u{1b}') && !text.contains('\u{202e}'), "{text}");
    assert!(text.len() < 1500, "{text}");
    assert_eq!(text.lines().count(), 6, "{text}");
    model.remove_graph_output(graph, 0);
    model.erase_node(node).unwrap();
    assert_eq!(model.show(node).to_string(), format!("{node}: gone"));
}
