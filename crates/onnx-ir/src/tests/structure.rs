//! Sizes, refusals, and what the verifier finds.

use onnx_schema::{attr, op};
use onnx_types::expr::ExprTable;
use onnx_types::tensor::Tensor;
use onnx_types::{Dim, ElemType, Shape, Symbol, Type};

use super::{append, check, small};
use crate::{
    Attribute, Binding, EditError, FaultKind, Model, NewNode, Node, Owner, Position, TrainingInfo, Use, User,
    Value, ValueRef,
};

#[test]
fn records_are_small() {
    let (node, value) = (size_of::<Node>(), size_of::<Value>());
    println!("node {node}, value {value}, use {}", size_of::<Use>());
    // In debug builds, symbols have a tag.
    let tags = if cfg!(debug_assertions) { 16 } else { 0 };
    assert!(node <= 160 + tags, "{node}");
    assert!(value <= 96 + tags, "{value}");
}

#[test]
fn refusals_leave_the_model_alone() {
    let (mut model, x, _, y) = small();
    let graph = model.main_graph();
    let add = model.value(y).producer().unwrap();
    assert_eq!(model.erase_node(add), Err(EditError::StillUsed { value: y, uses: 1 }));
    let taken = NewNode::new(op::RELU).outputs([y]);
    assert_eq!(model.add_node(Position::End(graph), taken), Err(EditError::AlreadyDefined { value: y }));
    let new = model.new_value(Symbol::EMPTY);
    let twice = NewNode::new(op::RELU).outputs([new, new]);
    assert_eq!(model.add_node(Position::End(graph), twice), Err(EditError::AlreadyDefined { value: new }));
    assert_eq!(model.erase_value(x), Err(EditError::StillUsed { value: x, uses: 1 }));

    // A graph cannot hold the node that holds it.
    let body = model.new_graph(Symbol::EMPTY);
    let (inner, _) = append(&mut model, body, op::RELU, &[x]);
    let around = Attribute::new(attr::BODY, body);
    assert_eq!(model.set_attribute(inner, around.clone()), Err(EditError::AroundItself { graph: body }));
    let new = NewNode::new(op::LOOP).attribute(around.clone());
    assert_eq!(
        model.add_node(Position::End(body), new.clone()),
        Err(EditError::AroundItself { graph: body })
    );
    let owner = model.add_node(Position::End(graph), new).unwrap();
    assert_eq!(model.set_attribute(add, around), Err(EditError::AlreadyOwned { graph: body }));
    assert_eq!(
        model.move_node(owner, Position::End(body)),
        Err(EditError::IntoItself { node: owner, graph: body })
    );
    check(&model);
    model.erase_node(owner).unwrap();
    assert!(model.get_graph(body).is_none() && model.get_node(inner).is_none());
    assert_eq!(model.value(x).uses().len(), 1);
    check(&model);
}

#[test]
fn erased_graphs_leave_no_dangling_uses() {
    let (mut model, x, ..) = small();
    let graph = model.main_graph();
    let body = model.new_graph(Symbol::EMPTY);
    let (_, inner) = append(&mut model, body, op::RELU, &[x]);
    let new = NewNode::new(op::LOOP).attribute(Attribute::new(attr::BODY, body));
    let owner = model.add_node(Position::End(graph), new).unwrap();
    // A faulty use of an inner value from outside.
    append(&mut model, graph, op::ABS, &[inner]);
    assert_eq!(model.verify().unwrap_err()[0].kind, FaultKind::Visibility);
    model.erase_node(owner).unwrap();
    check(&model);
    assert!(matches!(model.value(inner).def(), crate::Def::Unresolved(_)));
}

