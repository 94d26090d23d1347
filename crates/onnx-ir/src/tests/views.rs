//! Walks, dead code, listings and the view for `petgraph`.

use onnx_schema::{Registry, attr, op};
use onnx_types::Symbol;
use petgraph::algo::{dominators, is_cyclic_directed, tarjan_scc, toposort};
use petgraph::visit::{Dfs, IntoNeighborsDirected as _, NodeCount as _, Reversed};

use super::{append, check, scalar, small};
use crate::{
    Attribute, Cursor, Event, Model, NewNode, NodeId, OpsetImport, Owner, Position, TensorHolder, TensorPart,
    TrainingInfo, ValueId,
};

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
fn walks_omit_what_is_skipped() {
    let (model, [a, b, c, d], inner, _) = diamond();
    let graph = model.main_graph();
    let owner = model.node(b);
    assert_eq!(owner.nested_graphs().count(), 1);
    let nested = owner.nested_graphs().next().unwrap();
    let all: Vec<Event> = model.walk(graph).collect();
    let node = |node| [Event::Node(node), Event::After(node)];
    let mut expected = vec![Event::Enter(graph)];
    expected.extend(node(a));
    expected.extend([Event::Node(b), Event::Enter(nested)]);
    expected.extend(node(inner));
    expected.extend([Event::Leave(nested), Event::After(b)]);
    expected.extend(node(c).into_iter().chain(node(d)).chain([Event::Leave(graph)]));
    assert_eq!(all, expected);

    let skipped = |at: Event, whole_graph: bool| {
        let mut walk = model.walk(graph);
        let mut events = Vec::new();
        while let Some(event) = walk.next() {
            events.push(event);
            match (event == at, whole_graph) {
                (true, true) => walk.skip_rest(),
                (true, false) => walk.skip_contents(),
                _ => {}
            }
        }
        assert_eq!(walk.depth(), 0);
        events
    };
    assert_eq!(skipped(Event::Enter(graph), false), [Event::Enter(graph), Event::Leave(graph)]);
    assert_eq!(skipped(Event::Node(b), false), [&all[..4], &all[8..]].concat());
    assert_eq!(skipped(Event::Enter(nested), false), [&all[..5], &all[7..]].concat());
    assert_eq!(skipped(Event::Node(inner), true), [&all[..6], &all[7..]].concat());
    assert_eq!(skipped(Event::Node(b), true), [&all[..4], &all[13..]].concat());
    // After the last event of a node or graph, nothing is left to skip.
    assert_eq!(skipped(Event::After(b), false), all);
    assert_eq!(skipped(Event::Leave(nested), false), all);
    assert_eq!(model.walk_node(b).collect::<Vec<_>>(), all[3..9]);
}

#[test]
fn walks_enter_each_function_once() {
    let mut model = Model::new();
    let [domain, f] = ["d", "f"].map(|name| model.intern(name));
    model.info_mut().opset_imports.push(OpsetImport::new(domain, 1));
    let function = model.add_function(domain, f, Symbol::EMPTY);
    model.function_mut(function).opset_imports.push(OpsetImport::new(domain, 1));
    let call = |model: &mut Model, graph| {
        model.add_node(Position::End(graph), NewNode { domain, ..NewNode::new(f) }).unwrap()
    };
    let (main, body) = (model.main_graph(), model.function(function).body());
    // It calls itself.
    let inner = call(&mut model, body);
    let [first, second] = [main, main].map(|graph| call(&mut model, graph));
    let registry = Registry::standard();
    let nodes: Vec<_> = model.walk(main).with_functions(&registry).nodes().collect();
    assert_eq!(nodes, [first, inner, second]);
    assert_eq!(
        model.walk_node(second).with_functions(&registry).nodes().collect::<Vec<_>>(),
        [second, inner]
    );
    assert_eq!(model.walk(main).nodes().collect::<Vec<_>>(), [first, second]);
}

#[test]
fn determinism_is_that_of_all_that_a_node_runs() {
    let mut model = Model::new();
    let registry = Registry::standard();
    let main = model.main_graph();
    let [domain, f] = ["d", "f"].map(|name| model.intern(name));
    let imports = vec![OpsetImport::new(Symbol::EMPTY, 18), OpsetImport::new(domain, 1)];
    model.info_mut().opset_imports.clone_from(&imports);
    let function = model.add_function(domain, f, Symbol::EMPTY);
    model.function_mut(function).opset_imports = imports;
    let body = model.function(function).body();
    let branch = model.new_graph_in(main, Symbol::EMPTY);
    append(&mut model, body, op::RELU, &[]);
    let call = model.add_node(Position::End(branch), NewNode { domain, ..NewNode::new(f) }).unwrap();
    let attribute = Attribute::new(attr::THEN_BRANCH, branch);
    let outer = model.add_node(Position::End(main), NewNode::new(op::IF).attribute(attribute)).unwrap();
    assert!(model.is_deterministic(outer, &registry));
    let (random, _) = append(&mut model, body, op::RANDOM_NORMAL, &[]);
    assert!(!model.is_deterministic(outer, &registry) && !model.is_deterministic(call, &registry));
    model.erase_node(random).unwrap();
    // The function calls itself, and something unknown.
    model.add_node(Position::End(body), NewNode { domain, ..NewNode::new(f) }).unwrap();
    assert!(model.is_deterministic(outer, &registry));
    let unknown = model.intern("Unknown");
    append(&mut model, body, unknown, &[]);
    assert!(!model.is_deterministic(outer, &registry));
}