#[test]
fn the_verifier_sees_each_kind_of_fault() {
    let (model, x, w, y) = small();
    let graph = model.main_graph();
    let node = model.value(y).producer().unwrap();
    let find = |kind, damage: &dyn Fn(&mut Model)| {
        let mut model = model.clone();
        damage(&mut model);
        let faults = model.verify().expect_err("a fault");
        assert!(faults.iter().any(|fault| fault.kind == kind), "{kind:?}: {faults:?}");
        assert!(faults.iter().all(|fault| !fault.to_string().is_empty()));
    };
    find(FaultKind::List, &|model| model.graphs[graph].node_count = 7);
    find(FaultKind::List, &|model| model.graphs[graph].last = None);
    find(FaultKind::List, &|model| model.nodes[node].order = 0);
    find(FaultKind::List, &|model| model.nodes[node].next = Some(node));
    find(FaultKind::List, &|model| model.graphs[graph].first = None);
    find(FaultKind::Use, &|model| model.values[x].uses.clear());
    find(FaultKind::Use, &|model| model.values[x].uses.push(Use { user: User::Graph(graph), index: 9 }));
    find(FaultKind::Use, &|model| model.nodes[node].inputs[0].slot = 3);
    find(FaultKind::Definition, &|model| model.nodes[node].outputs[0] = None);
    find(FaultKind::Definition, &|model| model.graphs[graph].inputs.clear());
    find(FaultKind::Definition, &|model| model.graphs[graph].initializers.clear());
    find(FaultKind::Definition, &|model| model.values[w].constant = None);
    find(FaultKind::Definition, &|model| model.graphs[graph].initializers.push(w));
    find(FaultKind::Owner, &|model| model.graphs[graph].owner = Owner::Detached);
    find(FaultKind::Owner, &|model| {
        model.new_training_graph(Owner::Algorithm);
    });
    find(FaultKind::Function, &|model| {
        model.add_function(Symbol::EMPTY, op::RELU, Symbol::EMPTY);
        model.function_order.clear();
    });
    find(FaultKind::Function, &|model| {
        model.add_function(Symbol::EMPTY, op::RELU, Symbol::EMPTY);
        model.function_index.clear();
    });
    find(FaultKind::Visibility, &|model| {
        let function = model.add_function(Symbol::EMPTY, op::RELU, Symbol::EMPTY);
        let body = model.function(function).body();
        model.push_graph_output(body, x);
    });
}

#[test]
fn functions_with_overloads_are_found_by_identity() {
    let mut model = Model::new();
    let (domain, name, second) = (model.intern("my"), model.intern("f"), model.intern("second"));
    let plain = model.add_function(domain, name, Symbol::EMPTY);
    let overload = model.add_function(domain, name, second);
    let repeated = model.add_function(domain, name, second);
    assert_eq!(model.find_function(domain, name, Symbol::EMPTY), Some(plain));
    assert_eq!(model.find_function(domain, name, second), Some(overload));
    check(&model);
    model.remove_function(overload).unwrap();
    assert_eq!(model.find_function(domain, name, second), Some(repeated));
    assert_eq!(model.functions(), [plain, repeated]);
    check(&model);
}

#[test]
fn training_graphs_see_the_main_graph() {
    let (mut model, x, w, _) = small();
    let algorithm = model.new_training_graph(Owner::Algorithm);
    let (_, step) = append(&mut model, algorithm, op::SUB, &[w, x]);
    model.push_graph_output(algorithm, step);
    let binding = Binding {
        key: ValueRef::Value(w),
        value: ValueRef::Value(step),
        forms: onnx_types::FieldForms::CANONICAL,
        unknown: Vec::new(),
    };
    let training =
        TrainingInfo { algorithm: Some(algorithm), update_binding: vec![binding], ..TrainingInfo::default() };
    model.info_mut().training.push(training);
    check(&model);
    assert_eq!(model.captures(algorithm), [w, x]);
    assert_eq!(model.all_graphs().count(), 2);
    assert!(model.name_plan().fresh_name(step).is_some());
}

#[test]
fn a_new_node_does_not_inherit_the_origin_of_an_erased_one() {
    let (mut model, x, ..) = small();
    let graph = model.main_graph();
    let (old, _) = append(&mut model, graph, op::RELU, &[x]);
    model.set_node_origin(old, crate::Origin::Byte(7));
    model.erase_node(old).unwrap();
    let (new, _) = append(&mut model, graph, op::RELU, &[x]);
    assert_eq!(model.node_origin(new), crate::Origin::Unknown);
}

#[test]
fn a_clone_shares_weights_and_nothing_else() {
    let (model, x, w, y) = small();
    let mut copy = model.clone();
    assert!(std::sync::Arc::ptr_eq(model.value(w).constant().unwrap(), copy.value(w).constant().unwrap()));
    let node = copy.value(y).producer().unwrap();
    copy.set_input(node, 1, Some(x));
    assert_eq!(model.node(node).input(1), Some(w));
    check(&model);
    check(&copy);
}

#[test]
fn an_output_that_cannot_be_replaced_gets_an_alias() {
    let mut model = Model::new();
    let graph = model.main_graph();
    let x = model.add_graph_input(graph, "x", None);
    let mut build = model.build_at(Position::End(graph));
    let y = build.op(op::IDENTITY, [x]).output_named("y").unwrap();
    let z = build.op(op::RELU, [y]).output_named("z").unwrap();
    model.push_graph_output(graph, y);
    model.push_graph_output(graph, z);
    let alias = model.replace_or_alias(y, x).unwrap().unwrap();
    check(&model);
    // The output is still called `y`, and is made from `x`; other uses are those of `x`.
    let output = model.graph(graph).outputs()[0].value();
    assert_eq!(model.str(model.value(output).name()), "y");
    assert_eq!((model.node(alias).input(0), model.node(alias).output(0)), (Some(x), Some(output)));
    assert_eq!(model.node(model.value(z).producer().unwrap()).input(0), Some(x));
    assert_eq!(model.erase_dead_nodes(graph), 1);
    // An input that is an output cannot pass on its name.
    let mut model = Model::new();
    let graph = model.main_graph();
    let [a, b] = ["a", "b"].map(|name| model.add_graph_input(graph, name, None));
    model.push_graph_output(graph, a);
    assert!(model.replace_or_alias(a, b).is_err());
}

#[test]
fn an_output_keeps_its_type_when_another_value_takes_its_place() {
    let double = || Type::tensor(ElemType::Double, None);
    let float = || Type::tensor(ElemType::Float, None);
    // Whether the replacement is a node's output, which becomes the output itself, or an input, which gets an alias.
    for is_made in [true, false] {
        for given in [None, Some(double())] {
            let of_input = given.clone().unwrap_or_else(float);
            let mut model = Model::new();
            let graph = model.main_graph();
            let x = model.add_graph_input(graph, "x", None);
            let mut build = model.build_at(Position::End(graph));
            let y = build.op(op::RELU, [x]).output_named("y").unwrap();
            let new = if is_made { build.op(op::ABS, [x]).output().unwrap() } else { x };
            model.push_graph_output(graph, y);
            model.set_type(y, Some(float()));
            model.set_type(new, given);
            model.replace_or_alias(y, new).unwrap();
            check(&model);
            assert_eq!(model.ty(new), Some(&if is_made { float() } else { of_input }));
            let output = model.graph(graph).outputs()[0].value();
            assert_eq!(model.ty(output), Some(&float()));
        }
    }
}

/// Nodes can be declared with other types than they compute.
#[test]
fn an_initializer_does_not_get_the_declared_type_of_what_it_replaces() {
    let mut model = Model::new();
    let graph = model.main_graph();
    let x = model.add_graph_input(graph, "x", None);
    let mut build = model.build_at(Position::End(graph));
    let old = build.op(op::RELU, [x]).output().unwrap();
    let y = build.op(op::ABS, [old]).output_named("y").unwrap();
    model.push_graph_output(graph, y);
    model.set_type(old, Some(Type::tensor(ElemType::Double, None)));
    let new = model.add_initializer(graph, Symbol::EMPTY, Tensor::scalar(1.0_f32));
    model.replace_or_alias(old, new).unwrap();
    check(&model);
    assert_eq!(model.ty(new), None);
}