#[test]
fn walks_include_training_on_request() {
    let mut model = Model::new();
    let (main, algorithm) = (model.main_graph(), model.new_training_graph(Owner::Algorithm));
    let step = TrainingInfo { algorithm: Some(algorithm), ..TrainingInfo::default() };
    model.info_mut().training.push(step);
    let node = model.add_node(Position::End(main), NewNode::new(op::RELU)).unwrap();
    let update = model.add_node(Position::End(algorithm), NewNode::new(op::ABS)).unwrap();
    assert_eq!(model.walk(main).nodes().collect::<Vec<_>>(), [node]);
    assert_eq!(model.walk(main).with_algorithms().nodes().collect::<Vec<_>>(), [node, update]);
}

#[test]
fn names_mean_the_nearest_definition() {
    let (mut model, [a, b, ..], inner, va) = diamond();
    let main = model.main_graph();
    let nested = model.node(b).nested_graphs().next().unwrap();
    let [t, x] = ["t", "x"].map(|name| model.intern(name));
    model.set_value_name(va, t);
    assert_eq!(model.find_value(nested, "t"), Some(va));
    let vi = model.node(inner).output(0).unwrap();
    model.set_value_name(vi, t);
    assert_eq!((model.find_value(nested, "t"), model.find_value(main, "t")), (Some(vi), Some(va)));
    // Inputs precede what nodes define, and what nothing defines is not found.
    let input = model.graph(main).inputs()[0];
    model.set_value_name(va, x);
    assert_eq!(model.find_value(nested, "x"), Some(input));
    let loose = model.intern("loose");
    let unresolved = model.new_value_in(main, loose);
    model.set_input(a, 0, Some(unresolved));
    assert_eq!((model.find_value(main, "loose"), model.find_value(main, "")), (None, None));
    let outputs = model.nodes(main).map(|node| model.node(node).output(0).unwrap());
    assert_eq!(
        model.definitions(main).collect::<Vec<_>>(),
        std::iter::once(input).chain(outputs).collect::<Vec<_>>()
    );
}

#[test]
fn what_nothing_needs_goes_in_all_graphs() {
    let (mut model, [_, b, ..], inner, va) = diamond();
    let nested = model.node(b).nested_graphs().next().unwrap();
    let (domain, name) = (model.intern("d"), model.intern("f"));
    let function = model.add_function(domain, name, Symbol::EMPTY);
    let body = model.function(function).body();
    assert_eq!((model.erase_unused(), model.functions().len()), (1, 0));
    assert!(model.get_graph(body).is_none());
    // A call that nothing needs keeps no function, and its weight goes, too.
    let function = model.add_function(domain, name, Symbol::EMPTY);
    let w = model.add_initializer(nested, Symbol::EMPTY, onnx_types::tensor::Tensor::scalar(1.0_f32));
    let call = NewNode { domain, ..NewNode::new(name) }.inputs([va, w]);
    let output = model.new_value_in(nested, Symbol::EMPTY);
    model.add_node(Position::Before(inner), call.outputs([output])).unwrap();
    assert_eq!(model.erase_unused(), 3);
    assert_eq!((model.functions().contains(&function), model.initializers(nested).count()), (false, 0));
    assert_eq!(model.erase_unused(), 0);
    check(&model);
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
        forms: onnx_types::FieldForms::CANONICAL,
        unknown: Vec::new(),
    };
    model.graph_mut(graph).quantization.push(annotation);
    assert_eq!(model.erase_unused_initializers(graph), 1);
    assert!(model.get_value(w).is_none() && model.get_value(v).is_some());
    check(&model);
}

#[test]
fn nodes_whose_result_is_referred_to_stay() {
    let (mut model, _, _, y) = small();
    let graph = model.main_graph();
    model.remove_graph_output(graph, 0);
    let annotation = crate::QuantAnnotation {
        tensor: crate::ValueRef::Value(y),
        parameters: Vec::new(),
        forms: onnx_types::FieldForms::CANONICAL,
        unknown: Vec::new(),
    };
    model.graph_mut(graph).quantization.push(annotation);
    assert_eq!(model.erase_dead_nodes(graph), 0);
    model.graph_mut(graph).quantization.clear();
    assert_eq!(model.erase_dead_nodes(graph), 1);
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
        forms: onnx_types::FieldForms::CANONICAL,
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