/// A declaration in a branch holds only if the branch is executed.
#[test]
fn a_declaration_in_a_branch_does_not_pass_to_an_outer_value() {
    let float = Type::tensor(ElemType::Float, None);
    let mut model = Model::new();
    let graph = model.main_graph();
    let [c, x] = ["c", "x"].map(|name| model.add_graph_input(graph, name, None));
    let branch = model.new_graph(Symbol::EMPTY);
    let inner = model.build_at(Position::End(branch)).op(op::RELU, [x]).output().unwrap();
    model.push_graph_output(branch, inner);
    model.set_type(inner, Some(float));
    let mut build = model.build_at(Position::End(graph));
    let outer = build.op(op::RELU, [x]).output().unwrap();
    build.op(op::IF, [c]).attr(attr::THEN_BRANCH, branch).output().unwrap();
    model.replace_or_alias(inner, outer).unwrap();
    check(&model);
    assert_eq!(model.ty(outer), None);
}

/// An output of a branch may be an outer value, so the alias precedes the node with the branch.
#[test]
fn an_alias_precedes_the_branches_that_use_it() {
    let mut model = Model::new();
    let graph = model.main_graph();
    let [c, x] = ["c", "x"].map(|name| model.add_graph_input(graph, name, None));
    let mut build = model.build_at(Position::End(graph));
    let old = build.op(op::RELU, [x]).output_named("y").unwrap();
    let branch = model.new_graph(Symbol::EMPTY);
    model.push_graph_output(branch, old);
    let mut build = model.build_at(Position::End(graph));
    let chosen = build.op(op::IF, [c]).attr(attr::THEN_BRANCH, branch).output().unwrap();
    model.push_graph_output(graph, old);
    model.push_graph_output(graph, chosen);
    model.replace_or_alias(old, x).unwrap().unwrap();
    check(&model);
    assert!(model.verify_sorted().is_ok());
}

#[test]
fn order_is_verified_on_request() {
    let mut model = Model::new();
    let graph = model.main_graph();
    let x = model.add_graph_input(graph, "x", None);
    let y = model.build_at(Position::End(graph)).op(op::RELU, [x]).output().unwrap();
    model.build_at(Position::Start(graph)).op(op::RELU, [y]).output().unwrap();
    assert!(model.verify().is_ok());
    let faults = model.verify_sorted().unwrap_err();
    assert_eq!(faults.iter().map(|fault| fault.kind).collect::<Vec<_>>(), [FaultKind::Order]);
    model.sort(graph).unwrap();
    assert_eq!(model.verify_sorted(), Ok(()));
}

#[test]
fn constants_of_function_bodies_are_nodes() {
    let mut model = Model::new();
    let function = model.add_function(Symbol::EMPTY, op::ABS, Symbol::EMPTY);
    let (main, body) = (model.main_graph(), model.function(function).body());
    let one = || Tensor::scalar(1_i64);
    let a = model.build_at(Position::End(main)).constant(one()).unwrap();
    let b = model.build_at(Position::End(body)).constant(one()).unwrap();
    assert!(model.value(a).constant().is_some() && model.value(a).producer().is_none());
    assert!(model.value(b).constant().is_none() && model.value(b).producer().is_some());
    check(&model);
}

#[test]
fn types_have_no_dimensions_of_other_tables() {
    let mut model = Model::new();
    let n = model.intern("n");
    let (own, _) = model.exprs_mut();
    let twice = own.mul(Dim::Var(n), Dim::Known(2));
    let mut other = ExprTable::separate();
    let foreign = other.mul(Dim::Var(n), Dim::Known(3));
    let dims = [Dim::Known(4), Dim::Var(n), twice, Dim::Var(Symbol::unnamed(0)), foreign];
    let ty = Type::sequence(Type::tensor(ElemType::Float, Some(Shape::new(dims))));
    let x = model.add_graph_input(model.main_graph(), "x", ty);
    let shape = model.ty(x).and_then(Type::inner).and_then(Type::shape).unwrap();
    assert_eq!(shape.dims(), [Dim::Known(4), Dim::Var(n), twice, Dim::Unknown, Dim::Unknown]);
}
